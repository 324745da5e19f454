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

// The cards that were opened, so that connections share them. For several threads.
class CardShelf {
 public:
  explicit CardShelf(std::string module_path) : path_(std::move(module_path)) {}

  const Module& module() const { return Module::load(path_); }
  // One with another limit, and nobody else's, is closed before.
  std::shared_ptr<Session> open(uint32_t device, uint64_t memory_limit);
  // Their memory goes back to the cards. What it takes to open them again is the smaller part of
  // what it took to open them.
  void clear();

 private:
  struct Opened {
    uint64_t memory_limit;
    std::shared_ptr<Session> session;
  };
  std::string path_;
  std::mutex mutex_;
  std::map<uint32_t, Opened> opened_;
};

}  // namespace grainless::cards
