// SPDX-License-Identifier: MIT
// The sweep by itself, for thousands of draws ('./dev sweep').
#include <unistd.h>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "checks.h"
#include "found.h"
#include "shrink.h"

namespace grainless::sweep {
namespace {

constexpr char kUsage[] =
    "usage: sweep [N] [--device D] [--seed S] [--jobs J] [--seconds T] [--module-dir DIRECTORY]\n"
    "       sweep --draw 'KEY=VALUE …'   one draw, as a failure prints it (or its number)\n"
    "       sweep --found                all draws that ever failed\n"
    "\n"
    "N draws (1000) of all parameters and all kinds of pictures from number S (1) on, for T "
    "seconds\n"
    "at most, J (1) at once. Exit status: 0 every promise held, 1 some did not, 2 wrong usage, 77 "
    "no\n"
    "such device.\n";

struct Options {
  uint64_t count = 1000, seed = 1;
  uint32_t jobs = 1;
  double seconds = 0;  // 0: as long as it takes
  std::string device = "cpu", module_dir, draw;
  bool found = false;
};

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

bool set_option(Options& options, std::string_view key, std::string_view value) {
  if (key == "--device") return options.device = value, !value.empty();
  if (key == "--module-dir") return options.module_dir = value, true;
  if (key == "--draw") return options.draw = value, !value.empty();
  if (key == "--seed") return parse_number(value, options.seed);
  if (key == "--jobs") return parse_number(value, options.jobs) && options.jobs > 0;
  if (key == "--seconds") return parse_number(value, options.seconds) && options.seconds > 0;
  return false;
}

bool parse_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--found") {
      options.found = true;
    } else if (!word.starts_with("--")) {
      if (!parse_number(word, options.count) || options.count == 0) return false;
    } else if (i + 1 >= argc || !set_option(options, word, argv[i + 1])) {
      return false;
    } else {
      ++i;
    }
  }
  return true;
}

// Of all 8-bit samples, the share that may differ between the device and the CPU.
constexpr double kMostDifferent = 1e-3;
// Draws that agree but for one group (checks.cpp): some 1 of 3,500.
constexpr int64_t kDrawsAFlip = 1000;

// What the workers are at, for a crash to name.
constexpr uint32_t kMostJobs = 256;
std::atomic<uint64_t> g_current[kMostJobs];

extern "C" void say_current(int signal) {
  char text[64];
  for (const auto& current : g_current) {
    const uint64_t seed = current.load();
    if (seed == 0) continue;
    const int length = std::snprintf(text, sizeof text, "crashed: --draw %llu\n",
                                     static_cast<unsigned long long>(seed));
    (void)!write(STDERR_FILENO, text, static_cast<size_t>(length));
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

class Sweep {
 public:
  explicit Sweep(const Options& options)
      : options_(options), tested_({options.device == "cpu" ? "" : options.module_dir, 2}) {}

  bool has_device() {
    for (const DeviceInfo& device : tested_.devices()) {
      if (!options_.device.starts_with(device.name.substr(0, device.name.find(':')))) continue;
      if (device.usable) return true;
      std::printf("%s\n", device.reason.c_str());
    }
    return false;
  }

  // Draws seed, seed + 1, … on all workers.
  void run() {
    std::vector<std::thread> workers;
    for (uint32_t job = 0; job < std::min(options_.jobs, kMostJobs); ++job) {
      workers.emplace_back([this, job] { work(job); });
    }
    for (std::thread& worker : workers) worker.join();
  }

  bool check(const Draw& draw, Engines& engines) {
    Agreement agreement;
    const double before = seconds();
    const std::vector<Failure> failures = failures_of(draw, engines, agreement);
    const double taken = seconds() - before;
    {
      std::lock_guard lock(mutex_);
      ++draws_;
      if (taken > longest_) {
        longest_ = taken;
        slowest_ = text_of(draw);
      }
      agreement_.samples += agreement.samples;
      agreement_.different += agreement.different;
      agreement_.left_out += agreement.left_out;
      agreement_.flipped += agreement.flipped;
      agreement_.lowest_psnr = std::min(agreement_.lowest_psnr, agreement.lowest_psnr);
    }
    if (failures.empty()) return true;
    const Draw least = shrunk(draw, [&](const Draw& simpler) {
      for (const Failure& failure : failures_of(simpler, engines, agreement)) {
        if (failure.check == failures.front().check) return true;
      }
      return false;
    });
    std::lock_guard lock(mutex_);
    for (const Failure& failure : failures) {
      ++failed_[failure.check];
      std::printf("%s: %s\n", failure.check.c_str(), failure.what.c_str());
    }
    const std::string device = options_.device == "cpu" ? "" : " --device " + options_.device;
    std::printf("  ./dev sweep%s --draw '%s'\n  as drawn: %s\n", device.c_str(),
                text_of(least).c_str(), text_of(draw).c_str());
    std::fflush(stdout);
    return false;
  }

  Engine& tested() { return tested_; }

  int summary() {
    const double share = agreement_.samples > 0 ? static_cast<double>(agreement_.different) /
                                                      static_cast<double>(agreement_.samples)
                                                : 0.0;
    if (share > kMostDifferent) ++failed_["8-bit samples that differ from the CPU's"];
    if (kDrawsAFlip * (agreement_.flipped - 1) > static_cast<int64_t>(draws_)) {
      ++failed_["groups that differ from the CPU's"];
    }
    std::printf("%llu draws in %.0f s on %s: %s\n", static_cast<unsigned long long>(draws_),
                seconds(), options_.device.c_str(),
                failed_.empty() ? "every promise held" : "failed");
    for (const auto& [check, count] : failed_) {
      std::printf("  %s: %llu\n", check.c_str(), static_cast<unsigned long long>(count));
    }
    std::printf("slowest, %.1f s: %s\n", longest_, slowest_.c_str());
    if (agreement_.samples > 0) {
      std::printf("8-bit samples that differ from the CPU's: %.5f %%; others: at least %.1f dB\n",
                  100 * share, agreement_.lowest_psnr);
    }
    if (agreement_.flipped > 0) {
      std::printf("but for one group at the hard threshold: %lld draws\n",
                  static_cast<long long>(agreement_.flipped));
    }
    if (agreement_.left_out > 0) {
      std::printf("left to the CPU for too little shared memory: %lld draws\n",
                  static_cast<long long>(agreement_.left_out));
    }
    return failed_.empty() ? 0 : 1;
  }

 private:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  void work(uint32_t job) {
    Engine own({"", 2});
    Engines engines{options_.device, options_.device == "cpu" ? own : tested_};
    for (;;) {
      const uint64_t i = next_++;
      if (i >= options_.count || (options_.seconds > 0 && seconds() > options_.seconds)) break;
      g_current[job] = options_.seed + i;
      check(make_draw(options_.seed + i), engines);
    }
    g_current[job] = 0;
  }

  const Options& options_;
  Engine tested_;
  std::atomic<uint64_t> next_{0};
  std::mutex mutex_;
  uint64_t draws_ = 0;
  Agreement agreement_;
  double longest_ = 0;
  std::string slowest_;
  std::map<std::string, uint64_t> failed_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int run_texts(const std::vector<std::string>& texts, const Options& options, Sweep& sweep) {
  Engines engines{options.device, sweep.tested()};
  for (const std::string& text : texts) {
    std::string why;
    uint64_t number = 0;
    const std::optional<Draw> draw =
        parse_number(text, number) ? make_draw(number) : parse(text, why);
    if (!draw) {
      std::fprintf(stderr, "sweep: %s\n", why.c_str());
      return 2;
    }
    sweep.check(*draw, engines);
  }
  return sweep.summary();
}

int run(int argc, char** argv) {
  Options options;
  if (argc > 1 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (!parse_options(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  for (int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL}) std::signal(signal, say_current);
  Sweep sweep(options);
  if (!sweep.has_device()) {
    std::fprintf(stderr, "sweep: there is no usable device '%s'\n", options.device.c_str());
    return 77;
  }
  if (!options.draw.empty()) return run_texts({options.draw}, options, sweep);
  if (options.found) return run_texts({std::begin(kFound), std::end(kFound)}, options, sweep);
  sweep.run();
  return sweep.summary();
}

}  // namespace
}  // namespace grainless::sweep

int main(int argc, char** argv) {
  return grainless::sweep::run(argc, argv);
}
