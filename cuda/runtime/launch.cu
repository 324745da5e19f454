// SPDX-License-Identifier: MIT
#include "launch.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "check.h"
#include "engine/boundary/packed_sentence.h"
#include "fault.h"

namespace grainless::cuda {
namespace {

constexpr int kMostThreads = 1024;  // of a block

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  return device;
}

int attribute_of(int device, cudaDeviceAttr attribute) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, attribute, device), "asking for a device's limits");
  return value;
}

size_t largest_block_shared(int device) {
  return attribute_of(device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

// Dynamic shared memory that a launch of the kernel may have. The limit belongs to the function and
// not to a launch: two runs that each set what their own launch needs could lower one another's
// between setting and launching. It is raised once, to all that the device has.
size_t allowed_shared(const void* kernel) {
  static std::mutex mutex;
  static auto* const allowed = new std::map<std::pair<const void*, int>, size_t>;
  const int device = current_device();
  std::lock_guard lock(mutex);
  const auto found = allowed->find({kernel, device});
  if (found != allowed->end()) return found->second;
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's limits");
  const size_t most = largest_block_shared(device), taken = attributes.sharedSizeBytes;
  const size_t bytes = most > taken ? most - taken : 0;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "raising a kernel's shared memory");
  return (*allowed)[{kernel, device}] = bytes;
}

void check_shape(const char* what, const LaunchShape& shape) {
  const auto within = [](const dim3& d, unsigned x, unsigned y, unsigned z) {
    return d.x >= 1 && d.y >= 1 && d.z >= 1 && d.x <= x && d.y <= y && d.z <= z;
  };
  const dim3& threads = shape.threads;
  if (!within(shape.blocks, INT32_MAX, kMostGridRows, kMostGridRows) ||
      !within(threads, kMostThreads, kMostThreads, 64) ||
      threads.x * threads.y * threads.z > kMostThreads) {
    throw Error(ErrorCode::kInternal, std::string(what) + ": a grid out of bounds");
  }
}

}  // namespace

DeviceLimits device_limits() {
  const int device = current_device();
  DeviceLimits limits{attribute_of(device, cudaDevAttrMultiProcessorCount),
                      largest_block_shared(device),
                      size_t(attribute_of(device, cudaDevAttrMaxSharedMemoryPerMultiprocessor)),
                      size_t(attribute_of(device, cudaDevAttrReservedSharedMemoryPerBlock))};
  if (const char* less = fault_value("shared")) {
    limits.shared_bytes = std::min<size_t>(limits.shared_bytes, std::strtoull(less, nullptr, 10));
    limits.shared_bytes_for_all = limits.shared_bytes;
    limits.shared_bytes_reserved = 0;
  }
  return limits;
}

void too_little_shared_memory() {
  throw Error(ErrorCode::kUnsupported,
              packed_sentence("its shared memory is too small for a patch, group or search window "
                              "of this size"));
}

void launch_kernel(const char* what, const void* kernel, const LaunchShape& shape,
                   void** arguments) {
  check_shape(what, shape);
  if (shape.shared_bytes > 0 && shape.shared_bytes > allowed_shared(kernel)) {
    too_little_shared_memory();
  }
  check(fault_at_launch(), what);
  check(cudaLaunchKernel(kernel, shape.blocks, shape.threads, arguments, shape.shared_bytes,
                         shape.stream),
        what);
}

}  // namespace grainless::cuda
