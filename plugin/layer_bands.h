// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drawable_io.h"
#include "layer_filter.h"
#include "report.h"

namespace grainless {

// Bytes that the pixels of a layer, or of all layers of a stack, may take, as they are read and as
// they come out: larger ones pass in bands. GRAINLESS_HOST_MEMORY says how many MiB, else it is 512
// of them.
uint64_t host_memory();

// A sentence about what it says that is no such number, "2GB" for example; else empty.
std::string strange_host_memory();

// Bytes that a pixel takes of that, read or new: in the layers' own format, and in a stack in the
// floats that the processor makes of some layers at once.
uint64_t held_bytes(const Params& params, PixelFormat format, size_t layers);

// A layer, and what is noted of its pixels: `read` is for the part of it that is needed.
struct BandLayer {
  DrawableIo* io;
  PixelSums* read;
};

// Takes a layer, or the layers of a stack, from GIMP to their shadow buffers in bands of rows. The
// result has the bits of one that is denoised at once (DESIGN.md, promise 1). Main thread; throws
// Error.
class LayerBands {
 public:
  // All are borrowed. The layers have one size, place and format, and their `read` one rect. The
  // report gets times.
  LayerBands(LayerFilter& filter, const Params& params, std::vector<BandLayer> layers,
             RunReport& report);

  // Goes over a single layer's part once, if that is needed. Of a stack it holds the filter's
  // noise_layers() whole meanwhile.
  NoiseModel measure(const CallMonitor& monitor);
  // Leaves target's new pixels in the shadow buffers; report.engine.changed says if there are any.
  void filter(const NoiseModel& noise, const Rect& target, const CallMonitor& monitor);

 private:
  PixelBuffer buffer(const Rect& rect) const;
  PixelBuffer read(const BandLayer& layer, const Rect& rect, const CallMonitor& monitor);
  NoiseModel measure_survey(const CallMonitor& monitor);
  NoiseModel measure_whole(const CallMonitor& monitor);
  void survey_rows(Survey& survey, const CallMonitor& monitor);
  // What a band is made from, in whole stripes.
  Rect source_of(const NoiseModel& noise, const Rect& band) const;
  int32_t band_rows(const NoiseModel& noise, const Rect& target) const;
  void filter_band(const NoiseModel& noise, const Rect& band, const CallMonitor& monitor);
  // Of a single layer, all at once; of several, one after another.
  Report flow_band(const NoiseModel& noise, const Rect& band, const CallMonitor& monitor);
  Report pass_band(const NoiseModel& noise, const Rect& band, const CallMonitor& monitor);
  Report run(const NoiseModel& noise, const std::vector<PixelBuffer>& sources,
             std::vector<PixelBuffer>& results, const CallMonitor& monitor);
  void prepare_outside(const Rect& target, const CallMonitor& monitor);
  void prepare(const std::vector<PixelBuffer>& sources, const std::vector<PixelBuffer>& results,
               const CallMonitor& monitor);
  size_t count() const { return layers_.size(); }
  DrawableIo& io() const { return *layers_.front().io; }  // for what all have in common
  const PixelSums& sums() const { return *layers_.front().read; }

  LayerFilter& filter_;
  const Params& params_;
  const std::vector<BandLayer> layers_;
  RunReport& report_;
};

}  // namespace grainless
