// SPDX-License-Identifier: MIT
// Volumes in slabs over the fake modules of tests/support.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "engine/denoise.h"
#include "tests/support/cards_in_test.h"
#include "tests/support/search_volume.h"
#include "tests/support/system.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

// Larger than what one card is given at once.
constexpr int32_t kSide = 256, kLayers = 150;

class VolumeFallback : public ::testing::Test {
 protected:
  void SetUp() override {
    params_.method = static_cast<int32_t>(Method::kNlm);
    params_.search = params_.patch = 3;
    params_.auto_sigma = false;
    for (int32_t z = 0; z < kLayers; ++z) {
      layers_.push_back(test::noisy_picture({Component::kU8, 1}, kSide, kSide, 12.0f, 1 + z % 7));
    }
  }
  void TearDown() override {
    for (const std::string& name : set_) test::unset_variable(name);
  }

  void fault(const std::string& name, int64_t value) {
    set_.push_back("GRAINLESS_FAKE_" + name);
    test::set_variable(set_.back(), std::to_string(value));
  }

  std::vector<TestImage> denoise(const std::string& module_dir, Status& status,
                                 const Callbacks& callbacks, Report& report) {
    Engine engine(test::with_cards(module_dir, 2));
    std::vector<TestImage> results = layers_;
    std::vector<ConstImage> sources;
    std::vector<MutableImage> targets;
    for (const TestImage& layer : layers_) sources.push_back(layer.view());
    for (TestImage& result : results) targets.push_back(result.target());
    status = test::search_volume(engine, params_, 1, sources, targets, callbacks, report);
    return results;
  }

  // Checks that the pixels are the CPU's.
  Report run(const std::string& device = "auto") {
    Status status;
    Report report, ignored;
    params_.device = device;
    const auto results = denoise(std::string(FAKE_MODULES) + "/fake-good", status, {}, report);
    EXPECT_TRUE(status.ok()) << status.message();
    if (expected_.empty()) expected_ = denoise("", status, {}, ignored);
    EXPECT_TRUE(status.ok()) << status.message();
    for (int32_t z = 0; z < kLayers; ++z) EXPECT_EQ(results[z].bytes, expected_[z].bytes) << z;
    return report;
  }

  Params params_;
  std::vector<TestImage> layers_, expected_;
  std::vector<std::string> set_;
};

bool mentions(const Report& report, const std::string& text) {
  for (const std::string& fallback : report.fallbacks) {
    if (fallback.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_F(VolumeFallback, OneCardOrSeveralTakeSlabs) {
  const Report alone = run();
  EXPECT_EQ(alone.device, "cuda:0");
  EXPECT_TRUE(alone.fallbacks.empty());
  EXPECT_GT(alone.tiles, 1);
  const Report together = run("cuda");
  EXPECT_EQ(together.device.find("cpu"), std::string::npos);
  EXPECT_TRUE(together.fallbacks.empty());
}

// A layer with its neighbours in more than half of the memory went to the processor.
TEST_F(VolumeFallback, ASlabThatFitsAloneIsTheCards) {
  constexpr int64_t kSlab = int64_t{100} * kSide * kSide * 5;  // as the fake card says, of 5 layers
  fault("BUDGET", kSlab + kSlab / 2);
  const Report report = run("cuda:0");
  EXPECT_EQ(report.device, "cuda:0");
  EXPECT_TRUE(report.fallbacks.empty());
  fault("BUDGET", kSlab - 1);
  EXPECT_TRUE(mentions(run("cuda:0"), "too little for a tile"));
}

// A card gets the part as a volume of its own, with what the part depends on.
TEST_F(VolumeFallback, PartsOfAVolumeAreTheCpusToo) {
  const Rect part{90, 70, 61, 33};
  constexpr int32_t kFirst = 140, kCount = 6;
  const auto cut = [&](const std::string& module_dir, std::string& device) {
    Engine engine(test::with_cards(module_dir, 2));
    std::vector<TestImage> results(layers_.begin() + kFirst, layers_.begin() + kFirst + kCount);
    std::vector<ConstImage> sources;
    std::vector<MutableImage> targets;
    for (const TestImage& layer : layers_) sources.push_back(layer.view());
    for (TestImage& result : results) {
      std::fill(result.bytes.begin(), result.bytes.end(), 0);
      MutableImage target = result.target();
      target.data = pixel_at(target, part.x, part.y);
      target.rect = part;
      targets.push_back(target);
    }
    Report report;
    const Status status =
        engine.denoise_volume_part(params_, 1, white_noise(1, 10),
                                   {{kLayers, 0, sources}, {kLayers, kFirst, targets}}, {}, report);
    EXPECT_TRUE(status.ok()) << status.message();
    device = report.device;
    return results;
  };
  std::string card, processor;
  const auto results = cut(std::string(FAKE_MODULES) + "/fake-good", card);
  const auto expected = cut("", processor);
  EXPECT_EQ(card, "cuda:0");
  EXPECT_EQ(processor, "cpu");
  for (int32_t z = 0; z < kCount; ++z) EXPECT_EQ(results[z].bytes, expected[z].bytes) << z;
}

TEST_F(VolumeFallback, WhatACardCanNotDoTheCpuDoesAndSays) {
  fault("LACKS_VOLUMES", 1);
  const Report report = run();
  EXPECT_EQ(report.device, "cpu");
  EXPECT_TRUE(mentions(report, "lacks volumes"));
}

TEST_F(VolumeFallback, OutOfMemoryMeansThinnerSlabs) {
  fault("MAX_LAYERS", 20);
  const Report report = run();
  EXPECT_EQ(report.device, "cuda:0");
  EXPECT_TRUE(mentions(report, "the card is full"));
}

TEST_F(VolumeFallback, ABudgetIsKeptFromTheStart) {
  fault("BUDGET", int64_t{2} * 100 * kSide * kSide * (20 + 4));
  fault("MAX_LAYERS", 20);
  const Report report = run();
  EXPECT_EQ(report.device, "cuda:0");
  EXPECT_TRUE(report.fallbacks.empty());
}

TEST_F(VolumeFallback, ACardTooSmallForALayerGivesUpForTheCpu) {
  fault("MAX_LAYERS", 0);
  const Report report = run();
  EXPECT_EQ(report.device, "cpu");
  EXPECT_TRUE(mentions(report, "the card is full"));
}

TEST_F(VolumeFallback, AFailureInMidVolumeIsFinishedElsewhere) {
  fault("MAX_LAYERS", 20);
  fault("FAIL_RUN", 6);
  const Report alone = run();
  EXPECT_NE(alone.device.find("cpu"), std::string::npos);
  EXPECT_TRUE(mentions(alone, "fell off the bus"));
  fault("FAIL_RUN", 2);
  // On a busy computer the other card may have done all before this one's second slab.
  constexpr int kMostRuns = 20;
  Report together;
  for (int i = 0; i < kMostRuns && !mentions(together, "fell off the bus"); ++i) {
    together = run("cuda");
  }
  EXPECT_EQ(together.device.find("cpu"), std::string::npos);
  EXPECT_TRUE(mentions(together, "fell off the bus"));
}

TEST_F(VolumeFallback, CancellingStopsItWithoutBlamingTheCard) {
  CancelToken cancel;
  const Callbacks callbacks{&cancel, [&](double fraction) {
                              if (fraction > 0) cancel.cancel();
                            }};
  Status status;
  Report report;
  denoise(std::string(FAKE_MODULES) + "/fake-good", status, callbacks, report);
  EXPECT_EQ(status.code(), ErrorCode::kCancelled);
  EXPECT_TRUE(report.fallbacks.empty());
}

}  // namespace
}  // namespace grainless
