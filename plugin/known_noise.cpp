// SPDX-License-Identifier: MIT
#include "known_noise.h"

#include "engine/denoise.h"
#include "engine/noise/given_noise.h"

namespace grainless {

std::optional<NoiseModel> KnownNoise::measured(int32_t kind) const {
  const std::lock_guard lock(mutex_);
  return measured_.at(static_cast<size_t>(kind));
}

std::optional<NoiseModel> KnownNoise::of(const Params& params) const {
  std::optional<NoiseModel> noise = measured(asked(params).noise);
  if (!noise) return noise;
  if (params.auto_sigma || measures_given_) return Engine::asked_noise(params, *noise);
  return given_noise(params, *noise);
}

Params KnownNoise::asked(const Params& params) const {
  if (!measures_given_) return measuring_params(params);
  Params asked = params;
  asked.auto_sigma = true;
  return asked;
}

void KnownNoise::note(const Params& asked, const NoiseModel& noise) {
  const std::lock_guard lock(mutex_);
  measured_.at(static_cast<size_t>(asked.noise)) = noise;
}

}  // namespace grainless
