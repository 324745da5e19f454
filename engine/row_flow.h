// SPDX-License-Identifier: MIT
// Reads and writes a picture while the engine computes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "denoise.h"

namespace grainless {

// The host's side of a PixelFlow, between the host's thread, which reads the rows of a picture and
// writes the new ones, and the engine's threads, which wait for rows and finish tiles in any order.
// New rows are handed out in bands, cut at multiples of band_rows from the image's first row.
class RowFlow {
 public:
  RowFlow(const Rect& target, int32_t band_rows);

  // To be passed to the engine; it calls this object.
  PixelFlow engine_side();

  // All rows of the source above row `end` have been read.
  void arrived(int32_t end);
  // No more rows will be read: whoever waits for one gets kCancelled.
  void stop();
  // Nothing more will be finished.
  void ended();

  // The next finished band that nobody has taken. Waits for one, or for ended(), but no longer than
  // `time`.
  std::optional<Rect> take_finished(std::chrono::milliseconds time);
  // The next band, finished or not; none when all are taken.
  std::optional<Rect> take_any();

 private:
  struct Band {
    Rect rect;
    int64_t left;  // pixels that are not finished
    bool taken = false;
  };

  void await_rows(int32_t end);
  void finish(const Rect& tile);
  template <typename Ready>
  std::optional<Rect> take_if(const Ready& ready);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Band> bands_;  // top down
  int32_t rows_ = 0;
  bool stopped_ = false, ended_ = false;
};

}  // namespace grainless
