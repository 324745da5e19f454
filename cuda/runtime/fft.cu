// SPDX-License-Identifier: MIT
// No header of cuFFT is needed: its functions and numbers used here have been the same since
// CUDA 5.
#include "fft.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "check.h"
#include "engine/boundary/packed_sentence.h"
#include "fault.h"

namespace grainless::cuda {

namespace {

constexpr int kSuccess = 0, kAllocFailed = 2;  // cufftResult
constexpr int kTypes[2] = {0x2a, 0x2c};        // CUFFT_R2C, CUFFT_C2R
// CUDA 13, 12 and 11, by the loader's rules and where the toolkit puts them. The loader looks into
// the working directory only if the user's own LD_LIBRARY_PATH says so; the CUDA runtime opens the
// driver, libcuda.so.1, by the same rules.
constexpr const char* kNames[] = {"libcufft.so.12",
                                  "libcufft.so.11",
                                  "libcufft.so.10",
                                  "/usr/local/cuda/lib64/libcufft.so.12",
                                  "/usr/local/cuda/lib64/libcufft.so.11",
                                  "/usr/local/cuda/lib64/libcufft.so.10"};

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
  if (function == nullptr) throw Error(ErrorCode::kUnsupported, std::string("no ") + name);
}

Library load(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    throw Error(ErrorCode::kUnsupported, why != nullptr ? why : "can't be loaded");
  }
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

// All versions that are there. A version may be newer than the driver, which shows only when a
// transform is made: then the next one is tried.
struct Libraries {
  std::vector<Library> found;
  std::string reason;  // why a library that is there is of no use, or why none is

  Libraries() {
    for (const char* name : kNames) {
      const Status loaded = guard([&] { found.push_back(load(name)); });
      const bool missing = loaded.message().find("No such file") != std::string::npos;
      if (!loaded.ok() && (reason.empty() || !missing)) {
        reason = std::string(name) + ": " + loaded.message();
      }
    }
  }
};

const Libraries& libraries() {
  static const Libraries all;
  return all;
}

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::kUnsupported,
              packed_sentence("the Fourier transform needs cuFFT (libcufft.so.12, .11 or .10) on a "
                              "graphics card, and none works: %s",
                              {reason}));
}

void check_fft(int result, const char* what) {
  if (result == kSuccess) return;
  const ErrorCode code =
      result == kAllocFailed ? ErrorCode::kOutOfMemory : ErrorCode::kDeviceFailed;
  throw Error(code, std::string(what) + ": cuFFT answers " + std::to_string(result));
}

}  // namespace

// Transforms for one device and size, to the spectra and back. They are kept: making them takes
// milliseconds.
class Made {
 public:
  Made(const Library& library, int device, int side, int batch)
      : library(library), device(device), side(side), batch(batch) {
    try {
      for (int back = 0; back < 2; ++back) make(back);
    } catch (...) {
      destroy();
      throw;
    }
  }
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() { destroy(); }

  const Library& library;
  const int device, side, batch;
  int handle[2] = {};
  size_t work_bytes = 0;
  bool busy = false;

 private:
  void make(int back) {
    constexpr const char* kWhat = "making a Fourier transform";
    const int columns = side / 2 + 1;
    int n[2] = {side, side}, real[2] = {side, 2 * columns}, complex[2] = {side, columns};
    const int distance[2] = {side * 2 * columns, side * columns};
    size_t bytes = 0;
    check_fft(library.create(&handle[back]), kWhat);
    ++count_;
    check_fft(library.set_auto_allocation(handle[back], 0), kWhat);
    check_fft(library.make_plan_many(handle[back], 2, n, back ? complex : real, 1, distance[back],
                                     back ? real : complex, 1, distance[1 - back], kTypes[back],
                                     batch, &bytes),
              kWhat);
    work_bytes = std::max(work_bytes, bytes);
  }
  void destroy() {
    while (count_ > 0) library.destroy(handle[--count_]);
  }

  int count_ = 0;  // handles that were made
};

namespace {

std::mutex g_mutex;

// Never destroyed: at the process's end the driver may be gone before.
std::vector<std::unique_ptr<Made>>& all_made() {
  static auto* all = new std::vector<std::unique_ptr<Made>>;
  return *all;
}

// By the first library that can, which later ones are made by, too: they may differ in bits.
std::unique_ptr<Made> make(int device, int side, int batch) {
  if (!all_made().empty()) {
    return std::make_unique<Made>(all_made().front()->library, device, side, batch);
  }
  std::string reason = libraries().reason;
  for (const Library& library : libraries().found) {
    try {
      return std::make_unique<Made>(library, device, side, batch);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kOutOfMemory) throw;
      reason = error.what();
    }
  }
  refuse(reason);
}

}  // namespace

void open_fft() {
  if (fault_value("fft") != nullptr) refuse("made to fail");
  if (libraries().found.empty()) refuse(libraries().reason);
}

FftPlans::FftPlans(int side, int batch) : made_(nullptr) {
  int device = 0;
  check(cudaGetDevice(&device), "asking for the device");
  std::lock_guard lock(g_mutex);
  for (const auto& made : all_made()) {
    if (!made->busy && made->device == device && made->side == side && made->batch == batch) {
      made_ = made.get();
    }
  }
  if (made_ == nullptr) {
    all_made().push_back(make(device, side, batch));
    made_ = all_made().back().get();
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
    throw Error(ErrorCode::kUnsupported, "this cuFFT needs more memory than was reserved");
  }
  const Library& library = made_->library;
  for (int handle : made_->handle) {
    check_fft(library.set_stream(handle, stream), "Fourier transform");
    check_fft(library.set_work_area(handle, work), "Fourier transform");
  }
}

void FftPlans::forward(void* data) const {
  check_fft(made_->library.forward(made_->handle[0], data, data), "Fourier transform");
}

void FftPlans::inverse(void* data) const {
  check_fft(made_->library.inverse(made_->handle[1], data, data), "Fourier transform");
}

}  // namespace grainless::cuda
