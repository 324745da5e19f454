// SPDX-License-Identifier: MIT
// Patch-wise Non-Local Means: every patch p gives an estimate of all its pixels
// (engine/boundary/plan.h: NlmPlan). A first walk (warp.cuh) leaves 1 / (sum of weights) of every
// patch; a second one weighs again and adds to pixel x, for every displacement D,
//   (sum over the patches p that hold x of w(p, D) / total(p)) * v(x + D).
// The quotients are rounded to integers, so that their sums over a patch may run like those of the
// products: exact, whatever row a block starts with. Those that leave the sum wait in shared memory
// for as many rows as a patch has, in 16 bits each: before, they are rounded to 13 bits, as on
// every backend, and to multiples of 2^-26 (NlmQuotients).
#pragma once

#include "warp.cuh"

namespace grainless::cuda {

// Of a quotient 1; sums over 16 x 16 patches are 2^31 at most.
inline constexpr float kQuotientSteps = 1 << 23;

// Two quotients. Times kScale, a float's bits of 0 to 1 have four bits of exponent that change,
// none for the smallest: with the first 12 of the mantissa they are a quotient's code.
struct NlmQuotients {
  static constexpr float kScale = 0x1p-112f;
  static constexpr unsigned kCode = 0x07fff800;  // of a float's bits
  static_assert((kCode & kNlmShareRest) == 0 && (kCode & (kNlmShareRest + 1)) != 0);

  unsigned first, second;  // bits of floats

  // Of quotients times kScale.
  static __device__ __forceinline__ NlmQuotients rounded(float x, float y) {
    constexpr unsigned kHalf = kNlmShareRest / 2 + 1;
    return {(__float_as_uint(x) + kHalf) & kCode, (__float_as_uint(y) + kHalf) & kCode};
  }
  static __device__ __forceinline__ NlmQuotients unpacked(unsigned codes) {
    return {(codes << 11) & kCode, (codes >> 5) & kCode};
  }
  __device__ __forceinline__ unsigned packed() const { return first >> 11 | second << 5; }
  // In steps, rounded, and some constant. 2 to 4 % faster in all than a conversion, whose unit also
  // makes the powers of 2.
  static __device__ __forceinline__ unsigned steps(unsigned bits) {
    return __float_as_uint(fmaf(__uint_as_float(bits), 0x1p127f, 0x1p15f));
  }
};
static_assert(NlmQuotients::kScale * 0x1p127f * 0x1p8f == kQuotientSteps);

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
  float inverse[kWeights][4];  // NlmQuotients::kScale / total of the lane's patches
  uint2* history;              // the quotients that leave the sums, and where this row's go
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
  // Quads that the patches whose quotients a lane holds are ahead of its match values' columns, and
  // its results.
  static constexpr int kAhead = kNlmAhead<kPatch>, kResultsAhead = 2 * kAhead;

  // Displacements whose quotients wait for their place in the history: no load passes a store, so
  // that the next displacement's would wait for them. Fewer where registers are few.
  static constexpr int kHeld = nlm_patch_warps(kPatch, kWeights) > 8 ? 1
                               : kWeights > 1                        ? 3
                                                                     : kChunk;

  unsigned quotients[kChunk][kWeights][4];  // sums over the patch's height

  __device__ void start(const NlmArgs& a, int group) {
    Base::start(a, group);
#pragma unroll
    for (int k = 0; k < kChunk; ++k) {
#pragma unroll
      for (int i = 0; i < 4 * kWeights; ++i) quotients[k][i / 4][i % 4] = 0;
    }
  }

  // Moves the sums of one displacement on by a row. `entered`: the quotients for the history.
  __device__ __forceinline__ void add_quotients(const NlmArgs& a, const Row& row, int k,
                                                const unsigned (&distance)[4],
                                                uint2 (&entered)[kWeights]) {
#pragma unroll
    for (int w = 0; w < kWeights; ++w) {
      float quotient[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const NlmCurve& curve = w == 0 ? a.luma : a.chroma;
        quotient[i] = nlm_weight(curve, distance[i], this->top_of(a, w, k)) * row.inverse[w][i];
      }
      const uint2 before = row.history[(k * kWeights + w) * 32];
      const NlmQuotients entering[2] = {NlmQuotients::rounded(quotient[0], quotient[1]),
                                        NlmQuotients::rounded(quotient[2], quotient[3])};
      entered[w] = {entering[0].packed(), entering[1].packed()};
      unsigned(&sum)[4] = quotients[k][w];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const NlmQuotients leaving = NlmQuotients::unpacked(i == 0 ? before.x : before.y);
        sum[2 * i] += NlmQuotients::steps(entering[i].first) - NlmQuotients::steps(leaving.first);
        sum[2 * i + 1] +=
            NlmQuotients::steps(entering[i].second) - NlmQuotients::steps(leaving.second);
      }
    }
  }

  __device__ static __forceinline__ void store_history(const Row& row, int k,
                                                       const uint2 (&entered)[kWeights]) {
#pragma unroll
    for (int w = 0; w < kWeights; ++w) row.history[(k * kWeights + w) * 32] = entered[w];
  }

  __device__ __forceinline__ void sum_quotients(const NlmArgs& a, int k, int w,
                                                unsigned (&box)[4]) {
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
    const int patches = nlm_quad<kAhead>(), results = nlm_quad<kResultsAhead>();
    const Value* const window_areas = Base::row_for(areas.window, patches - lane);
    const Value* const values = Base::row_for(row.values, results - lane);
    unsigned own[4][kChannels], window[4][kChannels], own_area[4], area[4], ignored;
    float anchor[kChannels], pixel[4][kChannels];
    Base::load_own(own_row, own);
#pragma unroll
    for (int i = 0; i < 4; ++i) unpack(areas.own[i * 32 + patches], pixel[i], own_area[i]);
    unpack(row.own_values[results], pixel[0], ignored);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) anchor[c] = a.anchored ? pixel[0][c] : 0.0f;
    float sum[kComponents][4] = {};
    uint2 entered[kChunk][kWeights];
#pragma unroll
    for (int j = 0; j < kChunk + 3; ++j) {
      const int at = this->at(j), k = j - 3;
      unpack(match[at], window[j & 3]);
      unpack(window_areas[at], pixel[j & 3], area[j & 3]);
      unpack(values[at], pixel[j & 3], ignored);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) pixel[j & 3][c] -= anchor[c];
      if (k < 0) continue;
      Base::add_products(k, own, window);
      unsigned box[4];
      unsigned distance[4];
      if constexpr (kPatch > 0) {
        box_sums<kPatch>(this->column[k], box);
      } else {
        box_sums_any(a.low, a.high, this->column[k], box);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) distance[i] = box[i] + own_area[i] + area[(k + i) & 3];
      add_quotients(a, row, k, distance, entered[k]);
      if (k >= kHeld) store_history(row, k - kHeld, entered[k - kHeld]);
#pragma unroll
      for (int w = 0; w < kWeights; ++w) {
        sum_quotients(a, k, w, box);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const float weight = __uint2float_rn(box[i]);
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
    for (int k = kChunk - kHeld; k < kChunk; ++k) store_history(row, k, entered[k]);
    __syncthreads();  // before anybody's sums are overwritten
#pragma unroll
    for (int c = 0; c < kComponents; ++c) {
      reinterpret_cast<float4*>(partial + c * kNlmColumns)[results] =
          make_float4(sum[c][0], sum[c][1], sum[c][2], sum[c][3]);
    }
  }
};

}  // namespace grainless::cuda
