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

// Kodak24's 11 with photon noise of 0.7, enlarged.
Crop enlarged_planks() {
  return {{{{0.323, 234.5, true, 899},
            0.799,
            {{5.024, 4.49, 2.579}, 5.375, 4.378},
            {8.714, 21.46, 6.495},
            {},
            {0.389}},
           {{0.293, 6.764, true, 899},
            0.246,
            {{1.832, 1.755, 1.56}, 1.989, 1.182},
            {2.336, 5.137, 2.122}},
           {{0.291, 5.152, true, 899},
            0.305,
            {{1.579, 1.505, 1.348}, 1.704, 1.241},
            {1.968, 3.788, 1.766}}}};
}

// Kodak24's 15 without noise, its corners darkened, as a JPEG.
Crop darkened_jpeg() {
  return {
      {{{0.664, 2.515, true, 4284},
        2.346,
        {{3.13, 2.288, 1.311}, 2.231, 1.854},
        {5.186, 56.02, 2.186},
        {0.874}},
       {{0.062, 7.416, true, 4284},
        0.347,
        {{1.078, 1.034, 0.916}, 1.002, 0.784},
        {1.184, 22.52, 1.077}},
       {{0, 0, true, 4284}, 0.224, {{0.872, 0.818, 0.713}, 0.91, 0.646}, {0.856, 14.28, 0.734}}}};
}

// Kodak24's 22 with weak noise in its dark tones, by a median filter: a barn and grass.
Crop barn_by_median() {
  return {{{{0.518, 2.998, true, 1310},
            0.842,
            {{3.487, 2.956, 2.021}, 1.877, 1.724},
            {13.87, 39.82, 11.64},
            {0.758, 0.341, -0.176, 1.711},
            {0.552, 0.326, -0.111, 1.638}},
           {{0.41, 2.002, true, 1310},
            0.711,
            {{2.591, 2.371, 2.063}, 2.742, 2.033},
            {3.477, 10.76, 2.91}},
           {{0.428, 1.535, true, 1310},
            0.369,
            {{2.521, 2.343, 2.09}, 1.952, 1.271},
            {3.428, 8.707, 2.953}}}};
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

TEST(Coarse, ShadesOfOneColourAreNone) {
  Crop crop = enlarged_planks();
  EXPECT_EQ(judge_coarse(crop.channel), Coarse::kNone);
  crop.channel[0].chroma_blocks.apart = 0.5;
  EXPECT_NE(judge_coarse(crop.channel), Coarse::kNone);
  // What has cleaned the colours' finest band was a camera.
  crop = enlarged_planks();
  crop.channel[1].fine.sigma = crop.channel[2].fine.sigma = 0.05;
  EXPECT_NE(judge_coarse(crop.channel), Coarse::kNone);
}

TEST(Coarse, NoneIsInLumaWhereVIsClean) {
  Crop crop = darkened_jpeg();
  EXPECT_EQ(judge_coarse(crop.channel), Coarse::kNone);
  crop.channel[2].flat.sigma[1] = 1.1;
  EXPECT_NE(judge_coarse(crop.channel), Coarse::kNone);
  crop = darkened_jpeg();
  crop.channel[1].fine.sigma = 0;
  EXPECT_NE(judge_coarse(crop.channel), Coarse::kNone);
}

TEST(Coarse, LumaThatFollowsTheColoursIsNotSurelyNoise) {
  Crop crop = barn_by_median();
  EXPECT_EQ(judge_coarse(crop.channel), Coarse::kSome);
  EXPECT_TRUE(may_be_texture(crop.channel));
  // As noise of green alone would fall: then the flattest blocks are alike.
  crop.channel[0].chroma_blocks.told = 0.2;
  EXPECT_EQ(judge_coarse(crop.channel), Coarse::kSure);
  EXPECT_TRUE(may_be_texture(crop.channel));
  crop.channel[0].luma_blocks.spread = 1.2;
  EXPECT_FALSE(may_be_texture(crop.channel));
  // As a camera's red and blue do.
  crop = barn_by_median();
  crop.channel[0].luma_blocks.v_with_luma = 0.1;
  EXPECT_EQ(judge_coarse(crop.channel), Coarse::kSure);
  EXPECT_FALSE(may_be_texture(crop.channel));
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
