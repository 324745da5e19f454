// SPDX-License-Identifier: MIT
#include "remote_cards.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "connection.h"
#include "engine/sentence.h"

namespace grainless::cards {
namespace {

using Clock = std::chrono::steady_clock;

// As the module itself has it (module_backend.cpp): a card's memory bounds its tiles.
constexpr int32_t kLargestSide = 1 << 16;

void copy_rows(const void* from, ptrdiff_t from_row, void* to, ptrdiff_t to_row, int64_t line,
               int32_t rows) {
  for (int32_t y = 0; y < rows; ++y) {
    std::memcpy(static_cast<uint8_t*>(to) + y * to_row,
                static_cast<const uint8_t*>(from) + y * from_row, static_cast<size_t>(line));
  }
}

}  // namespace

class RemoteBackend final : public Backend {
 public:
  RemoteBackend(std::shared_ptr<RemoteCards> cards, uint32_t device, uint64_t memory_limit,
                const Opened& opened)
      : cards_(std::move(cards)),
        device_(device),
        memory_limit_(memory_limit),
        concurrency_(opened.concurrency),
        name_("cuda:" + std::to_string(device)),
        description_(opened.description, strnlen(opened.description, sizeof opened.description)) {}

  std::string name() const override { return name_; }
  std::string description() const override { return description_; }
  int32_t concurrency() const override { return concurrency_; }
  int32_t preferred_side(const Plan&) const override { return kLargestSide; }

  Status supports(const Plan& plan) const override {
    return guard([&] { (void)ask(Supports{0, plan}); });
  }
  Status supports_volume(const Plan& plan, const VolumePlan& volume) const override {
    return guard([&] { (void)ask(SupportsVolume{plan, volume}); });
  }
  uint64_t tile_bytes(const Plan& plan, int32_t width, int32_t height) const override {
    return ask(TileBytes{plan, width, height}).value;
  }
  uint64_t slab_bytes(const Plan& plan, const VolumePlan& volume, int32_t width, int32_t height,
                      int32_t in_layers, int32_t out_layers) const override {
    return ask(SlabBytes{plan, volume, width, height, in_layers, out_layers}).value;
  }
  uint64_t budget() const override { return ask(Budget{0}).value; }

  void run(const Plan& plan, const AbiTile& tile, const Callbacks& callbacks,
           AbiTiming* timing) override;
  void run_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                const Callbacks& callbacks, AbiTiming* timing) override;

 private:
  template <typename Request>
  Answer ask(Request request) const;
  // run's request, between what fills its pixels and what takes them.
  template <typename Request, typename Fill, typename Take>
  void compute(Request request, const Callbacks& callbacks, AbiTiming* timing, const Fill& fill,
               const Take& take);

  const std::shared_ptr<RemoteCards> cards_;
  const uint32_t device_;
  const uint64_t memory_limit_;
  const int32_t concurrency_;
  const std::string name_, description_;
  std::atomic<bool> has_run_{false};
};

RemoteCards::RemoteCards(RemoteOptions options, std::shared_ptr<Cards> own)
    : options_(std::move(options)),
      place_(meeting_place(options_.host, {options_.module})),
      own_(std::move(own)) {}

RemoteCards::~RemoteCards() = default;

std::shared_ptr<RemoteCards> RemoteCards::make(RemoteOptions options, std::shared_ptr<Cards> own) {
  return std::shared_ptr<RemoteCards>(new RemoteCards(std::move(options), std::move(own)));
}

pid_t RemoteCards::process() const {
  const std::lock_guard lock(mutex_);
  return process_;
}

std::unique_ptr<Connection> RemoteCards::take() {
  {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      if (connection->is_alive()) return connection;  // else it was ended while it did nothing
    }
    if (lost_ && Clock::now() - *lost_ < options_.penalty) {
      throw Error(ErrorCode::kDeviceUnavailable,
                  sentence("the graphics card's process was lost a moment ago"));
    }
  }
  std::unique_ptr<Connection> connection = connect();
  const std::lock_guard lock(mutex_);
  if (process_ != connection->process()) idle_.clear();
  process_ = connection->process();
  return connection;
}

// One that was about to end may have taken the call: the next one starts another.
std::unique_ptr<Connection> RemoteCards::connect() {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    try {
      return std::make_unique<Connection>(meet(options_.host, place_), options_.first_patience);
    } catch (const CannotStart&) {
      throw;
    } catch (const Error& error) {
      if (attempt == kAttempts) lose(error.what());
    }
  }
}

void RemoteCards::give_back(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  if (connection->usable() && connection->process() == process_) {
    idle_.push_back(std::move(connection));
  }
}

void RemoteCards::leave(pid_t process) {
  const std::lock_guard lock(mutex_);
  if (process_ != process) return;
  process_ = 0;
  idle_.clear();
}

void RemoteCards::lose(const std::string& how) {
  const std::lock_guard lock(mutex_);
  lost_ = Clock::now();
  throw Error(ErrorCode::kDeviceFailed,
              sentence("the graphics card's process was lost (%s)", {how}));
}

template <typename Body>
auto RemoteCards::talk(const Body& body) {
  std::unique_ptr<Connection> connection = take();
  try {
    auto result = body(*connection);
    give_back(std::move(connection));
    return result;
  } catch (const Lost& lost) {
    connection->kill_process();
    leave(connection->process());
    lose(lost.what());
  } catch (const Error& error) {
    // A driver keeps what has failed for its process's life: the next call meets another one.
    if (error.code() == ErrorCode::kDeviceFailed) leave(connection->process());
    give_back(std::move(connection));
    throw;
  }
}

std::vector<AbiDevice> RemoteCards::devices(bool ask) {
  try {
    const CardList list = talk([&](Connection& connection) {
      return connection.ask<CardList>(ListCards{ask ? 1 : 0}, options_.first_patience);
    });
    const auto* first = list.cards.data();
    return {first, first + std::min(list.count, kMostCards)};
  } catch (const CannotStart&) {
    return own_->devices(ask);
  }
}

// The engine opens a card again when it has failed, or gets another limit: the memory that it held
// goes back first.
std::shared_ptr<Backend> RemoteCards::open(uint32_t device, uint64_t memory_limit) {
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(idle_, [device](const auto& idle) { return idle->has_opened(device); });
  }
  try {
    return talk([&](Connection& connection) -> std::shared_ptr<Backend> {
      const Opened& opened = connection.open(device, memory_limit, options_.first_patience);
      return std::make_shared<RemoteBackend>(shared_from_this(), device, memory_limit, opened);
    });
  } catch (const CannotStart&) {
    return own_->open(device, memory_limit);
  }
}

template <typename Request>
Answer RemoteBackend::ask(Request request) const {
  const auto patience = cards_->options_.first_patience;
  return cards_->talk([&](Connection& connection) {
    if constexpr (requires { request.session; }) {
      request.session = connection.open(device_, memory_limit_, patience).session;
    }
    return connection.ask<Answer>(request, patience);
  });
}

template <typename Request, typename Fill, typename Take>
void RemoteBackend::compute(Request request, const Callbacks& callbacks, AbiTiming* timing,
                            const Fill& fill, const Take& take) {
  const RemoteOptions& options = cards_->options_;
  const auto patience = has_run_ ? options.patience : options.first_patience;
  const Answer answer = cards_->talk([&](Connection& connection) {
    request.session = connection.open(device_, memory_limit_, options.first_patience).session;
    uint8_t* source = connection.pixels(pixels_of(request));
    fill(source);
    const Answer done = connection.run(request, callbacks, {patience, options.farewell});
    take(source + target_offset(request));
    return done;
  });
  has_run_ = true;
  if (timing != nullptr) *timing = answer.timing;
}

void RemoteBackend::run(const Plan& plan, const AbiTile& tile, const Callbacks& callbacks,
                        AbiTiming* timing) {
  const int32_t pixel = plan.format.pixel_bytes();
  const int64_t in_row = int64_t{tile.in.width} * pixel, out_row = int64_t{tile.out.width} * pixel;
  compute(
      RunTile{0, tile.image_width, tile.image_height, tile.in, tile.out, plan}, callbacks, timing,
      [&](uint8_t* to) {
        copy_rows(tile.source, tile.source_row_bytes, to, in_row, in_row, tile.in.height);
      },
      [&](const uint8_t* from) {
        copy_rows(from, out_row, tile.target, tile.target_row_bytes, out_row, tile.out.height);
      });
}

void RemoteBackend::run_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                             const Callbacks& callbacks, AbiTiming* timing) {
  const RunSlab request{0,
                        slab.width,
                        slab.height,
                        slab.layers,
                        slab.in_first,
                        slab.in_layers,
                        slab.out_first,
                        slab.out_layers,
                        plan,
                        volume};
  const int64_t row = int64_t{slab.width} * plan.format.pixel_bytes();
  const int64_t layer = layer_offset(request);
  compute(
      request, callbacks, timing,
      [&](uint8_t* to) {
        for (int32_t z = 0; z < slab.in_layers; ++z) {
          const AbiLayer& from = slab.source[z];
          copy_rows(from.data, from.row_bytes, to + z * layer, row, row, slab.height);
        }
      },
      [&](const uint8_t* from) {
        for (int32_t z = 0; z < slab.out_layers; ++z) {
          const AbiLayer& to = slab.target[z];
          copy_rows(from + z * layer, row, to.data, to.row_bytes, row, slab.height);
        }
      });
}

}  // namespace grainless::cards
