// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "drawable_io.h"
#include "engine/denoise.h"
#include "report.h"
#include "target.h"

namespace grainless {

// The filter's work on the selected pixels of drawables that are computed together: one drawable,
// or the layers of a stack, which share one place. Computing and merging are two steps, and between
// them all is compared with the start, so that several tasks change all of their drawables or none.
// Main thread; the computing is done by others meanwhile. An empty selection and pixels that stay
// as they are are no errors: report().engine.note says so.
class DenoiseTask {
 public:
  // Forgets pixels that were not merged.
  virtual ~DenoiseTask();
  DenoiseTask(const DenoiseTask&) = delete;
  DenoiseTask& operator=(const DenoiseTask&) = delete;

  const std::string& name() const { return report_.drawable; }
  const RunReport& report() const { return report_; }

  // Leaves the new pixels in the drawables' shadow buffers, which GIMP keeps, on disk if it must.
  Status compute(const Watch& watch);
  // How many drawables merge() will change.
  size_t prepared() const { return prepared_; }
  // Whether GIMP still holds the pixels that the work started from, and then all the rest: the
  // drawables' places, formats and selections. The sentence of what differs, or kCancelled.
  Status check_pixels(const Watch& watch) const;
  Status check_state() const;
  // Puts the prepared pixels into the drawables: one undo step each. merged counts those that GIMP
  // took. False: it refused one, and the others after that stay as they are.
  bool merge(size_t& merged);

 protected:
  DenoiseTask(Engine& engine, const Drawables& drawables, const Params& params);

  // Reads, measures, computes and prepares; throws.
  virtual void run(const Watch& watch) = 0;
  // Why there is nothing to do when nothing is selected.
  virtual const char* nothing_selected() const = 0;

  size_t count() const { return parts_.size(); }
  const DrawableIo& io(size_t index) const { return parts_[index].io; }
  // The part that changes.
  const Rect& target() const { return parts_.front().start.selected(); }
  PixelBuffer buffer(size_t index, const Rect& rect) const;
  void read(size_t index, PixelBuffer& into, const Watch& watch);
  // Begins with the shadow buffers: from now on there is something to merge, or to forget.
  void begin_preparing(const Watch& watch);
  void prepare(size_t index, const PixelBuffer& source, const PixelBuffer& result,
               const Watch& watch);

  Engine& engine_;
  const Params params_;
  RunReport report_;

 private:
  struct Part {
    explicit Part(GimpDrawable* drawable) : io(drawable), start(drawable) {}
    DrawableIo io;
    StartState start;
    PixelSums read;
  };

  std::vector<Part> parts_;
  size_t prepared_ = 0;  // the first ones
};
using Tasks = std::vector<std::unique_ptr<DenoiseTask>>;

}  // namespace grainless
