// SPDX-License-Identifier: MIT
// Arithmetic of BM3D that backends share. The second stage matches on the first one's estimate (the
// pilot), and matching is exact: the pilot has to be the same bits on every backend. So the first
// stage is a fixed sequence of float operations without fused multiply-add (here and in
// bm3d_passes.inc), and its sums are sums of integers, which do not depend on their order.
//
// Each estimate of a patch adds
//   g = round(w * kPatchSteps) at the patch's position   and   R = round(g * scale * kaiser * r)
// to its pixels, w being the group's weight, r what was removed from the pixel and kaiser that of
// its row and column. A pixel's weight is the sum of g * kaiser over the patches that it lies in:
// of each column of positions, then of the row, from the patch that begins at the pixel on. The
// estimate of a pixel then is
//   source - (float(sum of R) / weight) * ratio.
#pragma once

#include <cmath>
#include <cstdint>

#include "pixel_math.h"
#include "plan.h"

namespace grainless {

inline constexpr int32_t kPatchSteps = 1 << 19;  // up to 63^2 groups take a patch: under 2^31

// References whose R a backend may sum in 32 bits where patches have up to 8 x 8 pixels, light
// groups' and others' apart: light are those with a weight up to 1 / kLightFiner, and the R of
// others is rounded kLightFiner times as coarsely.
inline constexpr int32_t kCellReferences = 64;
inline constexpr int32_t kLightBits = 4;
inline constexpr float kLightFiner = 1 << kLightBits;

struct Bm3dSumScale {
  float scale;  // of a light group
  float light;  // the largest g of one
  float ratio;
};

// What a pixel can lose in the first stage, in thresholds: each coefficient at most one, times its
// part of the pixel.
inline float most_removed(const Bm3dStage& stage) {
  if (stage.transform == static_cast<int32_t>(Transform::kDft)) {
    return static_cast<float>(stage.patch) * std::sqrt(static_cast<float>(stage.group));
  }
  float most = 0;
  for (int32_t i = 0; i < stage.patch; ++i) {
    float sum = 0;
    for (int32_t k = 0; k < stage.patch; ++k) sum += std::fabs(stage.inverse[i * stage.patch + k]);
    most = most < sum ? sum : most;
  }
  constexpr float kHaar = 2.42f;  // 1 / sqrt(n) + 1 / sqrt(2) + 1 / sqrt(4) + ... + 1 / sqrt(n)
  return most * most * kHaar;
}

// Of channel c of the first stage, whose `shrink` is the threshold. The sum of |R| of
// kCellReferences light groups, or of others over kLightFiner, stays under 2^30, and each is at
// most 2^21. Of larger patches, whose weights are smaller, all groups are light, and |R| itself is
// under 2^30. A pixel's estimate is off by at most some thousandths of sigma.
inline Bm3dSumScale first_stage_sums(const Bm3dStage& stage, int32_t c) {
  const bool in_cells = stage.patch <= 8;
  const int32_t summed = in_cells ? kCellReferences * (stage.group > 8 ? stage.group : 8) : 1;
  const float light = static_cast<float>(kPatchSteps) / (in_cells ? kLightFiner : 1.0f);
  const float removed = 1.01f * most_removed(stage) * stage.shrink[c];
  const float scale = 1073741824.0f / (static_cast<float>(summed) * light * removed);
  return {scale, light, 1 / scale};
}

// A group's weight w in the first stage. R is round(factor * kaiser of the column * kaiser of the
// row * r) times 2^shift.
struct PatchWeight {
  int32_t steps;  // g
  int32_t shift;
  float factor;
};

GRAINLESS_HD PatchWeight first_stage_weight(float w, const Bm3dSumScale& sums) {
  const int32_t g = static_cast<int32_t>(w * static_cast<float>(kPatchSteps) + 0.5f);
  const float steps = static_cast<float>(g);
  const bool light = steps <= sums.light;
  return {g, light ? 0 : kLightBits, steps * (light ? sums.scale : sums.scale * (1 / kLightFiner))};
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

// The share t of the noise that a pixel has, from the squares of what `pixels` round it have lost
// (plan.h: GroupRule::kRidge).
GRAINLESS_HD float noise_share(float squares, int32_t pixels, float sigma, float least) {
  const float share = 1.0f - sqrtf(squares / static_cast<float>(pixels)) / sigma;
  return share > least ? share : least;
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
