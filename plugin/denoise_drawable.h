// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include "drawable_io.h"
#include "engine/denoise.h"
#include "report.h"

namespace grainless {

// What the dialog's preview already knows about a drawable; pixels that have changed since are
// noticed, and then the noise is measured again.
struct Known {
  const PixelBuffer* pixels = nullptr;  // of the whole drawable
  const NoiseModel* noise = nullptr;
};

// The filter's work on one drawable's selected pixels, in two steps, so that several drawables can
// be changed together or not at all. Main thread; the computing is done by others meanwhile. An
// empty selection and a picture that stays as it is are no errors: report().engine.note says so.
class DenoiseDrawable {
 public:
  DenoiseDrawable(Engine& engine, GimpDrawable* drawable, const Params& params);
  // Forgets pixels that were not merged.
  ~DenoiseDrawable();
  DenoiseDrawable(const DenoiseDrawable&) = delete;
  DenoiseDrawable& operator=(const DenoiseDrawable&) = delete;

  const std::string& name() const { return report_.drawable; }
  // Leaves the new pixels in the drawable's shadow buffer, which GIMP keeps, on disk if it must.
  Status compute(const Known& known, const Watch& watch);
  // Puts them into the drawable: one undo step, or none when nothing has changed.
  Status merge();
  const RunReport& report() const { return report_; }

 private:
  void run(const Known& known, const Watch& watch);
  Rect source_rect() const;
  void denoise(const PixelBuffer& source, const NoiseModel& noise, double estimate,
               const Watch& watch);

  Engine& engine_;
  DrawableIo io_;
  Params params_;
  RunReport report_;
  Rect target_;
  bool prepared_ = false;
};

}  // namespace grainless
