// SPDX-License-Identifier: MIT
// The module's one exported symbol: a table whose functions catch everything.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cuda/methods.cuh"
#include "device.h"
#include "engine/boundary/module_version.h"
#include "engine/boundary/status.h"
#include "session.h"
#include "version.h"

namespace grainless {
struct AbiSession {
  cuda::Session session;
};
}  // namespace grainless

namespace grainless::cuda {
namespace {

constexpr int kMostRadius = 31;  // of a search window

template <typename Body>
int32_t enter(AbiMessage* message, const Body& body) noexcept {
  const Status status = guard(body);
  std::snprintf(message->text, sizeof message->text, "%s", status.message().c_str());
  return static_cast<int32_t>(status.code());
}

int32_t devices(int32_t ask, AbiDevice* out, uint32_t capacity, uint32_t* count,
                AbiMessage* message) {
  *count = 0;
  return enter(message, [&] {
    const std::vector<AbiDevice> found = list_devices(ask != 0);
    std::copy_n(found.begin(), std::min<size_t>(capacity, found.size()), out);
    *count = static_cast<uint32_t>(found.size());
  });
}

int32_t open(uint32_t device, uint64_t memory_limit, AbiSession** out, AbiMessage* message) {
  *out = nullptr;
  return enter(message, [&] { *out = new AbiSession{Session(device, memory_limit)}; });
}

int32_t supports(AbiSession* session, const Plan* plan, AbiMessage* message) {
  return enter(message, [&] {
    const CudaMethod& method = cuda_method(plan->method);
    const DeviceLimits* limits = session != nullptr ? &session->session.limits() : nullptr;
    for (int l = 0; l < plan->level_count; ++l) {
      method.expect_supported(plan->level[l], plan->channels, limits);
    }
  });
}

uint64_t bytes_of_tile(const Plan* plan, int32_t width, int32_t height) {
  return tile_bytes(*plan, width, height);
}

int32_t budget(AbiSession* session, uint64_t* bytes, AbiMessage* message) {
  *bytes = 0;
  return enter(message, [&] { *bytes = session->session.budget(); });
}

int32_t run(AbiSession* session, const Plan* plan, const AbiTile* tile,
            const AbiCallbacks* callbacks, AbiTiming* timing, AbiMessage* message) {
  return enter(message, [&] { session->session.run(*plan, *tile, callbacks, timing); });
}

bool within(int value, int least, int most) {
  return value >= least && value <= most;
}

// All volumes that make_volume_plan() asks for.
int32_t supports_volume(const Plan* plan, const VolumePlan* volume, AbiMessage* message) {
  return enter(message, [&] {
    const NlmPlan& nlm = volume->nlm;
    if ((plan->channels != 1 && plan->channels != 3) || !within(nlm.patch, 2, kMaxPatch) ||
        !within(nlm.radius, 1, kMostRadius) || !within(volume->depth, 1, kMaxDepth) ||
        !within(volume->layers, 1, kMaxPatch)) {
      throw Error(ErrorCode::kBadParameter, "the volume's plan is out of range");
    }
  });
}

uint64_t bytes_of_slab(const Plan* plan, const VolumePlan* volume, int32_t width, int32_t height,
                       int32_t in_layers, int32_t out_layers) {
  return slab_bytes(*plan, *volume, width, height, in_layers, out_layers);
}

int32_t run_slab(AbiSession* session, const Plan* plan, const VolumePlan* volume,
                 const AbiSlab* slab, const AbiCallbacks* callbacks, AbiTiming* timing,
                 AbiMessage* message) {
  const int32_t supported = supports_volume(plan, volume, message);
  if (supported != 0) return supported;
  return enter(message,
               [&] { session->session.run_slab(*plan, *volume, *slab, callbacks, timing); });
}

void close(AbiSession* session) {
  if (!session->session.hangs()) delete session;
}

constexpr AbiVersionedBackend kVersioned{
    {kAbiVersion, sizeof(AbiVersionedBackend), kAbiPlanSize, kConcurrency, devices, open, supports,
     bytes_of_tile, budget, run, close, supports_volume, bytes_of_slab, run_slab},
    kModuleVersion};

}  // namespace
}  // namespace grainless::cuda

extern "C" __attribute__((visibility("default"))) const grainless::AbiBackend* grainless_backend() {
  return &grainless::cuda::kVersioned.backend;
}
