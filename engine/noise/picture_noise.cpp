// SPDX-License-Identifier: MIT
#include "picture_noise.h"

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

bool surely_white(const PictureNoise& noise) {
  return noise.confidence == Confidence::kMeasured &&
         std::all_of(noise.white, noise.white + noise.channels, [](bool white) { return white; });
}

double colour_sigma(const PictureNoise& noise) {
  double squares = 0;
  for (int32_t c = 0; c < noise.channels; ++c) {
    squares += double{noise.sigma[0][c]} * noise.sigma[0][c];
  }
  return std::sqrt(squares / noise.channels);
}

float in_corners(const PictureNoise& noise) {
  return noise.corners.enabled != 0 ? gain_of(noise.corners, 1) : 1.0f;
}

float sigma_at(const PictureNoise& noise, int32_t channel, float brightness) {
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

void reduce_sigma(const float (&sigma)[kMaxLevels][kMaxChannels], int32_t known, int32_t reduction,
                  float (&reduced)[kMaxLevels][kMaxChannels]) {
  for (int32_t level = 0; level < kMaxLevels; ++level) {
    const int32_t from = std::min(level + reduction, known - 1);
    for (int32_t c = 0; c < kMaxChannels; ++c) {
      reduced[level][c] = std::ldexp(sigma[from][c], from - level - reduction);
    }
  }
}

PictureNoise noise_at_level(const PictureNoise& noise, int32_t reduction) {
  PictureNoise reduced = noise;
  reduced.reduction += reduction;
  reduced.levels = std::max(1, noise.levels - reduction);
  reduce_sigma(noise.sigma, noise.levels, reduction, reduced.sigma);
  return reduced;
}

}  // namespace grainless
