// SPDX-License-Identifier: MIT
#include "tools/noise.h"

#include <cmath>

#include "tool_testing.h"

namespace grainless::tools {
namespace {

Image zeros(int32_t channels, int32_t side) {
  Image image = make_image({Component::kFloat, channels}, side, side, "test");
  std::memset(image.pixels.get(), 0, image.bytes());
  return image;
}

std::vector<float> samples(const Image& image) {
  std::vector<float> values(image.bytes() / sizeof(float));
  std::memcpy(values.data(), image.pixels.get(), image.bytes());
  return values;
}

// Tolerances are five standard errors of a million draws.
TEST(Noise, IsStandardNormal) {
  constexpr int kDraws = 1000000;
  double sum = 0, squares = 0, fourth = 0, lagged = 0, previous = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = normal_noise(3, uint64_t(i));
    sum += value, squares += value * value, fourth += std::pow(value, 4);
    lagged += value * previous;
    previous = value;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.005);
  EXPECT_NEAR(squares / kDraws, 1, 0.0071);
  EXPECT_NEAR(fourth / kDraws, 3, 0.049);
  EXPECT_NEAR(lagged / kDraws, 0, 0.005);
}

TEST(Noise, SigmaIsInEightBitStepsAndAlphaStays) {
  Image image = zeros(4, 100);
  add_noise(image, 25.5, 1);
  const std::vector<float> values = samples(image);
  double squares = 0;
  float smallest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % 4 == 3) {
      ASSERT_EQ(values[i], 0.0f);
    }
    squares += double(values[i]) * values[i];
    smallest = std::min(smallest, values[i]);
  }
  EXPECT_NEAR(std::sqrt(squares / 30000), 0.1, 0.0021);
  EXPECT_LT(smallest, -0.2f);  // not clipped
}

TEST(Noise, SeedDecidesAll) {
  Image a = zeros(1, 50), b = zeros(1, 50), c = zeros(1, 50);
  add_noise(a, 10, 1);
  add_noise(b, 10, 1);
  add_noise(c, 10, 2);
  EXPECT_TRUE(same_pixels(a, b));
  EXPECT_FALSE(same_pixels(a, c));
}

}  // namespace
}  // namespace grainless::tools
