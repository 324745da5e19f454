// SPDX-License-Identifier: MIT
#include "row_flow.h"

#include <algorithm>

namespace grainless {

RowFlow::RowFlow(const Rect& target, int32_t band_rows) {
  for (int32_t y = target.y, end; y < target.bottom(); y = end) {
    end = y + std::min(target.bottom() - y, band_rows - y % band_rows);
    const Rect band{target.x, y, target.width, end - y};
    bands_.push_back({.rect = band, .left = band.area()});
  }
}

PixelFlow RowFlow::engine_side() {
  return {.await_rows = [this](int32_t end) { await_rows(end); },
          .finished = [this](const Rect& tile) { finish(tile); }};
}

void RowFlow::arrived(int32_t end) {
  const std::lock_guard lock(mutex_);
  rows_ = std::max(rows_, end);
  changed_.notify_all();
}

void RowFlow::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void RowFlow::ended() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void RowFlow::await_rows(int32_t end) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || rows_ >= end; });
  if (rows_ < end) throw Error(ErrorCode::kCancelled, "cancelled");
}

void RowFlow::finish(const Rect& tile) {
  const std::lock_guard lock(mutex_);
  for (Band& band : bands_) band.left -= intersect(band.rect, tile).area();
  changed_.notify_all();
}

template <typename Ready>
std::optional<Rect> RowFlow::take_if(const Ready& ready) {
  const auto band = std::find_if(bands_.begin(), bands_.end(),
                                 [&](const Band& one) { return !one.taken && ready(one); });
  if (band == bands_.end()) return {};
  band->taken = true;
  return band->rect;
}

std::optional<Rect> RowFlow::take_finished(std::chrono::milliseconds time) {
  const auto is_finished = [](const Band& band) { return band.left == 0; };
  const auto is_waiting = [&](const Band& band) { return !band.taken && is_finished(band); };
  std::unique_lock lock(mutex_);
  changed_.wait_for(
      lock, time, [&] { return ended_ || std::any_of(bands_.begin(), bands_.end(), is_waiting); });
  return take_if(is_finished);
}

std::optional<Rect> RowFlow::take_any() {
  const std::lock_guard lock(mutex_);
  return take_if([](const Band&) { return true; });
}

}  // namespace grainless
