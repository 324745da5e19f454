// SPDX-License-Identifier: MIT
#include "session.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <thread>
#include <utility>

#include "arena.h"
#include "cuda/frame/pyramid.cuh"
#include "device.h"
#include "engine/boundary/packed_sentence.h"
#include "fault.h"
#include "transfer.h"

namespace grainless::cuda {
namespace {

// Left to the desktop and to other programs when there is no limit.
constexpr uint64_t kLeastReserve = uint64_t{256} << 20;

constexpr auto kAsk = std::chrono::milliseconds(5);  // between questions whether to stop

}  // namespace

uint64_t tile_bytes(const Plan& plan, int width, int height) {
  const uint64_t bits = plan.impulse.enabled != 0 ? aligned(size_t(width) * height) : 0;
  return bits + 2 * row_bytes(plan, width) * height + 2 * plane_bytes(plan, width, height) +
         aligned(levels_scratch_bytes(plan, width, height));
}

RunSlot::RunSlot() : not_finite_(allocate_pinned(sizeof(unsigned))) {
  stream = make_stream();
  for (Event* event : {&started, &uploaded, &begun, &computed, &downloaded}) *event = make_event();
  for (Event& event : staged) event = make_event(cudaEventDisableTiming);
}

unsigned* RunSlot::clear_not_finite() {
  *static_cast<unsigned*>(not_finite_.get()) = 0;
  void* seen_by_device = nullptr;
  check(cudaHostGetDevicePointer(&seen_by_device, not_finite_.get(), 0), "mapping a flag");
  return static_cast<unsigned*>(seen_by_device);
}

void RunSlot::throw_if_not_finite() const {
  if (*static_cast<const volatile unsigned*>(not_finite_.get()) == 0) return;
  throw Error(ErrorCode::kInternal, packed_sentence("it computed values that are no numbers"));
}

void spoil_on_demand(const DevicePlanes& planes, cudaStream_t stream) {
  if (fault_value("nan") == nullptr) return;
  check(cudaMemsetAsync(planes.data, 0xff, sizeof(float), stream), "spoiling a result");
}

namespace {
// Members are made in order: the slots need the device to be current.
int selected(uint32_t device) {
  select_device(device);
  return static_cast<int>(device);
}

// Whether all that was queued has ended, or failed, within some seconds.
bool settles(cudaStream_t stream) {
  constexpr auto kPatience = std::chrono::seconds(10);
  const auto start = std::chrono::steady_clock::now();
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
    if (std::chrono::steady_clock::now() - start > kPatience) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  cudaGetLastError();
  return true;
}
}  // namespace

Session::Session(uint32_t device, uint64_t memory_limit)
    : device_(selected(device)), limit_(memory_limit), limits_(device_limits()) {}

Session::~Session() {
  // Handles are destroyed with their device current; a failed device has nothing left to destroy.
  cudaSetDevice(device_);
}

void Session::select() const {
  check(cudaSetDevice(device_), "selecting the device");
}

void Session::throw_if_failed_before() const {
  if (failed_) throw Error(ErrorCode::kDeviceFailed, "the device has failed before");
}

size_t Session::held() const {
  size_t bytes = 0;
  for (const RunSlot& slot : slots_) bytes += slot.arena_bytes;
  return bytes;
}

uint64_t Session::budget() {
  throw_if_failed_before();
  select();
  std::lock_guard lock(mutex_);
  size_t free_bytes = 0, total = 0;
  check(cudaMemGetInfo(&free_bytes, &total), "asking for free memory");
  const uint64_t reserve = std::max<uint64_t>(kLeastReserve, total / 16);
  const uint64_t usable = free_bytes + held();
  const uint64_t most = usable > reserve ? usable - reserve : 0;
  return limit_ != 0 ? std::min(limit_, most) : most;
}

void Session::wait_for_others(Lock& lock, const AbiCallbacks* callbacks) {
  freed_.wait_for(lock, kAsk);
  lock.unlock();  // a host's answer may take its time
  throw_if_cancelled(callbacks);
  lock.lock();
}

// Runs that wait for memory get it before others begin, lest a picture of many tiles keep it.
RunSlot& Session::acquire(const AbiCallbacks* callbacks) {
  std::unique_lock lock(mutex_);
  for (;;) {
    throw_if_failed_before();  // a slot that hangs is never free
    const auto slot = std::find_if_not(std::begin(slots_), std::end(slots_),
                                       [](const RunSlot& other) { return other.busy; });
    if (slot != std::end(slots_) && waiting_ == 0) {
      slot->busy = true;
      return *slot;
    }
    wait_for_others(lock, callbacks);
  }
}

// After a cancel, launches may still be running. What doesn't end is left alone: its slot is never
// used again, and nobody waits for it.
void Session::release(RunSlot& slot) {
  if (!settles(slot.stream.get())) failed_ = hangs_ = true;
  {
    std::lock_guard lock(mutex_);
    slot.busy = hangs_;
    slot.needed = slot.peak = 0;
    ++ended_;
  }
  freed_.notify_all();
}

void Session::drop_idle_arenas() {
  for (RunSlot& slot : slots_) {
    if (slot.busy) continue;
    slot.arena.reset();
    slot.arena_bytes = 0;
  }
}

// Of a slot without one. Throws Error(kOutOfMemory).
void Session::allocate_arena(RunSlot& slot, size_t bytes) {
  for (RunSlot& other : slots_) {
    if (other.busy || other.arena_bytes != bytes) continue;
    slot.arena = std::move(other.arena);
    slot.arena_bytes = std::exchange(other.arena_bytes, 0);
    return;
  }
  if (limit_ != 0 && held() + bytes > limit_) drop_idle_arenas();
  if (limit_ != 0 && held() + bytes > limit_) {
    throw Error(ErrorCode::kOutOfMemory, "the memory limit leaves too little for this tile");
  }
  try {
    slot.arena = allocate_device(bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
    drop_idle_arenas();
    slot.arena = allocate_device(bytes);
  }
  slot.arena_bytes = bytes;
}

// Whether the slot has its arena now; false where others hold memory that it needs.
bool Session::try_reserve(RunSlot& slot, size_t bytes) {
  try {
    allocate_arena(slot, bytes);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory || held() == 0) throw;
    return false;
  }
}

void Session::reserve(RunSlot& slot, size_t bytes, const AbiCallbacks* callbacks) {
  std::unique_lock lock(mutex_);
  if (slot.arena_bytes < bytes) {
    slot.arena.reset();
    slot.arena_bytes = 0;
    if (!try_reserve(slot, bytes)) wait_for_memory(slot, bytes, lock, callbacks);
  }
  slot.needed = bytes;
  note_peaks();
}

// What earlier and larger pictures left in arenas is no run's.
void Session::note_peaks() {
  size_t needed = 0;
  for (const RunSlot& slot : slots_) needed += slot.needed;
  for (RunSlot& slot : slots_) slot.peak = slot.busy ? std::max(slot.peak, needed) : 0;
}

void Session::wait_for_memory(RunSlot& slot, size_t bytes, Lock& lock,
                              const AbiCallbacks* callbacks) {
  ++waiting_;
  const AtExit done([&] {
    --waiting_;
    freed_.notify_all();
  });
  do {
    // The driver is asked again only when there may be more.
    for (const uint64_t ended = ended_; ended_ == ended;) wait_for_others(lock, callbacks);
    throw_if_failed_before();
  } while (!try_reserve(slot, bytes));
}

void Session::in_turn(RunSlot& slot, const AbiCallbacks* callbacks,
                      const std::function<void()>& kernels) {
  const cudaStream_t stream = slot.stream.get();
  {
    std::unique_lock turn(turn_, std::defer_lock);
    while (!turn.try_lock_for(kAsk)) throw_if_cancelled(callbacks);
    if (turn_over_ != nullptr) {
      check(cudaStreamWaitEvent(stream, turn_over_), "waiting for a turn");
    }
    check(cudaEventRecord(slot.begun.get(), stream), "timing");
    kernels();
    check(cudaEventRecord(slot.computed.get(), stream), "timing");
    turn_over_ = slot.computed.get();
  }
  wait_for(slot.computed.get(), callbacks);
  slot.throw_if_not_finite();
}

void Session::compute(RunSlot& slot, const Plan& plan, const AbiTile& tile,
                      const AbiCallbacks* callbacks) {
  const cudaStream_t stream = slot.stream.get();
  Cutter memory(slot.arena.get(), slot.arena_bytes);
  const DevicePixels pixels = memory.pixels(plan, tile, tile.in);
  const DevicePixels output = memory.pixels(plan, tile, tile.out);
  const Rect needed = levels_source(plan, tile.image_width, tile.image_height, tile.out);
  const DevicePlanes source = memory.planes(plan, needed), target = memory.planes(plan, tile.out);
  DeviceBits bits{nullptr, impulse_rect(needed, pixels.image)};
  if (plan.impulse.enabled != 0) bits.data = static_cast<uint8_t*>(memory.take(bits.rect.area()));
  const size_t left = memory.left();
  const MethodJob job{
      nullptr, tile.image_width, tile.image_height, source,     target, memory.take(left),
      left,    stream,           callbacks,         &slot.pacer};
  slot.pacer.restart();
  check(cudaEventRecord(slot.started.get(), stream), "timing");
  const AbiLayer from{const_cast<void*>(tile.source), tile.source_row_bytes};
  const AbiLayer to{tile.target, tile.target_row_bytes};
  upload(slot, {&from, tile.in.height}, pixels, callbacks);
  check(cudaEventRecord(slot.uploaded.get(), stream), "timing");
  in_turn(slot, callbacks, [&] {
    planes_from_pixels(pixels, source, stream);
    if (bits.data != nullptr) replace_impulses(pixels, plan.impulse, bits, source, stream);
    run_levels(plan, job);
    spoil_on_demand(target, stream);
    pixels_from_planes(pixels, source, target, {output, plan.detail, slot.clear_not_finite()},
                       stream);
  });
  download(slot, output, {&to, tile.out.height}, callbacks);
}

template <typename Body>
void Session::on_slot(size_t bytes, const AbiCallbacks* callbacks, AbiTiming* timing,
                      const Body& body) {
  throw_if_failed_before();
  RunSlot& slot = acquire(callbacks);
  const AtExit done([&] { release(slot); });
  try {
    select();
    reserve(slot, bytes, callbacks);
    body(slot);
    if (timing != nullptr) {
      std::lock_guard lock(mutex_);
      *timing = {seconds_between(slot.started, slot.uploaded),
                 seconds_between(slot.begun, slot.computed),
                 seconds_between(slot.computed, slot.downloaded), slot.peak};
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kDeviceFailed) failed_ = true;
    throw;
  }
}

void Session::run(const Plan& plan, const AbiTile& tile, const AbiCallbacks* callbacks,
                  AbiTiming* timing) {
  on_slot(tile_bytes(plan, tile.in.width, tile.in.height), callbacks, timing,
          [&](RunSlot& slot) { compute(slot, plan, tile, callbacks); });
}

void Session::run_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                       const AbiCallbacks* callbacks, AbiTiming* timing) {
  // A slab's layers are copied, and launched, as rows of one tall picture.
  if (int64_t{slab.height} * slab.in_layers > INT32_MAX) {
    throw Error(ErrorCode::kOutOfMemory, "a slab of too many rows");
  }
  const size_t bytes =
      slab_bytes(plan, volume, slab.width, slab.height, slab.in_layers, slab.out_layers);
  on_slot(bytes, callbacks, timing,
          [&](RunSlot& slot) { compute_slab(slot, plan, volume, slab, callbacks); });
}

}  // namespace grainless::cuda
