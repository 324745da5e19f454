// SPDX-License-Identifier: MIT
// Backends that live in a run-time module: grainless-cuda.so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend.h"
#include "engine/cards.h"

namespace grainless {

// A loaded module. It stays in the process for good: unloading a module whose runtime has threads
// or exit handlers is undefined.
class Module {
 public:
  // Throws Error(kDeviceUnavailable) with one sentence: no such file, not loadable, another
  // version.
  static const Module& load(const std::string& path);

  std::string version() const;
  std::vector<AbiDevice> devices(bool ask) const;
  // Throws Error(kDeviceUnavailable) unless there is such a card and it can be used.
  AbiDevice usable_device(uint32_t device) const;
  // memory_limit in bytes, 0: all that is free less a reserve.
  std::unique_ptr<Backend> open(uint32_t device, uint64_t memory_limit) const;
  const AbiBackend& table() const { return *table_; }

 private:
  explicit Module(const AbiBackend* table) : table_(table) {}
  const AbiBackend* table_;
};

// Throws what a module's function answered; kOk is 0.
void check_answer(int32_t code, const AbiMessage& message);

}  // namespace grainless
