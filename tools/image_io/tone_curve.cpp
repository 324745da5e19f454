// SPDX-License-Identifier: MIT
#include "tone_curve.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace grainless::tools {
namespace {

constexpr int kGrid = 4096;

double interpolate(const std::vector<double>& points, double sample) {
  const double last = static_cast<double>(points.size() - 1);
  const double at = sample * last;
  if (at >= last) {  // beyond white
    const double rise = (points.back() - points[points.size() - 2]) * last;
    return points.back() + (sample - 1) * (rise > 0 ? rise : 1.0);
  }
  const auto left = static_cast<size_t>(at);
  return points[left] + (points[left + 1] - points[left]) * (at - static_cast<double>(left));
}

}  // namespace

double srgb_from_light(double light) {
  return light > 0.0031308 ? 1.055 * std::pow(light, 1 / 2.4) - 0.055 : 12.92 * light;
}

double light_from_srgb(double value) {
  return value > 0.04045 ? std::pow((value + 0.055) / 1.055, 2.4) : value / 12.92;
}

ToneCurve ToneCurve::power(double exponent) {
  if (exponent == 1) return {};
  return formula([exponent](double sample) { return std::pow(sample, exponent); });
}

ToneCurve ToneCurve::table(std::vector<double> points) {
  return formula(
      [points = std::move(points)](double sample) { return interpolate(points, sample); });
}

ToneCurve ToneCurve::formula(std::function<double(double)> light) {
  ToneCurve curve;
  curve.light_ = std::move(light);
  for (int i = 0; i <= kGrid; ++i) curve.grid_.push_back(curve.light_(1.0 * i / kGrid));
  return curve;
}

double ToneCurve::to_light(double sample) const {
  if (!light_ || !std::isfinite(sample)) return sample;
  return sample < 0 ? 2 * grid_[0] - light_(-sample) : light_(sample);
}

double ToneCurve::from_light(double light) const {
  if (!light_ || !std::isfinite(light)) return light;
  return light < grid_[0] ? -search(2 * grid_[0] - light) : search(light);
}

double ToneCurve::search(double light) const {
  double low = 0, high = 1;
  if (light <= grid_.back()) {
    const auto above = std::lower_bound(grid_.begin(), grid_.end(), light);
    const auto step = std::max<ptrdiff_t>(above - grid_.begin(), 1);
    low = static_cast<double>(step - 1) / kGrid;
    high = static_cast<double>(step) / kGrid;
  } else {
    constexpr double kMost = 1e38;
    while (light_(high) < light && high < kMost) low = std::exchange(high, 2 * high);
  }
  // Regula falsi, the end that stays halved ("Illinois"): two to eight steps for smooth curves.
  double below = light_(low) - light, above = light_(high) - light;
  for (int i = 0; i < 60 && high - low > 1e-9 * high && below < 0 && above > 0; ++i) {
    double middle = (low * above - high * below) / (above - below);
    if (!(middle > low && middle < high)) middle = 0.5 * (low + high);
    const double off = light_(middle) - light;
    if (off == 0) return middle;
    if (off < 0) {
      low = middle, below = off, above *= 0.5;
    } else {
      high = middle, above = off, below *= 0.5;
    }
  }
  return below >= 0 ? low : above <= 0 ? high : std::abs(below) < std::abs(above) ? low : high;
}

bool ToneCurve::can_be_undone() const {
  constexpr int kLevel = kGrid / 8;  // so many steps without a rise are too many
  constexpr double kLeastWhite = 0.5, kMostWhite = 2, kMostBlack = 0.1;
  if (!light_) return true;
  const auto falls = [](double a, double b) { return !(b >= a); };
  if (std::adjacent_find(grid_.begin(), grid_.end(), falls) != grid_.end()) return false;
  for (size_t i = kLevel; i < grid_.size(); ++i) {
    if (!(grid_[i] > grid_[i - kLevel])) return false;
  }
  return grid_.front() >= -kMostBlack && grid_.front() <= kMostBlack &&
         grid_.back() >= kLeastWhite && grid_.back() <= kMostWhite;
}

}  // namespace grainless::tools
