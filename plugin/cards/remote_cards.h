// SPDX-License-Identifier: MIT
// Graphics cards that another process holds (serve.h). Whatever a driver does there, this process
// goes on: a lost card is an Error, as one is that fails.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/backends/backend.h"
#include "engine/cards.h"
#include "meeting.h"

namespace grainless::cards {

class Connection;

struct RemoteOptions {
  Host host;
  std::string module;  // the file, for the place to meet at
  // A run that shows no sign of life for so long hangs.
  std::chrono::milliseconds patience{20000};
  // The same of a call that may have to start the driver or to compile for the card.
  std::chrono::milliseconds first_patience{120000};
  // What a cancelled run may take to end.
  std::chrono::milliseconds farewell{1000};
  // Cards whose process was lost are left alone for so long.
  std::chrono::seconds penalty{300};
};

class RemoteCards final : public Cards, public std::enable_shared_from_this<RemoteCards> {
 public:
  // `own` opens the cards where processes can't be started, as some confinements forbid.
  static std::shared_ptr<RemoteCards> make(RemoteOptions options, std::shared_ptr<Cards> own);
  ~RemoteCards() override;

  std::vector<AbiDevice> devices(bool ask) override;
  std::shared_ptr<Backend> open(uint32_t device, uint64_t memory_limit) override;

  // The process that holds the cards; 0: none is known. For tests.
  pid_t process() const;

 private:
  friend class RemoteBackend;

  RemoteCards(RemoteOptions options, std::shared_ptr<Cards> own);

  // A connection that is nobody else's meanwhile.
  std::unique_ptr<Connection> take();
  void give_back(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connect();
  // The cards are left alone for a while: throws Error(kDeviceFailed).
  [[noreturn]] void lose(const std::string& how);
  // The next call shall meet another process; what this one still computes comes to its end.
  void leave(pid_t process);
  // Calls body(connection), which throws Lost when the connection is.
  template <typename Body>
  auto talk(const Body& body);

  const RemoteOptions options_;
  const std::string place_;
  const std::shared_ptr<Cards> own_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
  pid_t process_ = 0;
  std::optional<std::chrono::steady_clock::time_point> lost_;
};

}  // namespace grainless::cards
