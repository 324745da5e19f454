// SPDX-License-Identifier: MIT
// Where the engine gets its graphics cards from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/boundary/abi.h"

namespace grainless {

class Backend;  // engine/backends/backend.h

// Where graphics cards are looked for and opened: by a module in this process,
// or by another process that a host provides. May be called from several threads.
class Cards {
 public:
  virtual ~Cards() = default;

  // All cards, refused ones with the reason. With `ask` their free memory is told, for which they
  // are opened. Throws Error with one sentence where no card can be used.
  virtual std::vector<AbiDevice> devices(bool ask) = 0;
  // memory_limit in bytes, 0: all that is free less a reserve. Throws Error(kDeviceUnavailable).
  virtual std::shared_ptr<Backend> open(uint32_t device, uint64_t memory_limit) = 0;
};

// The cards of the module in that folder, which is loaded into this process on the first call; null
// for an empty name.
std::shared_ptr<Cards> module_cards(const std::string& module_dir);

}  // namespace grainless
