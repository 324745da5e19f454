// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include <memory>
#include <vector>

#include "drawable_io.h"
#include "engine/denoise.h"
#include "run_support.h"

namespace grainless {

// What the dialog's preview already knows about the stack; pixels that have changed since are
// noticed, and then the noise is measured again.
struct KnownStack {
  std::vector<const PixelBuffer*> pixels;  // of the measured_layers(), whole
  const NoiseModel* noise = nullptr;
};

// The filter's work on the selected pixels of a stack of layers of one size, place and format, in
// two steps, so that all of them change or none. Main thread; the computing is done by others
// meanwhile. An empty selection and a stack that stays as it is are no errors:
// report().engine.note says so.
class DenoiseStack {
 public:
  DenoiseStack(Engine& engine, const Drawables& layers, const Params& params);
  // Forgets pixels that were not merged.
  ~DenoiseStack();
  DenoiseStack(const DenoiseStack&) = delete;
  DenoiseStack& operator=(const DenoiseStack&) = delete;

  // Leaves the new pixels in the layers' shadow buffers.
  Status compute(const KnownStack& known, const Watch& watch);
  // Puts them into the layers; the caller makes it one undo step.
  Status merge();
  const RunReport& report() const { return report_; }

 private:
  void run(const KnownStack& known, const Watch& watch);
  NoiseModel noise_of(const std::vector<ConstImage>& layers, const Watch& watch);
  std::vector<PixelBuffer> read(const Watch& watch);
  void prepare(const std::vector<PixelBuffer>& sources, const std::vector<PixelBuffer>& results,
               const Watch& watch);
  std::vector<PixelBuffer> buffers() const;

  Engine& engine_;
  std::vector<std::unique_ptr<DrawableIo>> io_;
  Params params_;
  RunReport report_;
  Rect target_;
  size_t prepared_ = 0;  // the first ones
};

}  // namespace grainless
