// SPDX-License-Identifier: MIT
#include "engine/noise/clip_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include "engine/boundary/pixel_math.h"
#include "engine/denoise.h"
#include "engine/noise/given_noise.h"
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

TEST(ClipCurve, IsWhatASensorsNoiseDoes) {
  for (const PixelFormat format : {PixelFormat{Component::kU8, 3}, {Component::kU16, 1}}) {
    for (const Sensor& sensor : {Sensor{0.008, 0.004}, Sensor{0.004, 0.002}}) {
      const NoiseModel noise = estimate(photograph(format, sensor));
      ASSERT_NE(noise.bend.enabled, 0);
      ASSERT_GT(noise.bend.clip.step, 0.0f);
      double before = 0, after = 0;
      for (const double linear : {0.0, 0.001, 0.002, 0.004, 0.01, 0.03}) {
        const double mean = mean_of(linear, sensor), clean = encoded(linear);
        const double back = unclipped(noise.bend.clip, static_cast<float>(mean));
        EXPECT_NEAR(back, clean, 0.6 * std::abs(mean - clean) + 1.3)
            << "of " << clean << ", lifted to " << mean;
        before += (mean - clean) * (mean - clean);
        after += (back - clean) * (back - clean);
      }
      EXPECT_LT(after, 0.5 * before);
    }
  }
}

TEST(ClipCurve, NothingIsLedBackWithoutClippedNoise) {
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
  EXPECT_EQ(estimate(image).bend.clip.step, 0.0f);
}

TEST(ClipCurve, IsMonotoneAndLeavesWhatIsBeyond) {
  const ClipCurve clip = estimate(photograph({Component::kU8, 3}, {})).bend.clip;
  const float end = kClipSegments * clip.step;
  float last = 0;
  for (float value = 0; value < end + 20; value += 0.1f) {
    const float back = unclipped(clip, value);
    EXPECT_GE(back, last);
    last = back;
  }
  EXPECT_NEAR(unclipped(clip, end - 1e-3f), end, 1e-2f);
  EXPECT_TRUE(std::isnan(unclipped(clip, std::numeric_limits<float>::quiet_NaN())));
  for (const float value : {-1.0f, 0.0f, end + 1, 300.0f}) EXPECT_EQ(unclipped(clip, value), value);
  for (const float value : {-1.0f, 0.0f, 3.0f}) EXPECT_EQ(unclipped(ClipCurve{}, value), value);
}

using Tones = std::function<double(int32_t x, int32_t y)>;

// Grey or colours, with even noise added before integers cut them off.
TestImage with_even_noise(PixelFormat format, const Tones& tones, double sigma) {
  TestImage image(format, 640, 480);
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, sigma);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const double tone = tones(x, y);
      for (int32_t c = 0; c < format.colours(); ++c) {
        image.set(x, y, c, static_cast<float>(std::clamp(tone + normal(random), 0.0, 255.0)));
      }
    }
  }
  return image;
}

double from_black(int32_t x, int32_t y) {
  return 500 * waves(x, y, 0);
}
double to_white(int32_t x, int32_t y) {
  return 255 - from_black(x, y);
}
double to_both(int32_t x, int32_t y) {
  return 127.5 + 160 * std::sin(0.011 * x) * std::cos(0.017 * y);
}

// The mean of max(0, x + n) where x is z deviations, in deviations (Foi 2009).
double cut_off_mean(double z) {
  const double below = 0.5 * std::erfc(z / std::sqrt(2.0));
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return z * (1 - below) + density;
}

constexpr PixelFormat kFormats[] = {{Component::kU8, 3}, {Component::kU16, 1}};

TEST(ClipCurve, IsWhatEvenNoiseDoesAtBlack) {
  for (const PixelFormat format : kFormats) {
    for (const double sigma : {5.0, 12.0, 40.0}) {
      const NoiseModel noise = estimate(with_even_noise(format, from_black, sigma));
      EXPECT_EQ(noise.bend.enabled, 0);
      ASSERT_GT(noise.bend.clip.step, 0.0f) << sigma;
      for (const double z : {0.0, 0.5, 1.0, 1.5}) {
        const auto mean = static_cast<float>(sigma * cut_off_mean(z));
        EXPECT_NEAR(unclipped(noise.bend.clip, mean), z * sigma, 0.06 * sigma + 0.3)
            << "of " << mean << " at sigma " << sigma;
      }
      EXPECT_EQ(unclipped(noise.bend.clip, 250), 250.0f);
      const Plan plan = make_plan({}, format, noise);
      EXPECT_NE(plan.bend.enabled, 0);
      EXPECT_EQ(unbent(plan.bend, bent(plan.bend, 77.0f)), 77.0f);
    }
  }
}

// Integers clamp what is led beyond white.
TEST(ClipCurve, IsWhatEvenNoiseDoesAtWhite) {
  for (const PixelFormat format : kFormats) {
    for (const double sigma : {5.0, 12.0, 40.0}) {
      const ClipCurve clip = estimate(with_even_noise(format, to_white, sigma)).bend.clip;
      ASSERT_GT(clip.step, 0.0f) << sigma;
      for (const double z : {0.0, 0.5, 1.0, 1.5}) {
        const auto mean = static_cast<float>(255 - sigma * cut_off_mean(z));
        const double back = std::min(255.0f, unclipped(clip, mean));
        EXPECT_NEAR(back, 255 - z * sigma, 0.06 * sigma + 1)
            << "of " << mean << " at sigma " << sigma;
      }
      for (const float value : {0.0f, 1.0f, 40.0f, 127.0f}) {
        EXPECT_NEAR(unclipped(clip, value), value, 1e-3f);
      }
    }
  }
}

TEST(ClipCurve, LeadsBackAtBothEnds) {
  for (const double sigma : {8.0, 25.0}) {
    const ClipCurve clip = estimate(with_even_noise({Component::kU8, 3}, to_both, sigma)).bend.clip;
    ASSERT_GT(clip.step, 0.0f) << sigma;
    for (const double z : {0.0, 0.5, 1.0, 1.5}) {
      const auto mean = static_cast<float>(sigma * cut_off_mean(z));
      EXPECT_NEAR(std::max(0.0f, unclipped(clip, mean)), z * sigma, 0.08 * sigma + 1) << sigma;
      EXPECT_NEAR(std::min(255.0f, unclipped(clip, 255 - mean)), 255 - z * sigma, 0.08 * sigma + 1)
          << sigma;
    }
    EXPECT_NEAR(unclipped(clip, 127.5f), 127.5f, 0.5f);
    float last = -kClipSegments;
    for (float value = 0.1f; value < 300; value += 0.1f) {
      const float back = unclipped(clip, value);
      EXPECT_GE(back, last - 1e-4f);
      EXPECT_NEAR(back, value, sigma + 9);
      last = back;
    }
  }
}

// Large white areas, as of a page or an overexposed sky, have more than half of their values cut
// off: those that 8 bits round to white, too.
TEST(ClipCurve, KnowsWhiteThatIsNothingElse) {
  const auto sky = [](int32_t x, int32_t y) {
    return std::min(255.0, 120 + 250 * std::sin(0.004 * x) + 40 * std::sin(0.01 * y));
  };
  const ClipCurve clip = estimate(with_even_noise({Component::kU8, 3}, sky, 10)).bend.clip;
  ASSERT_GT(clip.step, 0.0f);
  EXPECT_NEAR(unclipped(clip, static_cast<float>(255 - 10 * cut_off_mean(0))), 255, 1);
}

TEST(ClipCurve, NothingIsLedBackOfEvenNoiseThatWasNotCutOff) {
  for (const float spared : {0.0f, 255.0f}) {  // a frame that the noise does not reach
    const auto grey = [](int32_t x, int32_t y) { return 80 + 0.6 * from_black(x, y); };
    TestImage image = with_even_noise({Component::kU8, 3}, grey, 16);
    for (int32_t y = 0; y < 60; ++y) {
      for (int32_t x = 0; x < image.width; ++x) {
        for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, spared);
      }
    }
    const NoiseModel noise = estimate(image);
    EXPECT_EQ(noise.bend.clip.step, 0.0f) << spared;
    EXPECT_EQ(make_plan({}, {Component::kU8, 3}, noise).bend.enabled, 0);
  }
}

Params given(double sigma, ImpulseWay impulses = ImpulseWay::kAuto) {
  Params params;
  params.auto_sigma = false;
  params.sigma = sigma;
  params.impulse = static_cast<int32_t>(impulses);
  return params;
}

ClipCurve clip_for_given(const Params& params, const TestImage& image) {
  Engine engine({"", 2});
  NoiseModel noise;
  const Status status = engine.noise_for(params, image.view(), {}, noise, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  return noise.bend.clip;
}

void expect_the_measured_curve(const TestImage& image, double sigma) {
  const NoiseModel measured = estimate(image);
  const ClipCurve& whole = measured.bend.clip;
  ASSERT_GT(whole.step, 0.0f);
  // Whatever is given, it is not taken for what the noise was: a large one blackens nothing.
  for (const double more : {1.1 * sigma, 3 * sigma}) {
    const ClipCurve clip = clip_for_given(given(more), image);
    for (float value = 0; value <= 255; value += 5) {
      EXPECT_FLOAT_EQ(unclipped(clip, value), unclipped(whole, value)) << more;
    }
  }
  const double half = 0.5 * colour_sigma(measured);
  const ClipCurve part = clip_for_given(given(half), image);
  for (float value = 0; value <= 255; value += 5) {
    EXPECT_NEAR(unclipped(part, value) - value, 0.25f * (unclipped(whole, value) - value), 0.01f);
  }
  const ClipCurve derived = given_noise(given(half), measured).bend.clip;
  EXPECT_EQ(std::memcmp(&part, &derived, sizeof part), 0) << "preview and result differ";
  EXPECT_EQ(clip_for_given(given(0), image).step, 0.0f);
  const ClipCurve other = clip_for_given(given(half, ImpulseWay::kOff), image);
  EXPECT_EQ(std::memcmp(&part, &other, sizeof part), 0) << "that no impulses are looked for";
}

TEST(ClipCurve, OfAGivenSigmaIsTheMeasuredOne) {
  constexpr double kNoise = 20;
  for (const PixelFormat format : kFormats) {
    for (const Tones& tones : {Tones(from_black), Tones(to_white)}) {
      expect_the_measured_curve(with_even_noise(format, tones, kNoise), kNoise);
    }
  }
  expect_the_measured_curve(with_even_noise({Component::kU8, 3}, to_both, kNoise), kNoise);
}

// Texture next to black shows zeros as noise of some sigma does, wherever that is given.
TEST(ClipCurve, OfAGivenSigmaIsNoneWhereTextureIsCutOff) {
  std::mt19937 random(6);
  std::normal_distribution<double> normal(0, 12);
  TestImage image({Component::kU8, 3}, 640, 480);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const bool drawn = x % 2 == 0 && y % 2 == 0;
      for (int32_t c = 0; c < 3; ++c) {
        const double value =
            drawn ? from_black(x, y) + normal(random) : image.get(x & ~1, y & ~1, c);
        image.set(x, y, c, static_cast<float>(std::clamp(value, 0.0, 255.0)));
      }
    }
  }
  for (const double sigma : {4.0, 9.0, 12.0, 16.0, 30.0}) {
    EXPECT_EQ(clip_for_given(given(sigma), image).step, 0.0f) << sigma;
  }
}

// A few black pixels don't become as bright as the darkest large area.
TEST(ClipCurve, DetailsDarkerThanTheSceneAreNotRaised) {
  const ClipCurve clip = estimate(photograph({Component::kU8, 3}, {}, 0.003)).bend.clip;
  ASSERT_GT(clip.step, 0.0f);
  for (float value = 0; value < 9; ++value) EXPECT_LE(unclipped(clip, value), value);
}

TEST(ClipCurve, GoesWithTheNoiseThatIsRemoved) {
  NoiseModel noise = white_noise(3, 8);
  noise.bend.enabled = 1;
  for (int32_t i = 0; i <= kBendSegments; ++i) {
    noise.bend.to[i] = static_cast<float>(i) * kBendStep;
  }
  noise.bend.clip.step = 1;
  for (int32_t i = 12; i <= kClipSegments; ++i) noise.bend.clip.to[i] = static_cast<float>(i);
  const auto black = [&](const Params& params) {
    const Plan plan = make_plan(params, {Component::kU8, 3}, noise);
    return unclipped(plan.bend.clip, 8);
  };
  EXPECT_EQ(black({}), 0.0f);
  Params params;
  params.strength = 50;
  EXPECT_EQ(black(params), 6.0f);
  params.strength = 200;
  EXPECT_EQ(black(params), 0.0f);
  params.chroma = 0;
  EXPECT_EQ(black(params), 8.0f);
  // Grey has no colour noise that could stay.
  EXPECT_EQ(unclipped(make_plan(params, {Component::kU8, 1}, noise).bend.clip, 8), 0.0f);
  Params detail;
  detail.detail = 50;
  EXPECT_EQ(black(detail), 6.0f);
  // Each end goes with its own noise.
  Params shadows;
  shadows.shadows = 0;
  EXPECT_EQ(black(shadows), 8.0f);
  noise.bend.clip.step = 8;
  for (int32_t i = 0; i <= kClipSegments; ++i) {
    noise.bend.clip.to[i] = static_cast<float>(8 * i + (i < 16 ? -4 : 4));
  }
  const auto at = [&](const Params& ends, float value) {
    return unclipped(make_plan(ends, {Component::kU8, 3}, noise).bend.clip, value);
  };
  EXPECT_EQ(at(shadows, 32), 32.0f);
  EXPECT_EQ(at(shadows, 240), 244.0f);
  Params highlights;
  highlights.highlights = 0;
  EXPECT_EQ(at(highlights, 32), 28.0f);
  EXPECT_EQ(at(highlights, 240), 240.0f);
  // Where all noise stays in lightness or colour nothing is led back, and even noise needs no bend.
  noise.bend.enabled = 0;
  EXPECT_NE(make_plan({}, {Component::kU8, 3}, noise).bend.enabled, 0);
  params.chroma = 0;
  EXPECT_EQ(make_plan(params, {Component::kU8, 3}, noise).bend.enabled, 0);
}

}  // namespace
}  // namespace grainless
