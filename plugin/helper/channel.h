// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "message.h"
#include "packets.h"

namespace grainless::helper {

// A message, and the file that came with it.
struct Packet {
  Message message;
  Descriptor file;
};

// One end of the socket pair. Everything that goes wrong on the way is an Error of kDeviceFailed:
// the other end is of no use any more.
class Channel {
 public:
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  // Both ends; nobody inherits them.
  static std::pair<Descriptor, Descriptor> pair();

  // file: a descriptor that goes with it, or -1. May be called from several threads.
  void send(const Message& message, int file = -1) { socket_.send(encode(message), file); }

  // Waits so long at most: nothing then. Throws when the other end is gone or talks nonsense.
  std::optional<Packet> receive(std::chrono::milliseconds patience);

  int socket() const { return socket_.number(); }

 private:
  PacketSocket socket_;
};

}  // namespace grainless::helper
