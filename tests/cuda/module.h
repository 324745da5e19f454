// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "engine/boundary/abi.h"

namespace grainless::test {

extern const AbiBackend* g_module;  // the module of the command line

// Says "stop" at the first question after a while.
class CancelAfter {
 public:
  using Clock = std::chrono::steady_clock;

  explicit CancelAfter(std::chrono::milliseconds wait) : wait_(wait) {}

  AbiCallbacks callbacks() {
    return {this, [](void* self) { return static_cast<CancelAfter*>(self)->cancelled(); }, nullptr};
  }
  // Seconds from the start to the first "stop", and from that to now.
  double asked_after() const { return seconds(asked_ - start_); }
  double since_asked() const { return seconds(Clock::now() - asked_); }

 private:
  static double seconds(Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  }
  int32_t cancelled() {
    const auto now = Clock::now();
    if (now - start_ < wait_) return 0;
    if (asked_ == Clock::time_point{}) asked_ = now;
    return 1;
  }

  std::chrono::milliseconds wait_;
  Clock::time_point start_ = Clock::now(), asked_;
};

// A session on the first card.
class ModuleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    AbiMessage message{};
    ASSERT_EQ(g_module->open(0, 0, &session_, &message), 0) << message.text;
  }
  void TearDown() override { g_module->close(session_); }

  AbiSession* session_ = nullptr;
};

}  // namespace grainless::test
