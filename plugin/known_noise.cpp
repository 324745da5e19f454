// SPDX-License-Identifier: MIT
#include "known_noise.h"

#include "engine/denoise.h"
#include "engine/noise/impulses.h"

namespace grainless {

std::optional<NoiseModel> KnownNoise::measured(const Params& params) const {
  const std::lock_guard lock(mutex_);
  return measured_.at(static_cast<size_t>(params.noise));
}

// Of a sigma that is given for a picture, the range has to be known, and what impulses there are.
std::optional<NoiseModel> KnownNoise::of(const Params& params) const {
  if (params.auto_sigma || measures_given_) {
    std::optional<NoiseModel> noise = measured(params);
    if (noise) noise = Engine::asked_noise(params, *noise);
    return noise;
  }
  NoiseModel noise = white_noise(format_.colours(), static_cast<float>(params.sigma));
  if (!Engine::looks_at_whole(params, format_)) return noise;
  const std::lock_guard lock(mutex_);
  if (!range_ || (asks_for_impulses(params) && !impulses_)) return std::nullopt;
  noise.range = *range_;
  noise.impulses = impulses_.value_or(Impulses::kNone);
  return noise;
}

Params KnownNoise::asked(const Params& params) const {
  Params asked = params;
  asked.auto_sigma = params.auto_sigma || measures_given_;
  return asked;
}

void KnownNoise::note(const Params& asked, const NoiseModel& noise) {
  const std::lock_guard lock(mutex_);
  range_ = noise.range;
  if (asked.auto_sigma || asks_for_impulses(asked)) impulses_ = noise.impulses;
  if (asked.auto_sigma) measured_.at(static_cast<size_t>(asked.noise)) = noise;
}

}  // namespace grainless
