// SPDX-License-Identifier: MIT
#include "card_shelf.h"

namespace grainless::cards {

Session::Session(const Module& module, uint32_t device, uint64_t memory_limit)
    : table_(module.table()), device_(module.usable_device(device)) {
  AbiMessage message{};
  check_answer(table_.open(device, memory_limit, &session_, &message), message);
}

Session::~Session() {
  table_.close(session_);
}

std::shared_ptr<Session> CardShelf::open(uint32_t device, uint64_t memory_limit) {
  const std::lock_guard lock(mutex_);
  const auto found = opened_.find(device);
  if (found != opened_.end() && found->second.memory_limit == memory_limit) {
    return found->second.session;
  }
  opened_.erase(device);
  auto session = std::make_shared<Session>(module(), device, memory_limit);
  opened_[device] = {memory_limit, session};
  return session;
}

void CardShelf::clear() {
  const std::lock_guard lock(mutex_);
  opened_.clear();
}

}  // namespace grainless::cards
