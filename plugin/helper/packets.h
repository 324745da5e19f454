// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shared_memory.h"

namespace grainless::helper {

inline constexpr size_t kMostMessageBytes = 64 * 1024;

// Bytes that belong together, and the file that came with them.
struct RawPacket {
  std::vector<uint8_t> bytes;
  Descriptor file;
};

// One end of two that two processes hold. Everything that goes wrong on the way is an Error of
// kDeviceFailed: the other end is of no use any more.
class PacketSocket {
 public:
  explicit PacketSocket(Descriptor socket) : socket_(std::move(socket)) {}

  // file: a descriptor that goes with it, or -1. May be called from several threads.
  void send(std::span<const uint8_t> bytes, int file = -1);

  // Waits so long at most: nothing then. Throws when the other end is gone, or has sent more than a
  // message or a file.
  std::optional<RawPacket> receive(std::chrono::milliseconds patience);

  int number() const { return socket_.number(); }

 private:
  Descriptor socket_;
};

}  // namespace grainless::helper
