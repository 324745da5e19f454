// SPDX-License-Identifier: MIT
// What every backend owes: usage backend_test cpu|cuda MODULE_DIR [gtest options]. The result on
// the backend is compared with the CPU's, and with itself cut into tiles, run again and on several
// cards.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "contract.h"
#include "engine/denoise.h"
#include "engine/methods.h"
#include "engine/row_flow.h"
#include "tests/support/test_images.h"

namespace grainless {

std::string contract::g_device, contract::g_module_dir;

namespace {

using contract::g_device;
using contract::g_module_dir;

using test::noisy_picture;
using test::TestImage;

struct Case {
  const char* name;
  Method method;
  PixelFormat format;
  int32_t width, height;
  std::vector<std::pair<const char*, const char*>> settings;
};

const Case kCases[] = {
    {"Bm3dGrey", Method::kBm3d, {Component::kFloat, 1}, 201, 167, {}},
    {"Bm3dColour", Method::kBm3d, {Component::kFloat, 3}, 150, 211, {}},
    {"Bm3dGrey8", Method::kBm3d, {Component::kU8, 1}, 173, 131, {}},
    {"Bm3dColour16", Method::kBm3d, {Component::kU16, 3}, 131, 119, {}},
    {"Bm3dFast", Method::kBm3d, {Component::kU8, 3}, 133, 97, {{"quality", "fast"}}},
    {"Bm3dFastGrey", Method::kBm3d, {Component::kHalf, 1}, 301, 77, {{"quality", "fast"}}},
    {"Bm3dHigh", Method::kBm3d, {Component::kU16, 1}, 97, 101, {{"quality", "high"}}},
    {"Bm3dHighColour", Method::kBm3d, {Component::kU8, 3}, 83, 91, {{"quality", "high"}}},
    {"Bm3dHighSmall", Method::kBm3d, {Component::kU16, 3}, 27, 23, {{"quality", "high"}}},
    {"Bm3dScales", Method::kBm3d, {Component::kFloat, 3}, 121, 95, {{"scales", "3"}}},
    {"Bm3dDft", Method::kBm3d, {Component::kFloat, 1}, 201, 167, {{"transform", "dft"}}},
    {"Bm3dDftColour",
     Method::kBm3d,
     {Component::kU8, 3},
     133,
     97,
     {{"transform", "dft"}, {"quality", "fast"}}},
    {"Bm3dDftFirst",
     Method::kBm3d,
     {Component::kFloat, 3},
     120,
     151,
     {{"transform", "dft"}, {"stages", "first"}, {"patch", "7"}, {"step", "2"}, {"search", "15"}}},
    {"Bm3dFirstStage", Method::kBm3d, {Component::kFloat, 3}, 150, 111, {{"stages", "first"}}},
    {"Bm3dPrefiltered",
     Method::kBm3d,
     {Component::kFloat, 1},
     120,
     90,
     {{"matching", "prefiltered"}}},
    {"Bm3dPrefilteredColour",
     Method::kBm3d,
     {Component::kU8, 3},
     133,
     70,
     {{"matching", "prefiltered"}, {"quality", "high"}, {"patch", "7"}}},
    {"Bm3dPrefilteredDft",
     Method::kBm3d,
     {Component::kFloat, 3},
     90,
     77,
     {{"matching", "prefiltered"}, {"transform", "dft"}, {"stages", "first"}}},
    {"Bm3dHadamard",
     Method::kBm3d,
     {Component::kFloat, 3},
     120,
     90,
     {{"transform", "hadamard"}, {"quality", "fast"}}},
    {"Bm3dDct", Method::kBm3d, {Component::kFloat, 1}, 120, 90, {{"transform", "dct"}}},
    {"Bm3dPatch5",
     Method::kBm3d,
     {Component::kFloat, 3},
     90,
     77,
     {{"patch", "5"}, {"step", "2"}, {"search", "15"}, {"group", "8"}}},
    {"Bm3dPatch16", Method::kBm3d, {Component::kFloat, 1}, 90, 77, {{"patch", "16"}}},
    {"Bm3dOnePatch", Method::kBm3d, {Component::kFloat, 1}, 8, 8, {}},
    {"Bm3dColourOnly", Method::kBm3d, {Component::kFloat, 4}, 99, 85, {{"luma", "0"}}},
    {"Bm3dTones",
     Method::kBm3d,
     {Component::kU8, 3},
     99,
     85,
     {{"shadows", "180"}, {"highlights", "20"}}},
    {"NlmTones",
     Method::kNlm,
     {Component::kFloat, 4},
     81,
     66,
     {{"shadows", "0"}, {"highlights", "200"}}},
    {"NlmGrey", Method::kNlm, {Component::kFloat, 1}, 201, 167, {{"search", "21"}, {"patch", "7"}}},
    {"NlmColour", Method::kNlm, {Component::kU8, 4}, 150, 211, {{"search", "21"}, {"patch", "9"}}},
    {"NlmEvenPatch", Method::kNlm, {Component::kHalf, 3}, 77, 83, {{"patch", "4"}}},
    {"NlmWide", Method::kNlm, {Component::kFloat, 1}, 70, 61, {{"search", "63"}, {"patch", "16"}}},
    {"NlmSmall", Method::kNlm, {Component::kFloat, 3}, 5, 3, {}},
    {"NlmOne", Method::kNlm, {Component::kU16, 2}, 64, 50, {{"centre", "one"}}},
    {"NlmZero", Method::kNlm, {Component::kFloat, 1}, 64, 50, {{"centre", "zero"}}},
    {"NlmClassic", Method::kNlm, {Component::kFloat, 1}, 64, 50, {{"weights", "classic"}}},
    {"NlmClassicColour",
     Method::kNlm,
     {Component::kU8, 3},
     81,
     66,
     {{"weights", "classic"}, {"patch", "9"}, {"strength", "60"}, {"luma", "90"}}},
    {"NlmClassicHigh",
     Method::kNlm,
     {Component::kFloat, 3},
     64,
     50,
     {{"weights", "classic"}, {"quality", "high"}, {"search", "9"}}},
    {"SwNlmGrey",
     Method::kSwNlm,
     {Component::kFloat, 1},
     201,
     167,
     {{"search", "21"}, {"patch", "7"}}},
    {"SwNlmColour", Method::kSwNlm, {Component::kU8, 4}, 130, 151, {{"patch", "5"}}},
    {"DctGrey", Method::kDct, {Component::kFloat, 1}, 201, 167, {}},
    {"DctColour", Method::kDct, {Component::kU8, 4}, 150, 211, {{"quality", "high"}}},
    {"DctFast", Method::kDct, {Component::kU8, 3}, 301, 77, {{"quality", "fast"}}},
    {"DctFastGrey", Method::kDct, {Component::kHalf, 1}, 133, 97, {{"quality", "fast"}}},
    {"DctScales", Method::kDct, {Component::kFloat, 3}, 121, 95, {{"scales", "3"}}},
    {"DctPatch2",
     Method::kDct,
     {Component::kFloat, 1},
     90,
     77,
     {{"patch", "2"}, {"quality", "fast"}}},
    {"DctPatch5", Method::kDct, {Component::kFloat, 3}, 90, 77, {{"patch", "5"}}},
    {"DctPatch16", Method::kDct, {Component::kU16, 1}, 200, 77, {{"patch", "16"}}},
    {"DctSmall", Method::kDct, {Component::kFloat, 3}, 5, 3, {}},
    {"DctColourOnly", Method::kDct, {Component::kFloat, 4}, 99, 85, {{"luma", "0"}}},
    {"SwNlmAuto", Method::kSwNlm, {Component::kFloat, 3}, 120, 90, {}},
    {"SwNlmWide",
     Method::kSwNlm,
     {Component::kFloat, 1},
     70,
     61,
     {{"search", "41"}, {"patch", "9"}}},
    {"SwNlmLargePatch",
     Method::kSwNlm,
     {Component::kU16, 1},
     50,
     41,
     {{"search", "9"}, {"patch", "16"}}},
    {"SwNlmEvenPatch",
     Method::kSwNlm,
     {Component::kHalf, 3},
     77,
     83,
     {{"patch", "4"}, {"search", "15"}}},
    {"SwNlmSmall", Method::kSwNlm, {Component::kFloat, 3}, 5, 3, {}},
    {"SwNlmOne", Method::kSwNlm, {Component::kU16, 2}, 64, 50, {{"centre", "one"}}},
    {"SwNlmStrong", Method::kSwNlm, {Component::kFloat, 1}, 64, 50, {{"strength", "170"}}},
    {"SwNlmApart",
     Method::kSwNlm,
     {Component::kFloat, 3},
     64,
     50,
     {{"luma", "60"}, {"chroma", "150"}}},
    {"NlmHigh", Method::kNlm, {Component::kFloat, 1}, 203, 131, {{"quality", "high"}}},
    {"NlmHigh8", Method::kNlm, {Component::kU8, 3}, 97, 120, {{"quality", "high"}}},
    {"NlmHighPatch9",
     Method::kNlm,
     {Component::kFloat, 3},
     90,
     77,
     {{"quality", "high"}, {"search", "9"}, {"patch", "9"}}},
    {"NlmHighEven",
     Method::kNlm,
     {Component::kFloat, 1},
     91,
     70,
     {{"quality", "high"}, {"search", "13"}, {"patch", "4"}, {"centre", "one"}}},
    {"NlmHighWide",
     Method::kNlm,
     {Component::kU16, 3},
     61,
     45,
     {{"quality", "high"}, {"search", "35"}, {"patch", "16"}, {"centre", "zero"}}},
    {"NlmHighApart",
     Method::kNlm,
     {Component::kFloat, 3},
     64,
     50,
     {{"quality", "high"}, {"luma", "60"}, {"chroma", "150"}}},
    {"NlmHighSmall", Method::kNlm, {Component::kFloat, 3}, 5, 3, {{"quality", "high"}}},
    // So few neighbours count that 8 bits show how finely their shares are kept.
    {"NlmHighFew8",
     Method::kNlm,
     {Component::kU8, 3},
     20,
     276,
     {{"quality", "high"}, {"patch", "2"}, {"strength", "124"}, {"luma", "22"}, {"chroma", "162"}}},
    {"NlmApart", Method::kNlm, {Component::kFloat, 3}, 64, 50, {{"luma", "60"}, {"chroma", "150"}}},
    {"NlmHighApartEven",
     Method::kNlm,
     {Component::kU16, 3},
     61,
     45,
     {{"quality", "high"}, {"patch", "4"}, {"luma", "60"}, {"chroma", "150"}}},
    // So many rows that on a card the passes over a window follow one another (kMostShared).
    {"NlmTall", Method::kNlm, {Component::kFloat, 1}, 13, 4500, {}},
    {"NlmTall8", Method::kNlm, {Component::kU8, 3}, 9, 4410, {}},
    {"NlmTallApart",
     Method::kNlm,
     {Component::kFloat, 3},
     11,
     4420,
     {{"luma", "60"}, {"chroma", "150"}}},
    {"NlmTallHigh", Method::kNlm, {Component::kFloat, 1}, 10, 4450, {{"quality", "high"}}},
    {"NlmTallHigh8", Method::kNlm, {Component::kU8, 3}, 9, 4410, {{"quality", "high"}}},
    {"NlmTallHighApart",
     Method::kNlm,
     {Component::kFloat, 3},
     12,
     4430,
     {{"quality", "high"}, {"luma", "60"}, {"chroma", "150"}}},
};

Params params_of(const Case& c, const std::string& device) {
  Params params;
  params.method = static_cast<int32_t>(c.method);
  params.auto_sigma = false;
  params.device = device;
  for (const auto& [key, value] : c.settings)
    EXPECT_TRUE(set_param(params, key, value).ok()) << key;
  return params;
}

TestImage run(Engine& engine, const Params& params, const TestImage& image, float sigma,
              Report& report) {
  TestImage result(image.format, image.width, image.height);
  const Status status = engine.denoise(params, white_noise(image.format.colours(), sigma),
                                       image.view(), result.target(), {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

class Contract : public ::testing::TestWithParam<Case> {
 protected:
  Engine engine_{{g_module_dir, 2}};
  Engine reference_{{"", 1}};  // for the processor's own contract: on fewer threads
};
INSTANTIATE_TEST_SUITE_P(Cases, Contract, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST_P(Contract, AgreesWithTheCpu) {
  const Case& c = GetParam();
  for (float sigma : {3.0f, 15.0f, 25.0f, 50.0f, 75.0f}) {
    const TestImage image = noisy_picture(c.format, c.width, c.height, sigma);
    Report report, ignored;
    const TestImage here = run(engine_, params_of(c, g_device), image, sigma, report);
    ASSERT_TRUE(report.fallbacks.empty()) << report.fallbacks.front();
    EXPECT_EQ(report.device.substr(0, g_device.size()), g_device);
    const TestImage cpu = run(reference_, params_of(c, "cpu"), image, sigma, ignored);
    const double psnr = test::psnr(here, cpu);
    const float largest = test::largest_difference(here, cpu);
    EXPECT_GE(psnr, 80.0) << "sigma " << sigma;
    EXPECT_LE(largest, 1.0f) << "sigma " << sigma;
    std::printf("%s, sigma %2.0f: %.1f dB, at most %.4f steps apart\n", c.name, sigma, psnr,
                largest);
  }
}

TEST_P(Contract, TheSameBitsAgainAndInPieces) {
  const Case& c = GetParam();
  const float sigma = 15.0f;
  const TestImage image = noisy_picture(c.format, c.width, c.height, sigma);
  const Params params = params_of(c, g_device);
  Report report;
  const TestImage whole = run(engine_, params, image, sigma, report);
  EXPECT_EQ(run(engine_, params, image, sigma, report).bytes, whole.bytes);
  TestImage pieces(c.format, c.width, c.height);
  for (int32_t y = 0; y < c.height; y += 41) {
    for (int32_t x = 0; x < c.width; x += 67) {
      const Rect rect = intersect({x, y, 67, 41}, {0, 0, c.width, c.height});
      ASSERT_TRUE(engine_
                      .denoise(params, white_noise(c.format.colours(), sigma), image.view(),
                               pieces.target(rect), {}, report)
                      .ok());
      EXPECT_TRUE(report.fallbacks.empty()) << report.fallbacks.front();
    }
  }
  EXPECT_EQ(pieces.bytes, whole.bytes);
}

// Colours that are bent, so that a camera's noise is even, or whose noise was cut off at both ends,
// and pixels that no patch may see.
NoiseModel bent_noise(int32_t channels) {
  NoiseModel model = white_noise(channels, 15);
  model.bend.enabled = 1;
  for (int32_t i = 0; i <= kBendSegments; ++i) {
    model.bend.to[i] = static_cast<float>(255 * std::pow(1.0 * i / kBendSegments, 1.4));
  }
  model.bend.clip.step = 2;
  for (int32_t i = 0; i <= kClipSegments; ++i) {
    model.bend.clip.to[i] = static_cast<float>(i < 8 ? 0.125 * i * i : 2 * i);
  }
  return model;
}

NoiseModel cut_off_noise(int32_t channels) {
  NoiseModel model = white_noise(channels, 15);
  constexpr float kStep = 8.5f, kLast = kClipSegments * kStep;
  model.bend.clip.step = kStep;
  for (int32_t i = 0; i <= kClipSegments; ++i) {
    const float value = static_cast<float>(i) * kStep;
    model.bend.clip.to[i] = std::min(1.2f * value - 8, kLast);
  }
  model.bend.clip.to[kClipSegments] = kLast;
  return model;
}

TEST(ContractBend, AgreesWithTheCpu) {
  Engine engine({g_module_dir, 2});
  for (const MethodRow& row : method_rows()) {
    for (const PixelFormat format :
         {PixelFormat{Component::kU8, 3}, {Component::kHalf, 1}, {Component::kFloat, 4}}) {
      TestImage image = noisy_picture(format, 121, 95, 15.0f);
      if (format.component != Component::kU8) {
        image.set(30, 20, 0, std::numeric_limits<float>::quiet_NaN());
      }
      for (const NoiseModel& noise :
           {bent_noise(format.colours()), cut_off_noise(format.colours())}) {
        const auto result_on = [&](const std::string& device) {
          TestImage result(format, image.width, image.height);
          Params params;
          params.method = static_cast<int32_t>(row.method);
          params.auto_sigma = false;
          params.device = device;
          Report report;
          const Status status =
              engine.denoise(params, noise, image.view(), result.target(), {}, report);
          EXPECT_TRUE(status.ok()) << status.message();
          EXPECT_TRUE(report.fallbacks.empty());
          result.set(30, 20, 0, 0);
          return result;
        };
        const TestImage here = result_on(g_device), cpu = result_on("cpu");
        EXPECT_GE(test::psnr(here, cpu), 80.0) << row.choice.id;
        EXPECT_LE(test::largest_difference(here, cpu), 1.0f) << row.choice.id;
      }
    }
  }
}

// Colours over a gain that grows or falls towards the corners, bent or not, whole and in a part.
TEST(ContractCorners, AgreesWithTheCpuAndInAPart) {
  Engine engine({g_module_dir, 2});
  const Rect rect{70, 31, 44, 52};
  for (const MethodRow& row : method_rows()) {
    for (const PixelFormat format :
         {PixelFormat{Component::kU8, 3}, {Component::kHalf, 1}, {Component::kFloat, 4}}) {
      TestImage image = noisy_picture(format, 121, 95, 15.0f);
      if (format.has_alpha()) image.set(90, 50, format.channels - 1, 0);
      for (const CornerGain& corners : {CornerGain{1, 0.5f, 1.0f}, CornerGain{1, -0.4f, -0.2f}}) {
        for (const bool bent_too : {false, true}) {
          NoiseModel noise = white_noise(format.colours(), 10.0f);
          noise.corners = corners;
          noise.bend.enabled = bent_too ? 1 : 0;
          for (int32_t i = 0; i <= kBendSegments; ++i) {
            noise.bend.to[i] = static_cast<float>(255 * std::pow(1.0 * i / kBendSegments, 1.2));
          }
          const auto result_on = [&](const std::string& device, const Rect& part) {
            TestImage result(format, image.width, image.height);
            Params params;
            params.method = static_cast<int32_t>(row.method);
            params.auto_sigma = false;
            params.device = device;
            Report report;
            const Status status =
                engine.denoise(params, noise, image.view(), result.target(part), {}, report);
            EXPECT_TRUE(status.ok()) << status.message();
            EXPECT_TRUE(report.fallbacks.empty());
            return result;
          };
          const Rect all{0, 0, image.width, image.height};
          const TestImage here = result_on(g_device, all), cpu = result_on("cpu", all);
          EXPECT_GE(test::psnr(here, cpu), 80.0) << row.choice.id;
          EXPECT_LE(test::largest_difference(here, cpu), 1.0f) << row.choice.id;
          EXPECT_GT(test::largest_difference(here, image), 5.0f) << row.choice.id;
          const TestImage part = result_on(g_device, rect);
          for (int32_t y = rect.y; y < rect.bottom(); ++y) {
            for (int32_t x = rect.x; x < rect.right(); ++x) {
              ASSERT_EQ(part.get(x, y, 0), here.get(x, y, 0)) << row.choice.id << x << ' ' << y;
            }
          }
        }
      }
    }
  }
}

// Impulses of all kinds, beside hidden pixels and the picture's borders, and in pieces.
TEST(ContractImpulses, AgreesWithTheCpuAndInPieces) {
  Engine engine({g_module_dir, 2});
  for (const PixelFormat format : {PixelFormat{Component::kU8, 3},
                                   {Component::kU16, 1},
                                   {Component::kHalf, 2},
                                   {Component::kFloat, 4}}) {
    TestImage image = noisy_picture(format, 121, 95, 8.0f);
    for (int32_t i = 0; i < 400; ++i) {
      const int32_t x = i * 37 % image.width, y = i * 53 % image.height;
      image.set(x, y, i % format.colours(), i % 2 == 0 ? 255.0f : 0.0f);
      if (format.has_alpha() && i % 9 == 0) image.set(x, (y + 1) % 95, format.channels - 1, 0);
    }
    NoiseModel noise = white_noise(format.colours(), 8.0f);
    for (const char* way : {"weak", "normal", "strong"}) {
      for (const bool bent_too : {false, true}) {
        noise.bend.enabled = bent_too ? 1 : 0;
        noise.corners = {bent_too ? 1 : 0, 0.5f, 0.25f};
        for (int32_t i = 0; i <= kBendSegments; ++i) {
          noise.bend.to[i] = static_cast<float>(255 * std::pow(1.0 * i / kBendSegments, 1.2));
        }
        const auto result_on = [&](const std::string& device, const char* impulse,
                                   const std::vector<Rect>& parts) {
          TestImage result(format, image.width, image.height);
          Params params;
          params.method = static_cast<int32_t>(Method::kDct);
          params.auto_sigma = false;
          params.device = device;
          EXPECT_TRUE(set_param(params, "impulse", impulse).ok());
          Report report;
          for (const Rect& part : parts) {
            const Status status =
                engine.denoise(params, noise, image.view(), result.target(part), {}, report);
            EXPECT_TRUE(status.ok()) << status.message();
            EXPECT_TRUE(report.fallbacks.empty());
          }
          return result;
        };
        const Rect whole{0, 0, image.width, image.height};
        const TestImage here = result_on(g_device, way, {whole});
        const TestImage cpu = result_on("cpu", way, {whole});
        EXPECT_GE(test::psnr(here, cpu), 80.0) << way;
        EXPECT_LE(test::largest_difference(here, cpu), 1.0f) << way;
        const TestImage pieces =
            result_on(g_device, way, {{0, 0, 50, 95}, {50, 0, 71, 31}, {50, 31, 71, 64}});
        EXPECT_EQ(pieces.bytes, here.bytes) << way;
        EXPECT_LT(test::psnr(here, result_on(g_device, "off", {whole})), 50.0) << way;
      }
    }
  }
}

// Floats far beyond white, and single values that no patch may see.
// Hidden pixels have no part: what stands for them is the colour of what is seen, near and far.
TEST(ContractHidden, AConstantStaysBesideHiddenPixels) {
  constexpr PixelFormat kFormat{Component::kU16, 4};
  constexpr float kColour[] = {12.5f, 76.25f, 201.75f, 255.0f};
  TestImage image(kFormat, 150, 90);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const bool seen = intersect({100, 40, 20, 8}, {x, y, 1, 1}).area() > 0;
      for (int32_t c = 0; c < 4; ++c) image.set(x, y, c, seen ? kColour[c] : 0.0f);
    }
  }
  Engine engine({g_module_dir, 2});
  for (const char* method : {"bm3d", "nlm", "dct"}) {
    for (const char* scales : {"1", "3"}) {
      Params params;
      params.auto_sigma = false;
      params.sigma = 30;
      params.device = g_device;
      for (const auto& [key, value] : {std::pair{"method", method}, {"scales", scales}}) {
        ASSERT_TRUE(set_param(params, key, value).ok());
      }
      TestImage result = image;
      NoiseModel noise;
      Report report;
      ASSERT_TRUE(engine.noise_for(params, image.view(), {}, noise, nullptr).ok());
      ASSERT_TRUE(engine.denoise(params, noise, image.view(), result.target(), {}, report).ok());
      EXPECT_TRUE(report.changed);
      EXPECT_TRUE(report.fallbacks.empty());
      EXPECT_LE(largest_difference(result, image), 1.0f / 257) << method << ", scales " << scales;
    }
  }
}

TEST(ContractRange, AgreesWithTheCpuBeyondWhite) {
  Engine engine({g_module_dir, 2});
  for (const MethodRow& row : method_rows()) {
    for (const char* quality : {"normal", "high"}) {
      for (const PixelFormat format : {PixelFormat{Component::kFloat, 1}, {Component::kFloat, 4}}) {
        TestImage image = noisy_picture(format, 121, 95, 15.0f);
        for (int32_t y = 0; y < image.height; ++y) {
          for (int32_t x = 60; x < image.width; ++x) {
            for (int32_t c = 0; c < format.colours(); ++c) {
              image.set(x, y, c, image.get(x, y, c) + 19 * 255.0f);
            }
          }
        }
        const float nan = std::numeric_limits<float>::quiet_NaN();
        image.set(30, 20, 0, 6e4f * 255);
        image.set(31, 20, 0, nan);
        image.set(90, 94, 0, -1e4f * 255);
        Params params;
        params.method = static_cast<int32_t>(row.method);
        params.auto_sigma = false;
        params.sigma = 15;
        params.scales = 3;
        ASSERT_TRUE(set_param(params, "quality", quality).ok());
        NoiseModel noise;
        ASSERT_TRUE(engine.noise_for(params, image.view(), {}, noise, nullptr).ok());
        ASSERT_FALSE(noise.range.is_usual());
        const auto result_on = [&](const std::string& device) {
          TestImage result(format, image.width, image.height);
          params.device = device;
          Report report;
          const Status status =
              engine.denoise(params, noise, image.view(), result.target(), {}, report);
          EXPECT_TRUE(status.ok()) << status.message();
          EXPECT_TRUE(report.fallbacks.empty());
          EXPECT_EQ(report.replaced_pixels, 3);
          // Compared are the others: these stay as they were.
          for (const auto& [x, y] : {std::pair{30, 20}, {31, 20}, {90, 94}}) {
            result.set(x, y, 0, 0);
          }
          return result;
        };
        const TestImage here = result_on(g_device), cpu = result_on("cpu");
        EXPECT_GE(test::psnr(here, cpu), 80.0) << quality << ' ' << row.choice.id;
        EXPECT_LE(test::largest_difference(here, cpu), 1.0f);
      }
    }
  }
}

// What a device makes of a whole picture, without falling back.
TestImage result_on(Engine& engine, const std::string& device, Params params,
                    const NoiseModel& noise, const TestImage& image) {
  TestImage result(image.format, image.width, image.height);
  params.device = device;
  Report report;
  const Status status = engine.denoise(params, noise, image.view(), result.target(), {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.fallbacks.empty());
  return result;
}

// Compared in the picture's own unit.
void expect_the_same(const TestImage& here, const TestImage& cpu, float unit) {
  const auto in_steps = [&](const TestImage& image) {
    TestImage steps = image;
    for (int32_t y = 0; y < image.height; ++y) {
      for (int32_t x = 0; x < image.width; ++x) {
        for (int32_t c = 0; c < image.format.colours(); ++c) {
          steps.set(x, y, c, image.get(x, y, c) / unit);
        }
      }
    }
    return steps;
  };
  EXPECT_GE(test::psnr(in_steps(here), in_steps(cpu)), 80.0);
  EXPECT_LE(test::largest_difference(in_steps(here), in_steps(cpu)), 1.0f);
}

// Measurements in large units: sums of integers must not wrap.
TEST(ContractUnits, AgreesWithTheCpuInLargeUnits) {
  Engine engine({g_module_dir, 2});
  const std::vector<std::pair<const char*, const char*>> cases[] = {
      {},
      {{"quality", "high"}},
      {{"patch", "16"}},
      {{"patch", "9"}, {"step", "1"}, {"search", "63"}, {"group", "32"}},
      {{"patch", "16"}, {"transform", "dft"}},
      {{"method", "nlm"}},
      {{"method", "dct"}, {"patch", "16"}}};
  const TestImage noisy = noisy_picture({Component::kFloat, 1}, 83, 71, 12.0f);
  for (const auto& settings : cases) {
    for (const float unit : {1.0f, 1e5f, 1e8f, 1e9f}) {
      TestImage image = noisy;
      for (int32_t y = 0; y < image.height; ++y) {
        for (int32_t x = 0; x < image.width; ++x) image.set(x, y, 0, noisy.get(x, y, 0) * unit);
      }
      Params params;
      params.auto_sigma = false;
      for (const auto& [key, value] : settings) {
        SCOPED_TRACE(std::string(key) + ' ' + value);
        ASSERT_TRUE(set_param(params, key, value).ok());
      }
      NoiseModel noise;
      ASSERT_TRUE(engine.noise_for(params, image.view(), {}, noise, nullptr).ok());
      noise.sigma[0][0] = 12 * unit;
      const auto on = [&](const std::string& device) {
        return result_on(engine, device, params, noise, image);
      };
      SCOPED_TRACE(
          (settings.empty() ? "bm3d" : std::string(settings[0].first) + settings[0].second) +
          ", unit " + std::to_string(unit));
      const TestImage here = on(g_device);
      expect_the_same(here, on("cpu"), unit);
      EXPECT_GT(test::largest_difference(here, image) / unit, 5.0f);
    }
  }
}

// A float picture on `device`, with no other noise than `sigma`.
TestImage denoised_on(const std::string& device, Engine& engine, Params params,
                      const TestImage& image, double sigma) {
  params.auto_sigma = false;
  params.sigma = sigma;
  NoiseModel noise;
  EXPECT_TRUE(engine.noise_for(params, image.view(), {}, noise, nullptr).ok());
  return result_on(engine, device, params, noise, image);
}

// So weak noise of so wide a range that one step of the distance takes more than all powers of two
// that count. At 0.036 it leaves next to nothing of a weight, and is the last that does.
TEST(ContractSteep, AgreesWithTheCpu) {
  constexpr int32_t kSide = 160, kBlock = 16, kBlocks = kSide / kBlock;
  Engine engine({g_module_dir, 2});
  std::mt19937 random(1);
  std::uniform_real_distribution<float> level(-1, 40.5f);
  std::normal_distribution<float> gauss(0, 0.6f);
  std::vector<float> levels(kBlocks * kBlocks);
  for (float& one : levels) one = 255 * level(random);
  levels[0] = -255.0f;
  levels[1] = 255 * 40.5f;
  TestImage image({Component::kFloat, 1}, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      image.set(x, y, 0, levels[y / kBlock * kBlocks + x / kBlock] + gauss(random));
    }
  }
  Params params;
  for (const auto& [key, value] :
       {std::pair{"method", "nlm"}, {"quality", "high"}, {"patch", "2"}, {"centre", "max"}}) {
    ASSERT_TRUE(set_param(params, key, value).ok());
  }
  for (const double sigma : {0.030, 0.036, 0.050}) {
    const TestImage here = denoised_on(g_device, engine, params, image, sigma);
    const TestImage cpu = denoised_on("cpu", engine, params, image, sigma);
    // So little is removed that what they differ by is compared with it.
    std::printf("sigma %.3f: %.1f dB from the CPU, which is %.1f dB from the source\n", sigma,
                test::psnr(here, cpu), test::psnr(cpu, image));
    EXPECT_GE(test::psnr(here, cpu), std::max(80.0, test::psnr(cpu, image) + 20)) << sigma;
    EXPECT_LE(test::largest_difference(here, cpu), 1.0f) << sigma;
  }
}

// Values at the lower end of those that are compared: their match values are the least there are.
TEST(ContractEdge, AgreesWithTheCpu) {
  constexpr int32_t kSide = 128;
  constexpr float kHigh = 400000, kSpan = 131072;
  Engine engine({g_module_dir, 2});
  std::mt19937 random(1);
  std::normal_distribution<float> gauss(0, 1.2f);
  TestImage image({Component::kFloat, 1}, kSide, kSide);
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      const float noise = gauss(random);
      const float ramp = -kHigh + 2 * kHigh * static_cast<float>(y) / (kSide - 1) + noise;
      const float low = kHigh - kSpan + std::clamp(4 + noise, 0.5f, 7.5f);
      image.set(x, y, 0, x < 70 ? kHigh + noise : x < 102 ? low : ramp);
    }
  }
  Params params;
  params.patch = 2;
  const TestImage here = denoised_on(g_device, engine, params, image, 1.2);
  const TestImage cpu = denoised_on("cpu", engine, params, image, 1.2);
  std::printf("%.1f dB from the CPU, which is %.1f dB from the source\n", test::psnr(here, cpu),
              test::psnr(cpu, image));
  EXPECT_GE(test::psnr(here, cpu), 80.0);
  EXPECT_LE(test::largest_difference(here, cpu), 1.0f);
}

// What the first stage leaves on black round a bright part has nothing in the noisy picture that
// would tell how large it is.
TEST(ContractBlack, AgreesWithTheCpuRoundABrightPart) {
  Engine engine({g_module_dir, 2});
  for (const PixelFormat format :
       {PixelFormat{Component::kU8, 3}, {Component::kHalf, 3}, {Component::kFloat, 1}}) {
    const TestImage noisy = noisy_picture(format, 121, 95, 15.0f);
    TestImage image(format, noisy.width, noisy.height);
    for (int32_t y = 0; y < image.height; ++y) {
      for (int32_t x = 0; x < image.width; ++x) {
        const bool bright = intersect({40, 30, 43, 37}, {x, y, 1, 1}).area() > 0;
        for (int32_t c = 0; c < format.colours(); ++c) {
          image.set(x, y, c, bright ? noisy.get(x, y, c) : 0.0f);
        }
      }
    }
    for (const MethodRow& row : method_rows()) {
      for (const char* quality : {"fast", "normal", "high"}) {
        Params params;
        params.method = static_cast<int32_t>(row.method);
        params.auto_sigma = false;
        ASSERT_TRUE(set_param(params, "quality", quality).ok());
        for (const float sigma : {5.0f, 40.0f}) {
          Report report;
          params.device = "cpu";
          const TestImage cpu = run(engine, params, image, sigma, report);
          params.device = g_device;
          const TestImage here = run(engine, params, image, sigma, report);
          EXPECT_TRUE(report.fallbacks.empty());
          EXPECT_GE(test::psnr(here, cpu), 80.0) << row.choice.id << ' ' << quality << ' ' << sigma;
          EXPECT_LE(test::largest_difference(here, cpu), 1.0f);
        }
      }
    }
  }
}

// Black and white in three equal channels: all of the noise is luma's.
TEST(ContractNeutral, AgreesWithTheCpuAndStaysNeutral) {
  Engine engine({g_module_dir, 2});
  for (const Component component : {Component::kU8, Component::kFloat}) {
    const TestImage grey = noisy_picture({component, 1}, 121, 95, 15.0f);
    TestImage image({component, 3}, grey.width, grey.height);
    for (int32_t y = 0; y < image.height; ++y) {
      for (int32_t x = 0; x < image.width; ++x) {
        for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, grey.get(x, y, 0));
      }
    }
    NoiseModel noise = white_noise(3, 26.0f);
    noise.sigma[0][1] = noise.sigma[0][2] = 0;
    for (const MethodRow& row : method_rows()) {
      for (const char* quality : {"normal", "high"}) {
        Params params;
        params.method = static_cast<int32_t>(row.method);
        params.auto_sigma = false;
        ASSERT_TRUE(set_param(params, "quality", quality).ok());
        const auto on = [&](const std::string& device) {
          return result_on(engine, device, params, noise, image);
        };
        const TestImage here = on(g_device), cpu = on("cpu");
        EXPECT_GE(test::psnr(here, cpu), 80.0) << row.choice.id << ' ' << quality;
        EXPECT_LE(test::largest_difference(here, cpu), 1.0f);
        EXPECT_GT(test::largest_difference(here, image), 5.0f) << row.choice.id << ' ' << quality;
        EXPECT_NEAR(here.get(60, 50, 0), here.get(60, 50, 1), 1e-3);
        EXPECT_NEAR(here.get(60, 50, 0), here.get(60, 50, 2), 1e-3);
      }
    }
  }
}

TEST(ContractMemory, AMemoryLimitGivesTheSameBits) {
  if (g_device == "cpu") GTEST_SKIP() << "the limit is of graphics memory";
  Engine engine({g_module_dir, 2});
  const TestImage image = noisy_picture({Component::kU8, 3}, 2300, 1900, 15.0f);
  const std::pair<Method, const char*> cases[] = {{Method::kBm3d, "noisy"},
                                                  {Method::kBm3d, "prefiltered"},
                                                  {Method::kNlm, "noisy"},
                                                  {Method::kSwNlm, "noisy"},
                                                  {Method::kDct, "noisy"}};
  for (const auto& [method, matching] : cases) {
    Params params;
    params.method = static_cast<int32_t>(method);
    params.device = g_device + ":0";  // several cards cut it anyway
    ASSERT_TRUE(set_param(params, "matching", matching).ok());
    if (method == Method::kBm3d) params.transform = static_cast<int32_t>(Transform::kDct);
    Report whole_report, limited_report;
    const TestImage whole = run(engine, params, image, 15.0f, whole_report);
    params.memory = 256;
    const TestImage limited = run(engine, params, image, 15.0f, limited_report);
    EXPECT_GT(limited_report.tiles, whole_report.tiles);
    EXPECT_LE(limited_report.peak_memory, uint64_t{256} << 20);
    EXPECT_TRUE(limited_report.fallbacks.empty());
    EXPECT_EQ(limited.bytes, whole.bytes);
  }
}

Params limited_params(int32_t megabytes) {
  Params params;
  params.device = g_device + ":0";
  params.memory = megabytes;
  return params;
}

TEST(ContractMemory, PicturesAtOnceShareTheLimit) {
  if (g_device == "cpu") GTEST_SKIP() << "the limit is of graphics memory";
  Engine engine({g_module_dir, 2});
  const TestImage image = noisy_picture({Component::kU8, 3}, 2300, 1900, 15.0f);
  const Params params = limited_params(256);
  Report alone;
  const TestImage expected = run(engine, params, image, 15.0f, alone);
  std::vector<Report> reports(4);
  {
    std::vector<std::jthread> threads;
    for (Report& report : reports) {
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(run(engine, params, image, 15.0f, report).bytes, expected.bytes);
        }
      });
    }
  }
  for (const Report& report : reports) {
    EXPECT_TRUE(report.fallbacks.empty()) << report.fallbacks.front();
    EXPECT_EQ(report.tiles, alone.tiles);
    EXPECT_LE(report.peak_memory, uint64_t{256} << 20);
  }
}

// What it leaves in the session is memory, but not in pieces that are of use to the next one.
TEST(ContractMemory, AnEarlierPictureCostsNoTiles) {
  if (g_device == "cpu") GTEST_SKIP() << "the limit is of graphics memory";
  const TestImage first = noisy_picture({Component::kU8, 3}, 4000, 6000, 15.0f);
  const TestImage second = noisy_picture({Component::kU8, 3}, 4608, 3456, 15.0f);
  const Params params = limited_params(512);
  Engine engine({g_module_dir, 2}), fresh({g_module_dir, 2});
  Report earlier, report, alone;
  run(engine, params, first, 15.0f, earlier);
  run(engine, params, second, 15.0f, report);
  run(fresh, params, second, 15.0f, alone);
  EXPECT_TRUE(report.fallbacks.empty()) << report.fallbacks.front();
  EXPECT_EQ(report.tiles, alone.tiles);
}

// Rows that come while others are computed, and are rubbish until they have.
TEST(ContractFlow, RowsThatComeMeanwhileGiveTheSameBits) {
  constexpr int32_t kRows = 150;
  Engine engine({g_module_dir, 2});
  const TestImage image = noisy_picture({Component::kU8, 3}, 1500, 3700, 15.0f);
  const NoiseModel noise = white_noise(3, 15.0f);
  Params params;
  params.device = g_device;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.search = 7;
  Report report;
  const TestImage whole = run(engine, params, image, 15.0f, report);
  TestImage source(image.format, image.width, image.height), result = source;
  source.bytes.assign(source.bytes.size(), 0x5a);
  RowFlow flow({0, 0, image.width, image.height}, kRows);
  std::jthread bringer([&] {
    for (int32_t y = 0; y < image.height; y += kRows) {
      const int32_t rows = std::min(kRows, image.height - y);
      std::copy_n(image.bytes.begin() + y * image.row_bytes, rows * image.row_bytes,
                  source.bytes.begin() + y * source.row_bytes);
      flow.arrived(y + rows);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  const PictureFlow picture{source.view(), result.target(), flow.engine_side()};
  const Status status = engine.denoise(params, noise, picture, {}, report);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.fallbacks.empty());
  EXPECT_EQ(result.bytes, whole.bytes);
  int32_t bands = 0;
  while (flow.take_finished(std::chrono::milliseconds(0))) ++bands;
  EXPECT_EQ(bands, (image.height - 1) / kRows + 1);
}

bool available() {
  Engine engine({g_module_dir, 1});
  for (const DeviceInfo& device : engine.devices()) {
    if (device.name.starts_with(g_device) && device.usable) return true;
    if (device.name.starts_with(g_device)) std::printf("%s\n", device.reason.c_str());
  }
  return false;
}

}  // namespace
}  // namespace grainless

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc < 3) return 2;
  grainless::contract::g_device = argv[1];
  grainless::contract::g_module_dir = argv[2];
  if (!grainless::available()) {
    std::printf("no usable device for '%s': skipped\n", argv[1]);
    return 77;
  }
  return RUN_ALL_TESTS();
}
