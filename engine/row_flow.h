// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "denoise.h"

namespace grainless {

// The host's side of a PixelFlow: between its thread, which brings a picture's rows and takes the
// new ones away, and the engine's, which wait for rows and finish tiles in any order. The new rows
// go in bands, cut at multiples of band_rows from the image's first row.
class RowFlow {
 public:
  RowFlow(const Rect& target, int32_t band_rows);

  // What the engine is given; it calls this object.
  PixelFlow engine_side();

  // All rows of the source above row `end` are there.
  void arrived(int32_t end);
  // No more rows will come: whoever waits for one is sent away with kCancelled.
  void stop();
  // Nothing more will be finished.
  void ended();

  // The next band, of those that are finished, that nobody has taken; waits for one, or for
  // ended(), for that time.
  std::optional<Rect> take_finished(std::chrono::milliseconds time);
  // The next one, finished or not; none when all are taken.
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
