// SPDX-License-Identifier: MIT
// A module that says it has graphics cards, computes on the CPU, and fails as told, so that loader,
// scheduler and fall-back chain are tested without a GPU. Built several times with one FAKE_ macro
// each for what is wrong with a module's shape; run-time faults come from the environment:
//   GRAINLESS_FAKE_CARDS=N        how many cards (2), the last one refused when N > 2
//   GRAINLESS_FAKE_MAX_PIXELS=N   run() is out of memory for larger tiles
//   GRAINLESS_FAKE_FAIL_RUN=N     the N-th run() and later ones of card 0 fail, with rubbish in the
//                                 target, with
//   GRAINLESS_FAKE_FAIL_CODE=N    this ErrorCode (5, kDeviceFailed), and
//   GRAINLESS_FAKE_FAIL_TEXT=T    this sentence
//   GRAINLESS_FAKE_HANGS=1        run() does nothing until it is cancelled
//   GRAINLESS_FAKE_STALLS=1       run() never asks whether it is cancelled, and never ends
//   GRAINLESS_FAKE_CRASHES=1      run() ends the process, as a driver can
//   GRAINLESS_FAKE_BUDGET=BYTES   what budget() answers; under 0: nothing
//   GRAINLESS_FAKE_SMALL=1        run() says that the card is too small for the plan
//   GRAINLESS_FAKE_LACKS_METHOD=N supports() refuses method N
//   GRAINLESS_FAKE_MAX_LAYERS=N   run_slab() is out of memory for more
//   GRAINLESS_FAKE_LACKS_VOLUMES=1  supports_volume() refuses all
//   GRAINLESS_FAKE_DRIVER=0|1     devices() finds no driver, or one that is too old
//   GRAINLESS_FAKE_OPEN_FAILS=N   open() fails for card N
//   GRAINLESS_FAKE_FULL_TEXTS=1   names and reasons fill their fields, without an end
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "engine/boundary/abi.h"
#include "engine/boundary/module_version.h"
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
    if (setting("GRAINLESS_FAKE_FULL_TEXTS", 0) != 0) {
      std::memset(out[i].name, 'n', sizeof out[i].name);
      std::memset(out[i].reason, 'r', sizeof out[i].reason);
    }
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

int32_t supports(AbiSession*, const Plan* plan, AbiMessage* message) {
  if (plan->method != setting("GRAINLESS_FAKE_LACKS_METHOD", -1)) return 0;
  return fail(message, ErrorCode::kDeviceUnavailable, "the fake card lacks this method");
}

uint64_t tile_bytes(const Plan*, int32_t width, int32_t height) {
  return uint64_t{100} * width * height;
}

int32_t budget(AbiSession*, uint64_t* bytes, AbiMessage* message) {
  const int64_t answer = setting("GRAINLESS_FAKE_BUDGET", int64_t{1} << 40);
  *bytes = static_cast<uint64_t>(std::max<int64_t>(answer, 0));
  return answer >= 0 ? 0 : fail(message, ErrorCode::kDeviceFailed, "the fake card is silent");
}

bool fails_now(AbiSession* session) {
  const int64_t run = ++session->runs;
  return session->device == 0 && run >= setting("GRAINLESS_FAKE_FAIL_RUN", INT64_MAX);
}

int32_t fail_as_told(AbiMessage* message) {
  const char* text = std::getenv("GRAINLESS_FAKE_FAIL_TEXT");
  const int64_t failed = static_cast<int64_t>(ErrorCode::kDeviceFailed);
  return fail(message, static_cast<ErrorCode>(setting("GRAINLESS_FAKE_FAIL_CODE", failed)),
              text != nullptr ? text : "the card fell off the bus");
}

void spoil(void* first, int64_t row_bytes, int64_t line_bytes, int32_t rows) {
  for (int32_t y = 0; y < rows; ++y) {
    std::memset(static_cast<char*>(first) + y * row_bytes, 0xa5, static_cast<size_t>(line_bytes));
  }
}

// Leaves no core file.
[[noreturn]] void crash() {
#ifndef _WIN32
  (void)std::raise(SIGKILL);
#endif
  std::_Exit(1);
}

// Returns when the host has cancelled.
int32_t hang(const AbiCallbacks* callbacks, AbiMessage* message) {
  while (callbacks->cancelled(callbacks->user) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return fail(message, ErrorCode::kCancelled, "cancelled");
}

[[noreturn]] void stall() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
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
    spoil(tile->target, tile->target_row_bytes,
          int64_t{tile->out.width} * plan->format.pixel_bytes(), tile->out.height);
    return fail_as_told(message);
  }
  if (setting("GRAINLESS_FAKE_HANGS", 0) != 0) return hang(callbacks, message);
  if (setting("GRAINLESS_FAKE_STALLS", 0) != 0) stall();
  if (setting("GRAINLESS_FAKE_CRASHES", 0) != 0) crash();
  if (setting("GRAINLESS_FAKE_SMALL", 0) != 0) {
    return fail(message, ErrorCode::kUnsupported, "the fake card is too small for this plan");
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
    for (int32_t z = 0; z < slab->out_layers; ++z) {
      spoil(slab->target[z].data, slab->target[z].row_bytes,
            int64_t{slab->width} * plan->format.pixel_bytes(), slab->height);
    }
    return fail_as_told(message);
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

#if defined FAKE_OLD_VERSION
constexpr uint32_t kVersion = kAbiVersion - 1;
#elif defined FAKE_NEWER_VERSION
constexpr uint32_t kVersion = kAbiVersion + 1;
#else
constexpr uint32_t kVersion = kAbiVersion;
#endif

constexpr AbiVersionedBackend kVersioned = {
    {kVersion, sizeof(AbiVersionedBackend), kAbiPlanSize, 2, devices, open, supports, tile_bytes,
     budget, run, close, supports_volume, slab_bytes, run_slab},
    "9.8.7"};

}  // namespace
}  // namespace grainless

#ifdef FAKE_NO_SYMBOL
extern "C" const grainless::AbiBackend* some_other_symbol() {
  return &grainless::kVersioned.backend;
}
#else
extern "C" const grainless::AbiBackend* grainless_backend() {
  return &grainless::kVersioned.backend;
}
#endif
