// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "drawable_io.h"
#include "engine/denoise.h"
#include "ui/preview_source.h"

namespace grainless {

// The layer that the dialog previews, read into memory piece by piece.
class PreviewLayer final : public ui::PreviewSource {
 public:
  PreviewLayer(Engine& engine, GimpDrawable* drawable);

  int32_t width() const override { return io_.width(); }
  int32_t height() const override { return io_.height(); }
  Rect target() const override { return target_; }
  bool load_some(const Rect& first) override;
  double loaded() const override;
  bool ready(const ui::PreviewJob& job) const override;
  const ui::Bitmap& original(int32_t level) const override { return display_[level]; }
  Status denoise(const ui::PreviewJob& job, const Callbacks& callbacks,
                 ui::PreviewResult& result) override;
  std::vector<ui::DeviceChoice> devices() override;
  bool has_selection() const override;
  void pick_area(const Rect& visible) override;
  Status measure_area(ui::AreaMeasurement& measured) override;
  Status measure_layer(ui::NoisePicture& picture) override;
  void stop() override { stopped_.cancel(); }

  // What denoise() measured, when it did.
  std::optional<NoiseModel> measured() const;
  const PixelBuffer& pixels() const { return pixels_; }

 private:
  void load_chunk(int32_t index);
  Rect chunk(int32_t index) const;
  bool is_loaded(const Rect& rect) const;
  Status noise_for(const Params& params, NoiseModel& noise);
  Status denoise_full(const ui::PreviewJob& job, const NoiseModel& noise,
                      const Callbacks& callbacks, ui::Bitmap& target, Report& report);
  Status denoise_reduced(const ui::PreviewJob& job, const NoiseModel& noise,
                         const Callbacks& callbacks, ui::Bitmap& target, Report& report);

  Engine& engine_;
  DrawableIo io_;
  Rect target_;
  PixelBuffer pixels_;
  std::array<ui::Bitmap, ui::kLevels> display_;  // the same for the screen
  const Babl* to_display_;
  int32_t columns_, rows_;  // of chunks
  std::vector<char> chunk_loaded_;
  int32_t next_chunk_ = 0, chunks_left_;
  CancelToken stopped_;
  mutable std::mutex mutex_;
  std::optional<NoiseModel> measured_;
  Rect area_;                    // that measure_area() looks at
  std::vector<uint8_t> picked_;  // its selected pixels, when not all are
};

}  // namespace grainless
