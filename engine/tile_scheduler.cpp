// SPDX-License-Identifier: MIT
#include "tile_scheduler.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "sentence.h"

namespace grainless {
namespace {

constexpr int32_t kSmallestSide = 64;       // below this a tile is nearly all halo
constexpr int64_t kSharedArea = 512 * 512;  // smaller areas aren't worth a second card

std::deque<Rect> cut(const Rect& area, TileSize size) {
  std::deque<Rect> tiles;
  for (int32_t y = area.y; y < area.bottom(); y += size.height) {
    for (int32_t x = area.x; x < area.right(); x += size.width) {
      tiles.push_back(intersect({x, y, size.width, size.height}, area));
    }
  }
  return tiles;
}

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

class Scheduler {
 public:
  Scheduler(const TileWork& work, Report& report, std::vector<std::string>& failed)
      : work_(work),
        report_(report),
        failed_(failed),
        progress_(work.callbacks(), work.area().area()) {}

  void run_on(const std::vector<std::shared_ptr<Backend>>& backends) {
    if (queue_.empty()) {
      const int32_t devices = static_cast<int32_t>(backends.size());
      queue_ = cut(work_.area(), work_.choose_tile(*backends.front(), devices));
    }
    // With few tiles a card's second stream would take what another card could begin with.
    const auto share =
        static_cast<int32_t>((queue_.size() + backends.size() - 1) / backends.size());
    std::vector<std::jthread> threads;  // joined at the end, whatever happens before
    try {
      for (const auto& backend : backends) {
        const int32_t streams = std::min(backend->concurrency(), share);
        for (int32_t i = 0; i < streams; ++i) {
          threads.emplace_back([this, backend] { serve(*backend); });
        }
      }
    } catch (const std::system_error&) {
      // The system gives no more threads: those that started take all tiles.
    }
    if (threads.empty()) serve(*backends.front());
  }

  // Tiles that nobody has computed; empty when all is done.
  bool done() const { return queue_.empty() && started_; }
  bool cancelled() const { return work_.callbacks().cancelled(); }
  const Status& last_failure() const { return last_failure_; }
  bool is_failed(const Backend& backend) const {
    return std::find(failed_.begin(), failed_.end(), backend.name()) != failed_.end();
  }

 private:
  bool take(const Backend& backend, Rect& tile) {
    std::lock_guard lock(mutex_);
    if (queue_.empty() || cancelled() || is_failed(backend)) return false;
    started_ = true;
    tile = queue_.front();
    queue_.pop_front();
    return true;
  }

  void serve(Backend& backend) {
    Rect tile;
    while (take(backend, tile)) {
      AbiTiming timing{};
      const Status status = guard([&] { compute(backend, tile, timing); });
      std::lock_guard lock(mutex_);
      if (status.ok()) {
        account(backend, timing);
      } else {
        put_back(backend, tile, status);
      }
    }
  }

  void compute(Backend& backend, const Rect& out, AbiTiming& timing) {
    double seen = 0;
    std::mutex seen_mutex;
    Callbacks callbacks;
    callbacks.cancel = work_.callbacks().cancel;
    callbacks.progress = [&](double fraction) {
      std::lock_guard lock(seen_mutex);
      const double pixels = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(out.area());
      if (pixels <= seen) return;
      progress_.add(pixels - seen);
      seen = pixels;
    };
    const Status status = guard([&] { work_.run(backend, out, callbacks, &timing); });
    callbacks.report(status.ok() ? 1.0 : 0.0);
    if (!status.ok()) progress_.add(-seen);
    throw_if_failed(status);
  }

  void account(const Backend& backend, const AbiTiming& timing) {
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

  // A tile that didn't fit is cut in two; anything else ends the backend's part in this image.
  void put_back(const Backend& backend, const Rect& tile, const Status& status) {
    const int32_t longer = std::max(tile.width, tile.height);
    if (status.code() == ErrorCode::kOutOfMemory && longer >= 2 * work_.smallest_side()) {
      const bool wide = tile.width >= tile.height;
      const TileSize half{wide ? (tile.width + 1) / 2 : tile.width,
                          wide ? tile.height : (tile.height + 1) / 2};
      for (const Rect& part : cut(tile, half)) queue_.push_back(part);
      note(sentence("smaller tiles on %s: %s", {backend.name(), status.message()}));
      return;
    }
    queue_.push_back(tile);
    last_failure_ = status;
    if (is_failed(backend)) return;
    failed_.push_back(backend.name());
    if (status.code() != ErrorCode::kCancelled) {
      note(sentence("%s failed: %s", {backend.name(), status.message()}));
    }
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
  std::deque<Rect> queue_;
  bool started_ = false;
  Status last_failure_;
};

}  // namespace

int32_t ImageWork::smallest_side() const {
  return kSmallestSide;
}

TileSize ImageWork::choose_tile(const Backend& backend, int32_t devices) const {
  const Rect& area = target_.rect;
  const int32_t parts = area.area() < kSharedArea ? 1 : devices;
  const uint64_t budget = backend.budget() / std::max(1, backend.concurrency());
  const int32_t side = backend.preferred_side();
  TileSize tile{area.width, area.height};
  int32_t count = 1;
  for (;;) {
    const bool fits = backend.tile_bytes(plan_, tile.width + 2 * plan_.halo,
                                         tile.height + 2 * plan_.halo) <= budget;
    const bool small_enough = side == 0 || std::max(tile.width, tile.height) <= side;
    if (fits && small_enough && count >= parts) return tile;
    int32_t& longer = tile.width >= tile.height ? tile.width : tile.height;
    if (longer < 2 * kSmallestSide) return tile;
    longer = (longer + 1) / 2;
    count *= 2;
  }
}

void ImageWork::run(Backend& backend, const Rect& out, const Callbacks& callbacks,
                    AbiTiming* timing) const {
  const Rect in = intersect(expand(out, plan_.halo), {0, 0, source_.width, source_.height});
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

void run_tiles(const TileWork& work, const std::vector<std::shared_ptr<Backend>>& accelerators,
               const std::shared_ptr<Backend>& cpu, Report& report,
               std::vector<std::string>& failed_devices) {
  Scheduler scheduler(work, report, failed_devices);
  // A tile may come back after the other cards have run dry: ask those that still work again.
  for (auto able = accelerators; !able.empty() && !scheduler.done() && !scheduler.cancelled();) {
    scheduler.run_on(able);
    std::erase_if(able, [&](const auto& backend) { return scheduler.is_failed(*backend); });
  }
  if (!scheduler.done() && !scheduler.cancelled()) scheduler.run_on({cpu});
  if (scheduler.cancelled()) throw Error(ErrorCode::kCancelled, "cancelled");
  if (!scheduler.done()) throw_if_failed(scheduler.last_failure());
}

}  // namespace grainless
