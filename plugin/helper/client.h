// SPDX-License-Identifier: MIT
// The side of the program that wants pixels: starts the helper when there is something to compute,
// and starts another one when it is lost. Nothing that happens to a helper, its driver or its card
// harms the caller.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "channel.h"
#include "engine/boundary/pixels.h"
#include "engine/params/params.h"

namespace grainless::helper {

struct ClientOptions {
  std::string program;  // of the helper, absolute
  int32_t threads = 0;  // of its processor backend; 0: one a core
  std::chrono::seconds idle{300};
  // A helper that shows no sign of life for so long is hung: GIMP's window stands still meanwhile.
  std::chrono::milliseconds patience{5000};
  // The same of work that may have to open cards first: that takes seconds.
  std::chrono::milliseconds first_patience{20000};
  // A card that has cost a helper is left alone for so long.
  std::chrono::seconds penalty{300};
};

// A whole image, which stays as it is.
class Input {
 public:
  // Throws kOutOfMemory, or kBadInput when there is no such image.
  Input(PixelFormat format, int32_t width, int32_t height);

  MutableImage writable();  // before finish() only
  void finish() { pixels_.seal(); }
  ConstImage image() const;
  uint64_t bytes() const { return pixels_.bytes(); }
  // No two have the same.
  uint64_t number() const { return number_; }
  int descriptor() const { return pixels_.descriptor(); }

 private:
  PixelFormat format_;
  int32_t width_, height_;
  uint64_t number_;
  SharedMemory pixels_;
};

// Pixels of one rectangle, and what there is to say about them.
struct Rendered {
  SharedMemory pixels;  // rows without gaps
  bool changed = false;
  std::string device = {}, note = {};
  std::vector<std::string> fallbacks = {};
  std::string lost = {};  // what became of an earlier helper, as a sentence; mostly empty
};

class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The pixels that Engine::denoise() gives for rect, with the noise of the whole input. A helper
  // that is lost is replaced by one that keeps to the processor, and the answer says so.
  // Throws Error when no helper gave an answer. One call at a time goes on; others wait.
  Rendered render(const std::shared_ptr<const Input>& input, const Params& params,
                  const Rect& rect);

  // The helper's process; 0: none. For tests; from any thread.
  pid_t process() const { return process_; }

 private:
  enum class Devices { kAll, kProcessor };

  Rendered ask(const std::shared_ptr<const Input>& input, const Params& params, const Rect& rect,
               Devices devices);
  Done wait_for(uint64_t request, std::chrono::milliseconds patience);
  std::chrono::milliseconds patience_with(const Params& params) const;
  void start(Devices devices);
  void greet();
  void give(const std::shared_ptr<const Input>& input);
  // Whether it had ended by itself, in order.
  bool stop();
  bool spares_cards() const;

  const ClientOptions options_;
  std::mutex mutex_;
  std::optional<Channel> channel_;
  std::atomic<pid_t> process_{0};
  Devices devices_ = Devices::kAll;
  // The device and the memory of work that has been done by this helper: its cards are open.
  std::set<std::pair<std::string, int32_t>> opened_;
  uint64_t requests_ = 0;
  std::list<std::shared_ptr<const Input>> given_;  // to this helper, the latest used first
  std::optional<std::chrono::steady_clock::time_point> card_lost_;
};

}  // namespace grainless::helper
