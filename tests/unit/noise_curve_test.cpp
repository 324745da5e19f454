// SPDX-License-Identifier: MIT
// Noise of known strength, put into pictures whose brightness is known.
#include "engine/noise/curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "engine/denoise.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

using Scene = std::function<double(int32_t x, int32_t y)>;             // 8-bit steps
using Strength = std::function<double(double brightness, int32_t c)>;  // sigma of a colour

constexpr PixelFormat kGrey{Component::kFloat, 1}, kColour{Component::kFloat, 3};

TestImage draw(PixelFormat format, int32_t width, int32_t height, const Scene& scene,
               const Strength& sigma) {
  TestImage image(format, width, height);
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const double value = scene(x, y);
      for (int32_t c = 0; c < format.channels; ++c) {
        image.set(x, y, c, static_cast<float>(value + sigma(value, c) * normal(random)));
      }
    }
  }
  return image;
}

// Noise that lacks its finest band: each pixel is the mean of nine.
TestImage smoothed(const TestImage& sharp) {
  TestImage image(sharp.format, sharp.width, sharp.height);
  for (int32_t y = 0; y < sharp.height; ++y) {
    for (int32_t x = 0; x < sharp.width; ++x) {
      float sum = 0;
      for (int32_t i = 0; i < 9; ++i) {
        sum += sharp.get(std::clamp(x + i % 3 - 1, 0, sharp.width - 1),
                         std::clamp(y + i / 3 - 1, 0, sharp.height - 1), 0);
      }
      image.set(x, y, 0, sum / 9);
    }
  }
  return image;
}

Strength constant(double sigma) {
  return [sigma](double, int32_t) { return sigma; };
}

Engine& engine() {
  static Engine shared({"", 2});
  return shared;
}

NoiseCurve curve_of(const TestImage& image, const NoiseArea& area = {},
                    const NoiseModel& model = {}) {
  NoiseCurve curve;
  const Status status = engine().noise_curve(image.view(), area, model, {}, curve);
  EXPECT_TRUE(status.ok()) << status.message();
  return curve;
}

AreaNoise noise_of(const TestImage& image, const NoiseArea& area = {}) {
  AreaNoise noise;
  const Status status = engine().area_noise(image.view(), area, {}, noise);
  EXPECT_TRUE(status.ok()) << status.message();
  return noise;
}

// All of the brightness range from left to right, with texture in the lower third.
double ramp(int32_t x, int32_t y) {
  return x * 255.0 / 1023 + (y > 256 ? 12 * std::sin(1.3 * x) * std::cos(0.9 * y) : 0);
}

double plain(int32_t x, int32_t y) {
  return 90 + 0.05 * x + 0.0002 * y * y;
}

TEST(NoiseCurve, FollowsNoiseThatGrowsWithBrightness) {
  const auto sigma = [](double value, int32_t) { return 2 + 0.04 * value; };
  for (PixelFormat format : {kGrey, kColour}) {
    const NoiseCurve curve = curve_of(draw(format, 1024, 384, ramp, sigma));
    ASSERT_EQ(curve.channels, format.channels);
    for (int32_t c = 0; c < curve.channels; ++c) {
      const ToneCurve& tones = curve.channel[c];
      ASSERT_EQ(tones.count, kCurveTones);
      for (int32_t i = 0; i < tones.count; ++i) {
        const TonePoint& point = tones.point[i];
        EXPECT_NEAR(point.brightness, 16 * i + 8, 8);
        const double truth = sigma(point.brightness, 0);
        EXPECT_NEAR(point.sigma, truth, 0.1 * truth) << "channel " << c << " tone " << i;
        EXPECT_GE(point.blocks, 8);
      }
    }
  }
}

TEST(NoiseCurve, LeavesOutTonesThatThePictureDoesNotHold) {
  const auto two_greys = [](int32_t x, int32_t) { return x < 128 ? 40.0 : 200.0; };
  const NoiseCurve curve = curve_of(draw(kGrey, 256, 128, two_greys, constant(3)));
  ASSERT_EQ(curve.channel[0].count, 2);
  EXPECT_NEAR(curve.channel[0].point[0].brightness, 40, 1);
  EXPECT_NEAR(curve.channel[0].point[1].brightness, 200, 1);
}

TEST(NoiseCurve, LooksAtTheAreaAlone) {
  const auto halves = [](int32_t x, int32_t) { return x < 128 ? 60.0 : 180.0; };
  const auto sigma = [](double value, int32_t) { return value < 100 ? 2.0 : 9.0; };
  const TestImage image = draw(kGrey, 256, 160, halves, sigma);
  const NoiseCurve right = curve_of(image, {.rect = {130, 3, 120, 150}});
  ASSERT_EQ(right.channel[0].count, 1);
  EXPECT_NEAR(right.channel[0].point[0].sigma, 9, 0.7);
  std::vector<uint8_t> selected(256 * 160, 0);
  for (int32_t i = 0; i < 256 * 160; ++i) selected[i] = i % 256 < 128 ? 255 : 0;
  const NoiseCurve left =
      curve_of(image, {.rect = {}, .selected = selected.data(), .selected_row_bytes = 256});
  ASSERT_EQ(left.channel[0].count, 1);
  EXPECT_NEAR(left.channel[0].point[0].sigma, 2, 0.2);
}

TEST(NoiseCurve, IsLiftedLikeTheEstimateWhereNoiseIsNotWhite) {
  const TestImage image = draw(kGrey, 256, 256, plain, constant(5));
  NoiseModel camera;
  camera.white[0] = false;
  const float white = curve_of(image).channel[0].point[0].sigma;
  EXPECT_EQ(curve_of(image, {}, camera).channel[0].point[0].sigma, white) << "not cleaned";
  camera.strength[0] = 1.5f;
  EXPECT_NEAR(curve_of(image, {}, camera).channel[0].point[0].sigma, 1.4f * white, 1e-4f);
}

TEST(NoiseCurve, OfATinyPictureIsEmpty) {
  EXPECT_EQ(curve_of(draw(kGrey, 5, 3, plain, constant(5))).channel[0].count, 0);
}

TEST(NoiseCurve, RefusesAnAreaOutsideOfTheImage) {
  const TestImage image = draw(kGrey, 64, 64, plain, constant(5));
  NoiseCurve curve;
  AreaNoise noise;
  const NoiseArea area{.rect = {40, 0, 40, 40}};
  EXPECT_EQ(engine().noise_curve(image.view(), area, {}, {}, curve).code(), ErrorCode::kBadInput);
  EXPECT_EQ(engine().area_noise(image.view(), area, {}, noise).code(), ErrorCode::kBadInput);
}

TEST(NoiseCurve, AnswersCancel) {
  const TestImage image = draw(kGrey, 64, 64, plain, constant(5));
  CancelToken token;
  token.cancel();
  const Callbacks callbacks{&token, {}};
  NoiseCurve curve;
  AreaNoise noise;
  EXPECT_EQ(engine().noise_curve(image.view(), {}, {}, callbacks, curve).code(),
            ErrorCode::kCancelled);
  EXPECT_EQ(engine().area_noise(image.view(), {}, callbacks, noise).code(), ErrorCode::kCancelled);
}

TEST(AreaNoise, OfSmoothAreasOfAnySize) {
  for (int32_t side : {24, 40, 64, 300}) {
    for (double sigma : {1.0, 6.0, 30.0}) {
      const AreaNoise noise = noise_of(draw(kColour, side, side, plain, constant(sigma)));
      EXPECT_EQ(noise.verdict, AreaVerdict::kGood) << side << " pixels, sigma " << sigma;
      EXPECT_EQ(noise.pixels, side * side);
      for (int32_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(noise.sigma[c], sigma, (side < 64 ? 0.15 : 0.06) * sigma) << side;
      }
    }
  }
}

TEST(AreaNoise, TellsLumaFromChroma) {
  // Noise in red and blue of opposite sign, sigma 4: chroma U = (R - B) / sqrt 2 holds 4 sqrt 2.
  TestImage image = draw(kColour, 128, 128, plain, constant(2));
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 4);
  for (int32_t y = 0; y < 128; ++y) {
    for (int32_t x = 0; x < 128; ++x) {
      const float more = normal(random);
      image.set(x, y, 0, image.get(x, y, 0) + more);
      image.set(x, y, 2, image.get(x, y, 2) - more);
    }
  }
  const AreaNoise noise = noise_of(image);
  EXPECT_EQ(noise.verdict, AreaVerdict::kGood);
  EXPECT_NEAR(noise.sigma[0], 2, 0.2);
  EXPECT_NEAR(noise.sigma[1], 6, 0.5);
  EXPECT_NEAR(noise.sigma[2], 2, 0.2);
}

TEST(AreaNoise, OfNoiseWithoutItsFinestBand) {
  const AreaNoise noise = noise_of(smoothed(draw(kGrey, 256, 256, plain, constant(12))));
  EXPECT_EQ(noise.verdict, AreaVerdict::kGood);
  EXPECT_NEAR(noise.sigma[0], 4, 0.4);
}

TEST(AreaNoise, SaysWhenTheAreaIsTooSmall) {
  EXPECT_EQ(noise_of(draw(kGrey, 15, 15, plain, constant(5))).verdict, AreaVerdict::kTooSmall);
  const TestImage image = draw(kGrey, 128, 128, plain, constant(5));
  const std::vector<uint8_t> nothing(128 * 128, 0);
  EXPECT_EQ(
      noise_of(image, {.rect = {}, .selected = nothing.data(), .selected_row_bytes = 128}).verdict,
      AreaVerdict::kTooSmall);
}

TEST(AreaNoise, SaysWhenTheAreaIsNotFlat) {
  const Scene scenes[] = {
      [](int32_t x, int32_t) { return 90 + 20.0 * std::sin(0.8 * x); },                // stripes
      [](int32_t x, int32_t y) { return x + 0.3 * y > 70 ? 160.0 : 80.0; },            // an edge
      [](int32_t x, int32_t y) { return x > 60 && (x / 2 + y / 3) % 2 ? 99 : 70.0; },  // checks
  };
  for (const Scene& scene : scenes) {
    EXPECT_EQ(noise_of(draw(kGrey, 128, 128, scene, constant(3))).verdict, AreaVerdict::kNotFlat);
  }
}

TEST(AreaNoise, OfAFlatAreaInATexturedPicture) {
  const auto scene = [](int32_t x, int32_t y) {
    return x < 100 ? 110.0 : 110 + 40 * std::sin(0.7 * x + 1.1 * y);
  };
  const TestImage image = draw(kGrey, 256, 256, scene, constant(4));
  const AreaNoise noise = noise_of(image, {.rect = {4, 9, 90, 201}});
  EXPECT_EQ(noise.verdict, AreaVerdict::kGood);
  EXPECT_NEAR(noise.sigma[0], 4, 0.3);
  EXPECT_NEAR(noise.brightness, 110, 0.5);
}

// Its edge is no flat area, but the noise is the photograph's.
TEST(AreaNoise, AMountInViewSaysNothingOfTheNoise) {
  for (const float mount : {40.0f, 255.0f}) {
    TestImage image = draw(kGrey, 512, 512, [](int32_t, int32_t) { return 110.0; }, constant(6));
    for (int32_t y = 0; y < 512; ++y) {
      for (int32_t x = 0; x < 512; ++x) {
        if (x < 150 || x >= 360 || y < 150 || y >= 360) image.set(x, y, 0, mount);
      }
    }
    const AreaNoise noise = noise_of(image);
    EXPECT_EQ(noise.verdict, mount == 255 ? AreaVerdict::kGood : AreaVerdict::kNotFlat);
    EXPECT_NEAR(noise.sigma[0], 6, 0.6) << mount;
  }
}

TEST(AreaNoise, OfWhatIsDrawnOrClippedIsNothing) {
  const AreaNoise drawn =
      noise_of(draw(kGrey, 64, 64, [](int32_t, int32_t) { return 77.0; }, constant(0)));
  EXPECT_EQ(drawn.verdict, AreaVerdict::kGood);
  EXPECT_EQ(drawn.sigma[0], 0);
  TestImage white = draw(kGrey, 64, 64, [](int32_t, int32_t) { return 255.0; }, constant(8));
  for (int32_t i = 0; i < 64 * 64; ++i) {
    white.set(i % 64, i / 64, 0, std::min(255.0f, white.get(i % 64, i / 64, 0)));
  }
  for (int32_t y = 0; y < 64; ++y) {
    for (int32_t x = 0; x < 64; ++x) {
      if ((x + y) % 5 != 0) white.set(x, y, 0, 255);
    }
  }
  const AreaNoise clipped = noise_of(white);
  EXPECT_EQ(clipped.verdict, AreaVerdict::kClipped);
  EXPECT_EQ(clipped.sigma[0], 0);
}

}  // namespace
}  // namespace grainless
