// SPDX-License-Identifier: MIT
#include "tools/metrics/metrics.h"

#include <cmath>

#include "tool_testing.h"

namespace grainless::tools {
namespace {

Image flat(PixelFormat format, int32_t side, uint8_t value) {
  Image image = make_image(format, side, side, "test");
  std::memset(image.pixels.get(), value, image.bytes());
  return image;
}

double at(const Image& image, int32_t x, int32_t y, int32_t c) {
  return load_component(pixel_at(image.view(), x, y), image.format.component, c);
}

// SSIM as the paper writes it: a full 2-D window at every position, moments about the local mean.
double plain_ssim(const Image& a, const Image& b, int32_t channel) {
  double weights[11][11], sum = 0;
  for (int i = 0; i < 121; ++i) {
    const double dx = i % 11 - 5, dy = i / 11 - 5;
    sum += weights[i / 11][i % 11] = std::exp(-(dx * dx + dy * dy) / 4.5);
  }
  const double c1 = 6.5025, c2 = 58.5225;
  double total = 0;
  for (int32_t y = 0; y + 11 <= a.height; ++y) {
    for (int32_t x = 0; x + 11 <= a.width; ++x) {
      double ma = 0, mb = 0, va = 0, vb = 0, cov = 0;
      for (int i = 0; i < 121; ++i) {
        const double w = weights[i / 11][i % 11] / sum;
        ma += w * at(a, x + i % 11, y + i / 11, channel);
        mb += w * at(b, x + i % 11, y + i / 11, channel);
      }
      for (int i = 0; i < 121; ++i) {
        const double w = weights[i / 11][i % 11] / sum;
        const double da = at(a, x + i % 11, y + i / 11, channel) - ma;
        const double db = at(b, x + i % 11, y + i / 11, channel) - mb;
        va += w * da * da, vb += w * db * db, cov += w * da * db;
      }
      total += (2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2));
    }
  }
  return total / ((a.width - 10.0) * (a.height - 10.0));
}

TEST(Metrics, PsnrOfAConstantDifference) {
  const Image a = flat({Component::kU8, 3}, 16, 100), b = flat({Component::kU8, 3}, 16, 110);
  EXPECT_NEAR(*psnr(a.view(), b.view()), 28.130803608679102, 1e-9);  // 10 log10(65025 / 100)
}

TEST(Metrics, SsimOfAConstantDifference) {
  const Image a = flat({Component::kU8, 1}, 16, 100), b = flat({Component::kU8, 1}, 16, 110);
  const double expected = (2 * 100.0 * 110 + 6.5025) / (100.0 * 100 + 110 * 110 + 6.5025);
  EXPECT_NEAR(*ssim(a.view(), b.view()), expected, 1e-9);
}

TEST(Metrics, IdenticalPicturesHaveNoPsnrAndAnSsimOfOne) {
  const Image a = random_image({Component::kU16, 3}, 20, 15);
  EXPECT_FALSE(psnr(a.view(), a.view()).has_value());
  EXPECT_NEAR(*ssim(a.view(), a.view()), 1.0, 1e-12);
}

TEST(Metrics, SsimAgreesWithItsDefinition) {
  const Image a = random_image({Component::kU8, 3}, 23, 17, 1);
  Image b = random_image({Component::kU8, 3}, 23, 17, 1);
  for (size_t i = 0; i < b.bytes(); i += 3)
    b.pixels[i] = static_cast<uint8_t>(b.pixels[i] / 2 + i % 50);
  const double expected = (plain_ssim(a, b, 0) + plain_ssim(a, b, 1) + plain_ssim(a, b, 2)) / 3;
  EXPECT_LT(expected, 0.95);
  EXPECT_NEAR(*ssim(a.view(), b.view()), expected, 1e-9);
}

TEST(Metrics, PrecisionDoesNotMatter) {
  const Image a = random_image({Component::kU8, 3}, 20, 15, 1);
  const Image b = random_image({Component::kU8, 3}, 20, 15, 2);
  const Image real = convert(a, Component::kFloat, "test"),
              deep = convert(b, Component::kU16, "test");
  EXPECT_NEAR(*psnr(a.view(), b.view()), *psnr(real.view(), deep.view()), 1e-5);
  EXPECT_NEAR(*ssim(a.view(), b.view()), *ssim(real.view(), deep.view()), 1e-5);
}

TEST(Metrics, FloatsAreNotClipped) {
  Image a = make_image({Component::kFloat, 1}, 1, 1, "test");
  Image b = make_image({Component::kFloat, 1}, 1, 1, "test");
  const float below = -1.0f, zero = 0.0f;
  std::memcpy(a.pixels.get(), &below, 4);
  std::memcpy(b.pixels.get(), &zero, 4);
  EXPECT_NEAR(*psnr(a.view(), b.view()), 0.0, 1e-6);
  EXPECT_FALSE(ssim(a.view(), b.view()).has_value());  // smaller than the window
}

TEST(Metrics, AlphaTakesNoPart) {
  const Image a = random_image({Component::kU8, 4}, 12, 12, 1);
  Image b = random_image({Component::kU8, 4}, 12, 12, 1);
  for (size_t i = 3; i < b.bytes(); i += 4) b.pixels[i] ^= 0xff;
  EXPECT_FALSE(psnr(a.view(), b.view()).has_value());
  EXPECT_NEAR(*ssim(a.view(), b.view()), 1.0, 1e-12);
}

TEST(Metrics, OtherShapesAreRefused) {
  const Image a = flat({Component::kU8, 3}, 12, 0), b = flat({Component::kU8, 1}, 12, 0),
              c = flat({Component::kU8, 3}, 13, 0), d = flat({Component::kU8, 4}, 12, 0);
  refusal([&] { check_comparable(a.view(), b.view(), "a", "b"); });
  refusal([&] { check_comparable(a.view(), c.view(), "a", "c"); });
  check_comparable(a.view(), d.view(), "a", "d");
}

}  // namespace
}  // namespace grainless::tools
