// SPDX-License-Identifier: MIT
#include "connection.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "engine/backends/module_backend.h"
#include "engine/sentence.h"

namespace grainless::cards {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A cancel is answered within 100 ms.
constexpr auto kListening = 20ms;

}  // namespace

Connection::Connection(helper::Descriptor socket, std::chrono::milliseconds patience)
    : socket_(std::move(socket)) {
  send(Hello{});
  const Message message = receive(patience);
  const auto* hello = std::get_if<Hello>(&message);
  const Hello own;
  if (hello == nullptr || hello->version != own.version || hello->abi_version != own.abi_version ||
      hello->plan_size != own.plan_size || hello->process <= 0) {
    refuse();
  }
  process_ = hello->process;
  handle_ = helper::Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process_, 0)));
}

void Connection::refuse() {
  throw Lost(sentence("what it said makes no sense"));
}

void Connection::check(const Answer& answer) {
  check_answer(answer.code, answer.message);
}

void Connection::send_bytes(const std::vector<uint8_t>& bytes, int file) {
  const Status status = guard([&] { socket_.send(bytes, file); });
  if (!status.ok()) throw Lost(status.message());
}

std::optional<Message> Connection::receive_within(std::chrono::milliseconds patience) {
  std::optional<Message> message;
  const Status status = guard([&] {
    if (const auto packet = socket_.receive(patience)) message = decode(packet->bytes);
  });
  if (!status.ok()) throw Lost(status.message());
  return message;
}

Message Connection::receive(std::chrono::milliseconds patience) {
  std::optional<Message> message = receive_within(patience);
  if (!message) throw Lost(sentence("it did not answer"));
  return *message;
}

Answer Connection::finish(const Callbacks& callbacks, const Patience& patience) {
  auto heard = Clock::now();
  std::optional<Clock::time_point> cancelled;
  while (true) {
    const std::optional<Message> message = receive_within(kListening);
    const auto now = Clock::now();
    if (message) heard = now;
    if (message && std::holds_alternative<Answer>(*message)) {
      const auto& answer = std::get<Answer>(*message);
      check(answer);
      return answer;
    }
    if (message) {
      const auto* progress = std::get_if<Progress>(&*message);
      if (progress == nullptr) refuse();
      callbacks.report(std::clamp(progress->fraction, 0.0, 1.0));
    }
    if (!cancelled && callbacks.cancelled()) {
      cancelled = now;
      send(Cancel{});
    }
    if (cancelled && now - *cancelled > patience.farewell) {
      usable_ = false;
      throw Error(ErrorCode::kCancelled, "cancelled");
    }
    if (now - heard > patience.sign_of_life) throw Lost(sentence("it did not answer"));
  }
}

uint8_t* Connection::pixels(uint64_t bytes) {
  if (!pixels_ || pixels_->bytes() < bytes) {
    pixels_.reset();  // first, so that there is room
    pixels_ = helper::SharedMemory::make(bytes);
    send(UsePixels{bytes}, pixels_->descriptor());
  }
  return pixels_->writable();
}

const Opened& Connection::open(uint32_t device, uint64_t memory_limit,
                               std::chrono::milliseconds patience) {
  for (const OpenedCard& known : opened_) {
    if (known.device == device && known.memory_limit == memory_limit) return known.opened;
  }
  const auto opened = ask<Opened>(OpenCard{memory_limit, device}, patience);
  opened_.push_back({device, memory_limit, opened});
  return opened_.back().opened;
}

bool Connection::has_opened(uint32_t device) const {
  return std::any_of(opened_.begin(), opened_.end(),
                     [device](const OpenedCard& card) { return card.device == device; });
}

// What is there to read is an end, as nothing was asked.
bool Connection::is_alive() const {
  pollfd one{socket_.number(), POLLIN, 0};
  return poll(&one, 1, 0) == 0;
}

void Connection::kill_process() const {
  if (handle_) {
    syscall(SYS_pidfd_send_signal, handle_.number(), SIGKILL, nullptr, 0);
  } else {
    kill(process_, SIGKILL);
  }
}

}  // namespace grainless::cards
