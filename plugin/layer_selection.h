// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include <cstdint>
#include <vector>

#include "active_channels.h"
#include "target.h"
#include "ui/picture.h"
#include "ui/preview_source.h"

namespace grainless {

// How much of each pixel of a drawable is selected, as GIMP's merge will take it. Read piece by
// piece on the main thread; a complete one does not change, and every thread may ask it.
class LayerSelection {
 public:
  // The drawable must be there.
  explicit LayerSelection(GimpDrawable* drawable);

  // Reads until the time (monotonic, microseconds) comes. False: it came too early.
  bool load(int64_t end);
  // Whether the drawable still has this selection, as far as its extent tells.
  bool covers_the_same(GimpDrawable* drawable) const;
  bool operator==(const LayerSelection& other) const;

  const ui::Selection& shown() const { return shown_; }
  const Rect& rect() const { return shown_.rect; }
  // Whether result pixels take the original ones' place just like that.
  bool replaces() const { return shown_.whole && channels_.all(); }

  // 0..1 for `count` pixels from (x, y) on, of a selection that is not whole.
  std::vector<float> coverage(int32_t x, int32_t y, int32_t count) const;
  // Does to `count` pixels of a row, from (x, y) of the drawable on and in its own format, what
  // GIMP's merge does: a mean of original and result in linear light, weighted by the selection, of
  // the channels that are switched on.
  void merge(const Babl* native, int32_t x, int32_t y, int32_t count, const uint8_t* original,
             uint8_t* result) const;
  // About the same for pixels of the screen at a level of resolution.
  void merge(int32_t level, const ui::Bitmap& original, ui::Bitmap& result) const;

 private:
  void blend(const Babl* native, const std::vector<float>& covered, const uint8_t* original,
             uint8_t* result) const;
  GimpDrawable* drawable_;
  Placement placement_;
  ActiveChannels channels_;
  const Babl* format_ = nullptr;  // of values_
  size_t row_bytes_ = 0;
  std::vector<uint8_t> values_;  // of rect(); empty when the selection is whole
  int32_t rows_ = 0;             // that were read
  ui::Selection shown_;
};

}  // namespace grainless
