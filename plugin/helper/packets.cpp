// SPDX-License-Identifier: MIT
#include "packets.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "engine/boundary/status.h"
#include "engine/sentence.h"

namespace grainless::helper {
namespace {

[[noreturn]] void lost(const std::string& how) {
  throw Error(ErrorCode::kDeviceFailed, how);
}

union Control {
  char bytes[CMSG_SPACE(4 * sizeof(int))];
  cmsghdr align;
};

// At most one file is expected, whatever comes is closed.
Descriptor take_file(msghdr& header) {
  Descriptor file;
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(part) + i * sizeof(int), sizeof number);
      file = Descriptor(number);
    }
  }
  return file;
}

bool wait_for_data(int socket, std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd one{socket, POLLIN, 0};
    const int ready =
        poll(&one, 1, static_cast<int>(std::clamp<int64_t>(left.count(), 0, INT_MAX)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) lost(sentence("it ended"));
  }
}

}  // namespace

void PacketSocket::send(std::span<const uint8_t> bytes, int file) {
  iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  Control control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (file >= 0) {
    header.msg_control = control.bytes;
    header.msg_controllen = CMSG_SPACE(sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &file, sizeof file);
  }
  while (sendmsg(socket_.number(), &header, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) lost(sentence("it ended"));
  }
}

std::optional<RawPacket> PacketSocket::receive(std::chrono::milliseconds patience) {
  if (!wait_for_data(socket_.number(), patience)) return std::nullopt;
  RawPacket packet{std::vector<uint8_t>(kMostMessageBytes), Descriptor()};
  iovec part{packet.bytes.data(), packet.bytes.size()};
  Control control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof control.bytes;
  ssize_t size = -1;
  do {
    size = recvmsg(socket_.number(), &header, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size >= 0) packet.file = take_file(header);
  if (size <= 0) lost(sentence("it ended"));
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    lost(sentence("what it said makes no sense"));
  packet.bytes.resize(static_cast<size_t>(size));
  return packet;
}

}  // namespace grainless::helper
