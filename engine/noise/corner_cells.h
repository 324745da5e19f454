// SPDX-License-Identifier: MIT
// What small squares of a picture tell of noise that grows or falls towards its corners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/boundary/corner_gain.h"
#include "engine/boundary/plan.h"
#include "engine/thread_pool.h"
#include "sample.h"

namespace grainless {

// The channels that tell of a gain: colours, which texture hardly reaches, or luma, which keeps
// more of its finest detail where a camera has taken it out of colours.
enum class Witness : int32_t { kColours, kLuma };

// How a gain is looked for.
struct GainWay {
  Witness witness;
  size_t tones;          // shades of the picture of which each may have its own noise
  double clipped_share;  // of a block's pixels that may be clipped: dark corners are noisy
  double most;           // times the middle's noise that the corners' is
  double instead;        // what is taken for it where it seems to be `most`
};

// Sigmas of the finest band in squares of 64 x 64 pixels. The sample's noise is that of colours
// which `bend`, if enabled, makes even over tones.
class CornerCells {
 public:
  CornerCells(const Sample& sample, const ToneBend& bend, const GainWay& way, int32_t width,
              int32_t height, ThreadPool& pool);

  // Enabled where the noise clearly changes, and about as much in the quarters of each channel that
  // tells: texture that looks like noise is not as regular, and colours hardly have any. Of luma it
  // has to be more.
  CornerGain gain() const;

  // How far the logarithms of sigma are from those of their shades, on the average, all channels
  // together; infinite where too few cells tell.
  double unevenness() const;

 private:
  struct Cell {
    float square;  // of its distance from the centre, as CornerGain's t
    size_t quarter;
    double brightness, log_sigma;
  };
  using Channel = std::vector<Cell>;  // by brightness

  struct Fit {
    CornerGain gain;
    double explained = 0;  // share of the deviations from even noise
  };

  Channel measure(const Sample& sample, int32_t channel, ThreadPool& pool) const;
  Channel tile_cells(const SampleTile& tile, int32_t channel) const;
  std::vector<double> middle_sigmas(const Channel& cells, const CornerGain& gain) const;
  double deviation(const Channel& cells, const CornerGain& gain) const;
  Fit fit_gain() const;
  bool shows(const Channel& cells, const CornerGain& gain) const;
  bool tells() const;

  GainWay way_;
  GainField field_;  // without any gain
  std::vector<Channel> channels_;
};

}  // namespace grainless
