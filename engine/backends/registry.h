// SPDX-License-Identifier: MIT
// From the user's choice of devices to opened backends.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backend.h"
#include "engine/cards.h"
#include "engine/denoise.h"
#include "engine/thread_pool.h"

namespace grainless {

// Knows which devices there are, and keeps those that were opened, so that a preview does not open
// a card again. May be used from several threads.
class Registry {
 public:
  // cards may be null: built without GPU support.
  Registry(std::shared_ptr<Cards> cards, ThreadPool& pool);

  // `ask`: opens every card to ask for its free memory.
  std::vector<DeviceInfo> devices(bool ask);

  // The cards that params.device asks for: for auto the first usable one, for cuda all usable ones,
  // for cuda:N,M these. The reasons why others can't be used are added to fallbacks. The CPU is the
  // caller's last resort.
  std::vector<std::shared_ptr<Backend>> accelerators(const Params& params,
                                                     std::vector<std::string>& fallbacks);
  std::shared_ptr<Backend> cpu() const { return cpu_; }

  // Forgets an opened card that failed, so that the next call opens it again.
  void drop(const std::string& name);

 private:
  std::shared_ptr<Backend> open(uint32_t device, uint64_t memory_limit);
  Cards& cards() const;

  std::shared_ptr<Cards> cards_;
  std::shared_ptr<Backend> cpu_;
  std::mutex mutex_;
  struct Opened {
    uint64_t memory_limit;
    std::shared_ptr<Backend> backend;
  };
  std::map<uint32_t, Opened> opened_;
};

}  // namespace grainless
