// SPDX-License-Identifier: MIT
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

  // All cards, refused ones with their reason; `ask`: with their free memory, for which they are
  // opened. Throws Error with one sentence where there can be none.
  virtual std::vector<AbiDevice> devices(bool ask) = 0;
  // memory_limit in bytes, 0: all that is free less a reserve. Throws Error(kDeviceUnavailable).
  virtual std::shared_ptr<Backend> open(uint32_t device, uint64_t memory_limit) = 0;
};

// Those of the module in the folder, which is loaded into this process when they are asked for;
// null for an empty one.
std::shared_ptr<Cards> module_cards(const std::string& module_dir);

}  // namespace grainless
