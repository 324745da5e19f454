// SPDX-License-Identifier: MIT
#include "channel.h"

#include <sys/socket.h>

#include "engine/sentence.h"

namespace grainless::helper {

std::pair<Descriptor, Descriptor> Channel::pair() {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(ErrorCode::kDeviceFailed, sentence("it can't be started"));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

std::optional<Packet> Channel::receive(std::chrono::milliseconds patience) {
  std::optional<RawPacket> raw = socket_.receive(patience);
  if (!raw) return std::nullopt;
  Packet packet{.message = {}, .file = std::move(raw->file)};
  const Status status = decode(raw->bytes, packet.message);
  if (!status.ok()) throw Error(ErrorCode::kDeviceFailed, status.message());
  return packet;
}

}  // namespace grainless::helper
