// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "engine/backends/module_backend.h"

namespace grainless::cards {

// An opened card of the module.
class Session {
 public:
  // Throws Error, as the module says it.
  Session(const Module& module, uint32_t device, uint64_t memory_limit);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  AbiSession* get() const { return session_; }
  const AbiDevice& device() const { return device_; }

 private:
  const AbiBackend& table_;
  AbiDevice device_;
  AbiSession* session_ = nullptr;
};

// The opened cards, each as long as a connection holds it: what they take of a card's memory goes
// back with the last one, while the driver stays started. For several threads.
class CardShelf {
 public:
  explicit CardShelf(std::string module_path) : path_(std::move(module_path)) {}

  const Module& module() const { return Module::load(path_); }
  std::shared_ptr<Session> open(uint32_t device, uint64_t memory_limit);

 private:
  std::string path_;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, uint64_t>, std::weak_ptr<Session>> opened_;
};

}  // namespace grainless::cards
