// SPDX-License-Identifier: MIT
// The CUDA module through its boundary: usage module_test MODULE [gtest options]. What needs a
// device is left out, and the program answers 77, where there is none; what a computer without one
// sees is tested in loader_test.cpp.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

#include "engine/boundary/abi.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/frame/planes.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"
#include "engine/plan/make_plan.h"
#include "module.h"
#include "tests/support/answer_time.h"
#include "tests/support/reference_nlm.h"
#include "tests/support/test_images.h"

namespace grainless {

const AbiBackend* test::g_module = nullptr;

namespace {

using test::noisy_picture;
using test::TestImage;

const AbiBackend*& g_table = test::g_module;

Rect whole(const TestImage& image) {
  return {0, 0, image.width, image.height};
}

class Module : public test::ModuleTest {
 protected:
  // Computes `out` of the image as an engine would ask for it: with exactly the halo.
  int32_t run(const Plan& plan, const TestImage& image, const Rect& out, TestImage& result,
              const AbiCallbacks& callbacks = {}, AbiTiming* timing = nullptr) {
    const Rect in = intersect(expand(out, plan.halo), whole(image));
    TestImage source(image.format, in.width, in.height);
    const size_t line = size_t{1} * in.width * image.format.pixel_bytes();
    for (int32_t y = 0; y < in.height; ++y) {
      std::memcpy(source.bytes.data() + y * source.row_bytes,
                  pixel_at(image.view(), in.x, in.y + y), line);
    }
    MutableImage target = result.target(out);
    const AbiTile tile{image.width,         image.height,     in,          out,
                       source.bytes.data(), source.row_bytes, target.data, target.row_bytes};
    AbiMessage message{};
    const int32_t code = g_table->run(session_, &plan, &tile, &callbacks, timing, &message);
    EXPECT_EQ(code == 0, message.text[0] == 0);
    return code;
  }
  TestImage run(const Plan& plan, const TestImage& image) {
    TestImage result(image.format, image.width, image.height);
    EXPECT_EQ(run(plan, image, whole(image), result), 0);
    return result;
  }
};

Plan nlm_plan(PixelFormat format, int32_t search, int32_t patch, float sigma = 20.0f,
              double luma = 100, double chroma = 100, double detail = 0) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.search = search;
  params.patch = patch;
  params.luma = luma;
  params.chroma = chroma;
  params.detail = detail;
  return make_plan(params, format, white_noise(format.colours(), sigma));
}

// A plan under which the method changes nothing: what is left are the pixel conversions.
Plan copying_plan(PixelFormat format, float detail) {
  Plan plan = nlm_plan(format, 5, 3, 20.0f, 0, 0);
  plan.detail = detail;
  return plan;
}

TestImage on_cpu(const Plan& plan, const TestImage& image) {
  ThreadPool pool(2);
  TestImage result(image.format, image.width, image.height);
  const MutableImage target = result.target();
  const AbiTile tile{image.width,        image.height,    whole(image), whole(image),
                     image.bytes.data(), image.row_bytes, target.data,  target.row_bytes};
  AbiTiming timing{};
  make_cpu_backend(pool)->run(plan, tile, Callbacks{}, &timing);
  return result;
}

constexpr PixelFormat kFloatGrey{Component::kFloat, 1}, kFloatColour{Component::kFloat, 3};

class Formats : public Module, public ::testing::WithParamInterface<PixelFormat> {};

std::vector<PixelFormat> all_formats() {
  std::vector<PixelFormat> formats;
  for (Component component :
       {Component::kU8, Component::kU16, Component::kHalf, Component::kFloat}) {
    for (int32_t channels = 1; channels <= 4; ++channels) formats.push_back({component, channels});
  }
  return formats;
}
INSTANTIATE_TEST_SUITE_P(All, Formats, ::testing::ValuesIn(all_formats()));

// Transparent patches larger and smaller than the fill's reach, and values that are no numbers.
TestImage spoiled(PixelFormat format, int32_t width, int32_t height) {
  TestImage image = noisy_picture(format, width, height, 20.0f);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const bool hole = (x > 30 && x < 60 && y > 20 && y < 55) || (x * 7 + y * 3) % 53 == 0;
      if (format.has_alpha() && hole) image.set(x, y, format.channels - 1, 0.0f);
      if (format.component != Component::kFloat) continue;
      if ((x + 2 * y) % 61 == 0) image.set(x, y, 0, std::numeric_limits<float>::quiet_NaN());
      if ((x + 5 * y) % 97 == 0) image.set(x, y, 0, std::numeric_limits<float>::infinity());
    }
  }
  return image;
}

TEST_P(Formats, ConversionsGiveTheCpusBits) {
  const TestImage image = spoiled(GetParam(), 101, 83);
  for (float detail : {0.0f, 0.3f}) {
    const Plan plan = copying_plan(GetParam(), detail);
    EXPECT_EQ(run(plan, image).bytes, on_cpu(plan, image).bytes);
  }
}

TEST_P(Formats, NlmWithHolesAgreesWithTheCpu) {
  const TestImage image = spoiled(GetParam(), 139, 77);
  const Plan plan = nlm_plan(GetParam(), 9, 3, 20.0f, 100, 100, 40);
  const TestImage here = run(plan, image), there = on_cpu(plan, image);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      for (int32_t c = 0; c < GetParam().channels; ++c) {
        const float a = here.get(x, y, c), b = there.get(x, y, c);
        if (std::isfinite(b)) {
          ASSERT_NEAR(a, b, 1.0f) << x << ' ' << y << ' ' << c;
        } else {
          ASSERT_EQ(std::isnan(a), std::isnan(b)) << x << ' ' << y << ' ' << c;
        }
      }
    }
  }
}

Planes planes_of(const TestImage& image) {
  Planes planes(1, whole(image));
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) *planes.at(0, x, y) = image.get(x, y, 0);
  }
  return planes;
}

// Float against double sums and the hardware's 2^x against the library's.
constexpr float kTwinTolerance = 2e-3f;

class Patches : public Module, public ::testing::WithParamInterface<int32_t> {};
INSTANTIATE_TEST_SUITE_P(All, Patches, ::testing::Range(2, 17));

TEST_P(Patches, AgreesWithPlainDouble) {
  const TestImage image = noisy_picture(kFloatGrey, 150, 37, 20.0f);
  const Planes planes = planes_of(image);
  for (int32_t search : {3, 7, 21, 23}) {
    const Plan plan = nlm_plan(kFloatGrey, search, GetParam());
    const Planes expected =
        test::reference_nlm(plan.level[0].nlm, planes, test::Matching::kRounded);
    const TestImage result = run(plan, image);
    float worst = 0;
    for (int32_t y = 0; y < image.height; ++y) {
      for (int32_t x = 0; x < image.width; ++x) {
        const float difference = std::fabs(result.get(x, y, 0) - *expected.at(0, x, y));
        worst = difference <= worst ? worst : difference;
      }
    }
    EXPECT_LT(worst, kTwinTolerance) << "search " << search;
  }
}

TEST_F(Module, EverySearchWindowAgreesWithTheCpu) {
  const TestImage grey = noisy_picture(kFloatGrey, 141, 20, 20.0f);
  const TestImage colour = noisy_picture(kFloatColour, 67, 21, 20.0f);
  for (int32_t search = 3; search <= 63; search += 2) {
    const Plan plan = nlm_plan(kFloatGrey, search, 5);
    const TestImage result = run(plan, grey), expected = on_cpu(plan, grey);
    EXPECT_GE(test::psnr(result, expected), 80.0) << search;
    EXPECT_LE(test::largest_difference(result, expected), 0.1f) << search;
    const Plan apart = nlm_plan(kFloatColour, search, 6, 20.0f, 70, 140);
    EXPECT_GE(test::psnr(run(apart, colour), on_cpu(apart, colour)), 80.0) << search;
  }
}

// How many pixels of rect differ in any bit.
int differing(const TestImage& a, const TestImage& b, const Rect& rect) {
  int count = 0;
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      const size_t bytes = a.format.pixel_bytes();
      count += std::memcmp(pixel_at(a.view(), x, y), pixel_at(b.view(), x, y), bytes) != 0;
    }
  }
  return count;
}

TEST_F(Module, AnyRectangleGivesTheBitsOfTheWhole) {
  for (const auto& [format, search, patch] : {std::tuple{kFloatColour, 21, 9},
                                              {kFloatGrey, 3, 2},
                                              {kFloatGrey, 21, 7},
                                              {kFloatGrey, 35, 7},
                                              {kFloatColour, 9, 12}}) {
    const TestImage image = noisy_picture(format, 301, 133, 20.0f);
    const Plan plan = nlm_plan(format, search, patch, 20.0f, 100, 80);
    const TestImage all = run(plan, image);
    EXPECT_EQ(differing(run(plan, image), all, whole(image)), 0);
    std::vector<Rect> rects{{0, 0, 1, 1},    {300, 132, 1, 1}, {13, 1, 270, 70},
                            {5, 64, 17, 69}, {255, 63, 46, 3}, {122, 40, 7, 90}};
    for (int32_t y = 0; y < image.height; y += 41) {
      for (int32_t x = 0; x < image.width; x += 67) {
        rects.push_back(intersect({x, y, 67, 41}, whole(image)));
      }
    }
    for (const Rect& rect : rects) {
      TestImage part(format, image.width, image.height);
      ASSERT_EQ(run(plan, image, rect, part), 0);
      EXPECT_EQ(differing(part, all, rect), 0) << search << '/' << patch << " at " << rect.x << ' '
                                               << rect.y << ' ' << rect.width << ' ' << rect.height;
    }
  }
}

TEST_F(Module, LevelsOfResolutionAgreeWithTheCpuAndDoNotDependOnPlace) {
  const TestImage image = noisy_picture(kFloatColour, 301, 203, 20.0f);
  for (const char* method : {"nlm", "bm3d"}) {
    Params params;
    params.search = 9;
    ASSERT_TRUE(set_param(params, "method", method).ok());
    ASSERT_TRUE(set_param(params, "scales", "3").ok());
    const Plan plan = make_plan(params, kFloatColour, white_noise(3, 20.0f));
    ASSERT_EQ(plan.level_count, 3);
    const TestImage all = run(plan, image);
    EXPECT_GE(test::psnr(all, on_cpu(plan, image)), 80.0) << method;
    for (const Rect& rect : {Rect{0, 0, 1, 1}, Rect{300, 202, 1, 1}, Rect{101, 64, 77, 40}}) {
      TestImage part(kFloatColour, image.width, image.height);
      ASSERT_EQ(run(plan, image, rect, part), 0);
      EXPECT_EQ(differing(part, all, rect), 0) << method << ' ' << rect.x << ' ' << rect.y;
    }
  }
}

TEST_F(Module, ConstantImageStaysBitForBit) {
  for (const PixelFormat& format : {kFloatGrey, kFloatColour}) {
    TestImage image(format, 140, 60);
    for (int32_t y = 0; y < 60; ++y) {
      for (int32_t x = 0; x < 140; ++x) {
        for (int32_t c = 0; c < format.channels; ++c) image.set(x, y, c, 51.7f);
      }
    }
    const Plan plan = nlm_plan(format, 21, 7);
    EXPECT_EQ(run(plan, image).bytes, on_cpu(plan, image).bytes);
  }
}

TEST_F(Module, TwoRunsAtOnceGiveTheSameBits) {
  const TestImage image = noisy_picture(kFloatColour, 400, 300, 20.0f);
  const Plan plan = nlm_plan(kFloatColour, 21, 7);
  const TestImage expected = run(plan, image);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) EXPECT_EQ(run(plan, image).bytes, expected.bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// Runs whose launches of the same kernels need other amounts of shared memory: a limit that each
// sets for its own launch is lowered by another one's before that is launched.
TEST_F(Module, RunsAtOnceMayNeedDifferentSharedMemory) {
  const TestImage image = noisy_picture(kFloatGrey, 500, 400, 20.0f);
  std::vector<Plan> plans;
  const auto add = [&](std::initializer_list<std::pair<const char*, const char*>> settings) {
    Params params;
    for (const auto& [key, value] : settings)
      ASSERT_TRUE(set_param(params, key, value).ok()) << key;
    plans.push_back(make_plan(params, kFloatGrey, white_noise(1, 20.0f)));
  };
  add({{"matching", "prefiltered"}, {"transform", "dct"}});
  add({{"transform", "dct"}, {"step", "1"}, {"search", "15"}});
  add({{"transform", "dct"}, {"step", "6"}, {"search", "63"}});
  add({{"patch", "16"}, {"search", "15"}, {"group", "8"}});
  add({{"patch", "10"}, {"search", "15"}, {"group", "32"}});
  add({{"method", "nlm"}, {"search", "5"}, {"patch", "7"}});
  add({{"method", "nlm"}, {"search", "63"}, {"patch", "7"}});
  std::vector<TestImage> expected;
  for (const Plan& plan : plans) expected.push_back(run(plan, image));
  std::vector<std::thread> threads;
  for (size_t first = 0; first < 4; ++first) {
    threads.emplace_back([&, first] {
      for (size_t i = 0; i < 40; ++i) {
        const size_t at = (first * 2 + i) % plans.size();
        TestImage result(image.format, image.width, image.height);
        EXPECT_EQ(run(plans[at], image, whole(image), result), 0) << at;
        EXPECT_EQ(result.bytes, expected[at].bytes) << at;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Module, CancelledRunsSaySoAndLaterOnesWork) {
  const TestImage image = noisy_picture(kFloatColour, 1500, 1200, 20.0f);
  const Plan plan = nlm_plan(kFloatColour, 35, 9);
  TestImage result(image.format, image.width, image.height);
  int asked = 0;
  AbiCallbacks callbacks{&asked, [](void* user) { return ++*static_cast<int*>(user) > 3 ? 1 : 0; },
                         nullptr};
  EXPECT_EQ(run(plan, image, whole(image), result, callbacks),
            static_cast<int32_t>(ErrorCode::kCancelled));
  const Plan small = nlm_plan(kFloatColour, 5, 3);
  const TestImage expected = on_cpu(small, image);
  EXPECT_GE(test::psnr(run(small, image), expected), 80.0);
}

TEST_F(Module, MemoryIsWhatTileBytesSays) {
  const TestImage image = noisy_picture(kFloatColour, 700, 500, 20.0f);
  const Plan plan = nlm_plan(kFloatColour, 9, 5);
  const uint64_t needed = g_table->tile_bytes(&plan, image.width, image.height);
  TestImage result(image.format, image.width, image.height);
  AbiMessage message{};
  for (const uint64_t limit : {needed - 1, needed}) {
    AbiSession* session = nullptr;
    ASSERT_EQ(g_table->open(0, limit, &session, &message), 0) << message.text;
    uint64_t budget = 0;
    EXPECT_EQ(g_table->budget(session, &budget, &message), 0);
    EXPECT_EQ(budget, limit);
    std::swap(session, session_);
    AbiTiming timing{};
    EXPECT_EQ(run(plan, image, whole(image), result, {}, &timing),
              limit < needed ? static_cast<int32_t>(ErrorCode::kOutOfMemory) : 0);
    EXPECT_EQ(timing.peak_memory, limit == needed ? needed : 0);
    std::swap(session, session_);
    g_table->close(session);
  }
}

TEST_F(Module, CancelIsAnsweredWithin100Milliseconds) {
  const TestImage image = noisy_picture({Component::kU8, 3}, 3000, 2000, 20.0f);
  TestImage result(image.format, image.width, image.height);
  for (const Method method : {Method::kNlm, Method::kBm3d, Method::kSwNlm}) {
    Params params;
    params.method = static_cast<int32_t>(method);
    params.quality = static_cast<int32_t>(Quality::kHigh);
    params.search = method == Method::kBm3d ? 0 : 63;
    const Plan plan = make_plan(params, image.format, white_noise(3, 20.0f));
    ASSERT_EQ(run(plan, image, whole(image), result), 0);  // memory is there, code is loaded
    double asked_after = 0;
    const double answered = test::quickest(0.1, [&] {
      test::CancelAfter cancel(std::chrono::milliseconds(15));
      EXPECT_EQ(run(plan, image, whole(image), result, cancel.callbacks()),
                static_cast<int32_t>(ErrorCode::kCancelled));
      asked_after = cancel.asked_after();
      return std::max(cancel.since_asked(), asked_after + 0.035);
    });
    EXPECT_LT(answered, 0.1) << "asked after " << asked_after;
  }
}

// A run that stays where it is once it has its memory, until it is let go, or for some seconds.
class HeldRun {
 public:
  AbiCallbacks callbacks() {
    return {this, [](void* self) { return static_cast<HeldRun*>(self)->hold(); }, nullptr};
  }
  void await() const { wait_until(begun_); }
  void let_go() { gone_ = true; }

 private:
  static void wait_until(const std::atomic<bool>& flag) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!flag && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  int32_t hold() {
    begun_ = true;
    wait_until(gone_);
    return 0;
  }

  std::atomic<bool> begun_{false}, gone_{false};
};

// Sessions with a limit, in which runs wait for each other.
class ModuleMemory : public Module {
 protected:
  void SetUp() override {
    Module::SetUp();
    expected_ = run(plan_, image_);
  }
  void open(uint64_t limit) {
    AbiMessage message{};
    g_table->close(session_);
    ASSERT_EQ(g_table->open(0, limit, &session_, &message), 0) << message.text;
  }
  uint64_t bytes_of(const TestImage& image) const {
    return g_table->tile_bytes(&plan_, image.width, image.height);
  }
  int32_t run_one(const AbiCallbacks& callbacks) {
    TestImage result(image_.format, image_.width, image_.height);
    const int32_t code = run(plan_, image_, whole(image_), result, callbacks);
    EXPECT_TRUE(code != 0 || result.bytes == expected_.bytes);
    return code;
  }
  // A first run holds its memory until the others have asked often whether to stop, or have ended.
  void run_beside_a_held_one(int others) {
    HeldRun held;
    std::thread first([&] { EXPECT_EQ(run_one(held.callbacks()), 0); });
    held.await();
    std::atomic<int> asked = 0, ended = 0;
    const auto count = [](void* to) {
      ++*static_cast<std::atomic<int>*>(to);
      return 0;
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < others; ++i) {
      threads.emplace_back([&] {
        EXPECT_EQ(run_one({&asked, count, nullptr}), 0);
        ++ended;
      });
    }
    while (asked < 10 * others && ended < others) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    held.let_go();
    first.join();
    for (std::thread& thread : threads) thread.join();
  }
  // With so many runs that hold what they have.
  void expect_quick_cancel(uint32_t runs) {
    std::vector<HeldRun> held(runs);
    std::vector<std::thread> threads;
    for (HeldRun& one : held) {
      threads.emplace_back([&] { EXPECT_EQ(run_one(one.callbacks()), 0); });
    }
    for (const HeldRun& one : held) one.await();
    const auto start = std::chrono::steady_clock::now();
    test::CancelAfter cancel(std::chrono::milliseconds(50));
    EXPECT_EQ(run_one(cancel.callbacks()), static_cast<int32_t>(ErrorCode::kCancelled));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    for (HeldRun& one : held) one.let_go();
    for (std::thread& thread : threads) thread.join();
  }

  const Plan plan_ = nlm_plan(kFloatColour, 5, 3);
  const TestImage image_ = noisy_picture(kFloatColour, 300, 200, 20.0f);
  TestImage expected_ = image_;
};

TEST_F(ModuleMemory, RunsWaitForWhatOthersHold) {
  for (const int others : {1, 2, 6}) {
    open(bytes_of(image_) * 3 / 2);
    run_beside_a_held_one(others);
  }
}

TEST_F(ModuleMemory, RunsWaitForWhatALargerPictureLeft) {
  const TestImage larger = noisy_picture(kFloatColour, 300, 380, 20.0f);
  open(std::max(2 * bytes_of(image_), bytes_of(larger)));
  run(plan_, larger);
  run_beside_a_held_one(1);
}

TEST_F(ModuleMemory, ThePeakIsTheRunsOwn) {
  const TestImage larger = noisy_picture(kFloatColour, 300, 380, 20.0f);
  open(0);
  for (const TestImage* image : {&larger, &image_}) {
    TestImage result(image->format, image->width, image->height);
    AbiTiming timing{};
    ASSERT_EQ(run(plan_, *image, whole(*image), result, {}, &timing), 0);
    EXPECT_EQ(timing.peak_memory, bytes_of(*image));
  }
}

TEST_F(ModuleMemory, ACancelIsAnsweredByARunThatWaits) {
  open(bytes_of(image_) * 3 / 2);
  expect_quick_cancel(1);
  open(0);
  expect_quick_cancel(g_table->concurrency);
}

#ifdef GRAINLESS_CUDA_FAULTS
TEST_F(Module, FaultsBecomeTheErrorsThatEnginesAnswer) {
  const TestImage image = noisy_picture(kFloatColour, 300, 200, 20.0f);
  const Plan plan = nlm_plan(kFloatColour, 9, 5);
  TestImage result(image.format, image.width, image.height);
  setenv("GRAINLESS_FAULT", "alloc=1000", 1);
  EXPECT_EQ(run(plan, image, whole(image), result), static_cast<int32_t>(ErrorCode::kOutOfMemory));
  unsetenv("GRAINLESS_FAULT");
  EXPECT_EQ(run(plan, image, whole(image), result), 0);  // recoverable

  AbiMessage message{};
  for (const Method method : {Method::kNlm, Method::kBm3d}) {
    Params params;
    params.method = static_cast<int32_t>(method);
    const Plan too_much = make_plan(params, image.format, white_noise(3, 20.0f));
    setenv("GRAINLESS_FAULT", "shared=4096", 1);
    EXPECT_EQ(run(too_much, image, whole(image), result),
              static_cast<int32_t>(ErrorCode::kUnsupported));
    unsetenv("GRAINLESS_FAULT");
    EXPECT_EQ(run(too_much, image, whole(image), result), 0);  // the card is in order
  }
  setenv("GRAINLESS_FAULT", "nan", 1);
  EXPECT_EQ(run(plan, image, whole(image), result), static_cast<int32_t>(ErrorCode::kInternal));
  unsetenv("GRAINLESS_FAULT");
  EXPECT_EQ(run(plan, image, whole(image), result), 0);

  setenv("GRAINLESS_FAULT", "open", 1);
  AbiSession* session = nullptr;
  EXPECT_EQ(g_table->open(0, 0, &session, &message),
            static_cast<int32_t>(ErrorCode::kDeviceUnavailable));
  setenv("GRAINLESS_FAULT", "arch", 1);
  EXPECT_EQ(g_table->open(0, 0, &session, &message),
            static_cast<int32_t>(ErrorCode::kDeviceUnavailable));
  EXPECT_NE(std::string(message.text).find("no code for its architecture"), std::string::npos);

  setenv("GRAINLESS_FAULT", "launch=2", 1);
  EXPECT_EQ(run(plan, image, whole(image), result), static_cast<int32_t>(ErrorCode::kDeviceFailed));
  unsetenv("GRAINLESS_FAULT");
  EXPECT_EQ(run(plan, image, whole(image), result), static_cast<int32_t>(ErrorCode::kDeviceFailed));
  uint64_t budget = 1;
  EXPECT_EQ(g_table->budget(session_, &budget, &message),
            static_cast<int32_t>(ErrorCode::kDeviceFailed));
  EXPECT_EQ(budget, 0u);
}
#endif

bool has_device() {
  AbiDevice devices[16];
  uint32_t count = 0;
  AbiMessage message{};
  if (g_table->devices(0, devices, 16, &count, &message) != 0) {
    std::printf("%s: skipped\n", message.text);
    return false;
  }
  if (devices[0].usable == 0) std::printf("%s: skipped\n", devices[0].reason);
  return devices[0].usable != 0;
}

}  // namespace
}  // namespace grainless

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto entry = reinterpret_cast<grainless::AbiEntry>(dlsym(library, grainless::kAbiSymbol));
  if (entry == nullptr) return 1;
  grainless::test::g_module = entry();
  return grainless::has_device() ? RUN_ALL_TESTS() : 77;
}
