// SPDX-License-Identifier: MIT
#include "check.h"

namespace grainless::cuda {

void throw_cuda_error(cudaError_t code, const char* what) {
  cudaGetLastError();  // a recoverable error must not be found again by the next check
  const std::string text = std::string(what) + ": " + cudaGetErrorString(code);
  switch (code) {
    case cudaErrorMemoryAllocation:
      throw Error(ErrorCode::kOutOfMemory, text);
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
      throw Error(ErrorCode::kDeviceUnavailable, text);
    default:
      throw Error(ErrorCode::kDeviceFailed, text);
  }
}

}  // namespace grainless::cuda
