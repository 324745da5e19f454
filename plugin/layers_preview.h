// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/denoise.h"
#include "known_noise.h"
#include "layer_filter.h"
#include "layer_selection.h"
#include "layer_survey.h"
#include "loaded_layer.h"
#include "pixel_check.h"
#include "preview_filter.h"
#include "target.h"
#include "ui/preview_source.h"

namespace grainless {

// Layers that are filtered together, of which the dialog previews one at a time; others are read as
// far as its pixels depend on them. Layer indices count from 0, from the bottom up. The layers are
// those of the moment when each part was read: another size, or other pixels, take another preview.
class LayersPreview {
 public:
  // Of one size and format. `filter` outlives the preview.
  LayersPreview(Engine& engine, LayerFilter& filter, const Drawables& layers, int32_t shown);
  ~LayersPreview() { stop(); }

  // As ui::PreviewSource has them.
  int32_t width() const { return layers_.front()->io().width(); }
  int32_t height() const { return layers_.front()->io().height(); }
  bool has_colour() const { return format().colours() == 3; }
  Rect target() const { return shown_layer().io().selected(); }
  const ui::Selection& selection() const;
  // Before anything shows, and until `end` (monotonic, microseconds): reads a picture's pixels that
  // the noise is measured on. Once that are all of them, they are measured beside what comes next.
  void read_ahead(const Params& params, int64_t end);
  bool load_some(const Rect& first, int32_t level);
  bool shows(const Rect& visible, int32_t level) const;
  double loaded() const;
  bool ready(const ui::PreviewJob& job);
  const ui::Bitmap& original(int32_t level, const Rect& part) const;
  ui::PictureColours colours() const;
  Status denoise(const ui::PreviewJob& job, const Callbacks& callbacks, ui::PreviewResult& result);
  bool has_selection() const;
  void pick_area(const Rect& visible);
  Status measure_area(ui::AreaMeasurement& measured);
  Status measure_layer(int32_t layer, ui::NoisePicture& picture);
  void stop() { stopped_.cancel(); }

  int32_t shown() const { return shown_; }
  void show(int32_t layer);

  // Main thread: how the layers in GIMP differ from what is previewed. look() compares what costs
  // next to nothing, and after expect_changes() load_some() compares everything once all is read.
  // A changed selection is read and then used; each of the answers is given once.
  void look();
  void expect_changes();
  bool is_checking() const { return check_ != nullptr; }
  // Whether load_some() has work that nobody has asked for in another way.
  bool has_work() const { return unreadable_.ok() && (check_ || next_selection_); }
  bool pixels_changed() const { return pixels_changed_; }
  bool selection_changed() { return std::exchange(selection_changed_, false); }

  // The noise that denoise() used or would use, where what tells it was measured; and the pixels of
  // the layers that it is measured on: none as long as they are not held whole.
  std::optional<NoiseModel> known_noise(const Params& params) const { return known_.of(params); }
  SharedPixels measured_pixels() const;

 private:
  // What ready() missed. Of a layer in parts: whether the smaller pictures will do.
  struct Wanted {
    VolumeBox box;
    bool noise = false;
    bool reduced = false;
  };
  // A layer that is alone may be held in parts; it is measured while it passes by.
  bool in_parts() const { return !layers_.front()->is_whole(); }
  bool get_ready(const ui::PreviewJob& job);
  bool load_shown(const Rect& first, int32_t level, int64_t end);
  bool load_rest(int64_t end);
  // Of a picture, the parts that stand for it; of all others the layers that are measured.
  bool load_measured(int64_t end);
  bool is_measurable() const;
  void hand_over(const ui::PreviewJob& job, const VolumeBox& level_box, const Rect& box);
  bool load_selection(int64_t end);
  bool check_some(int64_t end);
  std::shared_ptr<const LayerSelection> selected() const;
  bool load_wanted(int64_t end);
  bool load_whole(const std::vector<int32_t>& layers, int64_t end);
  bool have_read(const std::vector<int32_t>& layers) const;
  int32_t count() const { return static_cast<int32_t>(layers_.size()); }
  const LoadedLayer& layer(int32_t index) const { return *layers_[static_cast<size_t>(index)]; }
  LoadedLayer& shown_layer() const { return *layers_[static_cast<size_t>(shown_)]; }
  PixelFormat format() const { return layers_.front()->io().encoding().format; }

  Status noise_for(const Params& params, NoiseModel& noise);
  void measure_aside(const Params& params);
  Status measure(const Params& params, const Callbacks& callbacks, NoiseModel& noise);

  Engine& engine_;
  LayerFilter& filter_;
  std::vector<std::unique_ptr<LoadedLayer>> layers_;
  std::vector<int32_t> noise_layers_;
  std::vector<Rect> measured_parts_;  // of a picture that is held whole
  int32_t shown_;
  Screen screen_;
  std::optional<Wanted> wanted_;
  std::shared_ptr<const JobPixels> job_pixels_;              // of the latest job that is ready
  std::optional<LayerSurvey> survey_;                        // of a layer in parts
  std::shared_ptr<const PixelBuffer> area_pixels_;           // of area_
  mutable std::shared_ptr<const ui::Bitmap> original_;       // that original() gave last
  mutable std::tuple<int32_t, Rect, uint64_t> original_of_;  // level, part, reads
  Status unreadable_;                                        // why no more was read
  std::shared_ptr<const LayerSelection> selection_;          // none before it was read
  std::shared_ptr<LayerSelection> next_selection_;           // being read
  std::unique_ptr<PixelCheck> check_;
  int32_t looked_at_ = 0;  // the layer that look() asked for last
  bool pixels_changed_ = false, selection_changed_ = false;
  std::atomic<bool> complete_ = false;  // all that is measured was read
  CancelToken stopped_;
  std::mutex measuring_;  // one at a time: what two ask for is the same
  KnownNoise known_;
  mutable std::mutex mutex_;
  int32_t area_layer_ = 0;
  Rect area_;                    // that measure_area() looks at
  std::vector<uint8_t> picked_;  // its selected pixels, when not all are
  std::jthread ahead_;           // measures; the last member, as it uses the others
};

}  // namespace grainless
