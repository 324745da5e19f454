// SPDX-License-Identifier: MIT
// The Shapiro-Wilk test of normality by Royston's approximations (Applied Statistics algorithm
// R94, 1995: coefficients and p-value for 4 to 5000 samples).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace grainless {

struct ShapiroWilk {
  double w;  // 0..1; 1 for samples spaced as those of a normal distribution are expected to be
  double p;  // the chance of a smaller w when the samples are normal
};

// 4 to 5000 samples in any order; equal ones give w = p = 1.
ShapiroWilk shapiro_wilk(std::span<const double> samples);

// The first n / 2 coefficients: w = (sum a[i] (x[n - 1 - i] - x[i]))^2 / sum (x - mean)^2 with x
// ascending. They are positive and fall.
std::vector<double> shapiro_wilk_coefficients(int32_t n);

// The w whose p-value is alpha.
double shapiro_wilk_threshold(int32_t n, double alpha);

}  // namespace grainless
