// SPDX-License-Identifier: MIT
// Loader, tile scheduler and fall-back chain against the fake modules of tests/support.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

#include "engine/denoise.h"
#include "engine/module_version.h"
#include "tests/support/cards_in_test.h"
#include "tests/support/system.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::noisy_picture;
using test::TestImage;

class Fallback : public ::testing::Test {
 protected:
  void SetUp() override {
    params_.method = static_cast<int32_t>(Method::kNlm);
    params_.auto_sigma = false;
  }
  void TearDown() override {
    for (const std::string& name : set_) test::unset_variable(name);
  }

  void fault(const std::string& name, int64_t value) {
    set_.push_back("GRAINLESS_FAKE_" + name);
    test::set_variable(set_.back(), std::to_string(value));
  }

  // Denoises on the module in `folder` and checks that the pixels are the CPU's.
  Report run(const std::string& folder, const std::string& device = "auto") {
    params_.device = device;
    Engine engine = engine_of(folder);
    return run(engine);
  }

  Engine engine_of(const std::string& folder) {
    return Engine(test::with_cards(std::string(FAKE_MODULES) + "/" + folder, 2));
  }

  Report run(Engine& engine) {
    TestImage result(image_.format, image_.width, image_.height);
    Report report;
    const Status status =
        engine.denoise(params_, white_noise(3, 12.0f), image_.view(), result.target(), {}, report);
    EXPECT_TRUE(status.ok()) << status.message();
    Engine plain({"", 2});
    TestImage expected(image_.format, image_.width, image_.height);
    Report ignored;
    EXPECT_TRUE(
        plain.denoise(params_, white_noise(3, 12.0f), image_.view(), expected.target(), {}, ignored)
            .ok());
    EXPECT_EQ(result.bytes, expected.bytes);
    return report;
  }

  Params params_;
  TestImage image_ = noisy_picture({Component::kU8, 3}, 700, 600, 12.0f);
  std::vector<std::string> set_;
};

bool mentions(const Report& report, const std::string& text) {
  for (const std::string& fallback : report.fallbacks) {
    if (fallback.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_F(Fallback, TheModuleSaysItsVersionOrWhyThereIsNone) {
  EXPECT_EQ(module_version(std::string(FAKE_MODULES) + "/fake-good"), "9.8.7");
  for (const char* folder : {"fake-old", "fake-newer", "gone"}) {
    EXPECT_THROW(module_version(std::string(FAKE_MODULES) + "/" + folder), Error) << folder;
  }
  EXPECT_THROW(module_version(""), Error);
}

TEST_F(Fallback, AGoodModuleComputes) {
  const Report report = run("fake-good");
  EXPECT_EQ(report.device, "cuda:0");
  EXPECT_EQ(report.device_description, "Fake card 0");
  EXPECT_TRUE(report.fallbacks.empty());
  EXPECT_TRUE(report.changed);
}

TEST_F(Fallback, SeveralCardsShareOneImage) {
  const Report report = run("fake-good", "cuda");
  EXPECT_GE(report.tiles, 2);
  EXPECT_NE(report.device.find("cuda:"), std::string::npos);
  EXPECT_EQ(run("fake-good", "cuda:1").device, "cuda:1");
}

TEST_F(Fallback, MissingModuleMeansTheCpuWithTheReason) {
  const Report report = run("no-such-folder");
  EXPECT_EQ(report.device, "cpu");
  EXPECT_TRUE(mentions(report, "not installed"));
}

TEST_F(Fallback, ModulesOfAnotherVersionOrShapeAreRefusedWithTheReason) {
  EXPECT_TRUE(mentions(run("fake-old"), "another version"));
  EXPECT_TRUE(mentions(run("fake-newer"), "another version"));
  EXPECT_TRUE(mentions(run("fake-strange"), "not a Grainless module"));
}

TEST_F(Fallback, ACardThatDoesNotExistOrIsRefusedIsNamed) {
  fault("CARDS", 3);
  EXPECT_TRUE(mentions(run("fake-good", "cuda:7"), "cuda:7"));
  EXPECT_TRUE(mentions(run("fake-good", "cuda:2"), "too old"));
}

TEST_F(Fallback, NoDriverOrAnOldOneMeansTheCpuWithTheReason) {
  fault("DRIVER", 0);
  const Report none = run("fake-good");
  EXPECT_EQ(none.device, "cpu");
  EXPECT_TRUE(mentions(none, "no fake driver"));
  fault("DRIVER", 1);
  EXPECT_TRUE(mentions(run("fake-good", "cuda"), "the fake driver is too old"));
}

TEST_F(Fallback, ACardThatCanNotBeOpenedIsLeftOut) {
  fault("OPEN_FAILS", 0);
  const Report alone = run("fake-good");
  EXPECT_TRUE(mentions(alone, "does not answer"));
  const Report together = run("fake-good", "cuda");
  EXPECT_EQ(together.device, "cuda:1");
  EXPECT_TRUE(mentions(together, "does not answer"));
}

TEST_F(Fallback, APreparedCardIsOpen) {
  Engine engine = engine_of("fake-good");
  engine.prepare(params_);
  Params on_cpu = params_;
  on_cpu.device = "cpu";
  engine.prepare(on_cpu);  // waits for the first
  fault("OPEN_FAILS", 0);
  const Report report = run(engine);
  EXPECT_EQ(report.device, "cuda:0");
  EXPECT_TRUE(report.fallbacks.empty());
}

TEST_F(Fallback, WhatFailsWhilePreparingIsToldOnceByTheRun) {
  fault("OPEN_FAILS", 0);
  Engine engine = engine_of("fake-good");
  engine.prepare(params_);
  const Report report = run(engine);
  EXPECT_EQ(report.fallbacks.size(), 1u);
  EXPECT_TRUE(mentions(report, "does not answer"));
}

TEST_F(Fallback, PreparingWithoutModuleOrWithBadSettingsDoesNothing) {
  Params bad = params_;
  bad.device = "cuda:";
  for (const char* folder : {"no-such-folder", "fake-good"}) {
    Engine engine = engine_of(folder);
    engine.prepare(params_);
    engine.prepare(bad);
    params_.device = "auto";
    EXPECT_EQ(run(engine).device, folder == std::string("fake-good") ? "cuda:0" : "cpu");
  }
}

TEST_F(Fallback, NoCardAtAllIsSaid) {
  fault("CARDS", 0);
  const Report report = run("fake-good");
  EXPECT_EQ(report.device, "cpu");
  EXPECT_TRUE(mentions(report, "no NVIDIA graphics card"));
}

TEST_F(Fallback, MoreCardsThanThereCanBeAreNotBelieved) {
  fault("CARDS", 4000000000);
  const Report report = run("fake-good");
  EXPECT_EQ(report.device, "cpu");
  EXPECT_TRUE(mentions(report, "the GPU module failed"));
}

TEST_F(Fallback, TextsOfAModuleEndWithTheirFields) {
  fault("FULL_TEXTS", 1);
  fault("CARDS", 3);
  const std::vector<DeviceInfo> devices = engine_of("fake-good").devices();
  ASSERT_EQ(devices.size(), 4u);
  EXPECT_EQ(devices[0].description, std::string(127, 'n'));
  EXPECT_EQ(devices[2].reason, std::string(255, 'r'));
}

TEST_F(Fallback, OutOfMemoryMeansSmallerTilesOnTheSameCard) {
  fault("MAX_PIXELS", 200000);
  const Report report = run("fake-good");
  EXPECT_EQ(report.device, "cuda:0");
  EXPECT_GT(report.tiles, 1);
  EXPECT_TRUE(mentions(report, "smaller tiles"));
}

TEST_F(Fallback, ABudgetIsKeptFromTheStart) {
  fault("BUDGET", int64_t{2} * 100 * 250000);
  fault("MAX_PIXELS", 250000);
  const Report report = run("fake-good");
  EXPECT_EQ(report.device, "cuda:0");
  EXPECT_GT(report.tiles, 1);
  EXPECT_TRUE(report.fallbacks.empty());
}

TEST_F(Fallback, ACardTooSmallForAnyTileGivesUpForTheCpu) {
  fault("MAX_PIXELS", 100);
  const Report report = run("fake-good");
  EXPECT_EQ(report.device, "cpu");
  EXPECT_TRUE(mentions(report, "the card is full"));
}

TEST_F(Fallback, AFailureInMidImageIsFinishedElsewhere) {
  fault("MAX_PIXELS", 100000);
  fault("FAIL_RUN", 3);
  const Report alone = run("fake-good");
  EXPECT_NE(alone.device.find("cpu"), std::string::npos);
  EXPECT_TRUE(mentions(alone, "fell off the bus"));
  // On a busy computer the other card may have done all before this one's third tile.
  constexpr int kMostRuns = 20;
  Report together;
  for (int i = 0; i < kMostRuns && !mentions(together, "fell off the bus"); ++i) {
    together = run("fake-good", "cuda");
  }
  EXPECT_EQ(together.device.find("cpu"), std::string::npos);
  EXPECT_TRUE(mentions(together, "fell off the bus"));
}

#ifndef CARD_PROCESS  // which keeps the settings that it was started with
// A limit of the plan is no broken card: the next plan gets the card again, as it was opened.
TEST_F(Fallback, ACardTooSmallForAPlanIsLeftOutOfThisRunOnly) {
  Engine engine = engine_of("fake-good");
  fault("SMALL", 1);
  const Report refused = run(engine);
  EXPECT_EQ(refused.device, "cpu");
  EXPECT_TRUE(mentions(refused, "cuda:0 is left out"));
  fault("SMALL", 0);
  fault("OPEN_FAILS", 0);  // it is not opened again
  const Report later = run(engine);
  EXPECT_EQ(later.device, "cuda:0");
  EXPECT_TRUE(later.fallbacks.empty());
}
#endif

TEST_F(Fallback, ACardThatDoesNotSayItsMemoryIsLeftOutWithTheReason) {
  fault("BUDGET", -1);
  const Report report = run("fake-good");
  EXPECT_EQ(report.device, "cpu");
  EXPECT_TRUE(mentions(report, "the fake card is silent"));
}

TEST_F(Fallback, ACardWithoutMemoryIsLeftOutWithTheReason) {
  fault("BUDGET", 0);
  const Report report = run("fake-good");
  EXPECT_EQ(report.device, "cpu");
  EXPECT_EQ(report.tiles, 1);
  EXPECT_TRUE(mentions(report, "too little for a tile"));
}

TEST_F(Fallback, WhatACardCanNotDoTheCpuDoesAndSays) {
  fault("LACKS_METHOD", static_cast<int64_t>(Method::kNlm));
  const Report report = run("fake-good");
  EXPECT_EQ(report.device, "cpu");
  EXPECT_TRUE(mentions(report, "lacks this method"));
}

TEST_F(Fallback, DevicesAreListedWithReasonsAndTheCpuLast) {
  fault("CARDS", 3);
  Engine engine({std::string(FAKE_MODULES) + "/fake-good", 1});
  const std::vector<DeviceInfo> devices = engine.devices();
  ASSERT_EQ(devices.size(), 4u);
  EXPECT_TRUE(devices[0].usable);
  EXPECT_FALSE(devices[2].usable);
  EXPECT_EQ(devices[2].reason, "Fake card 2 is too old");
  EXPECT_EQ(devices[3].name, "cpu");
  EXPECT_EQ(devices[0].free_memory, 0u);
  EXPECT_EQ(engine.devices(Engine::Ask::kFreeMemory)[0].free_memory, uint64_t{1} << 29);
}

TEST_F(Fallback, AnyNumberOfCardsIsListed) {
  fault("CARDS", 37);
  EXPECT_EQ(engine_of("fake-good").devices().size(), 38u);
}

}  // namespace
}  // namespace grainless
