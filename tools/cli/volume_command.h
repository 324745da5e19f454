// SPDX-License-Identifier: MIT
#pragma once

#include "denoise_command.h"

namespace grainless::tools {

// Denoises all inputs as the layers of one volume. Returns the exit code. Throws Error.
int run_volume(const DenoiseOptions& options, const Params& params);

}  // namespace grainless::tools
