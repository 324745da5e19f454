// SPDX-License-Identifier: MIT
// The one way to launch a kernel with dynamic shared memory: its limit, the grid's bounds and the
// error's text in one place.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

namespace grainless::cuda {

inline constexpr int kMostGridRows = 65535;  // of a grid, and as many layers

// What the current device allows a launch.
struct DeviceLimits {
  int multiprocessors;
  size_t shared_bytes;           // largest for a thread block, static and dynamic
  size_t shared_bytes_for_all;   // of a multiprocessor
  size_t shared_bytes_reserved;  // of each block, by the driver
};
DeviceLimits device_limits();

// Throws Error(kUnsupported): this card is too small for what the plan asks, and not broken.
[[noreturn]] void too_little_shared_memory();

struct LaunchShape {
  dim3 blocks, threads;
  size_t shared_bytes;  // dynamic
  cudaStream_t stream;
};

// `what` names the work in the error's sentence.
void launch_kernel(const char* what, const void* kernel, const LaunchShape& shape,
                   void** arguments);

template <typename... Parameters>
void launch(const char* what, void (*kernel)(Parameters...), const LaunchShape& shape,
            const std::type_identity_t<Parameters>&... arguments) {
  const void* pointers[] = {&arguments...};
  launch_kernel(what, reinterpret_cast<const void*>(kernel), shape, const_cast<void**>(pointers));
}

}  // namespace grainless::cuda
