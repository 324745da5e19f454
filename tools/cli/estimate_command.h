// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "band_denoiser.h"

namespace grainless::tools {

struct EstimateOptions {
  std::vector<std::string> inputs;
  std::string kind = "auto";  // what to look for, as the parameter noise takes it
  std::optional<double> noise_sigma;
  uint64_t seed = 1;
  bool json = false;
  int32_t threads = 0;
  int32_t host_memory = usual_host_memory();
};

// Prints how strong the noise of every input is, and how sure that is; changes no file. One input
// that fails doesn't stop the others. Returns the exit code: that of the first failure, or 0.
int run_estimate(const EstimateOptions& options);

}  // namespace grainless::tools
