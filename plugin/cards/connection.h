// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/progress.h"
#include "plugin/helper/packets.h"
#include "wire.h"

namespace grainless::cards {

// The other end is gone, hangs, or talks nonsense.
class Lost : public Error {
 public:
  explicit Lost(const std::string& how) : Error(ErrorCode::kDeviceFailed, how) {}
};

// The program's end of a Conversation: a call at a time.
class Connection {
 public:
  // Exchanges greetings. Throws Lost.
  Connection(helper::Descriptor socket, std::chrono::milliseconds patience);

  pid_t process() const { return process_; }

  // What is answered to a request: kinds that don't belong to it are Lost, an Answer with a code is
  // thrown as Error.
  template <typename Reply, typename Request>
  Reply ask(const Request& request, std::chrono::milliseconds patience) {
    send(request);
    Message message = receive(patience);
    if (const auto* answer = std::get_if<Answer>(&message)) check(*answer);
    if (const auto* reply = std::get_if<Reply>(&message)) return *reply;
    refuse();
  }

  // The same of a run, with its progress. What is cancelled and doesn't end within `farewell` is
  // left to itself: the connection is of no use then.
  struct Patience {
    std::chrono::milliseconds sign_of_life, farewell;
  };
  template <typename Request>
  Answer run(const Request& request, const Callbacks& callbacks, const Patience& patience) {
    send(request);
    return finish(callbacks, patience);
  }

  // Memory of so many bytes or more that the other side sees, until the next call of this.
  uint8_t* pixels(uint64_t bytes);

  // Of the cards that this connection has opened.
  struct OpenedCard {
    uint32_t device;
    uint64_t memory_limit;
    Opened opened;
  };
  const Opened& open(uint32_t device, uint64_t memory_limit, std::chrono::milliseconds patience);
  bool has_opened(uint32_t device) const;

  // False: a run that nobody waits for goes on there.
  bool usable() const { return usable_; }
  // Between two calls: whether the other end still is there.
  bool is_alive() const;
  void kill_process() const;

 private:
  template <typename Request>
  void send(const Request& request, int file = -1) {
    send_bytes(encode(request), file);
  }
  void send_bytes(const std::vector<uint8_t>& bytes, int file);
  Message receive(std::chrono::milliseconds patience);
  std::optional<Message> receive_within(std::chrono::milliseconds patience);
  Answer finish(const Callbacks& callbacks, const Patience& patience);
  static void check(const Answer& answer);
  [[noreturn]] static void refuse();

  helper::PacketSocket socket_;
  pid_t process_ = 0;
  helper::Descriptor handle_;  // of the process: its number may be another's one day
  bool usable_ = true;
  std::optional<helper::SharedMemory> pixels_;
  std::vector<OpenedCard> opened_;
};

}  // namespace grainless::cards
