// SPDX-License-Identifier: MIT
#include "exposures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace grainless {
namespace {

constexpr double kLeastCorrelation = 0.4;
constexpr double kLeastApart = 1;  // of what is cut off and what isn't, in deviations of lightness
constexpr double kPlain = 1e-9;    // of the mean square: what rounding leaves of a constant

// Means of 4 x 4 pixels of both, of the tiles that both have.
struct Lightness {
  std::vector<float> a, b;
};

Lightness lightness_of(const Sample& a, const Sample& b) {
  Lightness both;
  for (size_t t = 0; t < std::min(a.tiles.size(), b.tiles.size()); ++t) {
    const std::vector<float>&one = a.tiles[t].plane[2][0], &other = b.tiles[t].plane[2][0];
    const auto count = static_cast<ptrdiff_t>(std::min(one.size(), other.size()));
    both.a.insert(both.a.end(), one.begin(), one.begin() + count);
    both.b.insert(both.b.end(), other.begin(), other.begin() + count);
  }
  return both;
}

double mean_of(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum / static_cast<double>(std::max<size_t>(1, values.size()));
}

// Of products of what exceeds the means.
double covariance(const std::vector<float>& a, const std::vector<float>& b) {
  const double mean_a = mean_of(a), mean_b = mean_of(b);
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum / static_cast<double>(std::max<size_t>(1, a.size()));
}

// How far a's lightness is apart, on average, where b's is at its end and where it isn't.
double apart_by_end(const Lightness& both) {
  const auto [low, high] = std::minmax_element(both.b.begin(), both.b.end());
  const double near = 0.005 * (double{*high} - *low);
  std::vector<float> at_low, at_high, above, below;
  for (size_t i = 0; i < both.b.size(); ++i) {
    (both.b[i] <= *low + near ? at_low : above).push_back(both.a[i]);
    (both.b[i] >= *high - near ? at_high : below).push_back(both.a[i]);
  }
  const bool white = at_high.size() > at_low.size();
  return white ? mean_of(at_high) - mean_of(below) : mean_of(above) - mean_of(at_low);
}

// Of a layer's pixels, those whose noise is cut off.
double share_cut_off(const Sample& sample) {
  int64_t valid = 0, cut_off = 0;
  for (const SampleTile& tile : sample.tiles) {
    for (const uint8_t state : tile.state) {
      valid += (state & kInvalid) == 0 ? 1 : 0;
      cut_off += (state & (kInvalid | kClipped)) == kClipped ? 1 : 0;
    }
  }
  return valid > 0 ? static_cast<double>(cut_off) / static_cast<double>(valid) : 0;
}

bool found_none(const PictureNoise& noise) {
  return std::all_of(noise.sigma[0], noise.sigma[0] + noise.channels,
                     [](float sigma) { return sigma == 0; });
}

// As of exposures in a row those are that were too long.
bool is_cut_off(const PictureNoise& noise, const Sample& sample) {
  constexpr double kMostly = 0.5;
  const bool sure =
      noise.confidence == Confidence::kMeasured || noise.confidence == Confidence::kLittle;
  return !sure && share_cut_off(sample) > kMostly;
}

}  // namespace

bool may_show_same_scene(const Sample& a, const Sample& b) {
  const Lightness both = lightness_of(a, b);
  if (both.a.empty()) return false;
  const double of_a = covariance(both.a, both.a), of_b = covariance(both.b, both.b);
  const double square_a = std::pow(mean_of(both.a), 2), square_b = std::pow(mean_of(both.b), 2);
  if (of_a <= kPlain * square_a || of_b <= kPlain * square_b) return true;
  return covariance(both.a, both.b) >= kLeastCorrelation * std::sqrt(of_a * of_b) ||
         apart_by_end(both) >= kLeastApart * std::sqrt(of_a);
}

void leave_out_mute(std::vector<PictureNoise>& found, std::vector<Sample>& samples) {
  std::vector<Sample*> sure;
  std::vector<size_t> mute;
  size_t told = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const bool cut_off = is_cut_off(found[i], samples[i]);
    told += cut_off ? 0 : 1;
    if (found[i].confidence == Confidence::kMeasured) sure.push_back(&samples[i]);
    const bool nothing = found[i].confidence == Confidence::kTooSmall && found_none(found[i]);
    if (cut_off || nothing) mute.push_back(i);
  }
  if (2 * sure.size() < told) return;
  std::erase_if(mute, [&](size_t i) {
    return std::none_of(sure.begin(), sure.end(), [&](const Sample* sample) {
      return may_show_same_scene(*sample, samples[i]);
    });
  });
  for (auto i = mute.rbegin(); i != mute.rend(); ++i) {
    found.erase(found.begin() + static_cast<ptrdiff_t>(*i));
    samples.erase(samples.begin() + static_cast<ptrdiff_t>(*i));
  }
}

}  // namespace grainless
