// SPDX-License-Identifier: MIT
// No header of cuFFT is needed: its functions and numbers used here have been the same since
// CUDA 5.
#include "fft.h"

#include <dlfcn.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "check.h"
#include "engine/packed_sentence.h"
#include "fault.h"

namespace grainless::cuda {

// Plans for one device and size. They are kept: making them takes milliseconds.
struct Made {
  int device, side, batch;
  int handle[2];  // to the spectra, and back
  size_t work_bytes;
  bool busy;
};

namespace {

constexpr int kSuccess = 0, kAllocFailed = 2;  // cufftResult
constexpr int kTypes[2] = {0x2a, 0x2c};        // CUFFT_R2C, CUFFT_C2R
constexpr const char* kNames[] = {"libcufft.so.12", "libcufft.so.11",
                                  "/usr/local/cuda/lib64/libcufft.so.12",
                                  "/usr/local/cuda/lib64/libcufft.so.11"};

struct Library {
  int (*create)(int* handle);
  int (*destroy)(int handle);
  int (*set_auto_allocation)(int handle, int automatic);
  int (*make_plan_many)(int handle, int rank, int* n, int* in_embed, int in_stride, int in_distance,
                        int* out_embed, int out_stride, int out_distance, int type, int batch,
                        size_t* work_bytes);
  int (*set_stream)(int handle, cudaStream_t stream);
  int (*set_work_area)(int handle, void* work);
  int (*forward)(int handle, void* in, void* out);
  int (*inverse)(int handle, void* in, void* out);
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw Error(ErrorCode::kDeviceUnavailable, std::string("this cuFFT has no ") + name);
  }
}

[[noreturn]] void refuse() {
  throw Error(
      ErrorCode::kDeviceUnavailable,
      packed_sentence("the Fourier transform needs cuFFT (libcufft.so.12 or libcufft.so.11) "
                      "on a graphics card, and that is not installed"));
}

Library load() {
  void* library = nullptr;
  for (const char* name : kNames) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) refuse();
  Library functions;
  find(library, "cufftCreate", functions.create);
  find(library, "cufftDestroy", functions.destroy);
  find(library, "cufftSetAutoAllocation", functions.set_auto_allocation);
  find(library, "cufftMakePlanMany", functions.make_plan_many);
  find(library, "cufftSetStream", functions.set_stream);
  find(library, "cufftSetWorkArea", functions.set_work_area);
  find(library, "cufftExecR2C", functions.forward);
  find(library, "cufftExecC2R", functions.inverse);
  return functions;
}

const Library& library() {
  static const Library functions = load();
  return functions;
}

void check_fft(int result, const char* what) {
  if (result == kSuccess) return;
  const ErrorCode code =
      result == kAllocFailed ? ErrorCode::kOutOfMemory : ErrorCode::kDeviceFailed;
  throw Error(code, std::string(what) + ": cuFFT answers " + std::to_string(result));
}

void make(Made& made) {
  const int columns = made.side / 2 + 1;
  int n[2] = {made.side, made.side}, real[2] = {made.side, 2 * columns},
      complex[2] = {made.side, columns};
  const int distance[2] = {made.side * 2 * columns, made.side * columns};
  for (int back = 0; back < 2; ++back) {
    size_t bytes = 0;
    check_fft(library().create(&made.handle[back]), "making a Fourier transform");
    check_fft(library().set_auto_allocation(made.handle[back], 0), "making a Fourier transform");
    check_fft(library().make_plan_many(made.handle[back], 2, n, back ? complex : real, 1,
                                       distance[back], back ? real : complex, 1, distance[1 - back],
                                       kTypes[back], made.batch, &bytes),
              "making a Fourier transform");
    made.work_bytes = std::max(made.work_bytes, bytes);
  }
}

std::mutex g_mutex;

// Never destroyed: at the process's end the driver may be gone before.
std::vector<Made*>& all_made() {
  static auto* all = new std::vector<Made*>;
  return *all;
}

}  // namespace

void open_fft() {
  if (fault_value("fft") != nullptr) refuse();
  library();
}

FftPlans::FftPlans(int side, int batch) : made_(nullptr) {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  std::lock_guard lock(g_mutex);
  for (Made* made : all_made()) {
    if (!made->busy && made->device == device && made->side == side && made->batch == batch) {
      made_ = made;
    }
  }
  if (made_ == nullptr) {
    Made made{device, side, batch, {}, 0, false};
    make(made);
    all_made().push_back(new Made(made));
    made_ = all_made().back();
  }
  made_->busy = true;
}

// What was queued runs on: a plan's handle is free again once its work is queued.
FftPlans::~FftPlans() {
  std::lock_guard lock(g_mutex);
  made_->busy = false;
}

void FftPlans::use(cudaStream_t stream, void* work, size_t bytes) const {
  if (made_->work_bytes > bytes) {
    throw Error(ErrorCode::kOutOfMemory, "cuFFT needs more memory than was reserved");
  }
  for (int handle : made_->handle) {
    check_fft(library().set_stream(handle, stream), "Fourier transform");
    check_fft(library().set_work_area(handle, work), "Fourier transform");
  }
}

void FftPlans::forward(void* data) const {
  check_fft(library().forward(made_->handle[0], data, data), "Fourier transform");
}

void FftPlans::inverse(void* data) const {
  check_fft(library().inverse(made_->handle[1], data, data), "Fourier transform");
}

}  // namespace grainless::cuda
