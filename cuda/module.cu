// SPDX-License-Identifier: MIT
// The module's one exported symbol: a table whose functions catch everything.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "bm3d_dft.cuh"
#include "device.h"
#include "engine/packed_sentence.h"
#include "engine/status.h"
#include "fft.h"
#include "session.h"

namespace grainless {
struct AbiSession {
  cuda::Session session;
};
}  // namespace grainless

namespace grainless::cuda {
namespace {

template <typename Body>
int32_t enter(AbiMessage* message, const Body& body) noexcept {
  const Status status = guard(body);
  if (message != nullptr) {
    std::snprintf(message->text, sizeof message->text, "%s", status.message().c_str());
  }
  return static_cast<int32_t>(status.code());
}

int32_t devices(AbiDevice* out, uint32_t capacity, uint32_t* count, AbiMessage* message) {
  *count = 0;
  return enter(message, [&] {
    const std::vector<AbiDevice> found = list_devices();
    std::copy_n(found.begin(), std::min<size_t>(capacity, found.size()), out);
    *count = static_cast<uint32_t>(found.size());
  });
}

int32_t open(uint32_t device, uint64_t memory_limit, AbiSession** out, AbiMessage* message) {
  *out = nullptr;
  return enter(message, [&] { *out = new AbiSession{Session(device, memory_limit)}; });
}

// All that a plan can ask for, but for the library of one transform.
int32_t supports(const Plan* plan, AbiMessage* message) {
  return enter(message, [&] {
    const bool bm3d = plan->method == static_cast<int32_t>(Method::kBm3d);
    if (bm3d && in_fourier_basis(plan->level[0].bm3d[0])) open_fft();
  });
}

uint64_t bytes_of_tile(const Plan* plan, int32_t width, int32_t height) {
  return tile_bytes(*plan, width, height);
}

uint64_t budget(AbiSession* session) {
  uint64_t bytes = 0;
  enter(nullptr, [&] { bytes = session->session.budget(); });
  return bytes;
}

int32_t run(AbiSession* session, const Plan* plan, const AbiTile* tile,
            const AbiCallbacks* callbacks, AbiTiming* timing, AbiMessage* message) {
  return enter(message, [&] { session->session.run(*plan, *tile, callbacks, timing); });
}

int32_t supports_volume(const Plan*, const VolumePlan*, AbiMessage* message) {
  return enter(message, [] {
    throw Error(ErrorCode::kDeviceUnavailable,
                packed_sentence("volumes are denoised on the processor only, for now"));
  });
}

uint64_t bytes_of_slab(const Plan*, const VolumePlan*, int32_t, int32_t, int32_t, int32_t) {
  return 0;
}

int32_t run_slab(AbiSession*, const Plan* plan, const VolumePlan* volume, const AbiSlab*,
                 const AbiCallbacks*, AbiTiming*, AbiMessage* message) {
  return supports_volume(plan, volume, message);
}

void close(AbiSession* session) {
  delete session;
}

constexpr AbiBackend kBackend{kAbiVersion, sizeof(AbiBackend), kAbiPlanSize,  kConcurrency, devices,
                              open,        supports,           bytes_of_tile, budget,       run,
                              close,       supports_volume,    bytes_of_slab, run_slab};

}  // namespace
}  // namespace grainless::cuda

extern "C" __attribute__((visibility("default"))) const grainless::AbiBackend*
grainless_backend_v1() {
  return &grainless::cuda::kBackend;
}
