// SPDX-License-Identifier: MIT
#include "match_scale.h"

#include <algorithm>
#include <cmath>

#include "engine/noise/picture_range.h"

namespace grainless {
namespace {

// Single pixels and details stand out from their surroundings: at least so far beyond the range,
// and by so much of its width, they take part. The least is what a usual picture's curve tells
// apart.
constexpr double kLeastBeyond = 3.5 * 255, kShareBeyond = 0.25;
constexpr float kMostSigma = 100;  // of Params
constexpr ValueRange kUsualValues{-4 * 255.0f, 5 * 255.0f};

// Twice a match value, of either sign, has to fit in 15 bits: cards take it in two bytes
// (cuda/bm3d/match_tensor.cu). Usual pictures' stop at 8190.
constexpr double kLargestValue = 8191;

double widest(const MatchSpan& span, bool colour) {
  return span.half() * (colour ? std::sqrt(3.0) : 1.0);
}

}  // namespace

MatchSpan MatchSpan::cut_to(double half, double middle) const {
  // Not clamp(): for a half that is nearly this one's, rounding may swap the ends.
  const double centre = std::max(low + half, std::min(middle, high - half));
  return {usual, centre - half, centre + half, unit};
}

MatchSpan match_span(const PictureNoise& noise) {
  const PictureRange& range = noise.range;
  if (range.is_usual()) return {};
  const double width = double{range.high} - range.low;
  const double beyond = std::max(kLeastBeyond, kShareBeyond * width);
  const double unit = noise.sigma[0][0] > kMostSigma ? whites(range) : 1.0;
  return {false, std::clamp(range.low - beyond, -kWidestValue, kWidestValue),
          std::clamp(range.high + beyond, -kWidestValue, kWidestValue), unit};
}

ValueRange valid_range(const MatchSpan& span) {
  if (span.usual) return kUsualValues;
  return {static_cast<float>(span.low), static_cast<float>(span.high)};
}

MatchCurve match_curve(const MatchSpan& span, bool colour, int32_t channel) {
  const double root = colour ? std::sqrt(3.0) : 1.0;
  MatchCurve curve{};
  curve.centre = channel > 0 ? 0.0f : static_cast<float>(span.middle() * root);
  curve.knee = span.usual ? kMatchKnee : static_cast<float>(widest(span, colour));
  curve.most = span.usual ? kMatchMost : curve.knee;
  return curve;
}

double largest_match_scale(const MatchSpan& span, bool colour, double differences) {
  const double apart = std::sqrt(std::ldexp(1.0, 30) / differences);  // two match values at most
  if (span.usual) return apart / 1024;
  return std::min(apart, 2 * kLargestValue) / (2 * widest(span, colour));
}

double set_match_planes(MatchCurve* curve, const MatchSpan& span, double unit, double largest,
                        const double* noise, int32_t channels, int32_t compared) {
  double most_noise = 0.01, sigma[kMaxChannels] = {};
  for (int32_t c = 0; c < compared; ++c) most_noise = std::max(most_noise, noise[c]);
  for (int32_t c = 0; c < compared; ++c) {
    sigma[c] = std::max(noise[c], most_noise / 4);
    unit = std::min(unit, largest * sigma[c]);
  }
  for (int32_t c = 0; c < channels; ++c) {
    curve[c] = match_curve(span, channels == 3, c);
    curve[c].scale = c < compared ? static_cast<float>(unit / sigma[c]) : 0;
  }
  return unit;
}

int32_t compared_channels(const PictureNoise& noise, int32_t channels) {
  return noise.toned ? 1 : channels;
}

int32_t noisy_channels(const double* noise, int32_t compared) {
  const auto noisy = std::count_if(noise, noise + compared, [](double sigma) { return sigma > 0; });
  return std::max(static_cast<int32_t>(noisy), 1);
}

double match_fineness(const MatchCurve* curve, const double* noise, int32_t compared,
                      double least) {
  double a_sigma = 0, a_step = curve[0].scale;
  for (int32_t c = 0; c < compared; ++c) {
    a_sigma = std::max(a_sigma, curve[c].scale * noise[c]);
    a_step = std::min(a_step, double{curve[c].scale});
  }
  return std::max(a_sigma / least, a_step);
}

}  // namespace grainless
