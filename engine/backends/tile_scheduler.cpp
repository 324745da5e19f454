// SPDX-License-Identifier: MIT
#include "tile_scheduler.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/sentence.h"

namespace grainless {
namespace {

constexpr int32_t kSmallestSide = 64;       // below this a tile is nearly all halo
constexpr int64_t kSharedArea = 512 * 512;  // smaller areas aren't worth a second card

// Bands of rows whose transfers go beside other bands' kernels. With n bands a picture waits for an
// nth of its transfers, which goes with its bytes, and computes n - 1 halos twice: n is best at the
// root of the quotient, here rows * bytes a pixel / (halo * what a pixel of it costs). Measured
// with BM3D of two stages and NLM (RESULTS.md).
constexpr int64_t kBandBytes = int64_t{8} << 20;
constexpr double kBandShare = 0.27, kMostBands = 16;
constexpr int32_t kBandStages = 2;    // of what kBandShare was measured with
constexpr int32_t kMemoryShares = 2;  // tiles at once that memory has to have room for
// Tiles of half the memory are worth while, as transfers go beside kernels, unless their halos cost
// more than so many times the work of tiles of all of it.
constexpr double kWorthOneStream = 1.15;

// Sums the progress of tiles in flight; what it reports never falls.
class ProgressSum {
 public:
  ProgressSum(const Callbacks& callbacks, int64_t area) : callbacks_(callbacks), area_(area) {}

  void add(double pixels) {
    std::lock_guard lock(mutex_);
    done_ += pixels;
    const double fraction = std::clamp(done_ / static_cast<double>(area_), reported_, 1.0);
    if (fraction <= reported_) return;
    reported_ = fraction;
    callbacks_.report(fraction);
  }

 private:
  std::mutex mutex_;
  const Callbacks& callbacks_;
  int64_t area_;
  double done_ = 0, reported_ = 0;
};

TileSize halved(const Rect& tile) {
  const bool wide = tile.width >= tile.height;
  return {wide ? (tile.width + 1) / 2 : tile.width, wide ? tile.height : (tile.height + 1) / 2};
}

class Scheduler {
 public:
  Scheduler(const TileWork& work, Report& report, std::vector<std::string>& failed)
      : work_(work),
        report_(report),
        failed_(failed),
        progress_(work.callbacks(), work.area().area()),
        uncut_(work.area()),
        pixels_left_(work.area().area()) {}

  void run_on(const std::vector<std::shared_ptr<Backend>>& backends) {
    std::deque<Share> shares;
    for (const auto& backend : backends) {
      Share share{*backend, {}, false};
      const Status status = guard(
          [&] { share.cut = work_.choose_cut(*backend, static_cast<int32_t>(backends.size())); });
      if (status.ok()) {
        shares.push_back(share);
      } else {
        leave_out(*backend, status);
      }
    }
    if (shares.empty()) return;
    std::vector<std::jthread> threads;  // joined at the end, whatever happens before
    try {
      for (Share& share : shares) {
        const int32_t streams = streams_of(share, shares.size());
        for (int32_t i = 0; i < streams; ++i) {
          threads.emplace_back([this, &share] { serve(share); });
        }
      }
    } catch (const std::exception&) {
      // The system gives no more threads: those that started take all tiles.
    }
    if (threads.empty()) serve(shares.front());
  }

  bool done() const { return pixels_left_ == 0; }
  bool stopped() const { return done() || !broken_.ok() || work_.callbacks().cancelled(); }
  bool is_out(const Backend& backend) const {
    return std::find(out_.begin(), out_.end(), &backend) != out_.end();
  }
  void throw_if_not_done() const {
    throw_if_cancelled(work_.callbacks());
    throw_if_failed(broken_);
    if (!done()) throw_if_failed(last_failure_);
  }

 private:
  // What one backend takes of the work.
  struct Share {
    Backend& backend;
    Cut cut;
    bool begun = false;
  };

  // With few tiles a card's second stream would take what another card could begin with.
  int32_t streams_of(const Share& share, size_t shares) {
    const auto all = static_cast<int64_t>(shares);
    std::lock_guard lock(mutex_);
    const int64_t tiles = (uncut_.tiles(share.cut.tile) + all - 1) / all;
    return static_cast<int32_t>(std::min<int64_t>(share.cut.streams, tiles));
  }

  bool take(Share& share, Rect& tile) {
    std::lock_guard lock(mutex_);
    if (uncut_.empty() || stopped() || is_out(share.backend)) return false;
    TileSize size = share.cut.tile;
    // Until the first one has arrived nothing is computed. Half a tile beside others would cut the
    // whole row of them, halos and all.
    const bool first = !std::exchange(share.begun, true);
    const bool band = size.width >= work_.area().width;
    if (first && band && share.cut.streams > 1 && uncut_.tiles(size) > 1)
      size.height = (size.height + 1) / 2;
    tile = uncut_.take(size);
    return true;
  }

  // A thread's work. Nothing may leave it, and a tile that is in nobody's hands ends the run.
  void serve(Share& share) noexcept {
    const Status status = guard([&] {
      for (Rect tile; take(share, tile);) {
        AbiTiming timing{};
        const Status computed = guard([&] { compute(share.backend, tile, timing); });
        std::lock_guard lock(mutex_);
        if (computed.ok()) {
          account(share.backend, tile, timing);
        } else {
          give_back(share, tile, computed);
        }
      }
    });
    if (status.ok()) return;
    std::lock_guard lock(mutex_);
    broken_ = status;
  }

  void compute(Backend& backend, const Rect& out, AbiTiming& timing) {
    double seen = 0;
    std::mutex seen_mutex;
    Callbacks callbacks;
    callbacks.cancel = work_.callbacks().cancel;
    callbacks.progress = [&](double fraction) {
      std::lock_guard lock(seen_mutex);
      const double pixels = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(out.area());
      if (!(pixels > seen)) return;  // a module may say what is no number
      progress_.add(pixels - seen);
      seen = pixels;
    };
    const Status status = guard([&] { work_.run(backend, out, callbacks, &timing); });
    callbacks.report(status.ok() ? 1.0 : 0.0);
    if (!status.ok()) progress_.add(-seen);
    throw_if_failed(status);
  }

  void account(const Backend& backend, const Rect& tile, const AbiTiming& timing) {
    pixels_left_ -= tile.area();
    work_.finished(tile);
    ++report_.tiles;
    report_.upload += timing.upload;
    report_.kernels += timing.kernels;
    report_.download += timing.download;
    report_.peak_memory = std::max(report_.peak_memory, timing.peak_memory);
    if (("+" + report_.device + "+").find("+" + backend.name() + "+") == std::string::npos) {
      report_.device += (report_.device.empty() ? "" : "+") + backend.name();
      report_.device_description = backend.description();
    }
  }

  // A backend for which a tile was too large takes smaller ones from now on; anything else ends its
  // part in this image.
  void give_back(Share& share, const Rect& tile, const Status& status) {
    uncut_.put_back(tile);
    const bool divisible = std::max(tile.width, tile.height) >= 2 * work_.smallest_side();
    if (status.code() != ErrorCode::kOutOfMemory || !divisible) {
      leave_out(share.backend, status);
      return;
    }
    const TileSize half = halved(tile);
    TileSize& size = share.cut.tile;
    size = {std::min(size.width, half.width), std::min(size.height, half.height)};
    note(sentence("smaller tiles on %s: %s", {share.backend.name(), status.message()}));
  }

  void leave_out(const Backend& backend, const Status& status) {
    last_failure_ = status;
    if (is_out(backend)) return;
    out_.push_back(&backend);
    const ErrorCode code = status.code();
    if (code == ErrorCode::kCancelled) return;
    // Opened anew, a full card would have its limit twice while other runs use it as it is.
    const bool in_order = code == ErrorCode::kUnsupported || code == ErrorCode::kOutOfMemory;
    if (!in_order) failed_.push_back(backend.name());
    note(in_order ? sentence("%s is left out: %s", {backend.name(), status.message()})
                  : sentence("%s failed: %s", {backend.name(), status.message()}));
  }

  void note(const std::string& text) {
    auto& notes = report_.fallbacks;
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
  }

  const TileWork& work_;
  Report& report_;
  std::vector<std::string>& failed_;
  ProgressSum progress_;
  std::mutex mutex_;
  UncutArea uncut_;
  int64_t pixels_left_;
  std::vector<const Backend*> out_;  // of this run
  Status last_failure_;              // of a backend
  Status broken_;                    // the scheduler's own
};

}  // namespace

void throw_no_room(uint64_t budget) {
  throw Error(ErrorCode::kOutOfMemory, sentence("%s MiB of memory are too little for a tile",
                                                {std::to_string(budget >> 20)}));
}

int32_t ImageWork::smallest_side() const {
  return kSmallestSide;
}

int32_t ImageWork::band_rows() const {
  const Rect& area = target_.rect;
  const int32_t pixel = plan_.format.pixel_bytes();
  const auto by_bytes = static_cast<double>(area.area() * pixel / kBandBytes);
  const double stages = std::max(1.0, 1.0 * plan_.level[0].stage_count / kBandStages);
  const double halo = std::max(1, plan_.halo) * stages;
  const double best = kBandShare * std::sqrt(1.0 * area.height * pixel / halo);
  const auto bands = std::llround(std::min({best, by_bytes, kMostBands}));
  return (area.height - 1) / std::max(1, static_cast<int32_t>(bands)) + 1;
}

Cut ImageWork::choose_cut(const Backend& backend, int32_t devices) const {
  const uint64_t budget = backend.tile_budget(plan_);
  int32_t shares = std::clamp(backend.concurrency(), 1, kMemoryShares);
  Grid best = grid(backend, budget / shares, devices);
  if (shares > 1 && (!best.fits || best.work > kWorthOneStream)) {
    const Grid alone = grid(backend, budget, devices);
    if (alone.fits && !(best.fits && best.work <= kWorthOneStream * alone.work)) {
      best = alone;
      shares = 1;
    }
  }
  if (!best.fits) throw_no_room(budget);
  if (shares == 1) return {best.tile, 1};
  TileSize tile = best.tile;
  tile.height = std::min(tile.height, band_rows());
  const auto streams = static_cast<int32_t>(std::min<uint64_t>(
      budget / std::max<uint64_t>(1, tile_bytes(backend, tile)), backend.concurrency()));
  return {tile, std::max(1, streams)};
}

Grid ImageWork::grid(const Backend& backend, uint64_t budget, int32_t devices) const {
  const int32_t side = backend.preferred_side(plan_);
  return choose_grid({
      .area = target_.rect,
      .image = {0, 0, source_.width, source_.height},
      .halo = plan_.halo,
      .least_count = target_.rect.area() < kSharedArea ? 1 : devices,
      .shortest = kSmallestSide,
      .longest = side == 0 ? INT32_MAX : side,
      .budget = budget,
      .bytes = [&](int32_t width,
                   int32_t height) { return backend.tile_bytes(plan_, width, height); },
  });
}

// Of a tile that sees as much of the image as any of that size.
uint64_t ImageWork::tile_bytes(const Backend& backend, TileSize tile) const {
  return backend.tile_bytes(plan_, std::min(tile.width + 2 * plan_.halo, source_.width),
                            std::min(tile.height + 2 * plan_.halo, source_.height));
}

void ImageWork::run(Backend& backend, const Rect& out, const Callbacks& callbacks,
                    AbiTiming* timing) const {
  const Rect in = intersect(expand(out, plan_.halo), {0, 0, source_.width, source_.height});
  if (flow_ != nullptr && flow_->await_rows) flow_->await_rows(in.bottom());
  const AbiTile tile{source_.width,
                     source_.height,
                     in,
                     out,
                     pixel_at(source_, in.x, in.y),
                     source_.row_bytes,
                     pixel_at(target_, out.x, out.y),
                     target_.row_bytes};
  backend.run(plan_, tile, callbacks, timing);
}

void ImageWork::finished(const Rect& tile) const {
  if (flow_ != nullptr && flow_->finished) flow_->finished(tile);
}

void run_tiles(const TileWork& work, const std::vector<std::shared_ptr<Backend>>& accelerators,
               const std::shared_ptr<Backend>& cpu, Report& report,
               std::vector<std::string>& failed_devices) {
  Scheduler scheduler(work, report, failed_devices);
  // A tile may come back after the other cards have run dry: ask those that still work again.
  for (auto able = accelerators; !able.empty() && !scheduler.stopped();) {
    scheduler.run_on(able);
    std::erase_if(able, [&](const auto& backend) { return scheduler.is_out(*backend); });
  }
  if (!scheduler.stopped()) scheduler.run_on({cpu});
  scheduler.throw_if_not_done();
}

}  // namespace grainless
