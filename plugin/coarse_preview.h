// SPDX-License-Identifier: MIT
// A quick answer to changed settings: less work a pixel, and pixels of a small picture. Those for
// the screen are there at every level, in steps of 8 bits that sigma is counted in, too.
#pragma once

#include "drawable_io.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"
#include "ui/picture.h"

namespace grainless {

// What it is computed with, at 1/2^reduction of the resolution.
Params coarse_params(Params params, int32_t reduction);

// The same noise, seen at 1/2^reduction of the resolution, in pixels for the screen.
NoiseModel reduced_noise(const NoiseModel& noise, int32_t reduction);

// Pixels for the screen as the engine's: those of pictures in colour as they are, of grey ones,
// which have three equal channels, one and alpha.
class ScreenPixels {
 public:
  explicit ScreenPixels(int32_t colours) : format_{Component::kU8, colours == 3 ? 4 : 2} {}

  PixelFormat format() const { return format_; }
  // Of a level of width x height, of which rect is needed: its pixels, or copies of those of rect.
  ConstImage image(const ui::Bitmap& level, int32_t width, int32_t height, const Rect& rect);
  // For a part of a picture of width x height; finish() brings it into the bitmap.
  MutableImage target(ui::Bitmap& bitmap, int32_t width, int32_t height);
  void finish(ui::Bitmap& bitmap) const;

 private:
  PixelFormat format_;
  std::vector<PixelBuffer> sources_;
  std::unique_ptr<PixelBuffer> target_;
};

}  // namespace grainless
