// SPDX-License-Identifier: MIT
// Jobs of random size and parameters from two threads on one engine, all of them twice: usage
// soak cpu|cuda MODULE_DIR [JOBS [SEED]]. A driver takes memory, host's and card's, when a kernel
// is launched for the first time and for the largest of everything, and keeps it; the second half
// of the jobs are those of the first and find nothing new. Answers 1 at a failure, a fall-back, or
// memory that grows by more than 5 % in the second half; 77 without a device.
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/denoise.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

constexpr double kMostGrowth = 0.05;
constexpr uint64_t kNoise = uint64_t{4} << 20;  // bytes that allocators come and go by
constexpr int kSamples = 10;                    // of memory, over the run

struct Job {
  std::vector<std::pair<std::string, std::string>> settings;
  PixelFormat format;
  int32_t width, height;
  float sigma;

  std::string line() const {
    std::string text = std::to_string(width) + "x" + std::to_string(height) + "x" +
                       std::to_string(format.channels) + " component " +
                       std::to_string(static_cast<int>(format.component)) + " --sigma " +
                       std::to_string(sigma);
    for (const auto& [key, value] : settings) text += " --" + key + " " + value;
    return text;
  }
};

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}

  int32_t between(int32_t least, int32_t most) {
    return least + static_cast<int32_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }
  int32_t size(int32_t most) {  // evenly over orders of magnitude
    return std::max(1, static_cast<int32_t>(std::exp(unit() * std::log(double(most)))));
  }
  const char* one_of(std::initializer_list<const char*> all) {
    return all.begin()[between(0, static_cast<int32_t>(all.size()) - 1)];
  }
  double unit() { return static_cast<double>(random_() >> 11) / 9007199254740992.0; }

 private:
  std::mt19937_64 random_;
};

Job draw_job(Draw& draw, int32_t largest) {
  Job job;
  const std::string method = draw.one_of({"bm3d", "bm3d", "nlm", "sw-nlm"});
  job.settings = {{"method", method}, {"quality", draw.one_of({"fast", "normal", "high"})}};
  const auto sometimes = [&](const char* key, const std::string& value) {
    if (draw.between(0, 3) == 0) job.settings.emplace_back(key, value);
  };
  sometimes("search", std::to_string(2 * draw.between(1, 19) + 1));
  const int32_t patch = draw.between(2, 12);
  sometimes("patch", std::to_string(patch));
  sometimes("luma", std::to_string(draw.between(0, 200)));
  sometimes("chroma", std::to_string(draw.between(0, 200)));
  sometimes("shadows", std::to_string(draw.between(0, 200)));
  sometimes("highlights", std::to_string(draw.between(0, 200)));
  sometimes("detail", std::to_string(draw.between(0, 100)));
  sometimes("scales", std::to_string(draw.between(1, 4)));
  sometimes("transform", draw.one_of({"bior1.5", "dct", "haar", "hadamard"}));
  sometimes("matching", "prefiltered");
  sometimes("step", std::to_string(draw.between(1, std::min(6, patch))));  // no larger is taken
  job.format = {static_cast<Component>(draw.between(0, 3)), draw.between(1, 4)};
  job.width = draw.size(largest);
  job.height = draw.size(largest);
  job.sigma = static_cast<float>(std::exp(std::log(0.5) + draw.unit() * std::log(120.0)));
  return job;
}

uint64_t host_bytes() {
  malloc_trim(0);
  std::ifstream status("/proc/self/statm");
  uint64_t all = 0, resident = 0;
  status >> all >> resident;
  return resident * 4096;
}

class Soak {
 public:
  Soak(const std::string& device, const std::string& module_dir, int jobs, uint64_t seed)
      : device_(device), engine_({module_dir, 2}), jobs_(jobs), seed_(seed), draw_(seed) {}

  int run() {
    if (!available()) return 77;
    // The largest of all first: buffers are kept from run to run.
    Draw largest(1);
    Job first = draw_job(largest, 4);
    for (const char* method : {"bm3d", "nlm", "sw-nlm"}) {
      first.settings = {{"method", method}, {"quality", "high"}, {"scales", "1"}};
      first.format = {Component::kFloat, 4};
      first.width = first.height = largest_side();
      work_on(first);
      work_on(first);
    }
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    return judge();
  }

 private:
  int32_t largest_side() const { return device_ == "cpu" ? 160 : 2500; }

  bool available() {
    for (const DeviceInfo& info : engine_.devices()) {
      if (info.name.starts_with(device_) && info.usable) return true;
      if (info.name.starts_with(device_)) std::printf("%s: skipped\n", info.reason.c_str());
    }
    return false;
  }

  bool next(Job& job) {
    std::lock_guard lock(mutex_);
    if (done_ == jobs_ || failed_) return false;
    if (done_ == jobs_ / 2) draw_ = Draw(seed_);
    job = draw_job(draw_, largest_side());
    ++done_;
    if (done_ % std::max(1, jobs_ / kSamples) == 0) sample_due_ = true;
    return true;
  }

  void work() {
    for (Job job; next(job);) {
      work_on(job);
      sample_if_due();
    }
  }

  // Between jobs of both threads, so that no job's own memory counts.
  void sample_if_due() {
    {
      std::lock_guard lock(mutex_);
      if (!sample_due_) return;
      sample_due_ = false;
    }
    std::lock_guard idle(running_);
    std::lock_guard lock(mutex_);
    Sample sample{done_, 0, 0};
    sample.host = host_bytes();
    for (const DeviceInfo& info : engine_.devices(Engine::Ask::kFreeMemory)) {
      if (info.total_memory != 0) sample.device += info.total_memory - info.free_memory;
    }
    samples_.push_back(sample);
    std::printf("%d jobs: host %.1f MiB, devices %.1f MiB\n", sample.jobs,
                static_cast<double>(sample.host) / (1 << 20),
                static_cast<double>(sample.device) / (1 << 20));
    std::fflush(stdout);
  }

  void work_on(const Job& job) {
    Params params;
    params.auto_sigma = false;
    params.device = device_;
    for (const auto& [key, value] : job.settings) {
      if (!set_param(params, key, value).ok()) return fail(job, "refused " + key);
    }
    std::shared_lock busy(running_);
    const test::TestImage image =
        test::noisy_picture(job.format, job.width, job.height, job.sigma, 1);
    test::TestImage result(job.format, job.width, job.height);
    Report report;
    const Status status = engine_.denoise(params, white_noise(job.format.colours(), job.sigma),
                                          image.view(), result.target(), {}, report);
    if (!status.ok()) return fail(job, status.message());
    if (!report.fallbacks.empty()) return fail(job, report.fallbacks.front());
    if (report.changed && !report.device.starts_with(device_)) fail(job, report.device);
  }

  void fail(const Job& job, const std::string& why) {
    std::lock_guard lock(mutex_);
    failed_ = true;
    std::printf("FAILED %s: %s\n", job.line().c_str(), why.c_str());
  }

  int judge() const {
    if (failed_ || samples_.size() < 4) return 1;
    const Sample &early = samples_[samples_.size() / 2], &late = samples_.back();
    const auto grown = [](uint64_t from, uint64_t to) {
      if (to <= from + kNoise) return 0.0;
      return static_cast<double>(to) / static_cast<double>(std::max<uint64_t>(from, 1)) - 1;
    };
    const double host = grown(early.host, late.host);
    const double device = early.device != 0 ? grown(early.device, late.device) : 0;
    std::printf("%d jobs: host memory %+.1f %%, device memory %+.1f %%\n", done_, 100 * host,
                100 * device);
    return host <= kMostGrowth && device <= kMostGrowth ? 0 : 1;
  }

  struct Sample {
    int jobs;
    uint64_t host, device;
  };

  const std::string device_;
  Engine engine_;
  const int jobs_;
  const uint64_t seed_;
  std::mutex mutex_;
  std::shared_mutex running_;
  Draw draw_;
  int done_ = 0;
  bool sample_due_ = false, failed_ = false;
  std::vector<Sample> samples_;
};

}  // namespace
}  // namespace grainless

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int jobs = argc > 3 ? std::atoi(argv[3]) : 1000;
  const uint64_t seed = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1;
  return grainless::Soak(argv[1], argv[2], jobs, seed).run();
}
