// SPDX-License-Identifier: MIT
#include "engine/boundary/impulse.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/denoise.h"
#include "engine/noise/impulses.h"
#include "engine/plan/impulse_plan.h"
#include "engine/plan/make_plan.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::noisy_picture;
using test::TestImage;

constexpr PixelFormat kRgb{Component::kU8, 3}, kGrey{Component::kU8, 1};

Engine& engine() {
  static Engine engine({"", 2});
  return engine;
}

// A sky of noise, with nothing in it.
TestImage sky(PixelFormat format, int32_t side = 40, float sigma = 3) {
  TestImage image(format, side, side);
  std::mt19937 random(5);
  std::normal_distribution<float> noise(60, sigma);
  for (int32_t y = 0; y < side; ++y) {
    for (int32_t x = 0; x < side; ++x) {
      for (int32_t c = 0; c < format.colours(); ++c) image.set(x, y, c, noise(random));
      if (format.has_alpha()) image.set(x, y, format.channels - 1, 255);
    }
  }
  return image;
}

// Only impulses are taken, and no noise.
TestImage mended(const TestImage& image, const char* way) {
  Params params;
  params.auto_sigma = false;
  EXPECT_TRUE(set_param(params, "impulse", way).ok());
  TestImage result(image.format, image.width, image.height);
  Report report;
  const Status status = engine().denoise(params, white_noise(image.format.colours(), 0),
                                         image.view(), result.target(), {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

void draw(TestImage& image, int32_t x, int32_t y, const std::vector<float>& colour) {
  for (size_t c = 0; c < colour.size(); ++c) image.set(x, y, static_cast<int32_t>(c), colour[c]);
}

TEST(Impulse, ASinglePixelGoesAndNothingElseChanges) {
  for (const PixelFormat format : {kRgb, kGrey, PixelFormat{Component::kU16, 3}}) {
    for (const char* way : {"weak", "normal", "strong"}) {
      for (const float value : {0.0f, 255.0f}) {
        for (const auto& [x, y] : {std::pair{20, 20}, {0, 0}, {39, 17}}) {
          const TestImage clean = sky(format);
          TestImage hot = clean;
          draw(hot, x, y, std::vector<float>(size_t(format.colours()), value));
          const TestImage result = mended(hot, way);
          EXPECT_NEAR(result.get(x, y, 0), 60, 10) << way << " " << x << "," << y;
          TestImage but_for_it = result;
          std::copy_n(clean.bytes.data() + y * clean.row_bytes + x * format.pixel_bytes(),
                      format.pixel_bytes(),
                      but_for_it.bytes.data() + y * result.row_bytes + x * format.pixel_bytes());
          EXPECT_EQ(but_for_it.bytes, clean.bytes) << way;
        }
      }
    }
  }
}

TEST(Impulse, OfOneColourLeavesTheOthers) {
  for (int32_t c = 0; c < 3; ++c) {
    TestImage hot = sky(kRgb);
    hot.set(11, 23, c, 230);
    const TestImage result = mended(hot, "normal");
    for (int32_t other = 0; other < 3; ++other) {
      if (other == c) continue;
      EXPECT_EQ(result.get(11, 23, other), hot.get(11, 23, other));
    }
    EXPECT_NEAR(result.get(11, 23, c), 60, 10);
  }
}

TEST(Impulse, OfTwoColoursIsNotTakenForTheThird) {
  TestImage hot = sky(kRgb);
  hot.set(11, 23, 0, 230);
  hot.set(11, 23, 2, 230);
  const TestImage result = mended(hot, "normal");
  EXPECT_NEAR(result.get(11, 23, 0), 60, 10);
  EXPECT_NEAR(result.get(11, 23, 2), 60, 10);
  EXPECT_EQ(result.get(11, 23, 1), hot.get(11, 23, 1));
}

TEST(Impulse, StarsOfTwoPixelsAndMoreStay) {
  for (const PixelFormat format : {kRgb, kGrey}) {
    const int32_t colours = format.colours();
    const std::vector<float> white(size_t(colours), 250), dimmer(size_t(colours), 190);
    for (const char* way : {"weak", "normal"}) {
      TestImage stars = sky(format);
      draw(stars, 8, 8, white);
      draw(stars, 9, 8, dimmer);
      for (int32_t i = 0; i < 4; ++i) draw(stars, 20 + i % 2, 20 + i / 2, white);
      draw(stars, 30, 30, white);
      draw(stars, 31, 31, white);
      // As a lens draws one, and in its colours.
      for (int32_t dy = -2; dy <= 2; ++dy) {
        for (int32_t dx = -2; dx <= 2; ++dx) {
          const float light = 180 * std::exp(-static_cast<float>(dx * dx + dy * dy) / 1.2f);
          for (int32_t c = 0; c < colours; ++c) {
            stars.set(30 + dx, 10 + dy, c,
                      stars.get(30 + dx, 10 + dy, c) + light * (1 - 0.2f * static_cast<float>(c)));
          }
        }
      }
      EXPECT_EQ(mended(stars, way).bytes, stars.bytes) << way;
    }
  }
}

TEST(Impulse, EdgesAndThinLinesStay) {
  for (const char* way : {"weak", "normal", "strong"}) {
    TestImage lines = sky(kRgb);
    for (int32_t i = 0; i < 40; ++i) {
      draw(lines, i, 12, {200, 60, 60});
      draw(lines, 25, i, {220, 220, 220});
      draw(lines, i, i, {10, 10, 10});
    }
    const TestImage result = mended(lines, way);
    for (int32_t i = 3; i < 37; ++i) {
      EXPECT_GT(result.get(i, 12, 0) + result.get(25, i, 0), 100) << way;
      if (std::abs(i - 12) > 2 && std::abs(i - 25) > 2) {
        EXPECT_EQ(result.get(i, i, 0), 10) << way << " " << i;
        EXPECT_EQ(result.get(i, 12, 0), 200) << way << " " << i;
        EXPECT_EQ(result.get(25, i, 0), 220) << way << " " << i;
      }
    }
  }
}

// Bilinear demosaicing makes a pyramid of 3 x 3 pixels of a hot red or blue photosite.
TEST(Impulse, ADemosaicedHotPhotositeGoes) {
  TestImage hot = sky(kRgb);
  for (int32_t dy = -1; dy <= 1; ++dy) {
    for (int32_t dx = -1; dx <= 1; ++dx) {
      const float share = (dx == 0 ? 1.0f : 0.5f) * (dy == 0 ? 1.0f : 0.5f);
      hot.set(15 + dx, 15 + dy, 0, 60 + 190 * share);
    }
  }
  const TestImage result = mended(hot, "normal");
  for (int32_t y = 14; y <= 16; ++y) {
    for (int32_t x = 14; x <= 16; ++x) {
      EXPECT_NEAR(result.get(x, y, 0), 60, 12) << x << "," << y;
      EXPECT_EQ(result.get(x, y, 1), hot.get(x, y, 1));
    }
  }
}

TEST(Impulse, StrengthLumaAndChromaDecideWhatIsMended) {
  TestImage hot = sky(kRgb);
  hot.set(20, 20, 0, 250);
  const auto result = [&](const char* key) {
    Params params;
    params.auto_sigma = false;
    EXPECT_TRUE(set_param(params, "impulse", "normal").ok());
    EXPECT_TRUE(set_param(params, key, "0").ok());
    TestImage target(kRgb, hot.width, hot.height);
    Report report;
    EXPECT_TRUE(
        engine().denoise(params, white_noise(3, 5), hot.view(), target.target(), {}, report).ok());
    return target;
  };
  EXPECT_EQ(result("strength").bytes, hot.bytes);
  const auto luma = [](const TestImage& image) {
    return image.get(20, 20, 0) + image.get(20, 20, 1) + image.get(20, 20, 2);
  };
  EXPECT_NEAR(luma(result("luma")), luma(hot), 2);
  EXPECT_LT(luma(result("chroma")), luma(hot) - 100);
}

TEST(Impulse, HiddenPixelsHaveNoPart) {
  const PixelFormat format{Component::kU8, 4};
  TestImage image = sky(format);
  image.set(20, 20, 1, 255);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      if ((x + 2 * y) % 5 == 1) image.set(x, y, 3, 0);
    }
  }
  TestImage other = image;
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      if (image.get(x, y, 3) == 0) draw(other, x, y, {0, 255, 0});
    }
  }
  const TestImage a = mended(image, "normal"), b = mended(other, "normal");
  EXPECT_NEAR(a.get(20, 20, 1), 60, 10);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      for (int32_t c = 0; c < 3; ++c) {
        EXPECT_EQ(b.get(x, y, c), image.get(x, y, 3) == 0 ? other.get(x, y, c) : a.get(x, y, c));
      }
    }
  }
}

TEST(Impulse, WhatIsNoNumberStays) {
  TestImage image = sky({Component::kFloat, 1});
  image.set(10, 10, 0, std::numeric_limits<float>::quiet_NaN());
  image.set(11, 10, 0, std::numeric_limits<float>::infinity());
  image.set(20, 20, 0, 255);
  const TestImage result = mended(image, "normal");
  EXPECT_TRUE(std::isnan(result.get(10, 10, 0)));
  EXPECT_TRUE(std::isinf(result.get(11, 10, 0)));
  EXPECT_NEAR(result.get(20, 20, 0), 60, 10);
}

// The automatic way.

void add_salt_and_pepper(TestImage& image, double share) {
  std::mt19937 random(9);
  std::uniform_real_distribution<double> dice(0, 1);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      for (int32_t c = 0; c < image.format.colours(); ++c) {
        const double die = dice(random);
        if (die < share) image.set(x, y, c, die < share / 2 ? 0.0f : 255.0f);
      }
    }
  }
}

NoiseModel measured(const TestImage& image, const Params& params = {}) {
  NoiseModel noise;
  EXPECT_TRUE(engine().noise_for(params, image.view(), {}, noise, nullptr).ok());
  return noise;
}

TEST(Impulse, AutomaticFindsThemAndTheNoiseBesideThem) {
  for (const PixelFormat format : {kRgb, kGrey}) {
    const TestImage clean = noisy_picture(format, 300, 260, 10);
    const NoiseModel without = measured(clean);
    EXPECT_EQ(without.impulses, Impulses::kNone);
    for (const double share : {0.001, 0.01}) {
      TestImage hot = clean;
      add_salt_and_pepper(hot, share);
      const NoiseModel with = measured(hot);
      EXPECT_NE(with.impulses, Impulses::kNone) << share;
      EXPECT_NEAR(with.sigma[0][0], without.sigma[0][0], 0.05 * without.sigma[0][0]) << share;
      Params given;
      given.auto_sigma = false;
      EXPECT_EQ(measured(hot, given).impulses, with.impulses);
      given.impulse = static_cast<int32_t>(ImpulseWay::kNormal);
      EXPECT_EQ(measured(hot, given).impulses, Impulses::kNone) << "nobody asked";
    }
  }
}

TEST(Impulse, WithoutAnyNoBitChanges) {
  const TestImage image = noisy_picture(kRgb, 200, 150, 10);
  std::vector<uint8_t> bytes[2];
  for (int32_t i = 0; i < 2; ++i) {
    Params params;
    params.impulse = i;  // off, automatic
    TestImage result(kRgb, image.width, image.height);
    Report report;
    EXPECT_TRUE(
        engine()
            .denoise(params, measured(image, params), image.view(), result.target(), {}, report)
            .ok());
    bytes[i] = result.bytes;
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

// A dark sky full of stars as a lens draws them, the smallest of them two pixels wide.
TEST(Impulse, AutomaticLeavesStars) {
  TestImage image = sky(kRgb, 256, 4);
  std::mt19937 random(3);
  std::uniform_real_distribution<float> at(4, 250), light(20, 200), width(0.6f, 1.2f);
  for (int32_t i = 0; i < 400; ++i) {
    const float cx = at(random), cy = at(random), l = light(random), w = width(random);
    for (int32_t y = int32_t(cy) - 3; y <= int32_t(cy) + 4; ++y) {
      for (int32_t x = int32_t(cx) - 3; x <= int32_t(cx) + 4; ++x) {
        const float dx = static_cast<float>(x) - cx, dy = static_cast<float>(y) - cy;
        const float add = l * std::exp(-(dx * dx + dy * dy) / (2 * w * w));
        for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, image.get(x, y, c) + add);
      }
    }
  }
  EXPECT_EQ(measured(image).impulses, Impulses::kNone);
  TestImage starless = sky(kRgb, 256, 4);
  for (int32_t i = 0; i < 30; ++i) {
    draw(starless, 7 + i * 37 % 240, 9 + i * 53 % 240, {60, i % 2 == 0 ? 250.0f : 60.0f, 250});
  }
  EXPECT_EQ(measured(starless).impulses, Impulses::kFew);
  EXPECT_EQ(impulses_text(Impulses::kFew), "a few hot pixels");
  EXPECT_EQ(impulses_text(Impulses::kNone), "");
}

// Of salt and pepper of a hundredth little is left to see.
TEST(Impulse, TheResultIsNearlyThatWithoutThem) {
  const TestImage clean = noisy_picture(kRgb, 300, 260, 0),
                  noisy = noisy_picture(kRgb, 300, 260, 10);
  const auto quality = [&](const TestImage& image, int32_t impulse) {
    Params params;
    params.impulse = impulse;
    TestImage result(kRgb, image.width, image.height);
    Report report;
    EXPECT_TRUE(
        engine()
            .denoise(params, measured(image, params), image.view(), result.target(), {}, report)
            .ok());
    return test::psnr(result, clean);
  };
  TestImage hot = noisy;
  add_salt_and_pepper(hot, 0.01);
  const double best = quality(noisy, 1);
  EXPECT_GT(quality(hot, 1), best - 1);
  EXPECT_LT(quality(hot, 0), best - 3);
}

TEST(Impulse, ARuleIsAPlansAndTheHaloHolds) {
  Params params;
  NoiseModel noise = white_noise(3, 10);
  EXPECT_EQ(make_plan(params, kRgb, noise).impulse.enabled, 0);
  noise.impulses = Impulses::kFew;
  EXPECT_EQ(make_plan(params, kRgb, noise).impulse.enabled, 1);
  EXPECT_FALSE(changes_nothing(params, noise));
  noise.sigma[0][0] = noise.sigma[0][1] = noise.sigma[0][2] = 0;
  EXPECT_FALSE(changes_nothing(params, noise));
  params.strength = 0;
  EXPECT_TRUE(changes_nothing(params, noise));
  params.strength = 100;
  params.depth = 2;
  EXPECT_EQ(impulse_rule(params, noise).enabled, 0) << "stacks have none";
}

}  // namespace
}  // namespace grainless
