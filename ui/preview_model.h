// SPDX-License-Identifier: MIT
// What the preview shows and what is to be computed next: a state machine without a toolkit,
// threads or clocks of its own. Times are milliseconds of any steady clock.
//
// A change is answered at once with exact pixels where the device is quick enough. Otherwise a
// coarse answer comes first, one after the other while a slider moves, and exact pixels replace it
// part by part, the middle of the view first, as soon as the settings rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "picture.h"
#include "preview_source.h"
#include "viewport.h"

namespace grainless::ui {

struct PreviewAnswer {
  PreviewJob job;
  Status status;
  PreviewInfo info;
  Piece piece;
};

class PreviewModel {
 public:
  static constexpr int64_t kDelay = 2;   // gathers changes that come together
  static constexpr int64_t kRest = 250;  // without a change, before slow exact work starts
  static constexpr double kPrompt =
      0.2;  // seconds that exact work may take without a coarse answer
  static constexpr double kCoarse = 0.15;        // what a coarse answer may take
  static constexpr double kCoarseReduced = 0.5;  // the same where the image is shown reduced
  static constexpr double kPart = 0.7;           // what a part of slow exact work may take

  PreviewModel(int32_t image_width, int32_t image_height);

  const Viewport& view() const { return view_; }
  const Picture& picture() const { return picture_; }

  // The view has moved; as a changed copy of view().
  void look(const Viewport& view, int64_t now);
  void set_params(const Params& params, int64_t now);
  // Where the user looks, a place of the image; none: the middle of the view. Slow exact work
  // begins there.
  void set_focus(const std::optional<std::pair<double, double>>& place) { focus_ = place; }
  // Another layer of the same size is looked at. What was computed of it for these settings is
  // there again, as far as it was kept.
  void set_layer(int32_t layer, int64_t now);
  int32_t layer() const { return layer_; }
  // The image's pixels are others, and maybe its size is: nothing that was computed is of use.
  void set_image(int32_t width, int32_t height, int64_t now);
  // The same image gives another result.
  void invalidate(int64_t now);

  // Milliseconds until due() may have a job; 0: now; none: nothing is to be done, or a job runs.
  std::optional<int64_t> wait(int64_t now) const;
  std::optional<PreviewJob> due(int64_t now) const;
  // The job that due() gave runs from now on.
  void start(const PreviewJob& job);
  // Nobody waits for the running job's answer any more.
  bool outdated() const;
  // The running job has ended, with a result, with an error or cancelled. True: the picture has
  // changed.
  bool finished(PreviewAnswer answer);

  // What is shown isn't the settings' exact result yet.
  bool busy() const;
  // Whether what isn't exact yet is a coarse answer to the newest settings.
  bool has_coarse() const { return picture_.has_coarse(view_.visible(), settings_); }
  // The newest pixels are a coarse answer.
  bool coarse() const { return coarse_; }
  // How much of the view is exact, 0..1.
  double progress() const;
  // How what is shown came about; null when nothing was computed yet. Its seconds are those of all
  // the exact work since the last change, or of the coarse answer.
  const PreviewInfo* info() const { return info_ ? &*info_ : nullptr; }
  // The same of the layer that shows only: after another was chosen, null until it has a result.
  const PreviewInfo* own_info() const { return info_layer_ == layer_ ? info() : nullptr; }
  // Why the newest settings gave no result; empty otherwise.
  const std::string& error() const { return error_; }

 private:
  struct Kept {
    int32_t layer = 0;
    Picture picture;
    std::optional<PreviewInfo> info;
  };
  struct Planned {
    int64_t at = 0;
    PreviewJob job;
  };
  std::optional<Planned> plan() const;
  Planned coarse_job(const Rect& visible) const;
  Rect next_part(const Rect& missing) const;
  double exact_seconds(const Rect& rect) const;
  bool knows_cost() const;  // of exact work with the newest params
  double exact_rate() const;
  int32_t exact_halo() const;
  void changed(int64_t now);

  int32_t image_width_, image_height_;
  Viewport view_;
  Picture picture_;
  std::optional<Params> params_;
  std::optional<std::pair<double, double>> focus_;
  int32_t layer_ = 0;
  std::vector<Kept>
      kept_;  // other layers for the newest params, the last one that showed at the end
  uint64_t settings_ = 0;  // of the newest params
  uint64_t oldest_ = 0;    // settings of the image as it is now
  std::optional<PreviewJob> running_;
  int64_t first_change_ = 0, last_change_ = 0;  // since the last start
  bool waiting_ = false;                        // for the job that answers first_change_
  bool coarse_ = false, failed_ = false;
  std::optional<PreviewInfo> info_;
  int32_t info_layer_ = 0;  // that info_ is about
  std::string error_;
  double exact_sum_ = 0;  // seconds since the last change

  // Seconds a pixel that is computed, as seen last: of exact work with settings that cost the same,
  // and of coarse; and the halo of that exact work.
  std::optional<Params> exact_cost_;
  double exact_rate_ = 0, coarse_rate_ = 0;
  int32_t exact_halo_ = 0;
};

}  // namespace grainless::ui
