// SPDX-License-Identifier: MIT
#include "status.h"

#include <new>

namespace grainless {

Status guard(const std::function<void()>& body) noexcept {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return {error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {ErrorCode::kOutOfMemory, "not enough memory"};
  } catch (const std::exception& error) {
    return {ErrorCode::kInternal, error.what()};
  } catch (...) {
    return {ErrorCode::kInternal, "unknown failure"};
  }
}

void throw_if_failed(const Status& status) {
  if (!status.ok()) throw Error(status.code(), status.message());
}

}  // namespace grainless
