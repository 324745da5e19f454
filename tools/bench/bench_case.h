// SPDX-License-Identifier: MIT
// What grainless-bench runs: one picture size, pixel format and set of parameters, and what others
// were measured to take for the same work.
#pragma once

#include <string>
#include <vector>

#include "engine/boundary/pixels.h"
#include "engine/denoise.h"
#include "engine/params/params.h"

namespace grainless::tools {

struct Peer {
  std::string name;
  double milliseconds;  // kernels only
};

struct BenchCase {
  std::string name;
  int32_t width = 0, height = 0;
  int32_t layers = 1, depth = 0;  // a volume when depth is not 0
  PixelFormat format;
  Params params;
  std::vector<Peer> peers;
};

// Seconds, medians over the repetitions; the engine's own first call is not among them.
struct BenchResult {
  std::string device, device_description;
  std::vector<std::string> fallbacks;
  double upload = 0, kernels = 0, download = 0, total = 0;
  double fastest_kernels = 0, slowest_kernels = 0;
  int32_t tiles = 0;
  uint64_t peak_memory = 0;
  uint64_t hash = 0;  // of the result's bytes: the same on one card as on several
};

// Throws Error.
BenchResult run_case(Engine& engine, const BenchCase& bench, int32_t repeat,
                     const CancelToken& cancel);

// "one": the given case. "peers": the published implementations that were measured on one H200.
// "seeds": the papers this project grew from, on their cards. "volumes": Palma et al.'s (2013)
// cubes, boxes and patches. "scaling": 0.25 to 96 megapixels of the given case. Parameters that a
// row doesn't fix are the given case's. Throws Error(kBadParameter).
std::vector<BenchCase> suite(const std::string& name, const BenchCase& given);

}  // namespace grainless::tools
