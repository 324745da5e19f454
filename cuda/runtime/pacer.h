// SPDX-License-Identifier: MIT
// Waiting for a device without blocking the host's wish to cancel.
#pragma once

#include "engine/boundary/abi.h"
#include "handles.h"

namespace grainless::cuda {

// Throws Error(kCancelled) when the host asks to stop.
void throw_if_cancelled(const AbiCallbacks* callbacks);

// Returns when the event has happened; asks the host every few microseconds to milliseconds.
void wait_for(cudaEvent_t event, const AbiCallbacks* callbacks);

// Lets at most kAhead checkpoints' work queue up on a stream. Two, so that the device never idles
// while the host prepares the next launch.
class Pacer {
 public:
  Pacer();

  // Forgets what was recorded on another run.
  void restart() { recorded_ = 0; }
  void pass(cudaStream_t stream, const AbiCallbacks* callbacks);

 private:
  static constexpr int kAhead = 2;

  Event events_[kAhead];
  int recorded_ = 0;
};

// To be called before every launch that may take more than a millisecond. Throws Error(kCancelled)
// when the host asks to stop. Reports `fraction`, the part of the work that is queued already.
// Waits while too many launches are queued. pacer and callbacks may be null.
void checkpoint(Pacer* pacer, cudaStream_t stream, const AbiCallbacks* callbacks, double fraction);

}  // namespace grainless::cuda
