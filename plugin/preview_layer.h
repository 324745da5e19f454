// SPDX-License-Identifier: MIT
#pragma once

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
  bool ready(const Params& params, const Rect& rect) const override;
  const uint32_t* original() const override { return display_.data(); }
  Status denoise(const Params& params, const Rect& rect, const Callbacks& callbacks,
                 ui::PreviewResult& result) override;
  std::vector<ui::DeviceChoice> devices() override;
  void stop() override { stopped_.cancel(); }

  // What denoise() measured, when it did.
  std::optional<NoiseModel> measured() const;
  const PixelBuffer& pixels() const { return pixels_; }

 private:
  void load_chunk(int32_t index);
  Rect chunk(int32_t index) const;
  bool is_loaded(const Rect& rect) const;
  Status noise_for(const Params& params, NoiseModel& noise);

  Engine& engine_;
  DrawableIo io_;
  Rect target_;
  PixelBuffer pixels_;
  std::vector<uint32_t> display_;  // the same for the screen
  const Babl* to_display_;
  int32_t columns_, rows_;  // of chunks
  std::vector<char> chunk_loaded_;
  int32_t next_chunk_ = 0, chunks_left_;
  CancelToken stopped_;
  mutable std::mutex mutex_;
  std::optional<NoiseModel> measured_;
};

}  // namespace grainless
