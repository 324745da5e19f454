// SPDX-License-Identifier: MIT
#include "model.h"

#include <algorithm>
#include <cmath>

#include "engine/boundary/pixel_math.h"
#include "engine/sentence.h"

namespace grainless {

const char* confidence_id(Confidence confidence) {
  switch (confidence) {
    case Confidence::kMeasured:
      return "measured";
    case Confidence::kLittle:
      return "little";
    case Confidence::kUnsure:
      return "unsure";
    case Confidence::kTooSmall:
      return "too-small";
  }
  return "";
}

const char* impulses_id(Impulses impulses) {
  switch (impulses) {
    case Impulses::kNone:
      return "none";
    case Impulses::kFew:
      return "few";
    case Impulses::kMany:
      return "many";
  }
  return "";
}

std::string confidence_text(Confidence confidence) {
  switch (confidence) {
    case Confidence::kMeasured:
      return sentence("measured");
    case Confidence::kLittle:
      return sentence("little or no noise");
    case Confidence::kUnsure:
      return sentence("unsure: texture or noise?");
    case Confidence::kTooSmall:
      return sentence("too small to measure");
  }
  return {};
}

bool surely_white(const NoiseModel& noise) {
  return noise.confidence == Confidence::kMeasured &&
         std::all_of(noise.white, noise.white + noise.channels, [](bool white) { return white; });
}

float in_corners(const NoiseModel& noise) {
  return noise.corners.enabled != 0 ? gain_of(noise.corners, 1) : 1.0f;
}

float sigma_at(const NoiseModel& noise, int32_t channel, float brightness) {
  const float sigma = noise.sigma[0][channel];
  if (noise.bend.enabled == 0) return sigma;
  constexpr float kStep = 255.0f / kBendSegments;
  const float at = std::clamp(brightness / kStep, 0.0f, static_cast<float>(kBendSegments));
  const auto middle = static_cast<int32_t>(std::lround(at));
  const int32_t first = std::max(middle - 1, 0), last = std::min(middle + 1, kBendSegments);
  const float slope =
      (noise.bend.to[last] - noise.bend.to[first]) / (kStep * static_cast<float>(last - first));
  return sigma / slope;
}

NoiseModel told_noise(const NoiseModel& noise) {
  const auto* sigma = noise.sigma[0];
  const bool none = std::all_of(sigma, sigma + noise.channels, [](float s) { return s <= 0; });
  if (!noise.between.known || !none) return noise;
  NoiseModel told = noise;
  std::copy(&noise.between.sigma[0][0], &noise.between.sigma[0][0] + kMaxLevels * kMaxChannels,
            &told.sigma[0][0]);
  told.confidence = Confidence::kMeasured;
  return told;
}

}  // namespace grainless
