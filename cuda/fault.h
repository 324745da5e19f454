// SPDX-License-Identifier: MIT
// Faults on demand, for tests of the fall-backs. Only in modules built with -Dcuda-faults=true;
// there GRAINLESS_FAULT holds one or more of, separated by commas:
//   driver=none | driver=old   what devices() finds
//   arch                       no device has code in this module
//   open                       opening a session fails
//   fft                        there is no cuFFT
//   alloc=BYTES                device allocations larger than this fail
//   launch=K                   the K-th kernel launch of the process, and all after it, fail (from
//   1)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#ifdef GRAINLESS_CUDA_FAULTS
#include <atomic>
#include <cstdlib>
#include <string>
#endif

namespace grainless::cuda {

#ifdef GRAINLESS_CUDA_FAULTS
// The value of `name` in GRAINLESS_FAULT; "" when it stands alone, null when it is absent.
inline const char* fault_value(const char* name) {
  static thread_local std::string value;
  const char* variable = std::getenv("GRAINLESS_FAULT");
  std::string rest = variable != nullptr ? variable : "";
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string item = rest.substr(0, comma);
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
    const size_t equals = item.find('=');
    if (item.substr(0, equals) != name) continue;
    value = equals == std::string::npos ? "" : item.substr(equals + 1);
    return value.c_str();
  }
  return nullptr;
}

inline cudaError_t fault_at_launch() {
  static std::atomic<long> launches{0};
  const char* first = fault_value("launch");
  if (first == nullptr) return cudaSuccess;
  return ++launches >= std::atol(first) ? cudaErrorLaunchFailure : cudaSuccess;
}

inline cudaError_t fault_at_alloc(size_t bytes) {
  const char* most = fault_value("alloc");
  return most != nullptr && bytes > std::strtoull(most, nullptr, 10) ? cudaErrorMemoryAllocation
                                                                     : cudaSuccess;
}
#else
inline const char* fault_value(const char*) {
  return nullptr;
}
inline cudaError_t fault_at_launch() {
  return cudaSuccess;
}
inline cudaError_t fault_at_alloc(size_t) {
  return cudaSuccess;
}
#endif

}  // namespace grainless::cuda
