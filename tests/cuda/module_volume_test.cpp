// SPDX-License-Identifier: MIT
// Slabs of volumes through the module's boundary.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "engine/cpu/cpu_backend.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/make_volume_plan.h"
#include "module.h"
#include "tests/support/answer_time.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::g_module;
using test::TestImage;

struct Work {
  Plan plan;
  VolumePlan volume;
};

Work work_of(PixelFormat format, int32_t search, int32_t patch, int32_t depth,
             double chroma = 100) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.search = search;
  params.patch = patch;
  params.chroma = chroma;
  params.scales = 1;
  const NoiseModel noise = white_noise(format.colours(), 20.0f);
  return {make_plan(params, format, noise),
          make_volume_plan(params, depth, format.colours(), noise)};
}

std::vector<TestImage> noisy(PixelFormat format, int32_t width, int32_t height, int32_t layers) {
  std::vector<TestImage> volume;
  for (int32_t z = 0; z < layers; ++z) {
    volume.push_back(test::noisy_picture(format, width, height, 20.0f, 1 + z));
  }
  return volume;
}

// The layers first .. first + results.size() - 1, with what they depend on and no more.
struct Slab {
  std::vector<AbiLayer> sources, targets;
  AbiSlab abi;

  Slab(const Work& work, const std::vector<TestImage>& volume, int32_t first,
       std::vector<TestImage>& results) {
    const auto layers = static_cast<int32_t>(volume.size());
    const auto count = static_cast<int32_t>(results.size());
    const int32_t reach = work.volume.reach();
    const int32_t begin = std::max(0, first - reach), end = std::min(layers, first + count + reach);
    for (int32_t z = begin; z < end; ++z) {
      sources.push_back({const_cast<uint8_t*>(volume[z].bytes.data()), volume[z].row_bytes});
    }
    for (TestImage& result : results) targets.push_back({result.bytes.data(), result.row_bytes});
    abi = {volume[0].width, volume[0].height, layers,        begin, end - begin, first,
           count,           sources.data(),   targets.data()};
  }
};

std::vector<TestImage> blank(const std::vector<TestImage>& volume, int32_t layers) {
  const TestImage& first = volume.front();
  return std::vector<TestImage>(layers, TestImage(first.format, first.width, first.height));
}

class ModuleVolume : public test::ModuleTest {
 protected:
  int32_t run(const Work& work, const std::vector<TestImage>& volume, int32_t first,
              std::vector<TestImage>& results, const AbiCallbacks& callbacks = {},
              AbiTiming* timing = nullptr) {
    const Slab slab(work, volume, first, results);
    AbiMessage message{};
    const int32_t code = g_module->run_slab(session_, &work.plan, &work.volume, &slab.abi,
                                            &callbacks, timing, &message);
    EXPECT_EQ(code == 0, message.text[0] == 0) << message.text;
    return code;
  }
  std::vector<TestImage> run(const Work& work, const std::vector<TestImage>& volume) {
    std::vector<TestImage> results = blank(volume, static_cast<int32_t>(volume.size()));
    EXPECT_EQ(run(work, volume, 0, results), 0);
    return results;
  }
};

std::vector<TestImage> on_cpu(const Work& work, const std::vector<TestImage>& volume) {
  ThreadPool pool(2);
  std::vector<TestImage> results = blank(volume, static_cast<int32_t>(volume.size()));
  const Slab slab(work, volume, 0, results);
  AbiTiming timing{};
  make_cpu_backend(pool)->run_slab(work.plan, work.volume, slab.abi, Callbacks{}, &timing);
  return results;
}

constexpr PixelFormat kGrey{Component::kFloat, 1}, kColour{Component::kFloat, 3};

TEST_F(ModuleVolume, AnySlabGivesTheBitsOfTheWhole) {
  for (const auto& [format, search, patch, depth] :
       {std::tuple{kGrey, 7, 3, 2}, {kGrey, 5, 5, 2}, {kColour, 5, 3, 1}, {kGrey, 5, 4, 3}}) {
    const Work work = work_of(format, search, patch, depth);
    const auto volume = noisy(format, 61, 37, 17);
    const auto whole = run(work, volume);
    for (const auto& [first, count] : {std::pair{0, 1}, {16, 1}, {3, 5}, {4, 13}, {9, 8}}) {
      auto slab = blank(volume, count);
      ASSERT_EQ(run(work, volume, first, slab), 0);
      for (int32_t z = 0; z < count; ++z) {
        EXPECT_EQ(slab[z].bytes, whole[first + z].bytes) << patch << ' ' << first << ' ' << z;
      }
    }
  }
}

TEST_F(ModuleVolume, EveryPatchAgreesWithTheCpu) {
  const auto grey = noisy(kGrey, 43, 19, 6), colour = noisy(kColour, 37, 9, 5);
  for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
    for (const int32_t depth : {1, 3, 8}) {
      const Work work = work_of(kGrey, 5, patch, depth);
      const auto here = run(work, grey), there = on_cpu(work, grey);
      for (size_t z = 0; z < here.size(); ++z) {
        EXPECT_LE(test::largest_difference(here[z], there[z]), 0.01f) << patch << ' ' << depth;
      }
    }
    for (const double chroma : {100.0, 60.0}) {
      const Work work = work_of(kColour, 3, patch, 2, chroma);
      const auto here = run(work, colour), there = on_cpu(work, colour);
      for (size_t z = 0; z < here.size(); ++z) {
        EXPECT_LE(test::largest_difference(here[z], there[z]), 0.01f) << patch << ' ' << chroma;
      }
    }
  }
}

TEST_F(ModuleVolume, AConstantStaysBitForBit) {
  for (const auto& [format, patch] : {std::pair{kGrey, 3}, {kGrey, 4}, {kColour, 3}}) {
    TestImage layer(format, 45, 20);
    for (int32_t y = 0; y < layer.height; ++y) {
      for (int32_t x = 0; x < layer.width; ++x) {
        for (int32_t c = 0; c < format.channels; ++c) layer.set(x, y, c, 51.7f);
      }
    }
    const std::vector<TestImage> volume(9, layer);
    const Work work = work_of(format, 7, patch, 2);
    const auto here = run(work, volume), there = on_cpu(work, volume);
    for (size_t z = 0; z < here.size(); ++z) EXPECT_EQ(here[z].bytes, there[z].bytes) << z;
  }
}

TEST_F(ModuleVolume, MemoryIsWhatSlabBytesSays) {
  for (const int32_t search : {7, 63}) {  // the latter keeps sums between launches
    const auto volume = noisy(kGrey, 100, 50, 12);
    const Work work = work_of(kGrey, search, 3, search == 63 ? 15 : 2);
    auto results = blank(volume, 4);
    const Slab slab(work, volume, 3, results);
    const uint64_t needed = g_module->slab_bytes(&work.plan, &work.volume, 100, 50,
                                                 slab.abi.in_layers, slab.abi.out_layers);
    AbiMessage message{};
    for (const uint64_t limit : {needed - 1, needed}) {
      AbiSession* session = nullptr;
      ASSERT_EQ(g_module->open(0, limit, &session, &message), 0) << message.text;
      std::swap(session, session_);
      AbiTiming timing{};
      EXPECT_EQ(run(work, volume, 3, results, {}, &timing),
                limit < needed ? static_cast<int32_t>(ErrorCode::kOutOfMemory) : 0);
      EXPECT_EQ(timing.peak_memory, limit == needed ? needed : 0);
      std::swap(session, session_);
      g_module->close(session);
    }
  }
}

TEST_F(ModuleVolume, SlabsAtOnceGiveTheSameBits) {
  const auto volume = noisy(kGrey, 120, 90, 24);
  const Work work = work_of(kGrey, 11, 3, 3);
  const auto whole = run(work, volume);
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int32_t k = 0; k < 4; ++k) {
        auto part = blank(volume, 8);
        EXPECT_EQ(run(work, volume, 8 * i, part), 0);
        for (int32_t z = 0; z < 8; ++z) EXPECT_EQ(part[z].bytes, whole[8 * i + z].bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ModuleVolume, CancelIsAnsweredWithin100Milliseconds) {
  const auto volume = noisy({Component::kU8, 1}, 256, 256, 64);
  for (const int32_t patch : {3, 4}) {
    const Work work = work_of({Component::kU8, 1}, 35, patch, 15);
    auto results = blank(volume, 64);
    ASSERT_EQ(run(work, volume, 0, results), 0);  // memory is there, code is loaded
    const auto expected = results;
    EXPECT_LT(test::quickest(0.1,
                             [&] {
                               test::CancelAfter cancel(std::chrono::milliseconds(30));
                               EXPECT_EQ(run(work, volume, 0, results, cancel.callbacks()),
                                         static_cast<int32_t>(ErrorCode::kCancelled));
                               return cancel.since_asked();
                             }),
              0.1);
    ASSERT_EQ(run(work, volume, 0, results), 0);
    for (size_t z = 0; z < results.size(); ++z) EXPECT_EQ(results[z].bytes, expected[z].bytes);
  }
}

TEST_F(ModuleVolume, ProgressRisesToTheEnd) {
  const auto volume = noisy(kGrey, 64, 64, 8);
  const Work work = work_of(kGrey, 63, 3, 15);
  std::vector<double> seen;
  const AbiCallbacks callbacks{&seen, [](void*) { return 0; },
                               [](void* user, double fraction) {
                                 static_cast<std::vector<double>*>(user)->push_back(fraction);
                               }};
  auto results = blank(volume, 8);
  ASSERT_EQ(run(work, volume, 0, results, callbacks), 0);
  ASSERT_GT(seen.size(), 2u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_GE(seen.front(), 0.0);
  EXPECT_GT(seen.back(), 0.5);
  EXPECT_LE(seen.back(), 1.0);
}

}  // namespace
}  // namespace grainless
