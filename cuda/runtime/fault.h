// SPDX-License-Identifier: MIT
// Faults on demand, for tests of the fall-backs. Only in modules built with -Dcuda-faults=true;
// there GRAINLESS_FAULT holds one or more of, separated by commas:
//   driver=none | driver=old   what devices() finds
//   arch                       no device has code in this module
//   open                       opening a session fails
//   fft                        there is no cuFFT
//   shared=BYTES               no more shared memory for a thread block (sm_75 has 65536)
//   alloc=BYTES                device allocations larger than this fail
//   alloc-number=K             the K-th allocation of device or pinned memory fails (from 1),
//   alloc-from=K               and all after it; counted since the variable got this value
//   hang=MS                    the device does nothing any more, and is given up after so long
//   nan                        a result holds NaN
//   launch=K                   the K-th kernel launch of the process, and all after it, fail (from
//   1)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#ifdef GRAINLESS_CUDA_FAULTS
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>
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

// The number of this allocation since `name` got its value; 0 without one.
inline long allocation_number(const char* name, long& wanted) {
  static std::mutex mutex;
  static std::map<std::string, std::pair<long, long>> counted;  // the value, and since it
  const char* text = fault_value(name);
  std::lock_guard lock(mutex);
  if (text == nullptr) {
    counted.erase(name);
    return 0;
  }
  wanted = std::atol(text);
  auto& [value, count] = counted[name];
  if (value != wanted) count = 0;
  value = wanted;
  return ++count;
}

inline cudaError_t fault_at_alloc(size_t bytes) {
  const char* most = fault_value("alloc");
  bool fails = most != nullptr && bytes > std::strtoull(most, nullptr, 10);
  long wanted = 0;
  if (const long number = allocation_number("alloc-number", wanted)) fails |= number == wanted;
  if (const long number = allocation_number("alloc-from", wanted)) fails |= number >= wanted;
  return fails ? cudaErrorMemoryAllocation : cudaSuccess;
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
