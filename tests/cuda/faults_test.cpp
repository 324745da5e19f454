// SPDX-License-Identifier: MIT
// The fall-back chain on a real card, with the module's faults (cuda/runtime/fault.h): usage
// faults_test MODULE_DIR [gtest options]. Only where the module was built with -Dcuda-faults=true.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include "engine/denoise.h"
#include "tests/support/fault_log.h"
#include "tests/support/search_volume.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::noisy_picture;
using test::TestImage;

std::string g_module_dir;

class Faults : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv("GRAINLESS_FAULT"); }

  TestImage run(const char* fault, Report& report) {
    Params params;
    params.auto_sigma = false;
    params.device = "auto";
    params.memory = memory_;
    params.patch = patch_;
    if (fault != nullptr) setenv("GRAINLESS_FAULT", fault, 1);
    Engine engine({g_module_dir, 2});
    TestImage result(image_.format, image_.width, image_.height);
    const Status status =
        engine.denoise(params, white_noise(3, 15.0f), image_.view(), result.target(), {}, report);
    unsetenv("GRAINLESS_FAULT");
    EXPECT_TRUE(status.ok()) << status.message();
    return result;
  }

  // Denoises with the fault; the result has to be that of the whole card.
  Report run(const char* fault) {
    Report plain, report;
    const TestImage expected = run(nullptr, plain);
    EXPECT_TRUE(plain.fallbacks.empty());
    const TestImage result = run(fault, report);
    EXPECT_LE(test::largest_difference(result, expected), 1.0f);
    EXPECT_GE(test::psnr(result, expected), 80.0);
    same_bits_ = result.bytes == expected.bytes;
    return report;
  }

  int32_t memory_ = 0, patch_ = 0;
  bool same_bits_ = false;
  TestImage image_ = noisy_picture({Component::kU8, 3}, 700, 600, 15.0f);
};

bool mentions(const Report& report, const std::string& text) {
  for (const std::string& fallback : report.fallbacks) {
    if (fallback.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_F(Faults, NoDriverAnOldOneOrNoCodeMeansTheCpuWithTheReason) {
  for (const auto& [fault, reason] : {std::pair{"driver=none", "no NVIDIA driver"},
                                      {"driver=old", "too old"},
                                      {"arch", "no code for its architecture"},
                                      {"open", ""}}) {
    const Report report = run(fault);
    EXPECT_EQ(report.device, "cpu") << fault;
    EXPECT_TRUE(mentions(report, reason)) << fault;
  }
}

TEST_F(Faults, OutOfMemoryMeansSmallerTilesWithTheSameBits) {
  const Report report = run("alloc=10000000");
  EXPECT_EQ(report.device, "cuda:0");
  EXPECT_GT(report.tiles, 1);
  EXPECT_TRUE(mentions(report, "smaller tiles"));
  EXPECT_TRUE(same_bits_);
}

TEST_F(Faults, NoMemoryAtAllMeansTheCpu) {
  const Report report = run("alloc=1000");
  EXPECT_EQ(report.device, "cpu");
  EXPECT_FALSE(report.fallbacks.empty());
}

// A picture on the card with each allocation failing in turn, or all from one on: smaller tiles or
// the processor, the same picture, and the next run is whole.
TEST_F(Faults, OutOfMemoryAtEachAllocationOneByOne) {
  for (const char* which : {"alloc-number", "alloc-from"}) {
    bool ok = true;
    for (int n = 1; n <= 24; ++n) {
      const std::string fault = std::string(which) + "=" + std::to_string(n);
      const Report report = run(fault.c_str());
      ok = ok && !HasFailure();
      EXPECT_FALSE(report.device.empty()) << fault;
    }
    test::log_fault({std::string(which) == "alloc-from"
                         ? "out of device memory from an allocation on"
                         : "out of device memory at an allocation",
                     "anywhere, one by one", "card", "done with the same picture",
                     ok ? "as expected, at each one" : "OTHERWISE", ok});
  }
}

TEST_F(Faults, WhatACardDoesWrongTheCpuDoesInstead) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"nan", "NaN from a kernel", "no numbers"},
      {"shared=4096", "device too small for the plan", "shared memory is too small"},
      {"hang=300", "device hangs", "does not answer"}};
  for (const auto& [fault, name, says] : cases) {
    const Report report = run(fault);
    const bool ok = report.device == "cpu" && mentions(report, says);
    test::log_fault({name, "the first tile", "card", "done on cpu with the same picture",
                     "done on " + report.device +
                         (report.fallbacks.empty() ? "" : ", '" + report.fallbacks.back() + "'"),
                     ok});
  }
}

// The layers of a volume of one picture, denoised with the fault.
std::vector<TestImage> denoise_volume(const TestImage& image, const char* fault, Report& report) {
  constexpr int32_t kLayers = 60;
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.auto_sigma = false;
  params.search = 3;
  params.memory = 64;
  const std::vector<TestImage> layers(kLayers, image);
  std::vector<TestImage> results = layers;
  std::vector<ConstImage> sources;
  std::vector<MutableImage> targets;
  for (const TestImage& layer : layers) sources.push_back(layer.view());
  for (TestImage& result : results) targets.push_back(result.target());
  if (fault != nullptr) setenv("GRAINLESS_FAULT", fault, 1);
  Engine engine({g_module_dir, 2});
  const Status status = test::search_volume(engine, params, 1, sources, targets, {}, report);
  unsetenv("GRAINLESS_FAULT");
  EXPECT_TRUE(status.ok()) << status.message();
  return results;
}

// The module counts launches while the fault is set, and a slab takes six.
TEST_F(Faults, TheSharedMemoryOfTuringHoldsTheLargestGroupsOfBm3d) {
  patch_ = 16;
  const Report report = run("shared=65536");
  EXPECT_EQ(report.device, "cuda:0");
  EXPECT_TRUE(report.fallbacks.empty());
}

TEST_F(Faults, FailureInMidVolumeIsFinishedElsewhere) {
  const TestImage image = noisy_picture({Component::kU8, 1}, 256, 240, 15.0f);
  Report plain, report;
  const auto expected = denoise_volume(image, nullptr, plain);
  EXPECT_TRUE(plain.fallbacks.empty());
  EXPECT_GT(plain.tiles, 1);
  const auto results = denoise_volume(image, "launch=9", report);
  EXPECT_NE(report.device.find("cpu"), std::string::npos) << report.device;
  EXPECT_NE(report.device.find("cuda:0"), std::string::npos) << report.device;
  EXPECT_TRUE(mentions(report, "cuda:0 failed"));
  for (size_t z = 0; z < results.size(); ++z) {
    EXPECT_LE(test::largest_difference(results[z], expected[z]), 1.0f) << z;
  }
}

// Last: a context does not recover. Nine launches were counted before.
TEST_F(Faults, ZFailureInMidImageIsFinishedElsewhere) {
  memory_ = 16;
  const Report report = run("launch=69");
  EXPECT_NE(report.device.find("cpu"), std::string::npos);
  EXPECT_NE(report.device.find("cuda:0"), std::string::npos) << report.device;
  EXPECT_FALSE(report.fallbacks.empty());
}

}  // namespace
}  // namespace grainless

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 2;
  grainless::g_module_dir = argv[1];
  grainless::Engine engine({argv[1], 1});
  for (const grainless::DeviceInfo& device : engine.devices()) {
    if (device.name != "cpu" && device.usable) return RUN_ALL_TESTS();
  }
  std::printf("no usable device: skipped\n");
  return 77;
}
