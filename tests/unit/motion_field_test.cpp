// SPDX-License-Identifier: MIT
#include "engine/cpu/volume/motion_field.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/volume/displaced.h"
#include "engine/float_picture.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

constexpr PixelFormat kFormat{Component::kFloat, 1};
constexpr int32_t kWidth = 640, kHeight = 480;
constexpr float kSigma = 12;
// White noise halves.
constexpr float kLevels[2] = {kSigma / 2, kSigma / 4};
constexpr Rect kAll{0, 0, kWidth, kHeight};

using Motion = Offset (*)(int32_t x);

TestImage picture(Motion motion, float sigma, uint32_t seed, double contrast = 1) {
  TestImage image(kFormat, kWidth, kHeight);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int32_t y = 0; y < kHeight; ++y) {
    for (int32_t x = 0; x < kWidth; ++x) {
      const Offset by = motion(x);
      const double value = 120 + contrast * test::waves(x - double{by.right}, y - double{by.down});
      image.set(x, y, 0, static_cast<float>(value) + sigma * normal(random));
    }
  }
  return image;
}

MotionField field_of(const TestImage& own, const TestImage& other, const Rect& rect = kAll,
                     const Similarity& about = {}) {
  ThreadPool pool(2);
  const Plan plain = plain_pixels(kFormat);
  const Rect area = motion_area(rect);
  return find_motion(
      motion_levels(plain, own.view(), area, pool),
      motion_levels(plain, other.view(), moved_about(about, area, kWidth, kHeight), pool), about,
      kLevels, rect, pool);
}

Offset none(int32_t) {
  return {};
}

// The share of blocks away from the borders that are displaced so, to within `most` pixels.
double share_of(const MotionField& field, const Rect& rect, const Offset& wanted, float most) {
  int32_t all = 0, right = 0;
  for (int32_t y = rect.y; y < rect.bottom(); y += kMotionBlock) {
    for (int32_t x = rect.x; x < rect.right(); x += kMotionBlock) {
      const Offset& by = field.at(x, y);
      ++all;
      right += std::hypot(by.right - wanted.right, by.down - wanted.down) <= most ? 1 : 0;
    }
  }
  return static_cast<double>(right) / all;
}

TEST(MotionField, WhatMovedIsFoundToAFractionOfAPixel) {
  const TestImage own = picture(none, kSigma, 1);
  const Rect inside{48, 48, kWidth - 96, kHeight - 96};
  const Motion motions[] = {[](int32_t) { return Offset{0.25f, -0.375f}; },
                            [](int32_t) { return Offset{3.25f, -2.5f}; },
                            [](int32_t) { return Offset{-13.5f, 9.125f}; }};
  for (const Motion motion : motions) {
    const Offset wanted = motion(0);
    const MotionField field = field_of(own, picture(motion, kSigma, 2));
    EXPECT_GT(share_of(field, inside, wanted, 0.3f), 0.97) << wanted.right;
    EXPECT_GT(share_of(field, inside, wanted, 0.2f), 0.8) << wanted.right;
  }
}

TEST(MotionField, WhatStandsStillIsHardlyDisplacedNorIsNoise) {
  const MotionField still = field_of(picture(none, kSigma, 1), picture(none, kSigma, 2));
  EXPECT_GT(share_of(still, kAll, {}, 0.2f), 0.9);
  const MotionField flat = field_of(picture(none, kSigma, 1, 0), picture(none, kSigma, 2, 0));
  EXPECT_GT(share_of(flat, kAll, {}, 1.0f), 0.75);
  EXPECT_GT(share_of(flat, kAll, {}, 3.0f), 0.95);
  EXPECT_TRUE(field_of(picture(none, 0, 1), picture(none, 0, 1)).is_zero());
}

TEST(MotionField, WhatGoesByIsFoundBesideWhatStandsStill) {
  const Motion half = [](int32_t x) { return x < kWidth / 2 ? Offset{} : Offset{6, 2}; };
  const MotionField field = field_of(picture(none, kSigma, 1), picture(half, kSigma, 2));
  EXPECT_GT(share_of(field, {0, 48, kWidth / 2 - 32, kHeight - 96}, {}, 0.3f), 0.95);
  EXPECT_GT(share_of(field, {kWidth / 2 + 32, 48, kWidth / 2 - 80, kHeight - 96}, {6, 2}, 0.3f),
            0.95);
}

TEST(MotionField, WhatLiesFarAwayIsFoundAboutItsPlace) {
  const Motion far = [](int32_t x) {
    return Offset{-61.25f + 0.01f * static_cast<float>(x), 40.5f};
  };
  const TestImage own = picture(none, kSigma, 1), other = picture(far, kSigma, 2);
  const Similarity about{{-53, 36}, {}};
  const MotionField field = field_of(own, other, kAll, about);
  for (const int32_t x : {128, 256, 400, 560}) {
    const Rect part{x, 48, 32, kHeight - 144};
    const Offset wanted = far(x + 16 - 60);  // of what is shown there
    EXPECT_GT(share_of(field, part, wanted, 0.4f), 0.9) << x;
  }
  const MotionField beyond = field_of(own, other, kAll, {{-2000, 400}, {}});
  EXPECT_EQ(share_of(beyond, kAll, {-2000, 400}, 0), 1);
  EXPECT_LT(share_of(field_of(own, other), {128, 48, 400, 300}, far(256), 4), 0.1);
}

TEST(MotionField, APartHasTheOffsetsOfTheWhole) {
  const Motion moved = [](int32_t x) { return Offset{0.02f * static_cast<float>(x) - 5, 3.4f}; };
  const TestImage own = picture(none, kSigma, 1), other = picture(moved, kSigma, 2);
  const MotionField whole = field_of(own, other);
  EXPECT_FALSE(whole.is_zero());
  ThreadPool pool(1);
  const Plan plain = plain_pixels(kFormat);
  for (const Rect& rect :
       {Rect{0, 0, 1, 1}, Rect{313, 229, 40, 17}, Rect{620, 470, 20, 10}, Rect{200, 0, 90, 480}}) {
    // No more is held than is said to be needed.
    const Rect held = intersect(expand(rect, kMotionReach), kAll);
    const MotionField part = find_motion(
        motion_levels(plain, own.view(held), motion_area(rect), pool),
        motion_levels(plain, other.view(held), motion_area(rect), pool), {}, kLevels, rect, pool);
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      for (int32_t x = rect.x; x < rect.right(); ++x) {
        ASSERT_EQ(part.at(x, y), whole.at(x, y)) << x << ", " << y;
      }
    }
  }
}

TEST(MotionField, WhatIsDisplacedShowsTheSame) {
  const Motion moved = [](int32_t) { return Offset{-2.375f, 5.625f}; };
  const TestImage own = picture(none, 0, 1), other = picture(moved, 0, 1);
  MotionField field(kAll);
  for (int32_t y = 0; y < field.blocks().bottom(); ++y) {
    for (int32_t x = 0; x < field.blocks().right(); ++x) field.block(x, y) = moved(0);
  }
  ThreadPool pool(1);
  const Plan plain = plain_pixels(kFormat);
  const auto planes = [&](const TestImage& image, const Rect& rect) {
    return planes_from_pixels(plain, tile_of(image.view(), {}), rect, pool);
  };
  const Rect rect{37, 41, 300, 200};
  const Planes result = displaced(planes(other, displaced_source(field, rect, kAll)), field, rect);
  const Planes wanted = planes(own, rect);
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      ASSERT_NEAR(*result.at(0, x, y), *wanted.at(0, x, y), 1.0f) << x << ", " << y;
    }
  }
  EXPECT_EQ(pixels_under(field.at(100, 100), {100, 100, 1, 1}), (Rect{97, 105, 2, 2}));
}

}  // namespace
}  // namespace grainless
