// SPDX-License-Identifier: MIT
// Errors: exceptions inside a layer, a Status at its edge, one barrier (guard) between them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace grainless {

// The numbers cross the module boundary (abi.h): append only.
enum class ErrorCode : int32_t {
  kOk = 0,
  kBadInput = 1,           // pixels or files that can't be used
  kBadParameter = 2,       // unknown key, value out of range
  kOutOfMemory = 3,        // recoverable: smaller tiles, then another backend
  kDeviceUnavailable = 4,  // no driver, no device, refused device
  kDeviceFailed = 5,       // a launch or a copy failed in mid-work
  kCancelled = 6,
  kInternal = 7,
  kUnsupported = 8,  // not by this device, which is in order; another one can
};
inline constexpr ErrorCode kLastErrorCode = ErrorCode::kUnsupported;

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == ErrorCode::kOk; }
  ErrorCode code() const { return code_; }
  // One sentence for the user, without a trailing newline.
  const std::string& message() const { return message_; }

 private:
  ErrorCode code_ = ErrorCode::kOk;
  std::string message_;
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// guard() without its template.
Status guard_call(void (*call)(void*), void* body) noexcept;

// Runs body and turns whatever it throws into a Status (std::bad_alloc: kOutOfMemory). Allocates
// nothing of its own: where memory is short, the sentence is "out of memory", whatever was thrown.
template <typename Body>
Status guard(const Body& body) noexcept {
  return guard_call([](void* it) { (*static_cast<const Body*>(it))(); },
                    const_cast<void*>(static_cast<const void*>(&body)));
}

// The way back: throws Error unless status is ok.
void throw_if_failed(const Status& status);

}  // namespace grainless
