// SPDX-License-Identifier: MIT
#include "serve.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "conversation.h"
#include "engine/platform/library.h"
#include "meeting.h"
#include "plugin/helper/process.h"

namespace grainless::cards {
namespace {

using helper::Descriptor;
using Clock = std::chrono::steady_clock;

class CardServer {
 public:
  CardServer(const std::string& module_dir, std::chrono::seconds idle)
      : shelf_(module_dir + "/" + kModuleFile), idle_(idle), listener_(kListener) {}

  // Until the owner ends, until nobody was connected for the idle time, or, once a card has failed,
  // until everybody has left.
  void serve(pid_t owner);

 private:
  void take_call();
  void converse(Descriptor socket) noexcept;
  bool has_ended();
  void wake();  // a conversation has ended, or a card has failed
  std::chrono::milliseconds until_end() const;

  CardShelf shelf_;
  const std::chrono::seconds idle_;
  Descriptor listener_;
  Descriptor woken_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::atomic<bool> failed_{false};
  std::atomic<int> conversations_{0};
  bool talked_ = false;  // at the last look, or since
  Clock::time_point quiet_since_ = Clock::now();
};

void CardServer::serve(pid_t owner) {
  const Descriptor watched(owner > 0 ? static_cast<int>(syscall(SYS_pidfd_open, owner, 0)) : -1);
  if (owner > 0 && !watched && kill(owner, 0) != 0) return;
  while (!has_ended()) {
    pollfd all[] = {{listener_.number(), POLLIN, 0},
                    {woken_.number(), POLLIN, 0},
                    {watched.number(), POLLIN, 0}};
    const auto wait = std::clamp<int64_t>(until_end().count(), 0, INT_MAX);
    if (poll(all, std::size(all), static_cast<int>(wait)) < 0) continue;
    if (all[2].revents != 0) return;
    if (all[1].revents != 0) {
      eventfd_t count = 0;
      (void)eventfd_read(woken_.number(), &count);
    }
    if (all[0].revents != 0) take_call();
  }
}

// Who calls from then on finds nobody, and starts another process.
bool CardServer::has_ended() {
  if (failed_) listener_ = Descriptor();
  const bool talking = conversations_ > 0;
  // Nobody looks while a conversation lasts: what was talked at the last look ended a moment ago.
  if (talking || talked_) quiet_since_ = Clock::now();
  talked_ = talking;
  return !talking && (failed_ || Clock::now() - quiet_since_ >= idle_);
}

std::chrono::milliseconds CardServer::until_end() const {
  using std::chrono::milliseconds;
  if (conversations_ > 0) return milliseconds(INT_MAX);
  return std::chrono::ceil<milliseconds>(quiet_since_ + idle_ - Clock::now());
}

void CardServer::take_call() {
  Descriptor socket(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket || !is_own_user(socket.number())) return;
  ++conversations_;
  talked_ = true;  // it may have ended before the next look
  try {
    std::thread([this, call = std::make_shared<Descriptor>(std::move(socket))] {
      converse(std::move(*call));
    }).detach();
  } catch (const std::exception&) {  // without a thread the caller hears that nobody answers
    --conversations_;
  }
}

void CardServer::converse(Descriptor socket) noexcept {
  const auto failed = [this] {
    failed_ = true;
    wake();
  };
  (void)guard([&] { Conversation(std::move(socket), shelf_, failed).serve(); });
  --conversations_;
  wake();
}

void CardServer::wake() {
  (void)eventfd_write(woken_.number(), 1);
}

std::optional<int> number(const char* text) {
  const std::string_view all = text;
  int value = 0;
  const auto result = std::from_chars(all.data(), all.data() + all.size(), value);
  if (result.ec != std::errc() || result.ptr != all.data() + all.size() || value < 0) return {};
  return value;
}

}  // namespace

int serve_cards(int count, char** arguments) {
  if (count != 3 || !helper::is_packet_socket(kListener)) return 1;
  const std::optional<int> idle = number(arguments[1]), owner = number(arguments[2]);
  if (!idle || !owner) return 1;
  const pid_t process = fork();
  if (process != 0) return process > 0 ? 0 : 1;
  std::signal(SIGINT, SIG_IGN);
  helper::offer_to_the_kernel();
  helper::translate();
  (void)guard([&] { CardServer(arguments[0], std::chrono::seconds(*idle)).serve(*owner); });
  std::_Exit(0);  // the system takes back what a card holds
}

}  // namespace grainless::cards
