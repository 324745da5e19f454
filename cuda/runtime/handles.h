// SPDX-License-Identifier: MIT
// Owners of CUDA's handles. Destructors ignore errors: a context that failed has freed everything.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "check.h"
#include "fault.h"

namespace grainless::cuda {

template <typename Handle, cudaError_t (*kRelease)(Handle)>
class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle handle) : handle_(handle) {}
  ~Owner() { reset(); }
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owner& operator=(Owner&& other) noexcept {
    if (this != &other) reset(std::exchange(other.handle_, Handle{}));
    return *this;
  }

  Handle get() const { return handle_; }
  void reset(Handle handle = {}) {
    if (handle_ != Handle{}) kRelease(handle_);
    handle_ = handle;
  }

 private:
  Handle handle_{};
};

using Stream = Owner<cudaStream_t, cudaStreamDestroy>;
using Event = Owner<cudaEvent_t, cudaEventDestroy>;
using DeviceMemory = Owner<void*, cudaFree>;
using PinnedMemory = Owner<void*, cudaFreeHost>;

inline Stream make_stream() {
  cudaStream_t stream;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  return Stream(stream);
}

inline Event make_event(unsigned flags = cudaEventDefault) {
  cudaEvent_t event;
  check(cudaEventCreateWithFlags(&event, flags), "creating an event");
  return Event(event);
}

inline DeviceMemory allocate_device(size_t bytes) {
  void* memory = nullptr;
  check(fault_at_alloc(bytes), "allocating device memory");
  check(cudaMalloc(&memory, bytes), "allocating device memory");
  return DeviceMemory(memory);
}

inline PinnedMemory allocate_pinned(size_t bytes) {
  void* memory = nullptr;
  check(fault_at_alloc(0), "allocating pinned memory");
  check(cudaMallocHost(&memory, bytes), "allocating pinned memory");
  return PinnedMemory(memory);
}

}  // namespace grainless::cuda
