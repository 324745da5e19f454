// SPDX-License-Identifier: MIT
// Times runs of the CUDA module by the device's own clock: module_bench MODULE [REPEATS [FILTER]].
// One line a case: kernels (median and least), upload, download, in milliseconds.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "engine/boundary/abi.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"
#include "engine/plan/make_plan.h"

namespace grainless {
namespace {

struct Case {
  const char* name;
  int32_t width, height;
  PixelFormat format;
  Method method;
  int32_t search, patch;
  Quality quality = Quality::kNormal;
  double chroma = 100;
};

constexpr PixelFormat kGrey{Component::kFloat, 1}, kColour{Component::kFloat, 3},
    kColour8{Component::kU8, 3};
constexpr Case kCases[] = {
    {"nlm-24mp-rgb-21-9", 6000, 4000, kColour, Method::kNlm, 21, 9},
    {"nlm-24mp-grey-21-7", 6000, 4000, kGrey, Method::kNlm, 21, 7},
    {"nlm-720x480-rgb-21-9", 720, 480, kColour, Method::kNlm, 21, 9},
    {"nlm-512x512-grey-21-7", 512, 512, kGrey, Method::kNlm, 21, 7},
    {"nlm-24mp-rgb8-21-5", 6000, 4000, kColour8, Method::kNlm, 21, 5},
    {"nlm-24mp-rgb8-35-6", 6000, 4000, kColour8, Method::kNlm, 35, 6},
    {"nlm-24mp-rgb8-15-3", 6000, 4000, kColour8, Method::kNlm, 15, 3},
    {"nlm-high-24mp-rgb-21-9", 6000, 4000, kColour, Method::kNlm, 21, 9, Quality::kHigh},
    {"nlm-high-24mp-grey-21-7", 6000, 4000, kGrey, Method::kNlm, 21, 7, Quality::kHigh},
    {"nlm-high-24mp-rgb8", 6000, 4000, kColour8, Method::kNlm, 0, 0, Quality::kHigh},
    {"nlm-high-24mp-grey", 6000, 4000, kGrey, Method::kNlm, 0, 0, Quality::kHigh},
    {"nlm-24mp-rgb8", 6000, 4000, kColour8, Method::kNlm, 0, 0},
    {"nlm-24mp-grey", 6000, 4000, kGrey, Method::kNlm, 0, 0},
    {"nlm-fast-24mp-rgb8", 6000, 4000, kColour8, Method::kNlm, 0, 0, Quality::kFast},
    {"nlm-800x600-rgb8", 800, 600, kColour8, Method::kNlm, 0, 0},
    {"nlm-apart-24mp-rgb8", 6000, 4000, kColour8, Method::kNlm, 0, 0, Quality::kNormal, 200},
    {"nlm-apart-high-24mp-rgb8", 6000, 4000, kColour8, Method::kNlm, 0, 0, Quality::kHigh, 200},
    // As a camera's noise is taken out.
    {"nlm-camera-24mp-rgb8", 6000, 4000, kColour8, Method::kNlm, 0, 5, Quality::kHigh, 200},
    {"sw-nlm-512x512-grey-21-7", 512, 512, kGrey, Method::kSwNlm, 21, 7},
    {"sw-nlm-512x512-grey-21-5", 512, 512, kGrey, Method::kSwNlm, 21, 5},
    {"sw-nlm-512x512-grey-21-9", 512, 512, kGrey, Method::kSwNlm, 21, 9},
    {"sw-nlm-512x512-grey-21-6", 512, 512, kGrey, Method::kSwNlm, 21, 6},
    {"sw-nlm-512x512-rgb-21-7", 512, 512, kColour, Method::kSwNlm, 21, 7},
    {"sw-nlm-2592x1728-grey-21-7", 2592, 1728, kGrey, Method::kSwNlm, 21, 7},
    {"bm3d-24mp-grey", 6000, 4000, kGrey, Method::kBm3d, 0, 0},
    {"bm3d-24mp-rgb", 6000, 4000, kColour, Method::kBm3d, 0, 0},
    {"bm3d-high-24mp-grey", 6000, 4000, kGrey, Method::kBm3d, 0, 0, Quality::kHigh},
    {"bm3d-high-24mp-rgb", 6000, 4000, kColour, Method::kBm3d, 0, 0, Quality::kHigh},
    {"bm3d-512x512-grey", 512, 512, kGrey, Method::kBm3d, 0, 0},
    {"bm3d-512x512-rgb", 512, 512, kColour, Method::kBm3d, 0, 0},
    {"bm3d-800x600-rgb8", 800, 600, kColour8, Method::kBm3d, 0, 0},
};

void exit_unless(bool ok, const std::string& why) {
  if (ok) return;
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

// Smooth shapes and noise of sigma 20, never constant.
std::vector<uint8_t> picture(const Case& c) {
  const size_t count = size_t{1} * c.width * c.height * c.format.channels;
  std::vector<uint8_t> bytes(count * c.format.component_bytes());
  std::vector<float> noise(1 << 20);
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 20);
  for (float& n : noise) n = normal(random);
  for (size_t i = 0; i < count; ++i) {
    const size_t pixel = i / c.format.channels, x = pixel % c.width, y = pixel / c.width;
    const float clean =
        60.0f + 0.02f * static_cast<float>(x % 4000) + ((x / 37 + y / 23) % 2 != 0 ? 50.0f : 0.0f);
    const float value = clean + noise[(i * 7 + i / 1048573) & ((1 << 20) - 1)];
    if (c.format.component == Component::kU8) {
      bytes[i] = static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
    } else {
      reinterpret_cast<float*>(bytes.data())[i] = value / 255.0f;
    }
  }
  return bytes;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void time_case(const AbiBackend& table, AbiSession* session, const Case& c, int repeats) {
  Params params;
  params.method = static_cast<int32_t>(c.method);
  params.auto_sigma = false;
  params.search = c.search;
  params.patch = c.patch;
  params.quality = static_cast<int32_t>(c.quality);
  params.chroma = c.chroma;
  const Plan plan = make_plan(params, c.format, white_noise(c.format.colours(), 20.0f));
  const std::vector<uint8_t> source = picture(c);
  std::vector<uint8_t> target(source.size());
  const int64_t row = int64_t{c.width} * c.format.pixel_bytes();
  const Rect all{0, 0, c.width, c.height};
  const AbiTile tile{c.width, c.height, all, all, source.data(), row, target.data(), row};
  const AbiCallbacks callbacks{};
  std::vector<double> upload, kernels, download;
  uint64_t memory = 0;
  const int runs = c.width * c.height < 1 << 20 ? 10 * repeats : repeats;
  for (int i = 0; i < runs + 2; ++i) {
    AbiTiming timing{};
    AbiMessage message{};
    const int32_t code = table.run(session, &plan, &tile, &callbacks, &timing, &message);
    if (code != 0) {
      std::printf("%-24s %s\n", c.name, message.text);
      return;
    }
    if (i < 2) continue;
    upload.push_back(timing.upload * 1e3);
    kernels.push_back(timing.kernels * 1e3);
    download.push_back(timing.download * 1e3);
    memory = timing.peak_memory;
  }
  std::printf("%-24s kernels %9.3f (least %9.3f) upload %8.3f download %8.3f ms  %llu MiB\n",
              c.name, median(kernels), *std::min_element(kernels.begin(), kernels.end()),
              median(upload), median(download), static_cast<unsigned long long>(memory >> 20));
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  exit_unless(argc > 1, "usage: module_bench MODULE [REPEATS [FILTER]]");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  exit_unless(library != nullptr, "can't load the module");
  const auto entry = reinterpret_cast<AbiEntry>(dlsym(library, kAbiSymbol));
  exit_unless(entry != nullptr, "not a module");
  const AbiBackend& table = *entry();
  AbiSession* session = nullptr;
  AbiMessage message{};
  exit_unless(table.open(0, 0, &session, &message) == 0, message.text);
  const int repeats = argc > 2 ? std::atoi(argv[2]) : 7;
  for (const Case& c : kCases) {
    if (argc > 3 && std::string(c.name).find(argv[3]) == std::string::npos) continue;
    time_case(table, session, c, repeats);
  }
  table.close(session);
  return 0;
}

}  // namespace
}  // namespace grainless

int main(int argc, char** argv) {
  return grainless::run(argc, argv);
}
