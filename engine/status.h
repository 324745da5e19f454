// SPDX-License-Identifier: MIT
// Errors: exceptions inside a layer, a Status at its edge, one barrier (guard) between them.
#pragma once

#include <cstdint>
#include <functional>
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
};

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

// Runs body and turns whatever it throws into a Status (std::bad_alloc: kOutOfMemory).
Status guard(const std::function<void()>& body) noexcept;

// The way back: throws Error unless status is ok.
void throw_if_failed(const Status& status);

}  // namespace grainless
