// SPDX-License-Identifier: MIT
// What the preview shows and what is to be computed next: a state machine without a toolkit,
// threads or clocks of its own. Times are milliseconds of any steady clock.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/params.h"
#include "engine/rect.h"

namespace grainless::ui {

struct PreviewJob {
  uint64_t generation = 0;
  Params params;
  Rect rect;
};

class PreviewModel {
 public:
  static constexpr int64_t kDebounce = 100;  // after the last change, before work starts

  PreviewModel(int32_t image_width, int32_t image_height);

  // The visible part of the image, at 1:1, and where it stands in a view larger than the image.
  void resize_view(int32_t width, int32_t height, int64_t now);
  void centre_on(int32_t x, int32_t y, int64_t now);
  void pan_by(int32_t dx, int32_t dy, int64_t now);  // of the view over the image
  Rect visible() const;
  int32_t left() const;
  int32_t top() const;

  void set_params(const Params& params, int64_t now);

  // Milliseconds until next_job() may have one; 0: now; none: nothing is to be done.
  std::optional<int64_t> wait(int64_t now) const;
  // The job that is due. Starting it makes every earlier one stale.
  std::optional<PreviewJob> next_job(int64_t now);
  // What next_job() would start once the wait is over.
  PreviewJob wanted() const;

  // A job has ended, with a result, with an error or cancelled; true: its result is to be shown.
  // Results of stale jobs are not, so a newer picture never gives way to an older one.
  bool finished(uint64_t generation, bool has_result);
  // What is shown doesn't match the settings yet.
  bool busy() const { return pending_ || running_; }

 private:
  void change(int64_t now);
  void clamp_origin();

  int32_t image_width_, image_height_;
  int32_t view_width_ = 0, view_height_ = 0;
  int32_t x_ = 0, y_ = 0;  // of the image at the view's corner
  std::optional<Params> params_;
  bool pending_ = false, running_ = false;
  int64_t due_ = 0;
  uint64_t generation_ = 0;  // of the newest change
};

}  // namespace grainless::ui
