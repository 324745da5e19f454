// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "engine/backends/backend.h"
#include "engine/thread_pool.h"

namespace grainless {

// pool must outlive the backend; all tiles share its threads.
std::unique_ptr<Backend> make_cpu_backend(ThreadPool& pool);

}  // namespace grainless
