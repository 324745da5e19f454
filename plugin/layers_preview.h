// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/denoise.h"
#include "layer_filter.h"
#include "loaded_layer.h"
#include "target.h"
#include "ui/preview_source.h"

namespace grainless {

// The layers that the dialog previews, one at a time; others are read as far as its pixels depend
// on them. Layer indices count from 0, from the bottom up.
class LayersPreview final : public ui::PreviewSource, public ui::LayerList {
 public:
  // Of one size and format. `filter` outlives the preview.
  LayersPreview(Engine& engine, LayerFilter& filter, const Drawables& layers, int32_t shown);

  int32_t width() const override { return layers_.front()->io().width(); }
  int32_t height() const override { return layers_.front()->io().height(); }
  bool has_colour() const override { return format().colours() == 3; }
  Rect target() const override { return target_; }
  bool load_some(const Rect& first) override;
  double loaded() const override;
  bool ready(const ui::PreviewJob& job) override;
  const ui::Bitmap& original(int32_t level) const override;
  Status denoise(const ui::PreviewJob& job, const Callbacks& callbacks,
                 ui::PreviewResult& result) override;
  std::vector<ui::DeviceChoice> devices() override;
  bool has_selection() const override;
  void pick_area(const Rect& visible) override;
  Status measure_area(ui::AreaMeasurement& measured) override;
  Status measure_layer(int32_t layer, ui::NoisePicture& picture) override;
  void stop() override { stopped_.cancel(); }

  std::vector<std::string> names() const override;
  int32_t shown() const override { return shown_; }
  void show(int32_t layer) override;

  // What denoise() measured, when it did, looking for what these params look for; and the pixels of
  // the layers that it measured.
  std::optional<NoiseModel> measured(const Params& params) const;
  std::vector<const PixelBuffer*> measured_pixels() const;

 private:
  // What ready() missed.
  struct Wanted {
    VolumeBox box;
    bool noise = false;
  };
  bool load_wanted(int64_t end);
  bool load_whole(const std::vector<int32_t>& layers, int64_t end);
  bool have_read(const std::vector<int32_t>& layers) const;
  int32_t count() const { return static_cast<int32_t>(layers_.size()); }
  const LoadedLayer& layer(int32_t index) const { return *layers_[static_cast<size_t>(index)]; }
  LoadedLayer& shown_layer() const { return *layers_[static_cast<size_t>(shown_)]; }
  PixelFormat format() const { return layers_.front()->io().encoding().format; }

  // What need not be measured any more.
  std::optional<NoiseModel> known_noise(const Params& params) const;
  Status noise_for(const Params& params, NoiseModel& noise);
  Status denoise_full(const ui::PreviewJob& job, const NoiseModel& noise,
                      const Callbacks& callbacks, ui::Bitmap& target, Report& report);
  Status denoise_reduced(const ui::PreviewJob& job, const NoiseModel& noise,
                         const Callbacks& callbacks, ui::Bitmap& target, Report& report);

  Engine& engine_;
  LayerFilter& filter_;
  const std::vector<int32_t> noise_layers_;
  std::vector<std::unique_ptr<LoadedLayer>> layers_;
  int32_t shown_;
  Screen screen_;
  Rect target_;
  std::optional<Wanted> wanted_;
  Status unreadable_;  // why no more was read
  CancelToken stopped_;
  mutable std::mutex mutex_;
  // By NoiseKind.
  std::array<std::optional<NoiseModel>, static_cast<size_t>(NoiseKind::kCamera) + 1> measured_;
  std::optional<PictureRange> range_;
  int32_t area_layer_ = 0;
  Rect area_;                    // that measure_area() looks at
  std::vector<uint8_t> picked_;  // its selected pixels, when not all are
};

}  // namespace grainless
