// SPDX-License-Identifier: MIT
// Non-Local Means on the card. The distance of two patches by inner products,
//   D(p, q) = area(p) + area(q) - 2 sum_o m(p + o) m(q + o),
// in integers: exact in any order.
//
// A block owns a strip of 128 columns and walks down it row by row. Each of its warps takes one
// group of displacements, a chunk of one row of the search window; a lane holds four neighbouring
// columns and keeps their column sums over the height of a patch in registers, one a displacement:
// a step adds the products of the row that enters the patch and subtracts those of the row that
// leaves it. Sums over the width come from the neighbouring lanes, the weight follows at once, and
// the weighted pixels are summed in registers over the group. Weights never leave the registers.
// Per row and pixel the warps' sums meet in shared memory and are added in the order of the groups;
// more groups than warps make several passes over the block's rows, with the sums of a pixel in
// device memory between them.
//
// Per pixel and displacement (colour, 9 x 9): 6 multiply-adds for products, 3 for the box, 5 for
// distance and weight, 5 for the sums, 4 for loads, 8 for what a row costs: 31 issue slots. With
// the default window, by rows.cuh: 2 for loads, 2 for what a row costs.
#pragma once

#include <cuda_pipeline.h>

#include <cmath>

#include "args.cuh"

namespace grainless::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;

// A row in shared memory: column c at (c % 4) * quads + c / 4, so that lanes reading every fourth
// column touch neighbouring words.
__device__ __forceinline__ int quad_index(int column, int quads) {
  return (column & 3) * quads + (column >> 2);
}

// A warp copies, asynchronously, `count` neighbouring pixels to a row of `quads`.
template <typename T>
__device__ __forceinline__ void fetch_row(const T* from, int count, int quads, T* to) {
  const int lane = threadIdx.x & 31;
  from += lane;
  to += quad_index(lane, quads);
  for (int i = lane; i < count; i += 32, from += 32, to += 8) {
    __pipeline_memcpy_async(to, from, sizeof(T));
  }
}

// Rows of rows.cuh are read by words: the first pixels of all quads, then the next ones.
template <typename T>
struct alignas(16) NlmWord {
  static constexpr int kPixels = 16 / sizeof(T);  // 1, 2 or 4
  T pixel[kPixels];
};

// Where a column is in such a row.
template <typename T>
__device__ __forceinline__ int word_index(int column, int quads) {
  constexpr int kPixels = NlmWord<T>::kPixels;
  const int word = (column & 3) / kPixels * quads + (column >> 2);
  return word * kPixels + column % kPixels;
}

// A warp copies, asynchronously, kCount neighbouring pixels, a multiple of 4, to such a row of as
// many; kBytes at once, to which `from` is aligned.
template <int kCount, int kBytes, typename T>
__device__ __forceinline__ void fetch_words(const T* from, T* to) {
  constexpr int kAtOnce = kBytes / sizeof(T), kCopies = kCount / kAtOnce, kRest = kCopies % 32;
  constexpr int kStep = 32 * kAtOnce / 4 * NlmWord<T>::kPixels;
  const int lane = threadIdx.x & 31;
  from += lane * kAtOnce;
  to += word_index<T>(lane * kAtOnce, kCount / 4);
#pragma unroll
  for (int i = 0; i < kCopies / 32; ++i, from += 32 * kAtOnce, to += kStep) {
    __pipeline_memcpy_async(to, from, kBytes);
  }
  if (kRest > 0 && lane < kRest) __pipeline_memcpy_async(to, from, kBytes);
}

// A block's shared memory.
template <int kChannels, int kComponents>
struct NlmShared {
  using Match = typename NlmPixel<kChannels>::Match;
  using Own = typename NlmPixel<kChannels>::Own;
  using Value = typename NlmValue<kChannels>::Type;

  Value* values;      // ring of value_rows, [4 * quads]
  Value* own_values;  // ring of own_rows, [128]
  Own* entering;      // [2][128]: -2 * the row that enters the patch
  Own* leaving;       // [2][128]: 2 * the row that leaves it
  float* partial;     // [2, patch-wise 1][warps][kComponents][128]
  float* earlier;     // patch-wise [kComponents][128]: what the passes before left of a row
  Match* match;       // ring of match_rows, [4 * quads]
  Match* raw;         // [2][entering, leaving][128]
  uint2* history;     // [warps][NlmArgs::history]

  __host__ __device__ static size_t bytes(const NlmArgs& a) {
    const size_t row = 4 * a.quads;
    return sizeof(Value) * (a.value_rows.rows * row + a.own_rows.rows * kNlmColumns) +
           sizeof(Own) * 4 * kNlmColumns +
           sizeof(float) * (partials(a) + earlier_rows(a)) * kComponents * kNlmColumns +
           sizeof(Match) * (a.match_rows.rows * row + 4 * kNlmColumns) +
           sizeof(uint2) * a.warps * a.history;
  }

  __device__ NlmShared(void* memory, const NlmArgs& a) {
    const int row = 4 * a.quads;
    values = static_cast<Value*>(memory);
    own_values = values + a.value_rows.rows * row;
    entering = reinterpret_cast<Own*>(own_values + a.own_rows.rows * kNlmColumns);
    leaving = entering + 2 * kNlmColumns;
    partial = reinterpret_cast<float*>(leaving + 2 * kNlmColumns);
    earlier = partial + partials(a) * kComponents * kNlmColumns;
    match = reinterpret_cast<Match*>(earlier + earlier_rows(a) * kComponents * kNlmColumns);
    raw = match + a.match_rows.rows * row;
    history = reinterpret_cast<uint2*>(raw + 4 * kNlmColumns);
  }

  __host__ __device__ static int partials(const NlmArgs& a) {
    return (a.history > 0 ? 1 : 2) * a.warps;
  }
  __host__ __device__ static int earlier_rows(const NlmArgs& a) { return a.history > 0 ? 1 : 0; }
};

// The factors of a pixel's product: with itself in the window, and with `factor` times it as one's
// own. Of colour, y + u * 2^16 as it is stored is the first factor, and what that adds to y * y is
// taken off the own u: one operation less than y by itself. All modulo 2^32, as the sums are.
__device__ __forceinline__ void unpack(unsigned match, unsigned (&out)[1]) {
  out[0] = match;
}
__device__ __forceinline__ void unpack(uint2 match, unsigned (&out)[3]) {
  out[0] = match.x;
  out[1] = static_cast<unsigned>(static_cast<int>(match.x) >> 16);
  out[2] = match.y;
}
__device__ __forceinline__ void unpack(uint4 own, unsigned (&out)[3]) {
  out[0] = own.x;
  out[1] = own.y;
  out[2] = own.z;
}
__device__ __forceinline__ unsigned scaled(unsigned match, int factor) {
  return factor * match;
}
__device__ __forceinline__ uint4 scaled(uint2 match, int factor) {
  const unsigned y = factor * (match.x & 0xffffu);
  return {y, factor * static_cast<unsigned>(static_cast<int>(match.x) >> 16) - (y << 16),
          factor * match.y, 0};
}

// `out`: nothing, of areas alone.
__device__ __forceinline__ void unpack(unsigned value, float (&)[1], unsigned& area) {
  area = value;
}
__device__ __forceinline__ void unpack(float2 value, float (&out)[1], unsigned& area) {
  out[0] = value.x;
  area = __float_as_uint(value.y);
}
__device__ __forceinline__ void unpack(float4 value, float (&out)[3], unsigned& area) {
  out[0] = value.x;
  out[1] = value.y;
  out[2] = value.z;
  area = __float_as_uint(value.w);
}

// `distance`: with kNlmBias.
__device__ __forceinline__ float nlm_weight(const NlmCurve& curve, unsigned distance, float top) {
  const float exponent = fminf(fmaf(__uint_as_float(distance), -curve.slope, curve.offset), top);
  float weight;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(weight) : "f"(exponent));
  return weight;
}

// How many quads a lane's box sums are ahead of the columns that it holds. Where a box reaches into
// both neighbours with three columns or more, most of them are asked for by one lane instead of two
// when the sums are those round the next quad: 5 shuffles for 9 columns instead of 8, 4 for 7
// instead of 6.
template <int kPatch>
inline constexpr int kNlmAhead = kPatch == 7 || kPatch == 9 ? 1 : 0;

// The quad that a lane's results are of. Those of the last lanes are none: quads of the strip's
// lead.
template <int kAhead>
__device__ __forceinline__ int nlm_quad() {
  return ((threadIdx.x & 31) + kAhead) & 31;
}

// box[i] = sum of columns i - kPatch / 2 .. i + kPatch / 2 round the quad nlm_quad<kNlmAhead>().
// kPatch <= 9, odd.
template <int kPatch>
__device__ __forceinline__ void box_sums(const unsigned (&column)[4], unsigned (&box)[4]) {
  constexpr int kHalf = kPatch / 2;
  if constexpr (kNlmAhead<kPatch> == 1) {
    constexpr int kFirst = 4 - kHalf;  // of the lane's columns, 0 or 1
    unsigned right[kHalf];             // columns 8 .. 7 + kHalf
#pragma unroll
    for (int i = 0; i < kHalf; ++i) right[i] = __shfl_down_sync(kAllLanes, column[i], 2);
    const unsigned rest = column[1] + column[2] + column[3], quad = column[0] + rest;
    const unsigned next = __shfl_down_sync(kAllLanes, quad, 1);
    if constexpr (kFirst == 0) {
      box[0] = quad + next + right[0];
    } else {
      box[0] = rest + next;
    }
#pragma unroll
    for (int i = 1; i < 4; ++i) {
      box[i] = box[i - 1] + right[i - kFirst] - column[i - 1 + kFirst];
    }
  } else {
    unsigned wide[4 + 2 * kHalf];  // columns -kHalf .. 3 + kHalf
#pragma unroll
    for (int i = 0; i < 4; ++i) wide[kHalf + i] = column[i];
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      wide[i] = __shfl_up_sync(kAllLanes, column[4 - kHalf + i], 1);
      wide[kHalf + 4 + i] = __shfl_down_sync(kAllLanes, column[i], 1);
    }
    box[0] = wide[0];
#pragma unroll
    for (int i = 1; i < kPatch; ++i) box[0] += wide[i];
#pragma unroll
    for (int i = 1; i < 4; ++i) box[i] = box[i - 1] + wide[i - 1 + kPatch] - wide[i - 1];
  }
}

__device__ __forceinline__ unsigned pick(const unsigned (&x)[4], int i) {
  return i < 2 ? (i == 0 ? x[0] : x[1]) : (i == 2 ? x[2] : x[3]);
}

// The sums of columns i - low .. i + high for any patch, as differences of the row's running sums,
// which a scan makes.
__device__ __forceinline__ void box_sums_any(int low, int high, const unsigned (&column)[4],
                                             unsigned (&box)[4]) {
  const int lane = threadIdx.x & 31;
  const unsigned quad = column[0] + column[1] + column[2] + column[3];
  unsigned sum = quad;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const unsigned other = __shfl_up_sync(kAllLanes, sum, d);
    if (lane >= d) sum += other;
  }
  unsigned before[4] = {sum - quad};  // the sum of all columns before the lane's i-th
#pragma unroll
  for (int i = 1; i < 4; ++i) before[i] = before[i - 1] + column[i - 1];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int end = i + high + 1, first = i - low;
    box[i] = __shfl_sync(kAllLanes, pick(before, end & 3), lane + (end >> 2)) -
             __shfl_sync(kAllLanes, pick(before, first & 3), lane + (first >> 2));
  }
}

// Where a warp's group of displacements lies in the window, and which of it count.
template <int kChunk>
struct NlmGroup {
  float top[kChunk];  // of luma's curve; minus infinity where a displacement is not used
  int offset[4];      // of the group's window in a row in shared memory, columns 0 to 3

  __device__ void start(const NlmArgs& a, int group) {
    const int first = group % a.chunks * a.chunk, lane = threadIdx.x & 31;
    const bool centre_row = group / a.chunks == a.plan.radius;
#pragma unroll
    for (int k = 0; k < kChunk; ++k) {
      const int dx = first + k - a.plan.radius;
      top[k] = dx > a.plan.radius || (centre_row && dx == 0) ? -INFINITY : a.luma.top;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) offset[j] = lane + quad_index(first + j, a.quads);
  }
  __device__ int at(int j) const { return offset[j & 3] + (j >> 2); }
  // A row as seen by a lane `lanes` on.
  template <typename T>
  __device__ static const T* row_for(const T* row, int lanes) {
    return row + lanes;
  }
  // Pixel j of the lane's window, each in turn.
  template <typename T>
  __device__ T pixel_of(const T* row, int j, NlmWord<T>&) const {
    return row[at(j)];
  }
  // Pixel i of the lane's own quad.
  template <typename T>
  __device__ static T own_pixel(const T* row, int i, NlmWord<T>&) {
    return row[i * 32 + (threadIdx.x & 31)];
  }
  // Of weight w, 0: luma's.
  __device__ float top_of(const NlmArgs& a, int w, int k) const {
    return w == 0 ? top[k] : top[k] + (a.chroma.top - a.luma.top);
  }
};
// A whole row of the window.
template <>
struct NlmGroup<kNlmRowSide> {
  float top_of_centre;  // of luma's curve

  __device__ void start(const NlmArgs& a, int group) {
    top_of_centre = group == kNlmRowRadius ? -INFINITY : a.luma.top;
  }
  template <typename T>
  __device__ static T pixel_of(const T* row, int j, NlmWord<T>& word) {
    return pixel_at<kNlmRowQuads>(row, j, word);
  }
  template <typename T>
  __device__ static T own_pixel(const T* row, int i, NlmWord<T>& word) {
    return pixel_at<32>(row, i, word);
  }
  template <typename T>
  __device__ static const T* row_for(const T* row, int lanes) {
    return row + lanes * NlmWord<T>::kPixels;
  }
  // `word`: what the pixel before was read with.
  template <int kQuads, typename T>
  __device__ static T pixel_at(const T* row, int j, NlmWord<T>& word) {
    constexpr int kPixels = NlmWord<T>::kPixels;
    if (j % kPixels == 0) {
      const auto* words = reinterpret_cast<const NlmWord<T>*>(row) + (threadIdx.x & 31);
      word = words[(j & 3) / kPixels * kQuads + (j >> 2)];
    }
    return word.pixel[j % kPixels];
  }
  __device__ float top_of(const NlmArgs& a, int w, int k) const {
    if (k != kNlmRowRadius) return w == 0 ? a.luma.top : a.chroma.top;
    return w == 0 ? top_of_centre : top_of_centre + (a.chroma.top - a.luma.top);
  }
};

// All weights of a pixel, the centre's with them, by weight w of kWeights; `sum`: of kSummed
// channels, weights, largest weights.
template <int kSummed, int kWeights>
__device__ __forceinline__ float nlm_total(const NlmArgs& a, int w,
                                           const float (&sum)[kSummed + 2 * kWeights]) {
  const NlmCurve& curve = w == 0 ? a.luma : a.chroma;
  const float one = nlm_weight(curve, kNlmBias, curve.top);
  const float largest = sum[kSummed + kWeights + w];
  return sum[kSummed + w] + (a.plan.centre.own * one + a.plan.centre.of_largest * largest);
}

// 1 / total, 0 where there is none.
__device__ __forceinline__ float nlm_inverse(float total) {
  return total > 0.0f ? 1.0f / total : 0.0f;
}

// Writes the totals of pixel (x, y) of the target, of both walks that sum them.
template <int kSummed, int kWeights>
__device__ __forceinline__ void write_totals(const NlmArgs& a, int x, int y,
                                             const float (&sum)[kSummed + 2 * kWeights]) {
#pragma unroll
  for (int w = 0; w < kWeights; ++w) {
    a.target.plane(w)[static_cast<size_t>(y) * a.target.stride + x] =
        nlm_inverse(nlm_total<kSummed, kWeights>(a, w, sum));
  }
}

// Whether the weights of channel c change it. A walk with one weight has it.
template <int kWeights>
__device__ __forceinline__ bool changes(const NlmArgs& a, int c) {
  return kWeights == 1 || (c == 0 ? a.luma : a.chroma).enabled != 0;
}

// One warp's work on one group of displacements. kSummed: channels whose pixels are summed, all or
// none: then weights alone are.
template <int kPatch, int kChannels, int kWeights, int kChunk, int kSummed = kChannels>
struct NlmWarp : NlmGroup<kChunk> {
  using Group = NlmGroup<kChunk>;
  using Match = typename NlmPixel<kChannels>::Match;
  using Own = typename NlmPixel<kChannels>::Own;
  using Value = typename NlmValue<kSummed>::Type;
  // Weighted pixels a channel, then sums of weights and largest weights.
  static constexpr int kComponents = kSummed + 2 * kWeights;

  unsigned column[kChunk][4];  // sums of products of columns over the patch's height, times -2

  __device__ void start(const NlmArgs& a, int group) {
    Group::start(a, group);
#pragma unroll
    for (int k = 0; k < kChunk; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) column[k][i] = 0;
    }
  }

  __device__ static void load_own(const Own* row, unsigned (&own)[4][kChannels]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) unpack(row[i * 32 + (threadIdx.x & 31)], own[i]);
  }

  __device__ __forceinline__ void add_products(int k, const unsigned (&own)[4][kChannels],
                                               const unsigned (&window)[4][kChannels]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) column[k][i] += own[i][c] * window[(k + i) & 3][c];
    }
  }

  // Adds one row's products, of the lane's own columns with the ring's row.
  __device__ __forceinline__ void add_row(const unsigned (&own)[4][kChannels], const Match* row) {
    unsigned window[4][kChannels];
    NlmWord<Match> word;
#pragma unroll
    for (int j = 0; j < kChunk + 3; ++j) {
      unpack(this->pixel_of(row, j, word), window[j & 3]);
      if (j >= 3) add_products(j - 3, own, window);
    }
  }
  __device__ __forceinline__ void add_row(const Own* own_row, const Match* row) {
    unsigned own[4][kChannels];
    load_own(own_row, own);
    add_row(own, row);
  }
  // The lane's own columns of a row of match values, times `factor`.
  __device__ __forceinline__ void load_own(const Match* row, int factor,
                                           unsigned (&own)[4][kChannels]) const {
    NlmWord<Match> word;
#pragma unroll
    for (int i = 0; i < 4; ++i) unpack(scaled(this->own_pixel(row, i, word), factor), own[i]);
  }
  __device__ __forceinline__ void add_row(const Match* own_row, int factor, const Match* row) {
    unsigned own[4][kChannels];
    load_own(own_row, factor, own);
    add_row(own, row);
  }
  // Moves the patches down by a row: both rows at once, so that one's loads wait beside the other's
  // sums.
  __device__ __forceinline__ void move_down(const Match* own_leaving, const Match* leaving,
                                            const Match* own_entering, const Match* entering) {
    unsigned own[2][4][kChannels], window[2][4][kChannels];
    NlmWord<Match> word[2];
    load_own(own_leaving, 2, own[0]);
    load_own(own_entering, -2, own[1]);
#pragma unroll
    for (int j = 0; j < kChunk + 3; ++j) {
      unpack(this->pixel_of(leaving, j, word[0]), window[0][j & 3]);
      unpack(this->pixel_of(entering, j, word[1]), window[1][j & 3]);
      if (j < 3) continue;
      add_products(j - 3, own[0], window[0]);
      add_products(j - 3, own[1], window[1]);
    }
  }

  // Sums the group's weighted pixels of the row of patch centres into partial[kComponents][128].
  // The pixels are taken relative to the quad's first, which keeps a constant picture what it is to
  // the last bit. With kCompletes the row that completes the patches is added first.
  // `before_partial`: called before anything is written there.
  template <bool kCompletes, typename BeforePartial>
  __device__ __forceinline__ void weigh_row(const NlmArgs& a, const Own* own_row, const Match* row,
                                            const Value* own_values, const Value* values,
                                            float* partial, const BeforePartial& before_partial) {
    const int quad = nlm_quad<kNlmAhead<kPatch>>(), lane = threadIdx.x & 31;
    own_values = Group::row_for(own_values, quad - lane);
    values = Group::row_for(values, quad - lane);
    constexpr int kRead = kSummed > 0 ? kSummed : 1;
    unsigned own[4][kChannels], window[4][kChannels], own_area[4], area[4];
    float anchor[kRead], pixel[4][kRead];
    NlmWord<Match> match_word;
    NlmWord<Value> value_word;
    if constexpr (kCompletes) load_own(own_row, own);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      unpack(this->own_pixel(own_values, i, value_word), pixel[i], own_area[i]);
    }
#pragma unroll
    for (int c = 0; c < kSummed; ++c) anchor[c] = a.anchored ? pixel[0][c] : 0.0f;
    float sum[kSummed + kWeights][4] = {};
    int largest[kWeights][4] = {}, before[kWeights][4];
#pragma unroll
    for (int j = 0; j < kChunk + 3; ++j) {
      const int k = j - 3;
      if constexpr (kCompletes) unpack(this->pixel_of(row, j, match_word), window[j & 3]);
      unpack(this->pixel_of(values, j, value_word), pixel[j & 3], area[j & 3]);
#pragma unroll
      for (int c = 0; c < kSummed; ++c) pixel[j & 3][c] -= anchor[c];
      if (k < 0) continue;
      if constexpr (kCompletes) add_products(k, own, window);
      unsigned box[4];
      if constexpr (kPatch > 0) {
        box_sums<kPatch>(column[k], box);
      } else {
        box_sums_any(a.low, a.high, column[k], box);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int q = (k + i) & 3;
        const unsigned distance = box[i] + own_area[i] + area[q];
        float weight[kWeights];
        weight[0] = nlm_weight(a.luma, distance, this->top_of(a, 0, k));
        if constexpr (kWeights == 2) {
          weight[1] = nlm_weight(a.chroma, distance, this->top_of(a, 1, k));
        }
#pragma unroll
        for (int c = 0; c < kSummed; ++c) {
          sum[c][i] = fmaf(weight[c == 0 ? 0 : kWeights - 1], pixel[q][c], sum[c][i]);
        }
#pragma unroll
        for (int w = 0; w < kWeights; ++w) {
          // Bits of floats that are not negative have the floats' order; two at a time.
          sum[kSummed + w][i] += weight[w];
          const int bits = __float_as_int(weight[w]);
          if (k % 2 != 0 || k == kChunk - 1) {
            largest[w][i] = __vimax3_s32(largest[w][i], bits, k % 2 != 0 ? before[w][i] : 0);
          }
          before[w][i] = bits;
        }
      }
    }
    before_partial();
    const auto put = [&](int component, float x, float y, float z, float w) {
      reinterpret_cast<float4*>(partial + component * kNlmColumns)[quad] = make_float4(x, y, z, w);
    };
#pragma unroll
    for (int c = 0; c < kSummed + kWeights; ++c) put(c, sum[c][0], sum[c][1], sum[c][2], sum[c][3]);
#pragma unroll
    for (int w = 0; w < kWeights; ++w) {
      put(kSummed + kWeights + w, __int_as_float(largest[w][0]), __int_as_float(largest[w][1]),
          __int_as_float(largest[w][2]), __int_as_float(largest[w][3]));
    }
  }
};

}  // namespace grainless::cuda
