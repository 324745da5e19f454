// SPDX-License-Identifier: MIT
#include "status.h"

#include <new>

namespace grainless {
namespace {

// Short enough for a string's own place: handing it on can't fail.
constexpr char kNoMemory[] = "out of memory";
static_assert(sizeof kNoMemory <= 16);

Status said(ErrorCode code, const char* sentence) noexcept {
  try {
    return {code, sentence};
  } catch (...) {
    return {code, kNoMemory};
  }
}

}  // namespace

Status guard_call(void (*call)(void*), void* body) noexcept {
  try {
    call(body);
    return {};
  } catch (const Error& error) {
    return said(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return {ErrorCode::kOutOfMemory, kNoMemory};
  } catch (const std::exception& error) {
    return said(ErrorCode::kInternal, error.what());
  } catch (...) {
    return said(ErrorCode::kInternal, "unknown failure");
  }
}

void throw_if_failed(const Status& status) {
  if (!status.ok()) throw Error(status.code(), status.message());
}

}  // namespace grainless
