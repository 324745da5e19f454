// SPDX-License-Identifier: MIT
// Who computes which tiles, with backends that compute nothing: they count.
#include "engine/backends/tile_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "engine/cpu/cpu_backend.h"
#include "engine/noise/model.h"
#include "engine/plan/make_plan.h"

namespace grainless {
namespace {

constexpr uint64_t kPixelBytes = 92;  // of a tile, a pixel

class CountingBackend final : public Backend {
 public:
  explicit CountingBackend(std::string name) : name_(std::move(name)) {}

  std::string name() const override { return name_; }
  std::string description() const override { return name_; }
  int32_t concurrency() const override { return streams; }
  Status supports(const Plan&) const override { return {}; }
  uint64_t tile_bytes(const Plan&, int32_t width, int32_t height) const override {
    return kPixelBytes * width * height;
  }
  uint64_t budget() const override { return ask_budget(); }
  int32_t preferred_side(const Plan&) const override { return side; }
  void run(const Plan&, const AbiTile& tile, const Callbacks& callbacks, AbiTiming*) override {
    ++runs;
    callbacks.report(progress);
    fail(tile.out);
    if (expected_at_once > 0) meet();
    for (int32_t y = 0; y < tile.out.height; ++y) {
      auto* row = static_cast<uint8_t*>(tile.target) + y * tile.target_row_bytes;
      for (int32_t x = 0; x < tile.out.width; ++x) ++row[x];
    }
    std::lock_guard lock(mutex_);
    done.push_back(tile.out);
  }
  Status supports_volume(const Plan&, const VolumePlan&) const override { return {}; }
  uint64_t slab_bytes(const Plan&, const VolumePlan&, int32_t, int32_t, int32_t,
                      int32_t) const override {
    return 0;
  }
  void run_slab(const Plan&, const VolumePlan&, const AbiSlab&, const Callbacks&,
                AbiTiming*) override {}

  int32_t largest_side() const {
    int32_t largest = 0;
    for (const Rect& tile : done) largest = std::max({largest, tile.width, tile.height});
    return largest;
  }
  int32_t smallest_side() const {
    int32_t smallest = INT32_MAX;
    for (const Rect& tile : done) smallest = std::min({smallest, tile.width, tile.height});
    return smallest;
  }

  int32_t streams = 2, side = 0;
  double progress = 0.5;  // that every run says
  std::function<uint64_t()> ask_budget = [] { return UINT64_MAX; };
  std::function<void(const Rect&)> fail = [](const Rect&) {};  // may throw
  int expected_at_once = 0;                                    // runs wait for each other, if set
  std::atomic<int> runs = 0, most_at_once = 0;
  std::vector<Rect> done;

 private:
  // Until so many were there together once, however slow the computer is; then a moment for more.
  void meet() {
    const int now = ++at_once_;
    int most = most_at_once;
    while (now > most && !most_at_once.compare_exchange_weak(most, now)) continue;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (most_at_once < expected_at_once && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --at_once_;
  }

  std::string name_;
  std::mutex mutex_;
  std::atomic<int> at_once_ = 0;
};

class TileScheduler : public ::testing::Test {
 protected:
  void SetUp() override {
    cpu_->streams = 1;
    cpu_->side = 1024;
  }

  // A picture as large as `area`, and that every pixel was computed once.
  void run(int32_t width, int32_t height,
           const std::vector<std::shared_ptr<CountingBackend>>& cards, const Params& params = {}) {
    const PixelFormat grey{Component::kU8, 1};
    const Plan plan = make_plan(params, grey, white_noise(1, 10));
    const std::vector<uint8_t> source(size_t(width) * height);
    std::vector<uint8_t> target(source.size());
    const Rect whole{0, 0, width, height};
    progress_.clear();
    const Callbacks callbacks{nullptr, [&](double fraction) { progress_.push_back(fraction); }};
    report_ = {};
    failed_.clear();
    run_tiles(ImageWork(plan, {grey, width, height, whole, source.data(), width},
                        {grey, width, height, whole, target.data(), width}, callbacks),
              {cards.begin(), cards.end()}, cpu_, report_, failed_);
    EXPECT_EQ(target, std::vector<uint8_t>(target.size(), 1));
  }
  bool mentions(const std::string& text) const {
    return std::any_of(report_.fallbacks.begin(), report_.fallbacks.end(),
                       [&](const auto& said) { return said.find(text) != std::string::npos; });
  }

  std::shared_ptr<CountingBackend> cpu_ = std::make_shared<CountingBackend>("cpu");
  std::shared_ptr<CountingBackend> card_ = std::make_shared<CountingBackend>("cuda:0");
  std::shared_ptr<CountingBackend> other_ = std::make_shared<CountingBackend>("cuda:1");
  Report report_;
  std::vector<std::string> failed_;
  std::vector<double> progress_;
};

void throw_failed(const Rect&) {
  throw Error(ErrorCode::kDeviceFailed, "off the bus");
}

void throw_full(const Rect&) {
  throw Error(ErrorCode::kOutOfMemory, "the card is full");
}

TEST_F(TileScheduler, ACardThatWorksTakesAll) {
  run(2000, 1500, {card_});
  EXPECT_EQ(card_->done.size(), 1u);
  EXPECT_EQ(cpu_->runs, 0);
}

// One band's transfers go beside another's kernels.
TEST_F(TileScheduler, LargePicturesPassACardInBands) {
  run(3000, 20000, {card_});
  ASSERT_EQ(card_->done.size(), 5u);
  for (const Rect& band : card_->done) {
    EXPECT_EQ(band.width, 3000);
    // The first one is half as high: until it has arrived, nothing is computed.
    EXPECT_NEAR(band.height, band.y == 0 ? 2500 : 4375, 1);
  }
  card_->done.clear();
  card_->streams = 1;
  run(3000, 20000, {card_});
  EXPECT_EQ(card_->done.size(), 1u);
}

// What five stages compute twice takes longer than the transfers that bands would hide.
TEST_F(TileScheduler, ManyStagesOverWideHalosTakeOneBand) {
  Params params;
  run(6000, 12000, {card_}, params);
  EXPECT_GT(card_->done.size(), 1u);
  card_->done.clear();
  params.quality = static_cast<int32_t>(Quality::kHigh);
  run(6000, 12000, {card_}, params);
  EXPECT_EQ(card_->done.size(), 1u);
}

TEST_F(TileScheduler, TilesSideBySideAreOfOneHeight) {
  card_->ask_budget = [] { return 2 * kPixelBytes * 2200 * 1200; };
  run(4000, 2000, {card_});
  ASSERT_EQ(card_->done.size(), 4u);
  for (const Rect& tile : card_->done) EXPECT_EQ(tile.area(), 2000 * 1000);
}

// The rows that a band reads of its neighbours are filtered twice.
TEST_F(TileScheduler, BandsAreManyTimesAsHighAsTheirHalo) {
  run(30000, 1000, {card_});
  EXPECT_EQ(card_->done.size(), 1u);
}

TEST_F(TileScheduler, NoMoreTilesAtOnceThanMemoryHasRoomFor) {
  card_->streams = other_->streams = 4;
  card_->expected_at_once = 2;
  other_->expected_at_once = 4;
  card_->ask_budget = [] { return 2 * kPixelBytes * 1500 * 1500; };
  run(6000, 4000, {card_});
  EXPECT_EQ(card_->most_at_once, 2);
  run(2000, 40000, {other_});
  EXPECT_EQ(other_->most_at_once, 4);
}

// Of half the memory, tiles would be mostly halo.
TEST_F(TileScheduler, WideHalosTakeAllMemoryForATile) {
  Params params;
  params.quality = static_cast<int32_t>(Quality::kHigh);
  params.scales = 2;
  card_->expected_at_once = 1;
  card_->ask_budget = [] { return kPixelBytes * 1800 * 1800; };
  run(3000, 2000, {card_}, params);
  EXPECT_EQ(card_->most_at_once, 1);
  EXPECT_LE(card_->done.size(), 9u);
  card_->ask_budget = [] { return 2 * kPixelBytes * 1800 * 1800; };
  card_->expected_at_once = 2;
  run(3000, 2000, {card_});
  EXPECT_EQ(card_->most_at_once, 2);
}

// Where half the memory has no room for any tile.
TEST_F(TileScheduler, ATileThatFitsAloneIsComputed) {
  card_->ask_budget = [] { return kPixelBytes * 300 * 300; };
  Params params;
  params.quality = static_cast<int32_t>(Quality::kHigh);
  run(280, 290, {card_}, params);
  EXPECT_EQ(cpu_->runs, 0);
  EXPECT_TRUE(report_.fallbacks.empty());
}

// A whole picture as one tile took 92 bytes a pixel of the computer's memory.
TEST_F(TileScheduler, WhatAFailedCardLeavesTheCpuCutsForItself) {
  card_->fail = throw_failed;
  run(6000, 4000, {card_});
  EXPECT_LE(card_->runs, 2);  // one a stream
  EXPECT_LE(cpu_->largest_side(), 1024);
  EXPECT_EQ(failed_, std::vector<std::string>{"cuda:0"});
  EXPECT_TRUE(mentions("cuda:0 failed: off the bus"));
}

// 64-pixel tiles are mostly halo.
TEST_F(TileScheduler, SmallTilesOfAFullCardAreNotTheCpus) {
  std::mt19937 random(3);
  std::mutex mutex;
  card_->fail = [&](const Rect& tile) {
    // Its streams fail one after the other, together, or one much more slowly.
    const auto lasts = [&] {
      std::lock_guard lock(mutex);
      return std::chrono::microseconds(random() % 4 == 0 ? random() % 2000 : 0);
    }();
    if (lasts.count() > 0) std::this_thread::sleep_for(lasts);
    throw_full(tile);
  };
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    card_->runs = 0;
    cpu_->done.clear();
    run(6000, 4000, {card_});
    EXPECT_LE(cpu_->largest_side(), 1024);
    EXPECT_GE(cpu_->smallest_side(), 500);
    EXPECT_LE(cpu_->done.size(), 48u);
    EXPECT_LE(card_->runs, 30);  // a full card is not asked thousands of times
  }
}

TEST_F(TileScheduler, HalfAPictureThatACardLeavesIsCutForTheCpu) {
  card_->streams = 1;
  card_->ask_budget = [] { return kPixelBytes * 700 * 700; };
  card_->fail = [this](const Rect& tile) {
    if (card_->runs > 20) throw_failed(tile);
  };
  run(6000, 4000, {card_});
  EXPECT_EQ(card_->done.size(), 20u);
  EXPECT_LE(cpu_->largest_side(), 1024);
  EXPECT_GE(cpu_->smallest_side(), 200);
}

TEST_F(TileScheduler, CardsOfDifferentMemoryCutForThemselves) {
  card_->ask_budget = [] { return 2 * kPixelBytes * 3500 * 2500; };
  other_->ask_budget = [] { return 2 * kPixelBytes * 800 * 800; };
  run(6000, 4000, {card_, other_});
  EXPECT_LE(other_->largest_side(), 800);
  EXPECT_EQ(cpu_->runs, 0);
  EXPECT_TRUE(report_.fallbacks.empty());
}

TEST_F(TileScheduler, ALimitOfACardIsNoFailure) {
  card_->fail = [](const Rect&) { throw Error(ErrorCode::kUnsupported, "too small for it"); };
  run(600, 400, {card_});
  EXPECT_TRUE(failed_.empty());
  EXPECT_TRUE(mentions("cuda:0 is left out: too small for it"));
  EXPECT_EQ(cpu_->done.size(), 1u);
}

TEST_F(TileScheduler, AFullCardIsNoFailure) {
  card_->fail = throw_full;
  run(300, 200, {card_});
  EXPECT_TRUE(failed_.empty());
  EXPECT_TRUE(mentions("cuda:0 is left out: "));
  EXPECT_EQ(cpu_->done.size(), 1u);
}

TEST_F(TileScheduler, ACardThatDoesNotSayItsMemoryIsLeftOut) {
  card_->ask_budget = []() -> uint64_t { throw Error(ErrorCode::kDeviceFailed, "no answer"); };
  run(3000, 2000, {card_, other_});
  EXPECT_EQ(card_->runs, 0);
  EXPECT_EQ(cpu_->runs, 0);
  EXPECT_TRUE(mentions("cuda:0 failed: no answer"));
  EXPECT_FALSE(other_->done.empty());
}

TEST_F(TileScheduler, ACardWithoutRoomForATileIsNotTried) {
  card_->ask_budget = [] { return 0; };
  run(3000, 2000, {card_});
  EXPECT_EQ(card_->runs, 0);
  EXPECT_TRUE(mentions("0 MiB of memory are too little for a tile"));
}

TEST_F(TileScheduler, WhatTheCpuFailsWithIsToldAndNothingHangs) {
  card_->fail = throw_failed;
  for (const auto code : {ErrorCode::kOutOfMemory, ErrorCode::kInternal}) {
    cpu_->fail = [&](const Rect&) { throw Error(code, "no more"); };
    const Status status = guard([&] { run(300, 200, {card_}); });
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), "no more");
  }
}

TEST_F(TileScheduler, ProgressIsANumberWhateverACardSays) {
  for (const double said : {std::nan(""), HUGE_VAL, -HUGE_VAL, -1.0, 7.0}) {
    card_ = std::make_shared<CountingBackend>("cuda:0");
    card_->progress = said;
    run(300, 200, {card_});
    EXPECT_TRUE(std::is_sorted(progress_.begin(), progress_.end())) << said;
    ASSERT_FALSE(progress_.empty());
    EXPECT_GE(progress_.front(), 0) << said;
    EXPECT_EQ(progress_.back(), 1) << said;
  }
}

// Whatever fails when, every pixel is computed once.
TEST_F(TileScheduler, RandomFailuresLeaveNoHole) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    const auto width = static_cast<int32_t>(1 + random() % 1500);
    const auto height = static_cast<int32_t>(1 + random() % 1500);
    const auto fresh = [&](const char* name) {
      auto card = std::make_shared<CountingBackend>(name);
      const uint64_t budget = kPixelBytes * (200 * 200 + random() % 4000000);
      const int most = static_cast<int>(random() % 12), kind = static_cast<int>(random() % 4);
      card->ask_budget = [=] { return budget; };
      card->fail = [=, card = card.get()](const Rect& tile) {
        if (kind == 0 && card->runs > most) throw_failed(tile);
        if (kind == 1 && tile.area() > 300 * 300) throw_full(tile);
        if (kind == 2 && card->runs % 3 == 0) throw_full(tile);
      };
      return card;
    };
    run(width, height, {fresh("cuda:0"), fresh("cuda:1"), fresh("cuda:2")});
  }
}

// Two pictures at once would take twice the memory, and have the same threads.
TEST(CpuBackend, LargeTilesAwaitEachOther) {
  ThreadPool pool(2);
  const auto cpu = make_cpu_backend(pool);
  Params params;
  params.method = static_cast<int32_t>(Method::kDct);
  const PixelFormat grey{Component::kU8, 1};
  const Plan plan = make_plan(params, grey, white_noise(1, 10));
  const auto run = [&](int32_t side, const Callbacks& callbacks) {
    const std::vector<uint8_t> source(size_t(side) * side);
    std::vector<uint8_t> target(source.size());
    const Rect whole{0, 0, side, side};
    const AbiTile tile{side, side, whole, whole, source.data(), side, target.data(), side};
    AbiTiming timing{};
    return guard([&] { cpu->run(plan, tile, callbacks, &timing); });
  };
  std::atomic<bool> inside = false, leave = false, begun = false;
  std::jthread first([&] {
    const Callbacks stays{nullptr, [&](double) {
                            inside = true;
                            while (!leave)
                              std::this_thread::sleep_for(std::chrono::milliseconds(1));
                          }};
    EXPECT_TRUE(run(1300, stays).ok());
  });
  while (!inside) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CancelToken cancel;
  std::jthread second([&] {
    EXPECT_EQ(run(1300, {&cancel, [&](double) { begun = true; }}).code(), ErrorCode::kCancelled);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(begun);
  cancel.cancel();
  second.join();
  leave = true;
  first.join();
  EXPECT_TRUE(run(1300, {nullptr, [&](double) { begun = true; }}).ok());
  EXPECT_TRUE(begun);
}

TEST(CpuBackend, TilesAreManyTimesAsWideAsTheirHalo) {
  ThreadPool pool(1);
  const auto cpu = make_cpu_backend(pool);
  Params params;
  for (const Quality quality : {Quality::kNormal, Quality::kHigh}) {
    params.quality = static_cast<int32_t>(quality);
    const Plan plan = make_plan(params, {Component::kU8, 3}, white_noise(3, 30));
    EXPECT_GE(cpu->preferred_side(plan), std::max(1024, 8 * plan.halo));
    // A computer with little free memory has room for one of the usual tiles all the same.
    const int32_t usual = 1024 + 2 * plan.halo;
    EXPECT_GE(cpu->tile_budget(plan), cpu->tile_bytes(plan, usual, usual));
    EXPECT_LE(cpu->tile_budget(plan), uint64_t{2} << 30);
  }
}

}  // namespace
}  // namespace grainless
