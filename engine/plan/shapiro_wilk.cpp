// SPDX-License-Identifier: MIT
#include "shapiro_wilk.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace grainless {
namespace {

// Samples up to which the p-value comes from a three-parameter lognormal distribution.
constexpr int32_t kFew = 11;

double polynomial(std::span<const double> coefficients, double x) {
  double value = 0;
  for (size_t i = coefficients.size(); i-- > 0;) value = value * x + coefficients[i];
  return value;
}

double upper_tail(double z) {
  return 0.5 * std::erfc(z / std::numbers::sqrt2);
}

// The z with P(Z < z) = p of the normal distribution, 1e-300 < p < 1. Newton's steps from 0 never
// overshoot where the distribution function is convex.
double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);
  double z = 0;
  for (int32_t i = 0; i < 100; ++i) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    const double step = (upper_tail(-z) - p) / density;
    z -= step;
    if (std::abs(step) < 1e-15) break;
  }
  return z;
}

// Transformed w is normal with this mean and deviation: -ln(gamma - ln(1 - w)) for few samples,
// else ln(1 - w).
struct Transformed {
  double mean, deviation, gamma;
};

Transformed transformed(int32_t n) {
  if (n <= kFew) {
    constexpr double kMean[] = {0.5440, -0.39978, 0.025054, -6.714e-4};
    constexpr double kLogDeviation[] = {1.3822, -0.77857, 0.062767, -0.0020322};
    return {polynomial(kMean, n), std::exp(polynomial(kLogDeviation, n)), -2.273 + 0.459 * n};
  }
  constexpr double kMean[] = {-1.5861, -0.31082, -0.083751, 0.0038915};
  constexpr double kLogDeviation[] = {-0.4803, -0.082676, 0.0030302};
  const double x = std::log(n);
  return {polynomial(kMean, x), std::exp(polynomial(kLogDeviation, x)), 0};
}

double p_value(double w, int32_t n) {
  const Transformed t = transformed(n);
  double y = std::log(1 - w);
  if (n <= kFew) {
    if (y >= t.gamma) return 0;
    y = -std::log(t.gamma - y);
  }
  return upper_tail((y - t.mean) / t.deviation);
}

}  // namespace

std::vector<double> shapiro_wilk_coefficients(int32_t n) {
  constexpr double kLast[] = {0, 0.221157, -0.147981, -2.071190, 4.434685, -2.706056};
  constexpr double kSecondLast[] = {0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633};
  std::vector<double> scores(n / 2);  // expected normal order statistics, by Blom
  double sum = 0;
  for (int32_t i = 0; i < n / 2; ++i) {
    scores[i] = -normal_quantile((i + 1 - 0.375) / (n + 0.25));
    sum += 2 * scores[i] * scores[i];
  }
  const double u = 1 / std::sqrt(1.0 * n), norm = std::sqrt(sum);
  std::vector<double> a(n / 2);
  const int32_t corrected = n > 5 ? 2 : 1;  // the others keep the proportions of the scores
  double rest = sum, part = 1;
  for (int32_t i = 0; i < corrected; ++i) {
    a[i] = scores[i] / norm + polynomial(i == 0 ? kLast : kSecondLast, u);
    rest -= 2 * scores[i] * scores[i];
    part -= 2 * a[i] * a[i];
  }
  for (int32_t i = corrected; i < n / 2; ++i) a[i] = scores[i] * std::sqrt(part / rest);
  return a;
}

ShapiroWilk shapiro_wilk(std::span<const double> samples) {
  const auto n = static_cast<int32_t>(samples.size());
  std::vector<double> x(samples.begin(), samples.end());
  std::sort(x.begin(), x.end());
  const double range = x.back() - x.front();
  if (!(range > 0)) return {1, 1};
  const double middle = x[n / 2];
  double mean = 0;
  for (double& value : x) mean += (value = (value - middle) / range) / n;
  const std::vector<double> a = shapiro_wilk_coefficients(n);
  double order = 0, squares = 0, norm = 0;
  for (int32_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  for (int32_t i = 0; i < n / 2; ++i) {
    order += a[i] * (x[n - 1 - i] - x[i]);
    norm += 2 * a[i] * a[i];
  }
  // The coefficients' own rounding must not make w exceed 1.
  const double w = std::min(order * order / (squares * norm), 1.0);
  return {w, p_value(w, n)};
}

double shapiro_wilk_threshold(int32_t n, double alpha) {
  const Transformed t = transformed(n);
  const double y = t.mean - t.deviation * normal_quantile(alpha);
  return 1 - std::exp(n <= kFew ? t.gamma - std::exp(-y) : y);
}

}  // namespace grainless
