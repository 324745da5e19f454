// SPDX-License-Identifier: MIT
#include "engine/plan/transforms.h"

#include <gtest/gtest.h>

#include <cmath>

namespace grainless {
namespace {

class Basis : public ::testing::TestWithParam<std::tuple<Transform, int32_t>> {};

TEST_P(Basis, InverseUndoesForwardAndRowsHaveUnitNorm) {
  const auto [transform, size] = GetParam();
  const PatchBasis basis = patch_basis(transform, size);
  for (int32_t i = 0; i < size; ++i) {
    double norm = 0;
    for (int32_t k = 0; k < size; ++k) {
      norm += basis.forward[i * size + k] * basis.forward[i * size + k];
      double product = 0;
      for (int32_t j = 0; j < size; ++j) {
        product += basis.inverse[i * size + j] * basis.forward[j * size + k];
      }
      EXPECT_NEAR(product, i == k ? 1.0 : 0.0, 1e-12);
    }
    EXPECT_NEAR(norm, 1.0, 1e-12);
  }
  // The first row is the mean: a constant patch has one coefficient.
  for (int32_t i = 1; i < size; ++i) {
    double sum = 0;
    for (int32_t k = 0; k < size; ++k) sum += basis.forward[i * size + k];
    EXPECT_NEAR(sum, 0.0, 1e-12) << "row " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(AllSizes, Basis,
                         ::testing::Combine(::testing::Values(Transform::kBior15, Transform::kDct,
                                                              Transform::kHaar,
                                                              Transform::kHadamard),
                                            ::testing::Range(2, 17)));

TEST(Transforms, Bior15IsTheSplineWavelet) {
  const PatchBasis basis = patch_basis(Transform::kBior15, 8);
  // Finest high-pass rows: half differences of pairs, whatever the low-pass.
  for (int32_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(basis.forward[(4 + i) * 8 + 2 * i], std::sqrt(0.5), 1e-12);
    EXPECT_NEAR(basis.forward[(4 + i) * 8 + 2 * i + 1], -std::sqrt(0.5), 1e-12);
  }
  // Level 2, row 2: the difference of two long low-pass filters is not a Haar step.
  EXPECT_GT(std::abs(basis.forward[2 * 8 + 4]), 0.01);
}

TEST(Transforms, WaveletsNeedAPowerOfTwo) {
  EXPECT_EQ(patch_basis(Transform::kBior15, 7).transform, Transform::kDct);
  EXPECT_EQ(patch_basis(Transform::kBior15, 16).transform, Transform::kBior15);
  EXPECT_EQ(patch_basis(Transform::kHadamard, 12).transform, Transform::kDct);
}

TEST(Transforms, HadamardHasSignsAlone) {
  const PatchBasis basis = patch_basis(Transform::kHadamard, 8);
  EXPECT_EQ(basis.transform, Transform::kHadamard);
  for (double value : basis.forward) EXPECT_NEAR(std::abs(value), std::sqrt(1.0 / 8), 1e-12);
  for (int32_t i = 0; i < 8; ++i) {  // symmetric, its own inverse
    for (int32_t k = 0; k < 8; ++k) {
      EXPECT_NEAR(basis.forward[i * 8 + k], basis.inverse[k * 8 + i], 1e-12);
    }
  }
}

TEST(Transforms, KaiserWindowIsSymmetricAndPeaksInTheMiddle) {
  const std::vector<double> window = kaiser_window(8, 2.0);
  EXPECT_NEAR(window[0], 0.4387, 1e-3);  // 1 / I0(2)
  for (int32_t i = 0; i < 4; ++i) EXPECT_NEAR(window[i], window[7 - i], 1e-12);
  EXPECT_GT(window[3], window[2]);
}

}  // namespace
}  // namespace grainless
