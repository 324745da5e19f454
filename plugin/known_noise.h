// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "engine/noise/model.h"
#include "engine/params/params.h"

namespace grainless {

// What was measured for the dialog of layers of one format, so that slider moves measure nothing
// again. Any thread.
class KnownNoise {
 public:
  // measures_given: as of a LayerFilter.
  explicit KnownNoise(bool measures_given) : measures_given_(measures_given) {}

  // The noise to filter with; empty where that has to be measured: with what asked() returns, which
  // goes to note().
  std::optional<NoiseModel> of(const Params& params) const;
  Params asked(const Params& params) const;
  void note(const Params& asked, const NoiseModel& noise);

 private:
  std::optional<NoiseModel> measured(int32_t kind) const;

  const bool measures_given_;
  mutable std::mutex mutex_;
  // By NoiseKind.
  std::array<std::optional<NoiseModel>, static_cast<size_t>(NoiseKind::kCamera) + 1> measured_;
};

}  // namespace grainless
