// SPDX-License-Identifier: MIT
#include "pacer.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "cuda/frame/method.cuh"
#include "engine/boundary/packed_sentence.h"
#include "fault.h"

namespace grainless::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// Spinning this long costs less than a sleep would add to a preview; then the processor is let go.
constexpr auto kSpin = std::chrono::milliseconds(2);
constexpr auto kSleep = std::chrono::microseconds(200);

// What is waited for takes tens of milliseconds. A card that other programs share may take a
// hundred times as long, one that hangs takes for ever.
constexpr auto kPatience = std::chrono::seconds(60);

}  // namespace

void throw_if_cancelled(const AbiCallbacks* callbacks) {
  if (callbacks != nullptr && callbacks->cancelled != nullptr &&
      callbacks->cancelled(callbacks->user) != 0) {
    throw Error(ErrorCode::kCancelled, "cancelled");
  }
}

void wait_for(cudaEvent_t event, const AbiCallbacks* callbacks) {
  const auto start = Clock::now();
  const char* hang = fault_value("hang");
  const std::chrono::milliseconds patience = hang != nullptr
                                                 ? std::chrono::milliseconds(std::atol(hang))
                                                 : std::chrono::milliseconds(kPatience);
  for (;;) {
    const cudaError_t state = hang != nullptr ? cudaErrorNotReady : cudaEventQuery(event);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) check(state, "waiting for the device");
    throw_if_cancelled(callbacks);
    const auto waited = Clock::now() - start;
    if (waited > patience) {
      throw Error(ErrorCode::kDeviceFailed, packed_sentence("the graphics card does not answer"));
    }
    if (waited < kSpin) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kSleep);
    }
  }
}

Pacer::Pacer() {
  for (Event& event : events_) event = make_event(cudaEventDisableTiming);
}

void Pacer::pass(cudaStream_t stream, const AbiCallbacks* callbacks) {
  Event& event = events_[recorded_ % kAhead];
  if (recorded_ >= kAhead) wait_for(event.get(), callbacks);
  check(cudaEventRecord(event.get(), stream), "recording an event");
  ++recorded_;
}

void checkpoint(Pacer* pacer, cudaStream_t stream, const AbiCallbacks* callbacks, double fraction) {
  throw_if_cancelled(callbacks);
  if (pacer != nullptr) pacer->pass(stream, callbacks);
  if (callbacks != nullptr && callbacks->progress != nullptr) {
    callbacks->progress(callbacks->user, fraction);
  }
}

void checkpoint(const MethodJob& job, double fraction) {
  checkpoint(job.pacer, job.stream, job.callbacks, fraction);
}

}  // namespace grainless::cuda
