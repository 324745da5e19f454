// SPDX-License-Identifier: MIT
// Noise that is not white, told from texture by what was measured in crops of photographs.
#include "engine/noise/coarse.h"

#include <gtest/gtest.h>

namespace grainless {
namespace {

// Luma and both colours: the calmest patches at full and half resolution, flat blocks, regions.
struct Crop {
  Measured channel[3];
};

// Kodak24's 13, the red a quarter stronger, the blue weaker: stones and water, no noise but a
// scan's.
Crop warm_stones() {
  return {{{{4.891, 4.348, true, 1080},
            11.65,
            {{21.99, 15.72, 8.198}, 22.21, 19.2},
            {39.83, 67.9, 22.74}},
           {{1.192, 5.212, true, 1080},
            2.409,
            {{7.643, 5.883, 4.036}, 8.703, 6.85},
            {8.085, 15.05, 4.798}},
           {{0.5202, 1.709, true, 1080},
            0.519,
            {{2.489, 2.034, 1.579}, 2.868, 1.971},
            {3.144, 7.11, 2.301}}}};
}

// PolyU's receiver, a camera's JPEG at ISO 6400.
Crop receiver() {
  return {
      {{{1.101, 33.98, true, 2422},
        1.454,
        {{4.487, 3.271, 1.539}, 4.606, 3.309},
        {5.358, 45.53, 2.687}},
       {{0, 0, true, 2422}, 0.1413, {{1.416, 1.315, 1.113}, 1.588, 0.8692}, {1.533, 2.879, 1.301}},
       {{0, 0, true, 2422}, 0.1524, {{1.352, 1.28, 1.158}, 1.196, 0.7794}, {1.368, 2.232, 1.13}}}};
}

// Kodak24's 15 by a simulated camera at ISO 1600 (tools/dev/camera.py), Menon's demosaicing.
Crop demosaiced() {
  return {{{{6.264, 2.466, true, 1247},
            6.391,
            {{11.31, 6.236, 2.805}, 12.51, 9.85},
            {14.2, 43.19, 7.663}},
           {{1.21, 2.533, true, 1247},
            1.919,
            {{6.955, 4.728, 3.131}, 5.854, 3.985},
            {4.992, 18.18, 3.408}},
           {{1.137, 2.386, true, 1247},
            1.432,
            {{3.942, 3.08, 2.113}, 3.883, 2.896},
            {3.274, 13.29, 1.657}}}};
}

// Kodak24's 7 with photon noise of 1, then in perspective.
Crop in_perspective() {
  return {{{{1.16, 3.187, true, 1941},
            1.256,
            {{2.508, 1.78, 0.7482}, 2.397, 1.932},
            {7.235, 62.37, 6.664}},
           {{0.6204, 2.136, true, 1941},
            0.6415,
            {{1.404, 0.9445, 0.6404}, 1.46, 1.202},
            {1.445, 13.09, 0.851}},
           {{0.5975, 2.243, true, 1941},
            0.6384,
            {{1.399, 0.9586, 0.6682}, 1.512, 1.214},
            {1.421, 10.15, 0.7279}}}};
}

TEST(Coarse, ACamerasNoiseIsFound) {
  EXPECT_EQ(judge_coarse(receiver().channel), Coarse::kSure);
  EXPECT_NE(judge_coarse(demosaiced().channel), Coarse::kNone);
}

TEST(Coarse, TextureAboveAScansNoiseIsNone) {
  Crop crop = warm_stones();
  EXPECT_EQ(judge_coarse(crop.channel), Coarse::kNone);
  // Unless V, too, persists as a camera's does, or luma is much finer than the colours.
  crop.channel[2].halved = 1.0;
  EXPECT_NE(judge_coarse(crop.channel), Coarse::kNone);
  crop = warm_stones();
  crop.channel[0].flat.sigma[1] = 10;
  EXPECT_NE(judge_coarse(crop.channel), Coarse::kNone);
}

TEST(Coarse, EditedNoiseIsToldFromACamerasByTheColoursFinestBand) {
  EXPECT_TRUE(was_white(in_perspective().channel));
  EXPECT_FALSE(was_white(receiver().channel));
  EXPECT_FALSE(was_white(demosaiced().channel));
  Crop blind = in_perspective();
  blind.channel[1].flat.sigma[0] = 0;
  EXPECT_FALSE(was_white(blind.channel));
}

}  // namespace
}  // namespace grainless
