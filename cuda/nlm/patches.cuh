// SPDX-License-Identifier: MIT
// Patch-wise Non-Local Means: every patch p gives an estimate of all its pixels
// (engine/boundary/plan.h: NlmPlan). A first walk (warp.cuh) leaves 1 / (sum of weights) of every
// patch; a second one weighs again and adds to pixel x, for every displacement D,
//   (sum over the patches p that hold x of w(p, D) / total(p)) * v(x + D).
// The quotients are rounded to integers, so that their sums over a patch may run like those of the
// products: exact, whatever row a block starts with. Those that leave the sum wait in shared memory
// for as many rows as a patch has.
#pragma once

#include "warp.cuh"

namespace grainless::cuda {

// Of a quotient 1; sums over 16 x 16 patches stay under 2^31.
inline constexpr float kQuotientSteps = 1 << 22;

// A quotient in steps, rounded: 2 to 4 % faster in all than a conversion, whose unit also makes the
// powers of 2.
__device__ __forceinline__ int quotient_steps(float quotient) {
  constexpr float kOnes = 12582912.0f;  // 1.5 * 2^23, whose last bit is 1
  return __float_as_int(fmaf(quotient, kQuotientSteps, kOnes)) - __float_as_int(kOnes);
}

// Pixels with the areas of the patches round them: the row of patches that is complete now, and
// those of the search window.
template <typename Value>
struct PatchAreas {
  const Value *own, *window;
};

// What a warp needs of a row beyond what NlmWarp::weigh_row takes.
template <typename Value, int kWeights>
struct PatchRow {
  const Value* own_values;     // the row of results: pixels,
  const Value* values;         // and those of the search window
  float inverse[kWeights][4];  // 1 / total of the lane's patches
  int4* history;               // the quotients that leave the sums, and where this row's go
  bool full;                   // whether the sums are complete
  bool first;                  // no row leaves yet
};

// One warp's work on one group of displacements.
template <int kPatch, int kChannels, int kWeights, int kChunk>
struct NlmPatchWarp : NlmWarp<kPatch, kChannels, kWeights, kChunk> {
  using Base = NlmWarp<kPatch, kChannels, kWeights, kChunk>;
  using Match = typename Base::Match;
  using Own = typename Base::Own;
  using Value = typename Base::Value;
  using Row = PatchRow<Value, kWeights>;
  // Weighted pixels a channel, then sums of quotients.
  static constexpr int kComponents = kChannels + kWeights;

  int quotients[kChunk][kWeights][4];  // sums over the patch's height

  __device__ void start(const NlmArgs& a, int group) {
    Base::start(a, group);
#pragma unroll
    for (int k = 0; k < kChunk; ++k) {
#pragma unroll
      for (int i = 0; i < 4 * kWeights; ++i) quotients[k][i / 4][i % 4] = 0;
    }
  }

  // Moves the sums of one displacement on by a row.
  __device__ __forceinline__ void add_quotients(const NlmArgs& a, const Row& row, int k,
                                                const int (&distance)[4]) {
#pragma unroll
    for (int w = 0; w < kWeights; ++w) {
      int entering[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const NlmCurve& curve = w == 0 ? a.luma : a.chroma;
        const float weight = nlm_weight(curve, distance[i], this->top[k]);
        entering[i] = quotient_steps(weight * row.inverse[w][i]);
        quotients[k][w][i] += entering[i];
      }
      int4* const slot = row.history + (k * kWeights + w) * 32;
      if (!row.first) {
        const int4 leaving = *slot;
        quotients[k][w][0] -= leaving.x;
        quotients[k][w][1] -= leaving.y;
        quotients[k][w][2] -= leaving.z;
        quotients[k][w][3] -= leaving.w;
      }
      *slot = {entering[0], entering[1], entering[2], entering[3]};
    }
  }

  __device__ __forceinline__ void sum_quotients(const NlmArgs& a, int k, int w, int (&box)[4]) {
    if constexpr (kPatch > 0) {
      box_sums<kPatch>(quotients[k][w], box);
    } else {
      box_sums_any(a.high, a.low, quotients[k][w], box);  // the patches that hold a pixel
    }
  }

  // Adds the row that completes the patches round areas.own, and sums the group's weighted pixels
  // of the row of results into partial[kComponents][128].
  __device__ __forceinline__ void weigh_row(const NlmArgs& a, const Own* own_row,
                                            const Match* match, const PatchAreas<Value>& areas,
                                            const Row& row, float* partial) {
    const int lane = threadIdx.x & 31;
    int own[4][kChannels], window[4][kChannels], own_area[4], area[4], ignored;
    float anchor[kChannels], pixel[4][kChannels];
    Base::load_own(own_row, own);
#pragma unroll
    for (int i = 0; i < 4; ++i) unpack(areas.own[i * 32 + lane], pixel[i], own_area[i]);
    unpack(row.own_values[lane], pixel[0], ignored);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) anchor[c] = a.anchored ? pixel[0][c] : 0.0f;
    float sum[kComponents][4] = {};
#pragma unroll
    for (int j = 0; j < kChunk + 3; ++j) {
      const int at = this->offset[j & 3] + (j >> 2), k = j - 3;
      unpack(match[at], window[j & 3]);
      unpack(areas.window[at], pixel[j & 3], area[j & 3]);
      unpack(row.values[at], pixel[j & 3], ignored);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) pixel[j & 3][c] -= anchor[c];
      if (k < 0) continue;
      Base::add_products(k, own, window);
      int box[4], distance[4];
      if constexpr (kPatch > 0) {
        box_sums<kPatch>(this->column[k], box);
      } else {
        box_sums_any(a.low, a.high, this->column[k], box);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) distance[i] = box[i] + own_area[i] + area[(k + i) & 3];
      add_quotients(a, row, k, distance);
      if (!row.full) continue;
#pragma unroll
      for (int w = 0; w < kWeights; ++w) {
        sum_quotients(a, k, w, box);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float weight = __int2float_rn(box[i]);
          sum[kChannels + w][i] += weight;
#pragma unroll
          for (int c = 0; c < kChannels; ++c) {
            if ((c == 0 ? 0 : kWeights - 1) != w) continue;
            sum[c][i] = fmaf(weight, pixel[(k + i) & 3][c], sum[c][i]);
          }
        }
      }
    }
#pragma unroll
    for (int c = 0; c < kComponents; ++c) {
      reinterpret_cast<float4*>(partial + c * kNlmColumns)[lane] =
          make_float4(sum[c][0], sum[c][1], sum[c][2], sum[c][3]);
    }
  }
};

}  // namespace grainless::cuda
