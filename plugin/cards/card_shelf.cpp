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
  std::weak_ptr<Session>& known = opened_[{device, memory_limit}];
  std::shared_ptr<Session> session = known.lock();
  if (!session) known = session = std::make_shared<Session>(module(), device, memory_limit);
  return session;
}

}  // namespace grainless::cards
