// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "card_shelf.h"
#include "plugin/helper/packets.h"
#include "wire.h"

namespace grainless::cards {

// One connection, from its Hello to its end: a call at a time, on a thread of its own.
class Conversation {
 public:
  // `failed` is called when a card has failed, before that is answered: what its driver keeps of
  // that in this process can't be mended.
  Conversation(helper::Descriptor socket, CardShelf& shelf, std::function<void()> failed)
      : socket_(std::move(socket)), shelf_(shelf), failed_(std::move(failed)) {}

  // Until the other end is gone, or talks nonsense: throws Error then.
  [[noreturn]] void serve();

 private:
  template <typename Request>
  void take(const Request& request);
  template <typename Body>
  void answer(const Body& body);
  void answer_run(const std::function<int32_t(Answer&)>& run);

  void reply(const ListCards& request);
  void reply(const OpenCard& request);
  void reply(const Supports& request);
  void reply(const SupportsVolume& request);
  void reply(const TileBytes& request);
  void reply(const SlabBytes& request);
  void reply(const Budget& request);
  void reply(const RunTile& request);
  void reply(const RunSlab& request);
  void use(UsePixels request, helper::Descriptor file);

  AbiSession* session(uint32_t number) const;
  // The pixels, which hold so many bytes.
  uint8_t* pixels(uint64_t bytes);

  // Of a run that goes on: says that it does, and hears whether it shall.
  static int32_t cancelled(void* self);
  static void progress(void* self, double fraction);
  void say_alive();
  bool hears_cancel();

  helper::PacketSocket socket_;
  CardShelf& shelf_;
  const std::function<void()> failed_;
  std::vector<std::shared_ptr<Session>> sessions_;
  std::optional<helper::SharedMemory> pixels_;
  std::atomic<double> fraction_{0};
  std::mutex run_mutex_;  // a run may ask from several threads
  bool cancelled_ = false;
  std::chrono::steady_clock::time_point said_;
};

}  // namespace grainless::cards
