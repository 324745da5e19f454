// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "drawable_io.h"
#include "layer_filter.h"
#include "report.h"

namespace grainless {

// Bytes that the pixels of a layer may take, as they are read and as they come out: larger ones
// pass in bands. GRAINLESS_HOST_MEMORY says how many MiB, else it is 512 of them.
uint64_t host_memory();

// Takes a layer from GIMP to its shadow buffer in bands of rows. The result has the bits of one
// that is denoised at once (DESIGN.md, promise 1). Main thread; throws Error.
class LayerBands {
 public:
  // All are borrowed. `read` is for the part of the layer that is needed; the report gets times.
  LayerBands(LayerFilter& filter, const Params& params, const DrawableIo& io, PixelSums& read,
             RunReport& report);

  // Goes over that part once, if that is needed.
  NoiseModel measure(const CallMonitor& monitor);
  // Leaves target's new pixels in the shadow buffer; report.engine.changed says if there are any.
  void filter(const NoiseModel& noise, const Rect& target, const CallMonitor& monitor);

 private:
  PixelBuffer buffer(const Rect& rect) const;
  PixelBuffer read(const Rect& rect, const CallMonitor& monitor);
  void survey_rows(Survey& survey, const CallMonitor& monitor);
  // What a band is made from, in whole stripes.
  Rect source_of(const NoiseModel& noise, const Rect& band) const;
  int32_t band_rows(const NoiseModel& noise, const Rect& target) const;
  void filter_band(const NoiseModel& noise, const Rect& band, const CallMonitor& monitor);
  Report run(const NoiseModel& noise, const PixelBuffer& source, PixelBuffer& result,
             const CallMonitor& monitor);

  LayerFilter& filter_;
  const Params& params_;
  const DrawableIo& io_;
  PixelSums& read_;
  RunReport& report_;
};

}  // namespace grainless
