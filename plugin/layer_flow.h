// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>

#include "drawable_io.h"
#include "engine/row_flow.h"
#include "report.h"
#include "run_beside.h"

namespace grainless {

// Takes part of a layer, or all of it, through the filter: while the engine computes, this thread
// reads what rows it still lacks, and sends finished ones to the layer's shadow buffer. GIMP's
// reading and writing, one tile after another, take longer than a graphics card's work. Main
// thread; throws Error.
class LayerFlow {
 public:
  // All are borrowed; the report gets the times of reading and writing. `result` is filtered.
  LayerFlow(DrawableIo& io, RunReport& report, PixelBuffer& source, PixelBuffer& result);

  // Reads source meanwhile, and notes its sums; without this it is there already.
  void read_into(PixelSums& sums) { sums_ = &sums; }
  // Fills the shadow buffer around target, too (DrawableIo::prepare_outside()).
  void prepare_outside(const Rect& target) { outside_ = target; }

  // Computes with the filter and these, which say all but the pixels.
  using Compute = std::function<Status(const PictureFlow&, const Callbacks&, Report&)>;
  // Once. Leaves the new pixels in the shadow buffer if the engine says that there are any.
  Report run(const Compute& compute, const CallMonitor& monitor);

 private:
  void read(const CallMonitor& monitor);
  void write_finished(const WorkBeside& engine, const CallMonitor& monitor);
  void write_rest(const CallMonitor& monitor);
  void write(const Rect& band, const CallMonitor& monitor);
  void open_shadow(const CallMonitor& monitor);

  DrawableIo& io_;
  RunReport& report_;
  PixelBuffer& source_;
  PixelBuffer& result_;
  PixelSums* sums_ = nullptr;
  std::optional<Rect> outside_;
  RowFlow flow_;
  CancelToken stop_;
  DrawableIo::Buffer shadow_;
  double written_ = 0;  // of the result
};

}  // namespace grainless
