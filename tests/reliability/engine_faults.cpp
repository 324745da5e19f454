// SPDX-License-Identifier: MIT
// The engine while something breaks: cards by the fake modules of tests/support, memory by
// failing_malloc.cpp, which is preloaded.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/denoise.h"
#include "tests/support/fault_log.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

const std::string kGood = std::string(FAKE_MODULES) + "/fake-good";

using SettingList = std::vector<std::pair<std::string, std::string>>;

// Environment variables of the fake module, for as long as it lives.
class Settings {
 public:
  explicit Settings(const SettingList& settings) {
    for (const auto& [name, value] : settings) {
      names_.push_back("GRAINLESS_FAKE_" + name);
      setenv(names_.back().c_str(), value.c_str(), 1);
    }
  }
  ~Settings() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }
  Settings(const Settings&) = delete;

 private:
  std::vector<std::string> names_;
};

struct Denoised {
  Status status;
  Report report;
  std::vector<uint8_t> pixels;
};

Params params_of(Method method, const std::string& device) {
  Params params;
  params.method = static_cast<int32_t>(method);
  params.auto_sigma = false;
  params.search = 9;
  params.device = device;
  return params;
}

Denoised denoise(Engine& engine, const Params& params, const TestImage& image,
                 const Callbacks& callbacks = {}) {
  Denoised run;
  run.status = guard([&] {
    TestImage result(image.format, image.width, image.height);
    throw_if_failed(engine.denoise(params, white_noise(image.format.colours(), 12.0f), image.view(),
                                   result.target(), callbacks, run.report));
    run.pixels = std::move(result.bytes);
  });
  return run;
}

bool mentions(const Report& report, const std::string& text) {
  for (const std::string& said : report.fallbacks) {
    if (said.find(text) != std::string::npos) return true;
  }
  return false;
}

// ---- cards

struct CardFault {
  const char* fault;
  const char* stage;
  std::string module;
  SettingList settings;
  const char* says;    // part of the fall-back's sentence
  const char* device;  // that did it
};

const std::string kModules = FAKE_MODULES;

std::vector<CardFault> card_faults() {
  const char* kThirdTile = "the third tile";
  return {
      {"module missing", "start", kModules + "/none", {}, "is not installed", "cpu"},
      {"module older", "start", kModules + "/fake-old", {}, "another version", "cpu"},
      {"module newer", "start", kModules + "/fake-newer", {}, "another version", "cpu"},
      {"no module of ours",
       "start",
       kModules + "/fake-strange",
       {},
       "not a Grainless module",
       "cpu"},
      {"no driver", "start", kGood, {{"DRIVER", "0"}}, "no fake driver", "cpu"},
      {"driver too old", "start", kGood, {{"DRIVER", "1"}}, "too old", "cpu"},
      {"driver without device", "start", kGood, {{"CARDS", "0"}}, "no NVIDIA graphics card", "cpu"},
      {"device can't be opened",
       "start",
       kGood,
       {{"OPEN_FAILS", "0"}},
       "does not answer",
       "cuda:1"},
      {"cuFFT or another part missing",
       "planning",
       kGood,
       {{"LACKS_METHOD", "1"}},
       "lacks this method",
       "cpu"},
      {"device doesn't say its memory", "planning", kGood, {{"BUDGET", "-1"}}, "is silent", "cpu"},
      {"no device memory left",
       "planning",
       kGood,
       {{"BUDGET", "0"}},
       "too little for a tile",
       "cpu"},
      {"device too small for the plan",
       "the first tile",
       kGood,
       {{"SMALL", "1"}},
       "too small for this plan",
       "cpu"},
      {"out of device memory, always",
       "every tile",
       kGood,
       {{"MAX_PIXELS", "0"}},
       "the card is full",
       "cpu"},
      {"out of device memory for large tiles",
       "the first tile",
       kGood,
       {{"MAX_PIXELS", "40000"}},
       "smaller tiles on cuda:0",
       "cuda:0"},
      {"device lost", "the first tile", kGood, {{"FAIL_RUN", "1"}}, "fell off the bus", "cpu"},
      {"device lost",
       kThirdTile,
       kGood,
       {{"FAIL_RUN", "3"}, {"BUDGET", "8000000"}},
       "fell off the bus",
       "cuda:0+cpu"},
      {"launch failure",
       kThirdTile,
       kGood,
       {{"FAIL_RUN", "3"}, {"BUDGET", "8000000"}, {"FAIL_TEXT", "launching: unspecified"}},
       "launching: unspecified",
       "cuda:0+cpu"},
      {"time-out",
       kThirdTile,
       kGood,
       {{"FAIL_RUN", "3"}, {"BUDGET", "8000000"}, {"FAIL_TEXT", "the launch timed out"}},
       "the launch timed out",
       "cuda:0+cpu"},
      {"NaN from a kernel",
       kThirdTile,
       kGood,
       {{"FAIL_RUN", "3"},
        {"BUDGET", "8000000"},
        {"FAIL_CODE", "7"},
        {"FAIL_TEXT", "it computed values that are no numbers"}},
       "no numbers",
       "cuda:0+cpu"},
      {"out of host memory in the module",
       kThirdTile,
       kGood,
       {{"FAIL_RUN", "3"},
        {"BUDGET", "8000000"},
        {"FAIL_CODE", "3"},
        {"FAIL_TEXT", "out of memory"}},
       "out of memory",
       "cuda:0+cpu"},
  };
}

TEST(EngineFaults, OfACardGiveTheSamePixelsAndAReason) {
  const TestImage image = test::noisy_picture({Component::kU8, 3}, 400, 300, 12.0f);
  Engine plain({"", 2});
  const Denoised expected = denoise(plain, params_of(Method::kNlm, "cpu"), image);
  ASSERT_TRUE(expected.status.ok());
  for (const CardFault& fault : card_faults()) {
    const Settings settings(fault.settings);
    Engine engine({fault.module, 2});
    const Denoised run = denoise(engine, params_of(Method::kNlm, "auto"), image);
    const bool same = run.pixels == expected.pixels;
    const bool ok = run.status.ok() && same && mentions(run.report, fault.says) &&
                    run.report.device == fault.device;
    std::string seen = run.status.ok() ? "done on " + run.report.device : run.status.message();
    if (!run.report.fallbacks.empty()) seen += ", '" + run.report.fallbacks.back() + "'";
    if (!same) seen += ", OTHER PIXELS";
    const std::string on = fault.device;
    test::log_fault({fault.fault, fault.stage, "engine",
                     "done on " + on + " with the same pixels, and the reason told", seen, ok});
  }
}

// Several faults at once, on one or two cards, drawn.
TEST(EngineFaults, NoMixtureOfThemChangesAPixel) {
  std::mt19937 random(17);
  const auto draw = [&](int32_t least, int32_t most) {
    return least + static_cast<int32_t>(random() % static_cast<uint32_t>(most - least + 1));
  };
  Engine plain({"", 2});
  std::string trouble;
  constexpr int kRounds = 40;
  for (int round = 0; round < kRounds && trouble.empty(); ++round) {
    SettingList settings;
    const auto maybe = [&](const char* name, int64_t value) {
      if (draw(0, 2) == 0) settings.emplace_back(name, std::to_string(value));
    };
    maybe("FAIL_RUN", draw(1, 12));
    maybe("FAIL_CODE", draw(3, 8));
    maybe("MAX_PIXELS", int64_t{1} << draw(8, 17));
    maybe("BUDGET", int64_t{1} << draw(16, 26));
    maybe("OPEN_FAILS", draw(0, 1));
    maybe("CARDS", draw(0, 2));
    const auto method = static_cast<Method>(draw(0, 2));
    const char* const device = std::array{"auto", "cuda", "cuda:1", "cuda:0,1"}[draw(0, 3)];
    const PixelFormat format{static_cast<Component>(draw(0, 3)), draw(1, 4)};
    const TestImage image = test::noisy_picture(format, draw(1, 500), draw(1, 400), 12.0f);
    const Denoised expected = denoise(plain, params_of(method, "cpu"), image);
    const Settings set(settings);
    Engine engine({kGood, 2});
    const Denoised run = denoise(engine, params_of(method, device), image);
    if (run.status.ok() && run.pixels == expected.pixels) continue;
    trouble = std::string(device) + (run.status.ok() ? ", other pixels" : run.status.message());
    for (const auto& [name, value] : settings) trouble += " " + name + "=" + value;
  }
  test::log_fault({"a mixture of card faults, drawn", "anywhere", "engine",
                   "done with the same pixels",
                   trouble.empty() ? "as expected, " + std::to_string(kRounds) + " times" : trouble,
                   trouble.empty()});
}

TEST(EngineFaults, AFailureIsNotCarriedIntoTheNextRun) {
  const TestImage image = test::noisy_picture({Component::kU8, 3}, 200, 150, 12.0f);
  Engine engine({kGood, 2});
  {
    const Settings lost(SettingList{{"FAIL_RUN", "1"}});
    denoise(engine, params_of(Method::kNlm, "auto"), image);
  }
  const Denoised after = denoise(engine, params_of(Method::kNlm, "auto"), image);
  test::log_fault(
      {"device lost", "the run before", "engine", "the card is opened afresh",
       "done on " + after.report.device,
       after.status.ok() && after.report.device == "cuda:0" && after.report.fallbacks.empty()});
}

// ---- cancel

TEST(EngineFaults, CancelEndsEveryMethodAtAnyTime) {
  const TestImage image = test::noisy_picture({Component::kU8, 3}, 500, 400, 12.0f);
  struct Moment {
    const char* stage;
    double from;  // share of the work
  };
  for (const char* device : {"cpu", "auto"}) {
    for (const Moment& moment : {Moment{"begin", 0.0}, {"middle", 0.5}, {"end", 0.95}}) {
      bool ok = true;
      for (const Method method : {Method::kBm3d, Method::kNlm, Method::kSwNlm}) {
        Engine engine({kGood, 2});
        CancelToken cancel;
        if (moment.from == 0.0) cancel.cancel();
        const Callbacks callbacks{&cancel, [&](double fraction) {
                                    if (fraction >= moment.from) cancel.cancel();
                                  }};
        const Denoised run = denoise(engine, params_of(method, device), image, callbacks);
        const Denoised after = denoise(engine, params_of(method, device), image);
        ok = ok && after.status.ok() && after.report.fallbacks.empty() &&
             (run.status.code() == ErrorCode::kCancelled ||
              (run.status.ok() && run.pixels == after.pixels));
      }
      const std::string where = std::string(device) == "cpu" ? "cpu" : "card";
      test::log_fault({"cancel on the " + where, moment.stage, "engine",
                       "cancelled, or done where that came first; the next run is whole",
                       ok ? "as expected, every method" : "OTHERWISE", ok});
    }
  }
}

TEST(EngineFaults, ACardThatHangsIsCancelled) {
  const TestImage image = test::noisy_picture({Component::kU8, 3}, 100, 80, 12.0f);
  const Settings hangs(SettingList{{"HANGS", "1"}});
  Engine engine({kGood, 2});
  CancelToken cancel;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    cancel.cancel();
  });
  const Denoised run = denoise(engine, params_of(Method::kNlm, "auto"), image, {&cancel, {}});
  test::log_fault({"device hangs, user cancels", "the first tile", "engine", "cancelled",
                   run.status.message(), run.status.code() == ErrorCode::kCancelled});
}

// ---- memory

using FailMalloc = long (*)(long, long);
FailMalloc fail_malloc() {
  return reinterpret_cast<FailMalloc>(dlsym(RTLD_DEFAULT, "fail_malloc"));
}

constexpr long kAll = 1L << 60;

// Does the operation over and over, and each time another allocation fails, or that and all that
// follow, until there are no more. It answers what went wrong; empty: nothing.
void fail_each_allocation(const std::string& what, bool all_after,
                          const std::function<Denoised()>& operation) {
  const FailMalloc fail = fail_malloc();
  ASSERT_NE(fail, nullptr) << "failing_malloc is not preloaded";
  const Denoised expected = operation();
  EXPECT_TRUE(expected.status.ok()) << expected.status.message();
  std::string trouble;
  for (long n = 1; trouble.empty(); n += 1 + n / 40) {
    fail(n, all_after ? kAll : n);
    const Denoised run = operation();
    if (fail(-1, 0) == 0) break;
    if (run.status.ok() ? run.pixels != expected.pixels
                        : run.status.code() != ErrorCode::kOutOfMemory) {
      trouble = "allocation " + std::to_string(n) + ": " +
                (run.status.ok() ? "other pixels" : run.status.message());
    }
  }
  const Denoised after = operation();
  if (!after.status.ok() || after.pixels != expected.pixels) trouble += " the next run fails";
  test::log_fault({all_after ? "out of host memory from an allocation on"
                             : "out of host memory at an allocation",
                   what, "engine", "'out of memory', or the same pixels without it",
                   trouble.empty() ? "as expected, at each one" : trouble, trouble.empty()});
}

class MemoryFaults : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(All, MemoryFaults, ::testing::Bool());

TEST_P(MemoryFaults, StartingTheEngine) {
  fail_each_allocation("starting", GetParam(), [] {
    Denoised run;
    run.status = guard([] { Engine engine({kGood, 2}); });
    return run;
  });
}

TEST_P(MemoryFaults, ListingDevices) {
  fail_each_allocation("listing devices", GetParam(), [] {
    Denoised run;
    run.status = guard([&] {
      Engine engine({kGood, 2});
      for (const DeviceInfo& device : engine.devices()) {
        if (!device.usable) throw Error(ErrorCode::kOutOfMemory, device.reason);
        run.pixels.insert(run.pixels.end(), device.name.begin(), device.name.end());
      }
    });
    return run;
  });
}

TEST_P(MemoryFaults, Measuring) {
  const TestImage image = test::noisy_picture({Component::kU8, 3}, 160, 120, 12.0f);
  Engine engine({"", 2});
  fail_each_allocation("measuring the noise", GetParam(), [&] {
    Denoised run;
    NoiseModel noise{};
    run.status = engine.estimate(image.view(), NoiseKind::kSure, {}, noise);
    const auto* bytes = reinterpret_cast<const uint8_t*>(noise.sigma);
    if (run.status.ok()) run.pixels.assign(bytes, bytes + sizeof noise.sigma);
    return run;
  });
}

TEST_P(MemoryFaults, Denoising) {
  const TestImage image = test::noisy_picture({Component::kU8, 3}, 40, 36, 12.0f);
  for (const auto& [name, method] :
       {std::pair{"bm3d", Method::kBm3d}, {"nlm", Method::kNlm}, {"sw-nlm", Method::kSwNlm}}) {
    for (const char* device : {"cpu", "auto"}) {
      Engine engine({std::string(device) == "cpu" ? "" : kGood, 2});
      const std::string where = std::string(device) == "cpu" ? ", cpu" : ", card";
      fail_each_allocation("denoising by " + std::string(name) + where, GetParam(),
                           [&] { return denoise(engine, params_of(method, device), image); });
    }
  }
}

TEST_P(MemoryFaults, DenoisingAVolume) {
  const std::vector<TestImage> layers(4, test::noisy_picture({Component::kU8, 1}, 40, 36, 12.0f));
  Engine engine({"", 2});
  fail_each_allocation("denoising a volume", GetParam(), [&] {
    Denoised run;
    std::vector<TestImage> results;
    run.status = guard([&] {
      results = layers;
      std::vector<ConstImage> sources;
      std::vector<MutableImage> targets;
      for (const TestImage& layer : layers) sources.push_back(layer.view());
      for (TestImage& result : results) targets.push_back(result.target());
      Params params = params_of(Method::kNlm, "cpu");
      params.search = 3;
      throw_if_failed(engine.denoise_volume(params, 1, sources, targets, {}, run.report));
      for (const TestImage& result : results) {
        run.pixels.insert(run.pixels.end(), result.bytes.begin(), result.bytes.end());
      }
    });
    return run;
  });
}

}  // namespace
}  // namespace grainless
