// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "band_denoiser.h"
#include "param_options.h"

namespace grainless::tools {

// What is computed against a clean picture.
enum class Metrics { kNone, kPsnr, kAll };

struct DenoiseOptions {
  std::string preset;  // name or file, or empty
  GivenParams given;   // win over the preset
  std::vector<std::string> inputs;
  std::string list;  // file of further inputs, or empty
  std::string output, reference;
  std::string part;     // "I/N", or empty
  bool resume = false;  // leave out what is up to date
  std::optional<double> noise_sigma;
  std::optional<uint64_t> seed;
  std::optional<Metrics> metrics;  // empty: all with a reference, PSNR where noise is added
  bool json = false;
  int32_t threads = 0;
  std::optional<int32_t> jobs, host_memory;

  uint64_t used_seed() const { return seed.value_or(1); }
  int32_t used_jobs() const { return jobs.value_or(1); }  // pictures denoised at once
};

// One sentence for each option and parameter that was given and has no effect beside the others.
std::vector<std::string> unused_options(const DenoiseOptions& options, const Params& params);

Metrics metrics_of(const DenoiseOptions& options);

// Denoises every input; one that fails doesn't stop the others. Returns the exit code: that of the
// first failure, or 0. Throws Error when nothing could be begun.
int run_denoise(DenoiseOptions options);

}  // namespace grainless::tools
