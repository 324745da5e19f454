// SPDX-License-Identifier: MIT
// What every backend owes of volumes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "contract.h"
#include "engine/denoise.h"
#include "tests/support/search_volume.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using contract::g_device;
using contract::g_module_dir;
using test::TestImage;

using Volume = std::vector<TestImage>;

struct VolumeCase {
  const char* name;
  PixelFormat format;
  int32_t width, height, layers, depth;
  std::vector<std::pair<const char*, const char*>> settings;
  bool spoiled = false;  // transparent pixels and values that are no numbers
};

const VolumeCase kVolumes[] = {
    {"Grey3", {Component::kFloat, 1}, 97, 61, 19, 2, {{"search", "7"}, {"patch", "3"}}},
    {"Grey5", {Component::kFloat, 1}, 70, 45, 13, 3, {{"search", "5"}, {"patch", "5"}}},
    {"Grey5Flat", {Component::kU16, 1}, 40, 33, 5, 1, {{"search", "5"}, {"patch", "5"}}},
    {"Grey8", {Component::kU8, 1}, 64, 64, 16, 5, {}},
    {"GreyHalf", {Component::kHalf, 2}, 37, 29, 9, 1, {{"search", "9"}}},
    {"GreyOne", {Component::kFloat, 1}, 45, 21, 6, 2, {{"centre", "one"}, {"search", "5"}}},
    {"GreyZero", {Component::kFloat, 1}, 45, 21, 6, 2, {{"centre", "zero"}, {"search", "5"}}},
    {"GreyClassic", {Component::kFloat, 1}, 45, 21, 6, 2, {{"weights", "classic"}}},
    {"Grey5Classic",
     {Component::kFloat, 1},
     70,
     45,
     13,
     3,
     {{"weights", "classic"}, {"search", "5"}, {"patch", "5"}}},
    {"ColourClassic",
     {Component::kU8, 3},
     47,
     35,
     6,
     1,
     {{"weights", "classic"}, {"luma", "60"}, {"search", "5"}}},
    {"GreyStrong", {Component::kFloat, 1}, 45, 21, 6, 2, {{"strength", "200"}, {"luma", "200"}}},
    {"Detail", {Component::kU8, 3}, 45, 21, 6, 2, {{"detail", "40"}, {"search", "5"}}},
    {"Colour3", {Component::kFloat, 3}, 51, 43, 7, 2, {{"search", "7"}, {"patch", "3"}}},
    {"Colour5", {Component::kU16, 3}, 39, 22, 7, 2, {{"search", "5"}, {"patch", "5"}}},
    {"Colour8", {Component::kU8, 4}, 47, 35, 6, 1, {{"search", "5"}}},
    {"Apart", {Component::kFloat, 3}, 41, 23, 5, 1, {{"luma", "60"}, {"chroma", "150"}}},
    {"ColourOnly", {Component::kFloat, 4}, 41, 23, 5, 1, {{"luma", "0"}, {"search", "5"}}},
    {"Patch2", {Component::kFloat, 1}, 41, 23, 5, 1, {{"patch", "2"}, {"search", "5"}}},
    {"Patch4", {Component::kFloat, 3}, 31, 23, 5, 2, {{"patch", "4"}, {"search", "5"}}},
    {"Patch16", {Component::kFloat, 1}, 41, 23, 9, 8, {{"patch", "16"}, {"search", "3"}}},
    {"Wide", {Component::kFloat, 1}, 21, 17, 3, 15, {{"search", "63"}, {"patch", "3"}}},
    {"WideApart",
     {Component::kFloat, 3},
     9,
     7,
     2,
     15,
     {{"search", "63"}, {"patch", "2"}, {"luma", "80"}}},
    {"Deep", {Component::kU8, 1}, 23, 17, 24, 2, {{"search", "3"}, {"patch", "3"}}},
    {"OneColumn", {Component::kFloat, 1}, 1, 1, 3, 1, {{"search", "3"}}},
    {"Small", {Component::kFloat, 3}, 5, 3, 2, 4, {{"search", "5"}}},
    {"Bm3d", {Component::kU8, 3}, 75, 53, 5, 2, {{"method", "bm3d"}, {"search", "13"}}},
    {"Bm3dHigh",
     {Component::kFloat, 1},
     64,
     48,
     4,
     3,
     {{"method", "bm3d"}, {"quality", "high"}, {"search", "13"}, {"scales", "2"}}},
    {"Bm3dSpoiled",
     {Component::kFloat, 4},
     50,
     40,
     4,
     1,
     {{"method", "bm3d"}, {"search", "13"}},
     true},
    {"Spoiled", {Component::kFloat, 2}, 50, 40, 5, 1, {{"search", "5"}}, true},
    {"SpoiledColour", {Component::kFloat, 4}, 50, 40, 5, 1, {{"search", "5"}}, true},
};

Params params_of(const VolumeCase& c, const std::string& device) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.auto_sigma = false;
  params.device = device;
  for (const auto& [key, value] : c.settings) {
    EXPECT_TRUE(set_param(params, key, value).ok()) << key;
  }
  return params;
}

void spoil(TestImage& image) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const bool hole = (x > 10 && x < 34 && y > 8 && y < 31) || (x * 7 + y * 3) % 53 == 0;
      if (hole) image.set(x, y, image.format.channels - 1, 0.0f);
      if ((x + 2 * y) % 61 == 0) image.set(x, y, 0, nan);
    }
  }
}

Volume noisy_volume(const VolumeCase& c, float sigma) {
  Volume volume;
  for (int32_t z = 0; z < c.layers; ++z) {
    volume.push_back(test::noisy_picture(c.format, c.width, c.height, sigma, 1 + z));
    if (c.spoiled) spoil(volume.back());
  }
  return volume;
}

Volume run(Engine& engine, Params params, int32_t depth, const Volume& volume, float sigma,
           Report& report) {
  Volume results = volume;
  std::vector<ConstImage> sources;
  std::vector<MutableImage> targets;
  for (const TestImage& layer : volume) sources.push_back(layer.view());
  for (TestImage& result : results) targets.push_back(result.target());
  params.sigma = sigma;
  const Status status = test::search_volume(engine, params, depth, sources, targets, {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  return results;
}

bool same_bits(const Volume& a, const Volume& b) {
  for (size_t z = 0; z < a.size(); ++z) {
    if (a[z].bytes != b[z].bytes) return false;
  }
  return a.size() == b.size();
}

// Infinity when the volumes differ in what is no number.
float furthest_apart(const TestImage& a, const TestImage& b) {
  float worst = 0;
  for (int32_t y = 0; y < a.height; ++y) {
    for (int32_t x = 0; x < a.width; ++x) {
      for (int32_t c = 0; c < a.format.channels; ++c) {
        const float p = a.get(x, y, c), q = b.get(x, y, c);
        if (std::isnan(p) && std::isnan(q)) continue;
        const float d = std::fabs(p - q);
        worst = std::isnan(d) ? std::numeric_limits<float>::infinity() : std::max(worst, d);
      }
    }
  }
  return worst;
}

// Of all samples of 8 bits: they flip one by one, and on layers of some thousand pixels four of
// them are already under 80 dB.
double share_apart(const Volume& a, const Volume& b) {
  int64_t apart = 0, all = 0;
  for (size_t z = 0; z < a.size(); ++z) {
    for (size_t i = 0; i < a[z].bytes.size(); ++i) apart += a[z].bytes[i] != b[z].bytes[i] ? 1 : 0;
    all += static_cast<int64_t>(a[z].bytes.size());
  }
  return static_cast<double>(apart) / static_cast<double>(all);
}

class VolumeContract : public ::testing::TestWithParam<VolumeCase> {
 protected:
  Engine engine_{{g_module_dir, 2}};
  Engine reference_{{"", 1}};  // for the processor's own contract: on fewer threads
};
INSTANTIATE_TEST_SUITE_P(Cases, VolumeContract, ::testing::ValuesIn(kVolumes),
                         [](const auto& info) { return info.param.name; });

TEST_P(VolumeContract, AgreesWithTheCpu) {
  const VolumeCase& c = GetParam();
  for (float sigma : {3.0f, 20.0f, 60.0f}) {
    const Volume volume = noisy_volume(c, sigma);
    Report report, ignored;
    const Volume here = run(engine_, params_of(c, g_device), c.depth, volume, sigma, report);
    ASSERT_TRUE(report.fallbacks.empty()) << report.fallbacks.front();
    EXPECT_EQ(report.device.substr(0, g_device.size()), g_device);
    const Volume cpu = run(reference_, params_of(c, "cpu"), c.depth, volume, sigma, ignored);
    EXPECT_FALSE(same_bits(here, volume));
    double lowest = INFINITY;
    float largest = 0;
    for (size_t z = 0; z < volume.size(); ++z) {
      if (!c.spoiled) lowest = std::min(lowest, test::psnr(here[z], cpu[z]));
      largest = std::max(largest, furthest_apart(here[z], cpu[z]));
    }
    if (c.format.component == Component::kU8) {
      EXPECT_LE(share_apart(here, cpu), 0.001) << "sigma " << sigma;
    } else {
      EXPECT_GE(lowest, 80.0) << "sigma " << sigma;
    }
    EXPECT_LE(largest, 1.0f) << "sigma " << sigma;
    std::printf("%s, sigma %2.0f: %.1f dB, at most %.4f steps apart\n", c.name, sigma, lowest,
                largest);
  }
}

TEST_P(VolumeContract, TheSameBitsAgainAndInAPart) {
  const VolumeCase& c = GetParam();
  const Params params = params_of(c, g_device);
  const Volume volume = noisy_volume(c, 15.0f);
  Report report;
  const Volume whole = run(engine_, params, c.depth, volume, 15.0f, report);
  EXPECT_TRUE(same_bits(run(engine_, params, c.depth, volume, 15.0f, report), whole));
  // Layers whose patches and boxes lie in a part of the volume are what they are in all of it; only
  // in the case Deep there are any.
  const int32_t reach = c.depth + 8;
  const Volume part(volume.begin() + 1, volume.end());
  const Volume results = run(engine_, params, c.depth, part, 15.0f, report);
  for (int32_t z = reach; z < static_cast<int32_t>(part.size()); ++z) {
    EXPECT_EQ(results[z].bytes, whole[z + 1].bytes) << z;
  }
}

// What a preview asks for: a rectangle of one layer.
TEST_P(VolumeContract, APartHasTheBitsOfTheWhole) {
  const VolumeCase& c = GetParam();
  Params params = params_of(c, g_device);
  params.sigma = 15.0;
  const Volume volume = noisy_volume(c, 15.0f);
  Report report;
  const Volume whole = run(engine_, params, c.depth, volume, 15.0f, report);
  const int32_t layer = c.layers / 2;
  const Rect rect = intersect({c.width / 3, c.height / 4, 40, 30}, {0, 0, c.width, c.height});
  TestImage expected(c.format, c.width, c.height), part = expected;
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      const auto at = (size_t(y) * c.width + x) * c.format.pixel_bytes();
      std::copy_n(whole[layer].bytes.begin() + at, c.format.pixel_bytes(),
                  expected.bytes.begin() + at);
    }
  }
  std::vector<ConstImage> sources;
  for (const TestImage& image : volume) sources.push_back(image.view());
  const NoiseModel noise = test::noise_of_unlike_layers(params, sources);
  const MutableImage target = part.target(rect);
  const Status status = engine_.denoise_volume_part(
      params, c.depth, noise, {{c.layers, 0, sources}, {c.layers, layer, std::span(&target, 1)}},
      {}, report);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.fallbacks.empty()) << report.fallbacks.front();
  EXPECT_EQ(part.bytes, expected.bytes);
}

const VolumeCase kLarge{"Large", {Component::kU8, 1}, 256, 240, 150, 1, {{"search", "3"}}};

TEST(VolumeContractSlabs, AMemoryLimitGivesTheSameBits) {
  if (g_device == "cpu") GTEST_SKIP() << "the limit is of graphics memory";
  Engine engine({g_module_dir, 2});
  const Volume volume = noisy_volume(kLarge, 15.0f);
  Params params = params_of(kLarge, g_device);
  Report whole_report, limited_report;
  const Volume whole = run(engine, params, 1, volume, 15.0f, whole_report);
  params.memory = 64;
  const Volume limited = run(engine, params, 1, volume, 15.0f, limited_report);
  EXPECT_GT(limited_report.tiles, whole_report.tiles);
  EXPECT_LE(limited_report.peak_memory, uint64_t{64} << 20);
  EXPECT_TRUE(limited_report.fallbacks.empty());
  EXPECT_TRUE(same_bits(limited, whole));
}

TEST(VolumeContractSlabs, SeveralCardsGiveTheBitsOfOne) {
  Engine engine({g_module_dir, 2});
  int32_t cards = 0;
  for (const DeviceInfo& device : engine.devices()) {
    cards += device.usable && device.name.starts_with("cuda");
  }
  if (g_device == "cpu" || cards < 2) GTEST_SKIP() << "needs two graphics cards";
  const Volume volume = noisy_volume(kLarge, 15.0f);
  Report report;
  const Volume one = run(engine, params_of(kLarge, "cuda:0"), 1, volume, 15.0f, report);
  EXPECT_EQ(report.device, "cuda:0");
  const Volume all = run(engine, params_of(kLarge, "cuda"), 1, volume, 15.0f, report);
  EXPECT_NE(report.device.find('+'), std::string::npos) << report.device;
  EXPECT_TRUE(same_bits(all, one));
}

}  // namespace
}  // namespace grainless
