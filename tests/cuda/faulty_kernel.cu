// SPDX-License-Identifier: MIT
// One mistake for each of compute-sanitizer's tools, to show that sanitize.sh sees it.
// usage: cuda-faulty-kernel memcheck|racecheck|initcheck|synccheck
#include <cstdio>
#include <cstring>

namespace {

constexpr int kThreads = 64;

__global__ void beyond_the_end(int* values) {
  values[kThreads + threadIdx.x] = 1;
}

__global__ void without_a_barrier(int* values) {
  __shared__ int shared[kThreads];
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  values[threadIdx.x] = shared[kThreads - 1 - threadIdx.x];
}

__global__ void of_nothing_written(const int* from, int* to) {
  to[threadIdx.x] = from[threadIdx.x] + 1;
}

__global__ void barrier_for_some(int* values) {
  if (threadIdx.x < kThreads - 16) __syncthreads();
  values[threadIdx.x] = 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* tool = argc > 1 ? argv[1] : "";
  int *values = nullptr, *unwritten = nullptr;
  if (cudaMalloc(&values, kThreads * sizeof(int)) != cudaSuccess ||
      cudaMalloc(&unwritten, kThreads * sizeof(int)) != cudaSuccess) {
    std::puts("no device");
    return 77;
  }
  if (std::strcmp(tool, "memcheck") == 0) beyond_the_end<<<1, kThreads>>>(values);
  if (std::strcmp(tool, "racecheck") == 0) without_a_barrier<<<1, kThreads>>>(values);
  if (std::strcmp(tool, "initcheck") == 0) of_nothing_written<<<1, kThreads>>>(unwritten, values);
  if (std::strcmp(tool, "synccheck") == 0) barrier_for_some<<<1, kThreads>>>(values);
  cudaDeviceSynchronize();
  return 0;
}
