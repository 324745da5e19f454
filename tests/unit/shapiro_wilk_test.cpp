// SPDX-License-Identifier: MIT
#include "engine/plan/shapiro_wilk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace grainless {
namespace {

enum class Family {
  kNormal,
  kUniform,
  kHeavyTails,
  kSkewed,
  kTwoValues,
  kIntegers,
  kRamp,
  kOneOutlier,
  kFarAway,
  kTiny
};

// A linear congruential generator of 32 bits (Numerical Recipes' constants), its upper 24 bits as
// a number in [0, 1).
class Uniform {
 public:
  explicit Uniform(uint32_t seed) : state_(seed) {}
  double operator()() {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) / 16777216.0;
  }

 private:
  uint32_t state_;
};

double value_of(Family family, int32_t i, Uniform& uniform) {
  const double u = uniform();
  double sum = -6;
  switch (family) {
    case Family::kNormal:
      for (int32_t k = 0; k < 12; ++k) sum += uniform();
      return sum;
    case Family::kUniform:
      return u;
    case Family::kHeavyTails:
      return std::pow(u - 0.5, 5);
    case Family::kSkewed:
      return -std::log(1 - u);
    case Family::kTwoValues:
      return u < 0.5 ? 1 : 0;
    case Family::kIntegers:
      return std::floor(7 * u);
    case Family::kRamp:
      return i;
    case Family::kOneOutlier:
      return i == 0 ? 1000 : u;
    case Family::kFarAway:
      return 1e6 + u;
    case Family::kTiny:
      return 1e-9 * (u - 0.5);
  }
  return 0;
}

std::vector<double> samples(Family family, int32_t n, uint32_t seed) {
  Uniform uniform(seed);
  std::vector<double> x(n);
  for (int32_t i = 0; i < n; ++i) x[i] = value_of(family, i, uniform);
  return x;
}

// scipy.stats.shapiro of SciPy 1.17.1 on the same samples with seed n, made by a Python copy of the
// generator and families above.
constexpr int32_t kSizes[] = {9, 25, 49, 81};
struct Published {
  Family family;
  ShapiroWilk of[4];
};
constexpr Published kScipy[] = {
    {Family::kNormal,
     {{0.978583223, 0.9565914601},
      {0.9569503893, 0.3570905828},
      {0.9542876858, 0.05519018677},
      {0.9765407011, 0.1430091455}}},
    {Family::kUniform,
     {{0.8450340197, 0.06568229913},
      {0.9032407592, 0.02159733561},
      {0.9492877556, 0.03456353511},
      {0.9560584126, 0.007283374287}}},
    {Family::kHeavyTails,
     {{0.9414044949, 0.5967587929},
      {0.8828128398, 0.007902444897},
      {0.7752601087, 3.037540875e-07},
      {0.800525796, 4.205007417e-09}}},
    {Family::kSkewed,
     {{0.670374379, 0.0006393120401},
      {0.877602313, 0.006169096592},
      {0.8676655303, 5.653227066e-05},
      {0.7910767731, 2.293432574e-09}}},
    {Family::kTwoValues,
     {{0.5358098499, 1.686024701e-05},
      {0.6340094309, 1.060992199e-06},
      {0.5915873813, 1.910249624e-10},
      {0.6319406104, 6.097700008e-13}}},
    {Family::kIntegers,
     {{0.7745778977, 0.0104311701},
      {0.8824299581, 0.007759007686},
      {0.8969562268, 0.0004376845134},
      {0.9134193782, 4.246504303e-05}}},
    {Family::kRamp,
     {{0.9722884259, 0.9135609532},
      {0.9585657853, 0.3866496591},
      {0.9556299874, 0.06263781666},
      {0.9548645057, 0.006178983467}}},
    {Family::kOneOutlier,
     {{0.3907461631, 3.297639831e-07},
      {0.2045464228, 1.23857003e-10},
      {0.1284652639, 1.693516188e-15},
      {0.08950529478, 4.993354501e-20}}},
    {Family::kFarAway,
     {{0.8450340197, 0.06568229913},
      {0.9032407592, 0.02159733561},
      {0.9492877556, 0.03456353511},
      {0.9560584126, 0.007283374287}}},
    {Family::kTiny,
     {{0.8450340197, 0.06568229913},
      {0.9032407592, 0.02159733561},
      {0.9492877556, 0.03456353511},
      {0.9560584126, 0.007283374287}}},
};

TEST(ShapiroWilk, AgreesWithScipy) {
  for (const Published& row : kScipy) {
    for (int32_t i = 0; i < 4; ++i) {
      const auto x = samples(row.family, kSizes[i], kSizes[i]);
      const ShapiroWilk found = shapiro_wilk(x);
      const int32_t family = static_cast<int32_t>(row.family);
      EXPECT_NEAR(found.w, row.of[i].w, 1e-6) << family << ' ' << kSizes[i];
      EXPECT_NEAR(found.p, row.of[i].p, 1e-6) << family << ' ' << kSizes[i];
    }
  }
}

TEST(ShapiroWilk, PlaceScaleSignAndOrderDoNotMatter) {
  for (int32_t n : {4, 5, 6, 11, 12, 49, 256}) {
    auto x = samples(Family::kSkewed, n, 3);
    const ShapiroWilk expected = shapiro_wilk(x);
    for (double& value : x) value = 7 - 30 * value;
    std::rotate(x.begin(), x.begin() + n / 3, x.end());
    EXPECT_NEAR(shapiro_wilk(x).w, expected.w, 1e-12) << n;
    EXPECT_NEAR(shapiro_wilk(x).p, expected.p, 1e-12) << n;
  }
}

TEST(ShapiroWilk, EqualSamplesAreNotRejected) {
  const ShapiroWilk found = shapiro_wilk(std::vector<double>(9, 3.5));
  EXPECT_EQ(found.w, 1);
  EXPECT_EQ(found.p, 1);
}

TEST(ShapiroWilk, CoefficientsArePositiveFallAndHaveUnitNorm) {
  for (int32_t n = 4; n <= 256; ++n) {
    const auto a = shapiro_wilk_coefficients(n);
    double norm = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      norm += 2 * a[i] * a[i];
      EXPECT_GT(a[i], 0) << n;
      if (i > 0) {
        EXPECT_LT(a[i], a[i - 1]) << n;
      }
    }
    EXPECT_NEAR(norm, 1, 1e-12) << n;
  }
}

TEST(ShapiroWilk, TheThresholdIsWhereThePValueIsAlpha) {
  for (int32_t n : {4, 9, 11, 12, 16, 25, 49, 81, 256}) {
    int32_t rejected = 0;
    const double threshold = shapiro_wilk_threshold(n, 0.05);
    for (uint32_t seed = 1; seed <= 2000; ++seed) {
      const ShapiroWilk found = shapiro_wilk(samples(Family::kNormal, n, seed * 7919));
      EXPECT_EQ(found.w < threshold, found.p < 0.05) << n << ' ' << found.w;
      rejected += found.p < 0.05;
    }
    EXPECT_NEAR(rejected / 2000.0, 0.05, 0.025) << n;
  }
}

}  // namespace
}  // namespace grainless
