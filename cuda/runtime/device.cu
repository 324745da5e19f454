// SPDX-License-Identifier: MIT
#include "device.h"

#include <cstdio>
#include <cstring>

#include "check.h"
#include "engine/boundary/packed_sentence.h"
#include "fault.h"
#include "targets.h"

namespace grainless::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

template <size_t kSize>
void copy_text(char (&to)[kSize], const std::string& from) {
  std::snprintf(to, kSize, "%s", from.c_str());
}

// 0 without a driver.
int driver_version() {
  if (const char* fault = fault_value("driver")) return std::strcmp(fault, "old") == 0 ? 11020 : 0;
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

void require_driver() {
  const int driver = driver_version();
  if (driver == 0) {
    throw Error(ErrorCode::kDeviceUnavailable,
                packed_sentence("no NVIDIA driver is installed or running"));
  }
  // Within a major version newer code runs on older drivers.
  if (driver / 1000 < CUDART_VERSION / 1000) {
    throw Error(
        ErrorCode::kDeviceUnavailable,
        packed_sentence("the NVIDIA driver is too old: it supports CUDA %s, CUDA %s is "
                        "needed",
                        {version_text(driver), version_text(CUDART_VERSION / 1000 * 1000)}));
  }
}

CodeTargets built_targets() {
  return fault_value("arch") != nullptr ? CodeTargets{} : parse_targets(GRAINLESS_CUDA_TARGETS);
}

std::string why_unusable(const cudaDeviceProp& properties) {
  if (!has_code_for(built_targets(), properties.major, properties.minor)) {
    return packed_sentence("this build has no code for its architecture (sm_%s)",
                           {std::to_string(properties.major) + std::to_string(properties.minor)});
  }
  return {};
}

// Opens the device; the reason when it can't be.
std::string ask_for_memory(int index, uint64_t& free_memory) {
  size_t free_bytes = 0, total = 0;
  cudaError_t opened = cudaSetDevice(index);
  if (opened == cudaSuccess) opened = cudaMemGetInfo(&free_bytes, &total);
  free_memory = free_bytes;
  if (opened == cudaSuccess) return {};
  cudaGetLastError();
  return cudaGetErrorString(opened);
}

AbiDevice describe(int index, bool ask) {
  AbiDevice device{};
  cudaDeviceProp properties;
  const cudaError_t known = cudaGetDeviceProperties(&properties, index);
  if (known != cudaSuccess) {
    copy_text(device.name, "device " + std::to_string(index));
    copy_text(device.reason, cudaGetErrorString(known));
    cudaGetLastError();
    return device;
  }
  copy_text(device.name, properties.name);
  device.major = properties.major;
  device.minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.total_memory = properties.totalGlobalMem;
  std::string reason = why_unusable(properties);
  if (reason.empty() && ask) reason = ask_for_memory(index, device.free_memory);
  device.usable = reason.empty() ? 1 : 0;
  copy_text(device.reason, reason);
  return device;
}

}  // namespace

std::vector<AbiDevice> list_devices(bool ask) {
  require_driver();
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found == cudaErrorNoDevice || (found == cudaSuccess && count == 0)) {
    throw Error(ErrorCode::kDeviceUnavailable, packed_sentence("there is no NVIDIA graphics card"));
  }
  check(found, "asking for NVIDIA graphics cards");
  std::vector<AbiDevice> devices;
  for (int i = 0; i < count; ++i) devices.push_back(describe(i, ask));
  return devices;
}

void select_device(uint32_t device) {
  require_driver();
  if (fault_value("open") != nullptr) {
    throw Error(ErrorCode::kDeviceUnavailable, "opening the device failed on demand");
  }
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, static_cast<int>(device)), "opening the device");
  const std::string reason = why_unusable(properties);
  if (!reason.empty()) throw Error(ErrorCode::kDeviceUnavailable, reason);
  check(cudaSetDevice(static_cast<int>(device)), "opening the device");
  check(cudaFree(nullptr), "opening the device");  // makes the context now
}

}  // namespace grainless::cuda
