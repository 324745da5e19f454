// SPDX-License-Identifier: MIT
#include "session.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

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

}  // namespace

uint64_t tile_bytes(const Plan& plan, int width, int height) {
  return 2 * row_bytes(plan, width) * height + 2 * plane_bytes(plan, width, height) +
         aligned(levels_scratch_bytes(plan, width, height));
}

Lane::Lane()
    : not_finite_(allocate_device(sizeof(unsigned))), fetched_(allocate_pinned(sizeof(unsigned))) {
  stream = make_stream();
  for (Event* event : {&started, &uploaded, &begun, &computed, &downloaded}) *event = make_event();
  for (Event& event : staged) event = make_event(cudaEventDisableTiming);
}

void Lane::clear_not_finite() {
  check(cudaMemsetAsync(not_finite(), 0, sizeof(unsigned), stream.get()), "clearing a flag");
}

void Lane::fetch_not_finite() {
  check(cudaMemcpyAsync(fetched_.get(), not_finite(), sizeof(unsigned), cudaMemcpyDeviceToHost,
                        stream.get()),
        "downloading a flag");
}

void Lane::throw_if_not_finite() const {
  if (*static_cast<const unsigned*>(fetched_.get()) == 0) return;
  throw Error(ErrorCode::kInternal, packed_sentence("it computed values that are no numbers"));
}

void spoil_on_demand(const DevicePlanes& planes, cudaStream_t stream) {
  if (fault_value("nan") == nullptr) return;
  check(cudaMemsetAsync(planes.data, 0xff, sizeof(float), stream), "spoiling a result");
}

namespace {
// Members are made in order: the lanes need the device to be current.
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
  for (const Lane& lane : lanes_) bytes += lane.arena_bytes;
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

Lane& Session::acquire() {
  std::unique_lock lock(mutex_);
  for (;;) {
    throw_if_failed_before();  // a lane that hangs is never free
    for (Lane& lane : lanes_) {
      if (lane.busy) continue;
      lane.busy = true;
      return lane;
    }
    freed_.wait(lock);
  }
}

// After a cancel, launches may still be running. What doesn't end is left alone: its lane is never
// used again, and nobody waits for it.
void Session::release(Lane& lane) {
  if (!settles(lane.stream.get())) failed_ = hangs_ = true;
  {
    std::lock_guard lock(mutex_);
    lane.busy = hangs_;
  }
  freed_.notify_all();
}

void Session::drop_idle_arenas(const Lane& keep) {
  for (Lane& lane : lanes_) {
    if (lane.busy && &lane != &keep) continue;
    lane.arena.reset();
    lane.arena_bytes = 0;
  }
}

// Makes the lane's arena large enough, within the limit.
void Session::reserve(Lane& lane, size_t bytes) {
  std::lock_guard lock(mutex_);
  if (lane.arena_bytes >= bytes) return;
  lane.arena.reset();
  lane.arena_bytes = 0;
  if (limit_ != 0 && held() + bytes > limit_) drop_idle_arenas(lane);
  if (limit_ != 0 && held() + bytes > limit_) {
    throw Error(ErrorCode::kOutOfMemory, "the memory limit leaves too little for this tile");
  }
  try {
    lane.arena = allocate_device(bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
    drop_idle_arenas(lane);
    lane.arena = allocate_device(bytes);
  }
  lane.arena_bytes = bytes;
  peak_ = std::max(peak_, held());
}

void Session::compute(Lane& lane, const Plan& plan, const AbiTile& tile,
                      const AbiCallbacks* callbacks) {
  const cudaStream_t stream = lane.stream.get();
  Cutter memory(lane.arena.get(), lane.arena_bytes);
  const DevicePixels pixels = memory.pixels(plan, tile, tile.in);
  const DevicePixels output = memory.pixels(plan, tile, tile.out);
  const Rect needed = levels_source(plan, tile.image_width, tile.image_height, tile.out);
  const DevicePlanes source = memory.planes(plan, needed), target = memory.planes(plan, tile.out);
  const size_t left = memory.left();
  const MethodJob job{
      nullptr, tile.image_width, tile.image_height, source,     target, memory.take(left),
      left,    stream,           callbacks,         &lane.pacer};
  lane.pacer.restart();
  check(cudaEventRecord(lane.started.get(), stream), "timing");
  const AbiLayer from{const_cast<void*>(tile.source), tile.source_row_bytes};
  const AbiLayer to{tile.target, tile.target_row_bytes};
  upload(lane, {&from, tile.in.height}, pixels, callbacks);
  check(cudaEventRecord(lane.uploaded.get(), stream), "timing");
  check(cudaEventRecord(lane.begun.get(), stream), "timing");
  planes_from_pixels(pixels, source, stream);
  run_levels(plan, job);
  spoil_on_demand(target, stream);
  lane.clear_not_finite();
  pixels_from_planes(pixels, source, target, {output, plan.detail, lane.not_finite()}, stream);
  lane.fetch_not_finite();
  check(cudaEventRecord(lane.computed.get(), stream), "timing");
  wait_for(lane.computed.get(), callbacks);
  lane.throw_if_not_finite();
  download(lane, output, {&to, tile.out.height}, callbacks);
}

template <typename Body>
void Session::on_lane(size_t bytes, AbiTiming* timing, const Body& body) {
  throw_if_failed_before();
  Lane& lane = acquire();
  const AtExit done([&] { release(lane); });
  try {
    select();
    reserve(lane, bytes);
    body(lane);
    if (timing != nullptr) {
      std::lock_guard lock(mutex_);
      *timing = {seconds_between(lane.started, lane.uploaded),
                 seconds_between(lane.begun, lane.computed),
                 seconds_between(lane.computed, lane.downloaded), peak_};
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kDeviceFailed) failed_ = true;
    throw;
  }
}

void Session::run(const Plan& plan, const AbiTile& tile, const AbiCallbacks* callbacks,
                  AbiTiming* timing) {
  on_lane(tile_bytes(plan, tile.in.width, tile.in.height), timing,
          [&](Lane& lane) { compute(lane, plan, tile, callbacks); });
}

void Session::run_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                       const AbiCallbacks* callbacks, AbiTiming* timing) {
  // A slab's layers are copied, and launched, as rows of one tall picture.
  if (int64_t{slab.height} * slab.in_layers > INT32_MAX) {
    throw Error(ErrorCode::kOutOfMemory, "a slab of too many rows");
  }
  const size_t bytes =
      slab_bytes(plan, volume, slab.width, slab.height, slab.in_layers, slab.out_layers);
  on_lane(bytes, timing, [&](Lane& lane) { compute_slab(lane, plan, volume, slab, callbacks); });
}

}  // namespace grainless::cuda
