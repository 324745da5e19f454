// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/noise/survey.h"
#include "loaded_layer.h"

namespace grainless {

// A layer that is held in parts passes once, from above, and what is measured of it is kept. Main
// thread; once it is done, others may look at what it holds. Takes no memory before it goes on.
class LayerSurvey {
 public:
  static constexpr int64_t kMostInDetail = 1 << 24;  // pixels, but for a whole row of chunks

  LayerSurvey(PixelFormat format, int32_t width, int32_t height)
      : format_(format), width_(width), height_(height) {}

  // What is to be read next; empty when all has passed.
  Rect band() const;
  // Reads on until the time (monotonic, microseconds) comes. False: it came before the end. Throws
  // when GIMP has no such layer any more.
  bool go_on(LoadedLayer& layer, int64_t end);
  bool done() const { return passed_ >= height_; }

  Survey& survey() { return *survey_; }
  // Whole rows in the middle: the curve of the noise is measured on them.
  const PixelBuffer& middle() const { return *middle_; }

 private:
  void keep_middle(const PixelBuffer& band, const Rect& rows);

  PixelFormat format_;
  int32_t width_, height_;
  int32_t passed_ = 0;  // rows
  std::optional<Survey> survey_;
  std::optional<PixelBuffer> middle_;
};

}  // namespace grainless
