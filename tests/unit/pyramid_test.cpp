// SPDX-License-Identifier: MIT
#include "engine/boundary/pyramid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "engine/cpu/frame/pyramid.h"
#include "engine/noise/model.h"
#include "engine/plan/make_plan.h"

namespace grainless {
namespace {

Plan plan_of(const char* method, const char* scales, int32_t channels, float sigma = 15) {
  Params params;
  throw_if_failed(set_param(params, "method", method));
  throw_if_failed(set_param(params, "scales", scales));
  throw_if_failed(set_param(params, "search", "9"));
  return make_plan(params, {Component::kFloat, channels}, white_noise(channels, sigma));
}

Planes picture(int32_t channels, const Rect& rect, float sigma) {
  std::mt19937 random(3);
  std::normal_distribution<float> noise;
  Planes image(channels, rect);
  for (int32_t c = 0; c < channels; ++c) {
    for (int32_t y = 0; y < rect.height; ++y) {
      for (int32_t x = 0; x < rect.width; ++x) {
        const float edge = x + y > 120 ? 40.0f : 0.0f;
        *image.at(c, x, y) = 90.0f + 0.4f * static_cast<float>(x) + edge + sigma * noise(random);
      }
    }
  }
  return image;
}

Planes cropped(const Planes& image, const Rect& rect) {
  Planes crop(image.channels(), rect);
  for (int32_t c = 0; c < image.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      std::memcpy(crop.at(c, rect.x, y), image.at(c, rect.x, y), rect.width * sizeof(float));
    }
  }
  return crop;
}

Planes denoised(const Plan& plan, const Planes& image, const Rect& out, int32_t threads) {
  const int32_t width = image.rect().width, height = image.rect().height;
  ThreadPool pool(threads);
  Planes target(image.channels(), out);
  const Planes source = cropped(image, levels_source(plan, width, height, out));
  const Callbacks none;
  run_levels(plan, {nullptr, width, height, &source, &target, &pool, &none});
  return target;
}

double mean_square(const Planes& a, const Planes& b) {
  double sum = 0;
  const Rect& rect = a.rect();
  for (int32_t c = 0; c < a.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      for (int32_t x = rect.x; x < rect.right(); ++x) {
        sum += std::pow(*a.at(c, x, y) - *b.at(c, x, y), 2.0);
      }
    }
  }
  return sum / (1.0 * rect.width * rect.height * a.channels());
}

TEST(Pyramid, LevelsHoldWhatTheyNeedAndReachNoFurtherThanSaid) {
  for (const char* scales : {"1", "2", "3", "4"}) {
    const Plan plan = plan_of("bm3d", scales, 1);
    const int32_t reach = pyramid_reach(plan.level, plan.level_count);
    EXPECT_EQ(plan.halo, kFillRadius + reach);
    for (const Rect& out : {Rect{300, 301, 7, 4}, Rect{0, 0, 1, 1}, Rect{512, 256, 64, 64},
                            Rect{999, 700, 2, 1}, Rect{0, 0, 1001, 701}}) {
      PyramidLevel level[kMaxLevels];
      const int32_t count = pyramid_levels(plan, 1001, 701);
      ASSERT_EQ(count, plan.level_count);
      plan_pyramid(plan, count, 1001, 701, out, level);
      EXPECT_TRUE(expand(out, reach).contains(level[0].held));
      EXPECT_EQ(level[0].result, out);
      for (int32_t l = 0; l < count; ++l) {
        EXPECT_TRUE(level[l].filtered.contains(level[l].result));
        EXPECT_TRUE(level[l].source.contains(level[l].filtered));
        EXPECT_TRUE(level[l].held.contains(level[l].source));
        EXPECT_TRUE(level[l].image.contains(level[l].held));
        if (l == 0) continue;
        const Rect& held = level[l].held;
        const Rect fine{2 * held.x, 2 * held.y, 2 * held.width, 2 * held.height};
        EXPECT_TRUE(level[l - 1].held.contains(intersect(fine, level[l - 1].image)));
      }
    }
  }
}

TEST(Pyramid, SmallImagesHaveFewerLevels) {
  const Plan plan = plan_of("bm3d", "4", 1);
  EXPECT_EQ(pyramid_levels(plan, 8, 500), 1);
  EXPECT_EQ(pyramid_levels(plan, 16, 500), 2);
  EXPECT_EQ(pyramid_levels(plan, 15, 500), 2);
  EXPECT_EQ(pyramid_levels(plan, 64, 64), 4);
}

TEST(Pyramid, PlaceAndThreadsDoNotMatter) {
  for (const char* method : {"bm3d", "nlm"}) {
    for (int32_t channels : {1, 3}) {
      const Plan plan = plan_of(method, "3", channels);
      const Planes image = picture(channels, {0, 0, 91, 77}, 15);
      const Planes whole = denoised(plan, image, image.rect(), 1);
      for (const Rect& out : {Rect{0, 0, 91, 77}, Rect{33, 21, 8, 8}, Rect{34, 22, 5, 11},
                              Rect{90, 76, 1, 1}, Rect{0, 40, 91, 1}}) {
        const Planes part = denoised(plan, image, out, 3);
        for (int32_t c = 0; c < channels; ++c) {
          for (int32_t y = out.y; y < out.bottom(); ++y) {
            ASSERT_EQ(
                std::memcmp(part.at(c, out.x, y), whole.at(c, out.x, y), out.width * sizeof(float)),
                0)
                << method << " " << out.x << "," << out.y;
          }
        }
      }
    }
  }
}

TEST(Pyramid, FlatPicturesStayAsTheyAre) {
  for (const char* method : {"bm3d", "nlm"}) {
    const Plan plan = plan_of(method, "4", 1);
    Planes image(1, {0, 0, 70, 65});
    for (int32_t y = 0; y < 65; ++y) std::fill_n(image.at(0, 0, y), 70, 77.0f);
    EXPECT_LT(mean_square(denoised(plan, image, image.rect(), 2), image), 1e-6);
  }
}

TEST(Pyramid, CoarseNoiseIsRemovedBetterThanOnOneLevel) {
  // White noise of 20 at quarter resolution, each value spread over 4 x 4 pixels.
  const Planes clean = picture(1, {0, 0, 128, 128}, 0);
  const Planes coarse = picture(1, {0, 0, 32, 32}, 20), still = picture(1, {0, 0, 32, 32}, 0);
  Planes noisy(1, clean.rect());
  for (int32_t y = 0; y < 128; ++y) {
    for (int32_t x = 0; x < 128; ++x) {
      *noisy.at(0, x, y) =
          *clean.at(0, x, y) + *coarse.at(0, x / 4, y / 4) - *still.at(0, x / 4, y / 4);
    }
  }
  NoiseModel noise = white_noise(1, 20);
  noise.levels = 3;
  noise.sigma[1][0] = noise.sigma[2][0] = 20;
  noise.white[0] = false;
  Params params;
  const PixelFormat grey{Component::kFloat, 1};
  const Plan automatic = make_plan(params, grey, noise);
  EXPECT_EQ(automatic.level_count, 3);
  throw_if_failed(set_param(params, "scales", "1"));
  const Plan single = make_plan(params, grey, noise);
  EXPECT_EQ(single.level_count, 1);
  const double before = mean_square(noisy, clean);
  const double one = mean_square(denoised(single, noisy, noisy.rect(), 2), clean);
  const double three = mean_square(denoised(automatic, noisy, noisy.rect(), 2), clean);
  EXPECT_LT(three, 0.7 * one);
  EXPECT_LT(three, 0.4 * before);
}

// Colours with an edge in lightness, under a camera's coarse noise of colour.
struct ColouredSpots {
  Planes clean{3, {0, 0, 128, 128}}, noisy{3, {0, 0, 128, 128}};
  NoiseModel noise = white_noise(3, 8);

  ColouredSpots() {
    noise.levels = 3;
    for (int32_t c = 0; c < 3; ++c) {
      for (int32_t l = 1; l < 3; ++l) {
        noise.sigma[l][c] = c == 0 ? 8.0f / static_cast<float>(1 << l) : 8.0f;
      }
      noise.white[c] = c == 0;
      noise.strength[c] = c == 0 ? 1.0f : 3.0f;
    }
    const Planes fine = picture(3, {0, 0, 128, 128}, 8), still = picture(3, {0, 0, 128, 128}, 0);
    for (int32_t c = 0; c < 3; ++c) {
      for (int32_t y = 0; y < 128; ++y) {
        for (int32_t x = 0; x < 128; ++x) {
          *clean.at(c, x, y) = spot(x, y) ? (c == 0 ? 150.0f : 50.0f) : (c == 0 ? 250.0f : 0.0f);
          const int32_t step = c == 0 ? 1 : 2;
          *noisy.at(c, x, y) = *clean.at(c, x, y) + *fine.at(c, x / step, y / step) -
                               *still.at(c, x / step, y / step);
        }
      }
    }
  }
  // Six pixels wide in the left half.
  static bool spot(int32_t x, int32_t y) { return x < 64 && x % 16 < 6 && y % 16 < 6; }

  // Chroma in the middle of the spots, and the root mean square of chroma in the plain half.
  void measure(const Planes& result, double& colour, double& blotches) const {
    double spots = 0, sum = 0, plain = 0, squares = 0;
    for (int32_t y = 8; y < 120; ++y) {
      for (int32_t x = 8; x < 120; ++x) {
        const bool inside = spot(x - 2, y - 2) && spot(x + 2, y + 2) && x % 16 >= 2;
        if (inside) sum += *result.at(1, x, y), ++spots;
        if (x >= 80) squares += std::pow(*result.at(1, x, y), 2.0), ++plain;
      }
    }
    colour = sum / spots;
    blotches = std::sqrt(squares / plain);
  }
};

TEST(Pyramid, SmallColoursLiveWhereLumaHasEdges) {
  const ColouredSpots spots;
  Params params;
  const Plan guided = make_plan(params, {Component::kFloat, 3}, spots.noise);
  ASSERT_EQ(guided.level_count, 3);
  EXPECT_GT(guided.level[1].guide, 0);
  Plan blind = guided;
  for (LevelPlan& level : blind.level) level.guide = 0;
  double colour = 0, blind_colour = 0, blotches = 0, blind_blotches = 0;
  spots.measure(denoised(guided, spots.noisy, spots.noisy.rect(), 2), colour, blotches);
  spots.measure(denoised(blind, spots.noisy, spots.noisy.rect(), 2), blind_colour, blind_blotches);
  EXPECT_GT(colour, blind_colour + 3) << "of 50";
  EXPECT_LT(blotches, 1.1 * blind_blotches + 0.1) << "where there is no edge";
}

TEST(Pyramid, WhiteNoiseGuidesNothing) {
  for (const char* method : {"bm3d", "nlm"}) {
    const Plan plan = plan_of(method, "4", 3);
    for (int32_t l = 0; l < plan.level_count; ++l) EXPECT_EQ(plan.level[l].guide, 0);
  }
}

TEST(Pyramid, PlaceAndThreadsDoNotMatterWhereChromaIsGuided) {
  const ColouredSpots spots;
  Params params;
  throw_if_failed(set_param(params, "search", "9"));
  const Plan plan = make_plan(params, {Component::kFloat, 3}, spots.noise);
  const Planes image = cropped(spots.noisy, {0, 0, 91, 77});
  const Planes whole = denoised(plan, image, image.rect(), 1);
  for (const Rect& out : {Rect{33, 21, 8, 8}, Rect{34, 22, 5, 11}, Rect{90, 76, 1, 1},
                          Rect{0, 0, 2, 2}, Rect{0, 40, 91, 1}}) {
    const Planes part = denoised(plan, image, out, 3);
    for (int32_t c = 0; c < 3; ++c) {
      for (int32_t y = out.y; y < out.bottom(); ++y) {
        ASSERT_EQ(
            std::memcmp(part.at(c, out.x, y), whole.at(c, out.x, y), out.width * sizeof(float)), 0)
            << out.x << "," << out.y;
      }
    }
  }
}

TEST(Pyramid, HighQualityTakesTwoLevelsWhereWhiteNoiseIsStrong) {
  Params params;
  throw_if_failed(set_param(params, "quality", "high"));
  const PixelFormat grey{Component::kFloat, 1};
  EXPECT_EQ(make_plan(params, grey, white_noise(1, 24)).level_count, 1);
  EXPECT_EQ(make_plan(params, grey, white_noise(1, 26)).level_count, 2);
  throw_if_failed(set_param(params, "method", "nlm"));  // whose small patches gain earlier
  EXPECT_EQ(make_plan(params, grey, white_noise(1, 9)).level_count, 1);
  EXPECT_EQ(make_plan(params, grey, white_noise(1, 11)).level_count, 2);
  throw_if_failed(set_param(params, "method", "sw-nlm"));
  EXPECT_EQ(make_plan(params, grey, white_noise(1, 26)).level_count, 1);
}

TEST(Pyramid, WhiteNoiseNeedsOneLevelAndHalvesOnMore) {
  const Plan automatic = plan_of("bm3d", "auto", 3), four = plan_of("bm3d", "4", 3, 16);
  EXPECT_EQ(automatic.level_count, 1);
  ASSERT_EQ(four.level_count, 4);
  for (int32_t l = 1; l < 4; ++l) {
    EXPECT_FLOAT_EQ(four.level[l].bm3d[0].shrink[1], four.level[l - 1].bm3d[0].shrink[1] / 2);
  }
}

}  // namespace
}  // namespace grainless
