// SPDX-License-Identifier: MIT
// How samples of one colour stand for light.
#pragma once

#include <functional>
#include <vector>

namespace grainless::tools {

// IEC 61966-2-1: the curve of the perceptual encoding, going on as it is below black and above
// white.
double srgb_from_light(double light);
double light_from_srgb(double value);

// An increasing function from samples to light, black 0 and white 1 of both, and back. What a file
// defines between black and white goes on beyond: mirrored at black, and at white by the formula,
// or in a straight line where there is none.
class ToneCurve {
 public:
  ToneCurve() = default;  // light itself
  static ToneCurve power(double exponent);
  static ToneCurve table(std::vector<double> points);  // evenly spaced, at least two
  // `light` is asked for samples from 0 on.
  static ToneCurve formula(std::function<double(double)> light);

  double to_light(double sample) const;
  double from_light(double light) const;

  // Whether from_light() finds what it should: it rises all the way, next to level parts that are
  // short.
  bool can_be_undone() const;

 private:
  double search(double light) const;  // from 0 on

  std::function<double(double)> light_;
  std::vector<double> grid_;  // light_ at evenly spaced samples from 0 to 1
};

}  // namespace grainless::tools
