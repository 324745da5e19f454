// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include "drawable_io.h"
#include "layer_selection.h"

namespace grainless {

// GIMP blends old and new pixels by the selection in its own process, with those of babl's
// conversions that it has measured to be the fastest there: on a busy computer they are others, and
// their roundings differ by a step. Of layers of 8 and 16 bits this gives such pixels the value
// that the preview showed. Main thread only.
class MergeCorrection {
 public:
  // Whether a merge of such a drawable through a selection can be a step off.
  static bool may_be_needed(const Babl* native);
  // Before the merge: what is to come of the pixels in the drawable and in its shadow buffer.
  // Throws kCancelled, or the sentence for the user when the drawable is gone.
  MergeCorrection(const DrawableIo& io, const CallMonitor& monitor);
  // After it, before the drawable is shown: in the same undo step, which holds all of the area.
  // Pixels that are more than a step off are none of its business.
  void apply() const;

 private:
  void load_selection(const DrawableIo& io, const CallMonitor& monitor);
  bool correct(uint8_t* pixels, const uint8_t* expected, int32_t width, int32_t y) const;

  GimpDrawable* drawable_;
  const Babl* native_;
  LayerSelection selection_;
  DrawableIo::Buffer expected_;  // null: nothing can differ
};

}  // namespace grainless
