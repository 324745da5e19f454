// SPDX-License-Identifier: MIT
// The one way to launch kernels. launch() checks the grid's bounds and the dynamic shared memory,
// and names the work in errors. launch_in_bands() cuts long work into short launches.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "pacer.h"

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

// A part of a job's work, as fractions of all of it.
struct ProgressSpan {
  double from, to;

  double at(int done, int count) const { return from + (to - from) * done / count; }
};

// Work of `count` units, which are rows of a grid, blocks or cells. One launch takes `at_once` of
// them: few enough for a desktop card's watchdog, and for a quick cancel.
struct BandPlan {
  int count, at_once;
  ProgressSpan progress;
};

struct Band {
  int first, count;
};

// Calls body(Band) for all bands.
template <typename Body>
void for_bands(int count, int at_once, const Body& body) {
  for (int first = 0; first < count; first += at_once) {
    body(Band{first, std::min(at_once, count - first)});
  }
}

// Calls body(Band), which launches, for all bands, after a checkpoint() each. `job` is a MethodJob
// or a VolumeJob.
template <typename Job, typename Body>
void launch_in_bands(const Job& job, const BandPlan& plan, const Body& body) {
  for_bands(plan.count, plan.at_once, [&](const Band& band) {
    checkpoint(job.pacer, job.stream, job.callbacks, plan.progress.at(band.first, plan.count));
    body(band);
  });
}

}  // namespace grainless::cuda
