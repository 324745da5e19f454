// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "band_denoiser.h"
#include "param_options.h"

namespace grainless::tools {

struct DenoiseOptions {
  std::string preset;  // name or file, or empty
  GivenParams given;   // win over the preset
  std::vector<std::string> inputs;
  std::string list;  // file of further inputs, or empty
  std::string output, reference;
  std::string part;     // "I/N", or empty
  bool resume = false;  // leave out what is up to date
  std::optional<double> noise_sigma;
  uint64_t seed = 1;
  bool json = false;
  int32_t threads = 0;
  int32_t host_memory = kHostMemory;
};

// Denoises every input; one that fails doesn't stop the others. Returns the exit code: that of the
// first failure, or 0. Throws Error when nothing could be begun.
int run_denoise(DenoiseOptions options);

}  // namespace grainless::tools
