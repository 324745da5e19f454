// SPDX-License-Identifier: MIT
// Arithmetic of BM3D that backends share. The second stage matches on the first one's estimate (the
// pilot), and matching is exact: the pilot has to be the same bits on every backend. So the first
// stage is a fixed sequence of float operations without fused multiply-add (here and in
// bm3d_passes.inc), and its sums are sums of integers, which do not depend on their order.
//
// Each estimate of a patch adds to its pixels
//   W = round(w * kaiser * weight_steps)   and   R = round(W * removed_scale * r),
// w being the group's weight and r what was removed from the pixel. The estimate of a pixel then is
//   source - (float(sum of R) / float(sum of W)) * ratio.
#pragma once

#include <cstdint>

#include "pixel_math.h"
#include "plan.h"

namespace grainless {

struct Bm3dSumScale {
  float weight_steps;
  float removed_scale;
  float largest;  // R is clamped to +-largest
  float ratio;
};

// References whose W a backend may sum in 32 bits.
inline constexpr int32_t kCellReferences = 64;

// Of the first stage, whose `shrink` is the threshold. R stays under 2^30 for what can be removed
// from a pixel: 8 thresholds at most, three in practice.
GRAINLESS_HD Bm3dSumScale first_stage_sums(int32_t group, float shrink) {
  const float steps = 2147483648.0f / static_cast<float>(kCellReferences * group);
  const float finer = 134217728.0f / steps;
  return {steps, finer / shrink, 1073741824.0f, shrink / finer};
}

// The Haar transform along a group has no factors 1 / sqrt 2: after it, coefficient m of `count` is
// the root of this power of two times too large; divided by the power, it enters the inverse.
GRAINLESS_HD constexpr float haar_gain(int32_t m, int32_t count) {
  return static_cast<float>(m == 0 ? count : 2 * (m & -m));
}
GRAINLESS_HD constexpr float haar_root(float power_of_two) {
  float whole = 1;
  for (; power_of_two >= 4; power_of_two /= 4) whole *= 2;
  return power_of_two > 1 ? whole * 1.41421356f : whole;
}

// Of a group's pilot: energies beyond it leave float's range where they are inverted.
inline constexpr float kMostRidgeEnergy = 1e30f;

// What the ridge filter adds to the diagonal of X X', whose trace is `energy` (plan.h:
// GroupRule::kRidge): n v, and at least 16 roundings of the energy. Below them an eigenvalue is
// noise of the arithmetic, and its inverse anything. With more than n v less is removed, and in the
// end nothing: a signal is left alone where its noise can't be told from rounding. At sigma 3 that
// begins with contrasts no 8-bit picture has.
GRAINLESS_HD float ridge_of(float nv, float energy) {
  const float least = energy * (1.0f / 1048576.0f);
  return nv > least ? nv : least;
}

// What is left of an 8 x 8 DCT matrix by its symmetries.
struct Dct8 {
  float mean, even[2], odd[4][4];
};

// An 8 x 8 bior1.5 or Haar matrix in terms of sums and differences of pairs of samples (S_i, D_i):
// mean: sum of S; detail3: (S0 + S1 - S2 - S3), (E0 + E1); detail2: (S0 - S1), (E0 - E1); detail1:
// D_i, with E0 = D1 - D3, E1 = D2 - D0.
struct Pairs8 {
  float mean, detail3[2], detail2[2], detail1;
};

inline Dct8 dct_parts(const float* m) {
  Dct8 k{m[0], {m[16], m[17]}, {}};
  for (int32_t i = 0; i < 16; ++i) k.odd[i / 4][i % 4] = m[(2 * (i / 4) + 1) * 8 + i % 4];
  return k;
}

inline Pairs8 pair_parts(const float* m) {
  const float* detail3 = m + 8;
  const float* detail2 = m + 16;
  return {m[0],
          {(detail3[0] + detail3[1]) / 2, (detail3[1] - detail3[0]) / 2},
          {(detail2[0] + detail2[1]) / 2, (detail2[0] - detail2[1]) / 2},
          m[32]};
}

// Solves Pairs8's equations for halves of S and D, with the halves of D in E.
inline Pairs8 inverse_parts(const Pairs8& k) {
  return {1 / (8 * k.mean),
          {1 / (8 * k.detail3[0]), k.detail3[1] / (4 * k.detail3[0])},
          {1 / (4 * k.detail2[0]), k.detail2[1] / (2 * k.detail2[0])},
          1 / (2 * k.detail1)};
}

}  // namespace grainless
