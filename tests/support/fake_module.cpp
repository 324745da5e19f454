// SPDX-License-Identifier: MIT
// A module that says it has graphics cards, computes on the CPU, and fails as told, so that loader,
// scheduler and fall-back chain are tested without a GPU. Built several times with one FAKE_ macro
// each for what is wrong with a module's shape; run-time faults come from the environment:
//   GRAINLESS_FAKE_CARDS=N        how many cards (2), the last one refused when N > 2
//   GRAINLESS_FAKE_MAX_PIXELS=N   run() is out of memory for larger tiles
//   GRAINLESS_FAKE_FAIL_RUN=N     the N-th run() and later ones of card 0 fail
//   GRAINLESS_FAKE_BUDGET=BYTES   what budget() answers
//   GRAINLESS_FAKE_LACKS_METHOD=N supports() refuses method N
//   GRAINLESS_FAKE_MAX_LAYERS=N   run_slab() is out of memory for more
//   GRAINLESS_FAKE_LACKS_VOLUMES=1  supports_volume() refuses all
//   GRAINLESS_FAKE_DRIVER=0|1     devices() finds no driver, or one that is too old
//   GRAINLESS_FAKE_OPEN_FAILS=N   open() fails for card N
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "engine/abi.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/thread_pool.h"

namespace grainless {

struct AbiSession {
  explicit AbiSession(uint32_t device) : device(device), pool(2), backend(make_cpu_backend(pool)) {}
  uint32_t device;
  ThreadPool pool;
  std::unique_ptr<Backend> backend;
  std::atomic<int64_t> runs{0};
};

namespace {

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoll(text) : otherwise;
}

int32_t fail(AbiMessage* message, ErrorCode code, const char* text) {
  std::snprintf(message->text, sizeof message->text, "%s", text);
  return static_cast<int32_t>(code);
}

int32_t devices(int32_t ask, AbiDevice* out, uint32_t capacity, uint32_t* count,
                AbiMessage* message) {
  switch (setting("GRAINLESS_FAKE_DRIVER", -1)) {
    case 0:
      return fail(message, ErrorCode::kDeviceUnavailable, "no fake driver");
    case 1:
      return fail(message, ErrorCode::kDeviceUnavailable, "the fake driver is too old");
  }
  *count = static_cast<uint32_t>(setting("GRAINLESS_FAKE_CARDS", 2));
  for (uint32_t i = 0; i < *count && i < capacity; ++i) {
    out[i] = {};
    std::snprintf(out[i].name, sizeof out[i].name, "Fake card %u", i);
    out[i].usable = i < 2 ? 1 : 0;
    if (i >= 2) std::snprintf(out[i].reason, sizeof out[i].reason, "Fake card %u is too old", i);
    out[i].total_memory = uint64_t{1} << 30;
    if (ask != 0) out[i].free_memory = uint64_t{1} << 29;
  }
  return 0;
}

int32_t open(uint32_t device, uint64_t, AbiSession** out, AbiMessage* message) {
  if (device == setting("GRAINLESS_FAKE_OPEN_FAILS", -1)) {
    return fail(message, ErrorCode::kDeviceUnavailable, "the fake card does not answer");
  }
  *out = new AbiSession(device);
  return 0;
}

int32_t supports(const Plan* plan, AbiMessage* message) {
  if (plan->method != setting("GRAINLESS_FAKE_LACKS_METHOD", -1)) return 0;
  return fail(message, ErrorCode::kDeviceUnavailable, "the fake card lacks this method");
}

uint64_t tile_bytes(const Plan*, int32_t width, int32_t height) {
  return uint64_t{100} * width * height;
}

uint64_t budget(AbiSession*) {
  return static_cast<uint64_t>(setting("GRAINLESS_FAKE_BUDGET", int64_t{1} << 40));
}

bool fails_now(AbiSession* session) {
  const int64_t run = ++session->runs;
  return session->device == 0 && run >= setting("GRAINLESS_FAKE_FAIL_RUN", INT64_MAX);
}

template <typename Body>
int32_t compute(AbiMessage* message, const AbiCallbacks* callbacks, const Body& body) {
  CancelToken cancel;
  Callbacks host;
  host.cancel = &cancel;
  host.progress = [&](double fraction) {
    callbacks->progress(callbacks->user, fraction);
    if (callbacks->cancelled(callbacks->user) != 0) cancel.cancel();
  };
  const Status status = guard([&] { body(host); });
  return status.ok() ? 0 : fail(message, status.code(), status.message().c_str());
}

int32_t run(AbiSession* session, const Plan* plan, const AbiTile* tile,
            const AbiCallbacks* callbacks, AbiTiming* timing, AbiMessage* message) {
  if (fails_now(session)) {
    return fail(message, ErrorCode::kDeviceFailed, "the card fell off the bus");
  }
  if (tile->in.area() > setting("GRAINLESS_FAKE_MAX_PIXELS", INT64_MAX)) {
    return fail(message, ErrorCode::kOutOfMemory, "the card is full");
  }
  return compute(message, callbacks,
                 [&](const Callbacks& host) { session->backend->run(*plan, *tile, host, timing); });
}

int32_t supports_volume(const Plan*, const VolumePlan*, AbiMessage* message) {
  if (setting("GRAINLESS_FAKE_LACKS_VOLUMES", 0) == 0) return 0;
  return fail(message, ErrorCode::kDeviceUnavailable, "the fake card lacks volumes");
}

uint64_t slab_bytes(const Plan*, const VolumePlan*, int32_t width, int32_t height,
                    int32_t in_layers, int32_t) {
  return uint64_t{100} * width * height * in_layers;
}

int32_t run_slab(AbiSession* session, const Plan* plan, const VolumePlan* volume,
                 const AbiSlab* slab, const AbiCallbacks* callbacks, AbiTiming* timing,
                 AbiMessage* message) {
  if (fails_now(session)) {
    return fail(message, ErrorCode::kDeviceFailed, "the card fell off the bus");
  }
  if (slab->out_layers > setting("GRAINLESS_FAKE_MAX_LAYERS", INT64_MAX)) {
    return fail(message, ErrorCode::kOutOfMemory, "the card is full");
  }
  return compute(message, callbacks, [&](const Callbacks& host) {
    session->backend->run_slab(*plan, *volume, *slab, host, timing);
  });
}

void close(AbiSession* session) {
  delete session;
}

#ifdef FAKE_OLD_VERSION
constexpr uint32_t kVersion = kAbiVersion + 1;
#else
constexpr uint32_t kVersion = kAbiVersion;
#endif

constexpr AbiBackend kTable = {kVersion, sizeof(AbiBackend), kAbiPlanSize, 2,       devices,
                               open,     supports,           tile_bytes,   budget,  run,
                               close,    supports_volume,    slab_bytes,   run_slab};

}  // namespace
}  // namespace grainless

#ifdef FAKE_NO_SYMBOL
extern "C" const grainless::AbiBackend* some_other_symbol() {
  return &grainless::kTable;
}
#else
extern "C" const grainless::AbiBackend* grainless_backend_v1() {
  return &grainless::kTable;
}
#endif
