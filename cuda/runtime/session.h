// SPDX-License-Identifier: MIT
// One opened device: its memory, streams and staging buffers, kept from run to run.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "cuda/frame/method.cuh"
#include "engine/boundary/abi.h"
#include "handles.h"
#include "launch.h"
#include "pacer.h"

namespace grainless::cuda {

// One run's transfers beside another's kernels, and several hosts' threads that copy pixels.
inline constexpr uint32_t kConcurrency = 4;

// Device bytes of one run whose tile reads width x height pixels.
uint64_t tile_bytes(const Plan& plan, int width, int height);

// The same of a slab, in exactly the memory that it is going to reserve.
uint64_t slab_bytes(const Plan& plan, const VolumePlan& volume, int width, int height,
                    int in_layers, int out_layers);

// Stream, events, pacer and memory of one run at a time. kConcurrency runs go on at once, each in a
// slot of its own.
class RunSlot {
 public:
  RunSlot();

  Stream stream;
  Pacer pacer;
  Event started, uploaded, begun, computed, downloaded;
  Event staged[2];  // the staging buffer's last transfer is done
  DeviceMemory arena;
  size_t arena_bytes = 0;
  PinnedMemory staging[2];
  size_t staging_bytes = 0;
  bool busy = false;
  // Of the arena, what the run in the slot needs; and the most that all runs needed meanwhile.
  size_t needed = 0, peak = 0;

  // Whether a result is no number: for pixels_from_planes() to write, asked for when `computed` has
  // happened. In the host's memory: clearing and fetching four bytes takes a small picture's stream
  // longer than some kernels.
  unsigned* clear_not_finite();
  void throw_if_not_finite() const;

 private:
  PinnedMemory not_finite_;
};

// With GRAINLESS_FAULT=nan: makes a result's first value NaN.
void spoil_on_demand(const DevicePlanes& planes, cudaStream_t stream);

class Session {
 public:
  Session(uint32_t device, uint64_t memory_limit);
  ~Session();

  const DeviceLimits& limits() const { return limits_; }

  // Whether work was left that doesn't end: destroying the session would wait for it.
  bool hangs() const { return hangs_; }

  // Device bytes that all runs together may use now. Throws Error(kDeviceFailed).
  uint64_t budget();
  void run(const Plan& plan, const AbiTile& tile, const AbiCallbacks* callbacks, AbiTiming* timing);
  void run_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                const AbiCallbacks* callbacks, AbiTiming* timing);

 private:
  using Lock = std::unique_lock<std::mutex>;

  void select() const;
  void throw_if_failed_before() const;
  RunSlot& acquire(const AbiCallbacks* callbacks);
  void release(RunSlot& slot);
  // Makes the slot's arena large enough, within the limit. Memory that is short is waited for while
  // other runs hold some; who waits holds none.
  void reserve(RunSlot& slot, size_t bytes, const AbiCallbacks* callbacks);
  void allocate_arena(RunSlot& slot, size_t bytes);
  bool try_reserve(RunSlot& slot, size_t bytes);
  void wait_for_memory(RunSlot& slot, size_t bytes, Lock& lock, const AbiCallbacks* callbacks);
  // Some milliseconds, or until a run ends; asks whether to stop.
  void wait_for_others(Lock& lock, const AbiCallbacks* callbacks);
  void drop_idle_arenas();
  size_t held() const;
  void note_peaks();
  template <typename Body>
  void on_slot(size_t bytes, const AbiCallbacks* callbacks, AbiTiming* timing, const Body& body);
  void compute_slab(RunSlot& slot, const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                    const AbiCallbacks* callbacks);
  void compute(RunSlot& slot, const Plan& plan, const AbiTile& tile, const AbiCallbacks* callbacks);
  // Queues kernels after those of the run before. Returns when they are done and all that they
  // gave are numbers.
  void in_turn(RunSlot& slot, const AbiCallbacks* callbacks, const std::function<void()>& kernels);

  const int device_;
  const uint64_t limit_;  // 0: none
  const DeviceLimits limits_;
  std::atomic<bool> failed_{false}, hangs_{false};
  std::mutex mutex_;
  std::condition_variable freed_;
  std::atomic<int> waiting_{0};  // runs, for memory
  uint64_t ended_ = 0;           // runs
  // Runs take turns with their kernels, so that one's transfers go beside another's kernels and
  // each one's time is its own.
  std::timed_mutex turn_;
  cudaEvent_t turn_over_ = nullptr;  // the last one's kernels are done
  RunSlot slots_[kConcurrency];
};

}  // namespace grainless::cuda
