// SPDX-License-Identifier: MIT
#include "engine/boundary/tone_bend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/denoise.h"
#include "engine/noise/estimate.h"
#include "engine/noise/layer_tones.h"
#include "engine/noise/sample.h"
#include "engine/noise/tone_profile.h"
#include "engine/params/tone_strength.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/toned_noise.h"
#include "engine/thread_pool.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

ToneBend camera_bend() {
  ToneProfile profile;
  for (int32_t k = 0; k < kProfileKnots; ++k) {
    profile.log_sigma[k] = 0.5 - 1.0 * k / (kProfileKnots - 1);
  }
  return bend_of(profile, 1);
}

TEST(ToneBend, KeepsBothEndsAndRises) {
  const ToneBend bend = camera_bend();
  EXPECT_EQ(bend.to[0], 0.0f);
  EXPECT_EQ(bend.to[kBendSegments], 255.0f);
  for (int32_t i = 0; i < kBendSegments; ++i) EXPECT_LT(bend.to[i], bend.to[i + 1]);
}

TEST(ToneBend, SpreadsTonesOfWeakNoise) {
  const ToneBend bend = camera_bend();
  const float dark = bent(bend, 20) - bent(bend, 10), bright = bent(bend, 245) - bent(bend, 235);
  // sigma is e times as large in black as in white; both places are a tenth away from it
  EXPECT_NEAR(bright / dark, std::exp(0.88), 0.03);
}

TEST(ToneBend, BackUndoesIt) {
  const ToneBend bend = camera_bend();
  for (float value = -100; value < 400; value += 0.37f) {
    EXPECT_NEAR(unbent(bend, bent(bend, value)), value, 2e-4f) << value;
  }
  for (int32_t byte = 0; byte < 256; ++byte) {
    uint8_t stored = 0;
    store_component(&stored, Component::kU8, 0, unbent(bend, bent(bend, static_cast<float>(byte))));
    EXPECT_EQ(stored, byte);
  }
}

// Pixels are read before it is known whether they are numbers.
TEST(ToneBend, TakesWhatIsNoNumber) {
  const ToneBend bend = camera_bend();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(bent(bend, std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(bent(bend, infinity), infinity);
  EXPECT_EQ(bent(bend, -infinity), -infinity);
}

// Hills, an edge and a texture over all tones, for noise whose sigma goes by brightness.
TestImage picture(PixelFormat format, const std::function<double(double)>& sigma) {
  TestImage image(format, 640, 480);
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const double hills = 128 + 95 * std::sin(0.011 * x) * std::cos(0.008 * y);
      const double texture = x > 500 ? 12 * std::sin(1.3 * x + 0.7 * y) : 0;
      for (int32_t c = 0; c < format.colours(); ++c) {
        const double clean = hills + texture + (y > 300 ? 4 * c : 0);
        image.set(x, y, c, static_cast<float>(clean + sigma(clean) * normal(random)));
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

double camera(double brightness) {
  return 14 * std::exp(-0.9 * brightness / 255);
}

TEST(ToneBend, FollowsTheNoiseOfACamera) {
  for (const PixelFormat format : {PixelFormat{Component::kU8, 3}, {Component::kFloat, 1}}) {
    const NoiseModel noise = estimate(picture(format, camera));
    ASSERT_NE(noise.bend.enabled, 0);
    const float* to = noise.bend.to;
    const float dark = to[6] - to[5], bright = to[27] - to[26];
    EXPECT_NEAR(bright / dark, camera(44) / camera(211), 0.2);
    // Even noise in bent colours: the mean slope is 1.
    EXPECT_NEAR(noise.sigma[0][0], 8.7, 1.0);
  }
}

// As photons counted in linear light have it, speckle, and what was darkened.
double rising(double brightness) {
  return 1.5 * std::sqrt(brightness);
}

TEST(ToneBend, FollowsNoiseThatRises) {
  for (const PixelFormat format : {PixelFormat{Component::kU8, 3}, {Component::kFloat, 1}}) {
    const TestImage noisy = picture(format, rising);
    const NoiseModel noise = estimate(noisy);
    ASSERT_NE(noise.bend.enabled, 0);
    const float* to = noise.bend.to;
    const float dark = to[7] - to[6], bright = to[26] - to[25];
    EXPECT_NEAR(dark / bright, rising(205) / rising(52), 0.35);
  }
}

// Noise of sigma 9 in a picture that a gamma of 2.2 darkened then.
double darkened(double brightness) {
  return 9 * 2.2 * std::pow(std::max(brightness, 1.0) / 255, 1.2 / 2.2);
}

// A picture, all of it, of whose luma a fine texture is the stronger the brighter it is.
TestImage textured_picture(PixelFormat format) {
  TestImage image = picture(format, darkened);
  std::mt19937 random(6);
  std::normal_distribution<double> normal;
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const double texture = 0.12 * image.get(x, y, 0) * normal(random);
      for (int32_t c = 0; c < format.colours(); ++c) {
        image.set(x, y, c, static_cast<float>(image.get(x, y, c) + texture));
      }
    }
  }
  return image;
}

// Dark tones, most of the picture, hold next to none of it. With one sigma for all of them the
// noise of bright ones stays.
TEST(ToneBend, FollowsWhatAToneCurveDarkened) {
  for (const PixelFormat format : {PixelFormat{Component::kFloat, 3}, {Component::kFloat, 1}}) {
    TestImage image = picture(format, [](double) { return 9; });
    for (int32_t y = 0; y < image.height; ++y) {
      for (int32_t x = 0; x < image.width; ++x) {
        for (int32_t c = 0; c < format.colours(); ++c) {
          const double before = std::max(image.get(x, y, c), 0.0f) / 255;
          image.set(x, y, c, static_cast<float>(255 * std::pow(before, 2.2)));
        }
      }
    }
    const NoiseModel noise = estimate(image);
    ASSERT_NE(noise.bend.enabled, 0);
    const float* to = noise.bend.to;
    const float dark = to[3] - to[2], bright = to[21] - to[20];
    EXPECT_NEAR(dark / bright, darkened(165) / darkened(20), 1.0);  // a share of it is trusted
  }
}

// Colours tell how much of what rises is noise.
TEST(ToneProfile, IsNotThatOfTexture) {
  ThreadPool pool(2);
  const TestImage image = textured_picture({Component::kFloat, 3});
  const ToneProfile profile = measure_profile(take_sample(image.view(), pool, {}), pool);
  constexpr int32_t kDark = 4, kBright = 12;
  constexpr double kKnot = 255.0 / (kProfileKnots - 1);
  EXPECT_NEAR(profile.log_sigma[kBright] - profile.log_sigma[kDark],
              std::log(darkened(kBright * kKnot) / darkened(kDark * kKnot)), 0.15);
  EXPECT_GT(profile.explained, 0.5);
}

TEST(ToneBend, EvenNoiseIsNotBent) {
  for (const PixelFormat format : {PixelFormat{Component::kU8, 3}, {Component::kFloat, 1}}) {
    for (const double sigma : {3.0, 10.0, 30.0}) {
      const NoiseModel noise = estimate(picture(format, [&](double) { return sigma; }));
      EXPECT_EQ(noise.bend.enabled, 0) << sigma;
    }
  }
}

TEST(ToneBend, NoNoiseIsNotBent) {
  const NoiseModel noise = estimate(picture({Component::kU8, 3}, [](double) { return 0.0; }));
  EXPECT_EQ(noise.bend.enabled, 0);
}

// What it is for: the result is nearer to the clean picture.
TEST(ToneBend, MakesTheResultBetter) {
  const PixelFormat format{Component::kFloat, 3};
  const TestImage noisy = picture(format, camera),
                  clean = picture(format, [](double) { return 0.0; });
  const NoiseModel bent_noise = estimate(noisy);
  ASSERT_NE(bent_noise.bend.enabled, 0);
  NoiseModel even = bent_noise;
  even.bend = {};
  Engine engine({"", 2});
  Params params;
  params.quality = static_cast<int32_t>(Quality::kFast);
  params.device = "cpu";
  const auto psnr_with = [&](const NoiseModel& noise) {
    TestImage result(format, noisy.width, noisy.height);
    Report report;
    const Status status = engine.denoise(params, noise, noisy.view(), result.target(), {}, report);
    EXPECT_TRUE(status.ok()) << status.message();
    return test::psnr(result, clean);
  };
  EXPECT_GT(psnr_with(bent_noise), psnr_with(even) + 0.3);
}

TEST(ToneBend, OfAStackFollowsItsTones) {
  NoiseModel noise = white_noise(3, 10);
  EXPECT_EQ(evened_noise(noise).bend.enabled, 0);
  for (int32_t t = 0; t < kNoiseTones; ++t) noise.stack.tones[t] = t < 8 ? 4.0f : 1.0f;
  const NoiseModel even = evened_noise(noise);
  ASSERT_NE(even.bend.enabled, 0);
  const float* to = even.bend.to;
  EXPECT_NEAR((to[30] - to[29]) / (to[3] - to[2]), 2, 1e-3);
  // 20 in the dark half, 10 in the bright one, each times its slope.
  EXPECT_NEAR(even.sigma[0][0], 20 * (to[3] - to[2]) / kBendStep, 1e-2);
  EXPECT_NEAR(even.sigma[0][0], 10 * (to[30] - to[29]) / kBendStep, 1e-2);
}

Params with_tones(double shadows, double highlights) {
  Params params;
  params.shadows = shadows;
  params.highlights = highlights;
  return params;
}

TEST(ToneStrength, CountsAtItsEndAndFallsToTheMiddle) {
  const Params params = with_tones(180, 40);
  EXPECT_DOUBLE_EQ(tone_strength(params, 0), 1.8);
  EXPECT_NEAR(tone_strength(params, 63.75), 1.4, 1e-9);
  EXPECT_DOUBLE_EQ(tone_strength(params, 127.5), 1);
  EXPECT_NEAR(tone_strength(params, 191.25), 0.7, 1e-9);
  EXPECT_NEAR(tone_strength(params, 255), 0.4, 1e-9);
  for (int32_t tone = 0; tone < 255; ++tone) {
    EXPECT_LE(tone_strength(params, tone + 1), tone_strength(params, tone));
    EXPECT_NEAR(tone_strength(params, tone + 1), tone_strength(params, tone), 0.01);
  }
  EXPECT_EQ(tone_strength(with_tones(0, 0), 0), kLeastToneStrength);
}

// With the default no bit changes, and nothing is bent that wasn't.
TEST(ToneStrength, OfAHundredIsNone) {
  NoiseModel noise = white_noise(3, 10);
  EXPECT_EQ(toned_noise({}, noise).bend.enabled, 0);
  EXPECT_EQ(toned_noise({}, noise).sigma[0][0], 10.0f);
  noise.bend = camera_bend();
  const PictureNoise toned = toned_noise({}, noise);
  EXPECT_TRUE(
      std::equal(std::begin(noise.bend.to), std::end(noise.bend.to), std::begin(toned.bend.to)));
}

TEST(ToneStrength, MultipliesWhatATonesNoiseIs) {
  for (const bool curved : {false, true}) {
    NoiseModel noise = white_noise(3, 10);
    if (curved) noise.bend = camera_bend();
    for (const Params& params : {with_tones(200, 100), with_tones(150, 30), with_tones(0, 120)}) {
      const PictureNoise toned = toned_noise(params, noise);
      EXPECT_EQ(toned.bend.to[0], 0.0f);
      EXPECT_EQ(toned.bend.to[kBendSegments], 255.0f);
      for (float tone = 0; tone <= 255; tone += 5) {
        const double expected = sigma_at(noise, 1, tone) * tone_strength(params, tone);
        EXPECT_NEAR(sigma_at(toned, 1, tone), expected, 0.6 + 0.05 * expected) << tone;
      }
    }
  }
}

// Values far beyond white are compared by what they become.
TEST(ToneStrength, BendsARangeBeyondWhite) {
  NoiseModel noise = white_noise(1, 10);
  noise.range.high = 4000;
  const Params params = with_tones(100, 0);
  const PictureNoise toned = toned_noise(params, noise);
  EXPECT_EQ(toned.range.high, bent(toned.bend, 4000));
  const Plan plan = make_plan(params, {Component::kFloat, 1}, noise);
  const LevelPlan& level = plan.level[0];
  EXPECT_GE(level.bm3d[0].match.most, toned.range.high / 2);
  EXPECT_GE(plan.valid.high, 4000);
}

// The root mean square of what is left of the noise, in the dark and in the bright half.
TEST(ToneStrength, FiltersDarkAndBrightTonesByThemselves) {
  const PixelFormat format{Component::kFloat, 1};
  const double sigma = 10;
  const auto even = [&](double) { return sigma; };
  const TestImage noisy = picture(format, even),
                  clean = picture(format, [](double) { return 0.0; });
  Engine engine({"", 2});
  const auto left = [&](Params params, bool dark) {
    params.auto_sigma = false;
    params.sigma = sigma;
    params.quality = static_cast<int32_t>(Quality::kFast);
    params.device = "cpu";
    TestImage result(format, noisy.width, noisy.height);
    Report report;
    const Status status = engine.denoise(params, white_noise(1, static_cast<float>(sigma)),
                                         noisy.view(), result.target(), {}, report);
    EXPECT_TRUE(status.ok()) << status.message();
    double squares = 0, count = 0;
    for (int32_t y = 0; y < noisy.height; ++y) {
      for (int32_t x = 0; x < noisy.width; ++x) {
        const float tone = clean.get(x, y, 0);
        if (dark ? tone > 50 : tone < 205) continue;
        const double off = double{result.get(x, y, 0)} - tone;
        squares += off * off;
        ++count;
      }
    }
    EXPECT_GT(count, 1000);
    return std::sqrt(squares / count);
  };
  const double dark = left({}, true), bright = left({}, false);
  EXPECT_LT(dark, 4);
  EXPECT_LT(bright, 4);
  EXPECT_GT(left(with_tones(0, 100), true), 8);
  EXPECT_NEAR(left(with_tones(0, 100), false), bright, 0.5);
  EXPECT_GT(left(with_tones(100, 0), false), 8);
  EXPECT_NEAR(left(with_tones(100, 0), true), dark, 0.5);
}

}  // namespace
}  // namespace grainless
