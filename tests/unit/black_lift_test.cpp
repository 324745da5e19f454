// SPDX-License-Identifier: MIT
#include "engine/noise/black_lift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include "engine/boundary/pixel_math.h"
#include "engine/denoise.h"
#include "engine/plan/make_plan.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

double encoded(double linear) {
  const double value = std::min(1.0, std::max(0.0, linear));
  return 255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * std::pow(value, 1 / 2.4) - 0.055);
}

struct Sensor {
  double read = 0.008, shot = 0.004;

  double noisy(double linear, std::mt19937& random) const {
    std::normal_distribution<double> normal;
    return linear + std::sqrt(shot * linear + read * read) * normal(random);
  }
};

// Linear light of waves that go from `darkest` up to much brighter tones.
double waves(int32_t x, int32_t y, double darkest) {
  const double height = 0.5 + 0.5 * std::sin(0.011 * x) * std::cos(0.017 * y);
  return darkest + std::pow(height, 3) * 0.2;
}

TestImage photograph(PixelFormat format, const Sensor& sensor, double darkest = 0) {
  TestImage image(format, 640, 480);
  std::mt19937 random(3);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      for (int32_t c = 0; c < format.colours(); ++c) {
        const double noisy = sensor.noisy(waves(x, y, darkest), random);
        image.set(x, y, c, static_cast<float>(encoded(noisy)));
      }
    }
  }
  return image;
}

NoiseModel estimate(const TestImage& image) {
  Engine engine({"", 2});
  NoiseModel noise;
  const Status status = engine.estimate(image.view(), NoiseKind::kSure, {}, noise);
  EXPECT_TRUE(status.ok()) << status.message();
  return noise;
}

// What a perfect filter makes of a tone: the mean of many noisy ones.
double mean_of(double linear, const Sensor& sensor) {
  constexpr int32_t kCount = 20000;
  std::mt19937 random(4);
  double sum = 0;
  for (int32_t i = 0; i < kCount; ++i) sum += encoded(sensor.noisy(linear, random));
  return sum / kCount;
}

TEST(BlackLift, IsWhatASensorsNoiseDoes) {
  for (const PixelFormat format : {PixelFormat{Component::kU8, 3}, {Component::kU16, 1}}) {
    for (const Sensor& sensor : {Sensor{0.008, 0.004}, Sensor{0.004, 0.002}}) {
      const NoiseModel noise = estimate(photograph(format, sensor));
      ASSERT_NE(noise.bend.enabled, 0);
      ASSERT_GT(noise.bend.lift.step, 0.0f);
      double before = 0, after = 0;
      for (const double linear : {0.0, 0.001, 0.002, 0.004, 0.01, 0.03}) {
        const double mean = mean_of(linear, sensor), clean = encoded(linear);
        const double back = unlifted(noise.bend.lift, static_cast<float>(mean));
        EXPECT_NEAR(back, clean, 0.6 * std::abs(mean - clean) + 1.3)
            << "of " << clean << ", lifted to " << mean;
        before += (mean - clean) * (mean - clean);
        after += (back - clean) * (back - clean);
      }
      EXPECT_LT(after, 0.5 * before);
    }
  }
}

TEST(BlackLift, NothingIsLedBackWithoutClippedNoise) {
  // Noise of the same kind on a picture without black.
  TestImage image({Component::kU8, 3}, 640, 480);
  std::mt19937 random(3);
  const Sensor sensor;
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      // A letterbox has no noise at all.
      const bool box = y < 60 || y >= 420;
      for (int32_t c = 0; c < 3; ++c) {
        const double value = box ? 0 : encoded(sensor.noisy(waves(x, y, 0.06), random));
        image.set(x, y, c, static_cast<float>(value));
      }
    }
  }
  EXPECT_EQ(estimate(image).bend.lift.step, 0.0f);
}

TEST(BlackLift, IsMonotoneAndLeavesWhatIsBeyond) {
  const BlackLift lift = estimate(photograph({Component::kU8, 3}, {})).bend.lift;
  const float end = kLiftSegments * lift.step;
  float last = 0;
  for (float value = 0; value < end + 20; value += 0.1f) {
    const float back = unlifted(lift, value);
    EXPECT_GE(back, last);
    last = back;
  }
  EXPECT_NEAR(unlifted(lift, end - 1e-3f), end, 1e-2f);
  EXPECT_TRUE(std::isnan(unlifted(lift, std::numeric_limits<float>::quiet_NaN())));
  for (const float value : {-1.0f, 0.0f, end + 1, 300.0f}) EXPECT_EQ(unlifted(lift, value), value);
  for (const float value : {-1.0f, 0.0f, 3.0f}) EXPECT_EQ(unlifted(BlackLift{}, value), value);
}

// Grey or colours, 20 to 120 steps bright where nothing is black, with even noise added before 8
// bits cut them off.
TestImage with_even_noise(PixelFormat format, double darkest, double sigma) {
  TestImage image(format, 640, 480);
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, sigma);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const double tone = darkest + 500 * waves(x, y, 0);
      for (int32_t c = 0; c < format.colours(); ++c) {
        image.set(x, y, c, static_cast<float>(std::clamp(tone + normal(random), 0.0, 255.0)));
      }
    }
  }
  return image;
}

TEST(BlackLift, IsWhatEvenNoiseDoes) {
  for (const PixelFormat format : {PixelFormat{Component::kU8, 3}, {Component::kU16, 1}}) {
    for (const double sigma : {12.0, 40.0}) {
      const NoiseModel noise = estimate(with_even_noise(format, 0, sigma));
      EXPECT_EQ(noise.bend.enabled, 0);
      ASSERT_GT(noise.bend.lift.step, 0.0f) << sigma;
      for (const double z : {0.0, 0.5, 1.0, 1.5}) {
        // The mean of max(0, x + n), Foi 2009.
        const double below = 0.5 * std::erfc(z / std::sqrt(2.0));
        const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
        const double mean = sigma * (z * (1 - below) + density);
        const double back = unlifted(noise.bend.lift, static_cast<float>(mean));
        EXPECT_NEAR(back, z * sigma, 0.06 * sigma) << "of " << mean << " at sigma " << sigma;
      }
      const Plan plan = make_plan({}, format, noise);
      EXPECT_NE(plan.bend.enabled, 0);
      EXPECT_EQ(unbent(plan.bend, bent(plan.bend, 77.0f)), 77.0f);
    }
  }
}

TEST(BlackLift, NothingIsLedBackOfEvenNoiseThatWasNotCutOff) {
  TestImage image = with_even_noise({Component::kU8, 3}, 80, 20);
  for (int32_t y = 0; y < 60; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, 0);
    }
  }
  const NoiseModel noise = estimate(image);
  EXPECT_EQ(noise.bend.lift.step, 0.0f);
  EXPECT_EQ(make_plan({}, {Component::kU8, 3}, noise).bend.enabled, 0);
}

// A few black pixels don't become as bright as the darkest large area.
TEST(BlackLift, DetailsDarkerThanTheSceneAreNotRaised) {
  const BlackLift lift = estimate(photograph({Component::kU8, 3}, {}, 0.003)).bend.lift;
  ASSERT_GT(lift.step, 0.0f);
  for (float value = 0; value < 9; ++value) EXPECT_LE(unlifted(lift, value), value);
}

TEST(BlackLift, GoesWithTheNoiseThatIsRemoved) {
  NoiseModel noise = white_noise(3, 8);
  noise.bend.enabled = 1;
  for (int32_t i = 0; i <= kBendSegments; ++i) {
    noise.bend.to[i] = static_cast<float>(i) * kBendStep;
  }
  noise.bend.lift.step = 1;
  for (int32_t i = 12; i <= kLiftSegments; ++i) noise.bend.lift.to[i] = static_cast<float>(i);
  const auto black = [&](const Params& params) {
    const Plan plan = make_plan(params, {Component::kU8, 3}, noise);
    return unlifted(plan.bend.lift, 8);
  };
  EXPECT_EQ(black({}), 0.0f);
  Params params;
  params.strength = 50;
  EXPECT_EQ(black(params), 4.0f);
  params.strength = 200;
  EXPECT_EQ(black(params), 0.0f);
  params.chroma = 0;
  EXPECT_EQ(black(params), 8.0f);
  // Grey has no colour noise that could stay.
  EXPECT_EQ(unlifted(make_plan(params, {Component::kU8, 1}, noise).bend.lift, 8), 0.0f);
  Params detail;
  detail.detail = 25;
  EXPECT_EQ(black(detail), 2.0f);
  // Where all noise stays in lightness or colour nothing is led back, and even noise needs no bend.
  noise.bend.enabled = 0;
  EXPECT_NE(make_plan({}, {Component::kU8, 3}, noise).bend.enabled, 0);
  params.chroma = 0;
  EXPECT_EQ(make_plan(params, {Component::kU8, 3}, noise).bend.enabled, 0);
}

}  // namespace
}  // namespace grainless
