// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <optional>

#include "engine/boundary/pixels.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"

namespace grainless {

// What was measured for the dialog of layers of one format, so that slider moves measure nothing
// again. Any thread.
class KnownNoise {
 public:
  // measures_given: as of a LayerFilter.
  KnownNoise(PixelFormat format, bool measures_given)
      : format_(format), measures_given_(measures_given) {}

  // An automatic sigma's, looking for what these params look for.
  std::optional<NoiseModel> measured(const Params& params) const;
  // The noise to filter with; empty where that has to be measured: with what asked() returns, which
  // goes to note().
  std::optional<NoiseModel> of(const Params& params) const;
  Params asked(const Params& params) const;
  void note(const Params& asked, const NoiseModel& noise);

 private:
  const PixelFormat format_;
  const bool measures_given_;
  mutable std::mutex mutex_;
  // By NoiseKind.
  std::array<std::optional<NoiseModel>, static_cast<size_t>(NoiseKind::kCamera) + 1> measured_;
  std::optional<PictureRange> range_;
  std::optional<Impulses> impulses_;
};

}  // namespace grainless
