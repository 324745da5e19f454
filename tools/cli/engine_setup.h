// SPDX-License-Identifier: MIT
#pragma once

#include "engine/denoise.h"

namespace grainless::tools {

// With the CUDA module from GRAINLESS_MODULE_DIR, or else ../lib/grainless beside the program's
// folder where that exists, or else the program's own folder.
// "grainless 1.2.3", and on a line of its own the version of the CUDA module, or why there is none.
std::string version_text();

EngineOptions engine_options(int32_t threads);

// The process's own: set by SIGINT and SIGTERM once catch_signals() was called. Writing above a
// file size limit then is an error like a full disk.
const CancelToken& cancel_token();
void catch_signals();

// The exit status: 1 bad input or parameters, 2 device or internal failure, 3 cancelled.
int exit_code(ErrorCode code);

}  // namespace grainless::tools
