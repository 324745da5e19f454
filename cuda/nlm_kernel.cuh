// SPDX-License-Identifier: MIT
// The kernel of Non-Local Means. The distance of two patches by inner products,
//   D(p, q) = area(p) + area(q) - 2 sum_o m(p + o) m(q + o),
// in integers: exact in any order.
//
// A block owns a strip of 128 columns and walks down it row by row. Each of its warps takes one
// group of up to 21 displacements, (dx .. dx + 20, dy); a lane holds four neighbouring columns and
// keeps their 84 column sums over the height of a patch in registers: a step adds the products of
// the row that enters the patch and subtracts those of the row that leaves it. Sums over the width
// come from the neighbouring lanes, the weight follows at once, and the weighted pixels are summed
// in registers over the group. Weights never leave the registers. Per row and pixel the warps' sums
// meet in shared memory and are added in the order of the groups; more groups than warps make
// several passes over the block's rows, with the sums of a pixel in device memory between them.
//
// Per pixel and displacement (colour, 9 x 9): 6 multiply-adds for products, 2 shuffles and 1.5 adds
// for the box, 6 for distance and weight, 5 for the sums, 3 for loads: about 24 issue slots.
#pragma once

#include <cuda_pipeline.h>

#include <climits>

#include "nlm_args.cuh"

namespace grainless::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kScanPad = 4;  // quads either side of a warp's scanned row
inline constexpr int kScanRow = 32 + 2 * kScanPad;
inline constexpr int kScanInts = 2 * 4 * kScanRow;  // a warp: two rows by turns

// A row in shared memory: column c at (c % 4) * quads + c / 4, so that lanes reading every fourth
// column touch neighbouring words.
__device__ __forceinline__ int quad_index(int column, int quads) {
  return (column & 3) * quads + (column >> 2);
}

// A block's shared memory. Buffers by turns: own rows 3 (this, next, the one being finished),
// partial sums 2.
template <int kChannels, int kComponents>
struct NlmShared {
  using Match = typename NlmPixel<kChannels>::Match;
  using Value = typename NlmPixel<kChannels>::Value;

  Value* values;      // [value_rows][4 * quads]
  Value* own_values;  // [3][128]
  Match* match;       // [match_rows][4 * quads]
  Match* own_new;     // [3][128]: the row that enters the patch
  Match* own_old;     // [3][128]: the row that leaves it
  float* partial;     // [2][warps][kComponents][128]
  int* scan;          // [warps][kScanInts]

  __host__ __device__ static size_t bytes(const NlmArgs& a) {
    const size_t row = 4 * a.quads;
    return sizeof(Value) * (a.value_rows * row + 3 * kNlmColumns) +
           sizeof(Match) * (a.match_rows * row + 6 * kNlmColumns) +
           sizeof(float) * 2 * a.warps * kComponents * kNlmColumns +
           sizeof(int) * a.warps * kScanInts;
  }

  __device__ NlmShared(void* memory, const NlmArgs& a) {
    const int row = 4 * a.quads;
    values = static_cast<Value*>(memory);
    own_values = values + a.value_rows * row;
    partial = reinterpret_cast<float*>(own_values + 3 * kNlmColumns);
    match = reinterpret_cast<Match*>(partial + 2 * a.warps * kComponents * kNlmColumns);
    own_new = match + a.match_rows * row;
    own_old = own_new + 3 * kNlmColumns;
    scan = reinterpret_cast<int*>(own_old + 3 * kNlmColumns);
  }
};

__device__ __forceinline__ void unpack(int match, int (&out)[1]) {
  out[0] = match;
}
__device__ __forceinline__ void unpack(uint2 match, int (&out)[3]) {
  out[0] = static_cast<int16_t>(match.x & 0xffffu);
  out[1] = static_cast<int>(match.x) >> 16;
  out[2] = static_cast<int16_t>(match.y & 0xffffu);
}

__device__ __forceinline__ void unpack(float2 value, float (&out)[1], int& area) {
  out[0] = value.x;
  area = __float_as_int(value.y);
}
__device__ __forceinline__ void unpack(float4 value, float (&out)[3], int& area) {
  out[0] = value.x;
  out[1] = value.y;
  out[2] = value.z;
  area = __float_as_int(value.w);
}

__device__ __forceinline__ float nlm_weight(const NlmCurve& curve, int distance) {
  const float exponent =
      fminf(fmaf(__int2float_rn(distance), -curve.slope, curve.offset), curve.top);
  float weight;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(weight) : "f"(exponent));
  return weight;
}

// box[i] = sum of columns i - kPatch / 2 .. i + kPatch / 2 round this lane's quad. kPatch <= 9,
// odd.
template <int kPatch>
__device__ __forceinline__ void box_sums(const int (&column)[4], int (&box)[4]) {
  constexpr int kHalf = kPatch / 2;
  int wide[12];  // columns -4..7
#pragma unroll
  for (int i = 0; i < 4; ++i) wide[4 + i] = column[i];
#pragma unroll
  for (int i = 0; i < kHalf; ++i) wide[8 + i] = __shfl_down_sync(kAllLanes, column[i], 1);
  int left;
  if constexpr (kHalf == 4) {
    const int quad = column[0] + column[1] + column[2] + column[3];
    left = __shfl_up_sync(kAllLanes, quad, 1);
#pragma unroll
    for (int i = 0; i < 3; ++i) wide[i] = __shfl_up_sync(kAllLanes, column[i], 1);
    box[0] = left + quad + wide[8];
  } else {
    left = 0;
#pragma unroll
    for (int i = 4 - kHalf; i < 4; ++i) {
      wide[i] = __shfl_up_sync(kAllLanes, column[i], 1);
      left += wide[i];
    }
    box[0] = left;
#pragma unroll
    for (int i = 0; i <= kHalf; ++i) box[0] += wide[4 + i];
  }
#pragma unroll
  for (int i = 1; i < 4; ++i) box[i] = box[i - 1] + wide[4 + i + kHalf] - wide[3 + i - kHalf];
}

// The same for any patch, by a scan over the warp's row.
__device__ __forceinline__ void box_sums_any(const NlmArgs& a, const int (&column)[4], int* scan,
                                             int (&box)[4]) {
  const int lane = threadIdx.x & 31;
  int prefix[4] = {column[0]};
#pragma unroll
  for (int i = 1; i < 4; ++i) prefix[i] = prefix[i - 1] + column[i];
  int sum = prefix[3];
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const int other = __shfl_up_sync(kAllLanes, sum, d);
    if (lane >= d) sum += other;
  }
  int* own = scan + kScanPad + lane;
#pragma unroll
  for (int i = 0; i < 4; ++i) own[i * kScanRow] = sum - prefix[3] + prefix[i];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int last = i + a.high, before = i - a.low - 1;
    box[i] =
        own[(last & 3) * kScanRow + (last >> 2)] - own[(before & 3) * kScanRow + (before >> 2)];
  }
}

// One warp's work on one group of displacements.
template <int kPatch, int kChannels, int kWeights>
struct NlmWarp {
  using Match = typename NlmPixel<kChannels>::Match;
  using Value = typename NlmPixel<kChannels>::Value;
  static constexpr int kComponents = kChannels + kWeights + 1;

  int column[kNlmChunk][4];  // sums of products of columns over the patch's height, times -2
  int count;                 // displacements of the group
  int centre;                // which of them is (0, 0), or -1

  __device__ void clear() {
#pragma unroll
    for (int k = 0; k < kNlmChunk; ++k) {
#pragma unroll
      for (int i = 0; i < 4; ++i) column[k][i] = 0;
    }
  }

  __device__ static void load_own(const Match* own, int factor, int (&out)[4][kChannels]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      unpack(own[i * 32 + (threadIdx.x & 31)], out[i]);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) out[i][c] *= factor;
    }
  }

  __device__ __forceinline__ void add_products(int k, const int (&own)[4][kChannels],
                                               const int (&other)[4][kChannels]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) column[k][i] += own[i][c] * other[(k + i) & 3][c];
    }
  }

  // Adds one row's products: `own` at the lane's columns, `other` (a ring's row) at the lane's
  // first column displaced by the group's first dx.
  __device__ void add_row(const Match* own_row, const Match* other, int quads, int factor) {
    int own[4][kChannels], window[4][kChannels];
    load_own(own_row, factor, own);
#pragma unroll
    for (int j = 0; j < 3; ++j) unpack(other[quad_index(j, quads)], window[j]);
#pragma unroll
    for (int k = 0; k < kNlmChunk; ++k) {
      if (k >= count) break;
      unpack(other[quad_index(k + 3, quads)], window[(k + 3) & 3]);
      add_products(k, own, window);
    }
  }

  // Adds the row that completes the patches, and sums the group's weighted pixels of the row of
  // patch centres into partial[kComponents][128].
  __device__ void weigh_row(const NlmArgs& a, const Match* own_row, const Match* other,
                            const Value* own_values, const Value* values, int* scan,
                            float* partial) {
    const int lane = threadIdx.x & 31, quads = a.quads;
    int own[4][kChannels], window[4][kChannels], own_area[4], area[4];
    float anchor[kChannels], pixel[4][kChannels];
    load_own(own_row, -2, own);
#pragma unroll
    for (int i = 0; i < 4; ++i) unpack(own_values[i * 32 + lane], pixel[i], own_area[i]);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) anchor[c] = a.anchored ? pixel[0][c] : 0.0f;
    const auto load = [&](int j) {
      unpack(other[quad_index(j, quads)], window[j & 3]);
      unpack(values[quad_index(j, quads)], pixel[j & 3], area[j & 3]);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) pixel[j & 3][c] -= anchor[c];
    };
    float sum[kChannels][4] = {}, total[kWeights][4] = {};
    int smallest[4] = {INT_MAX, INT_MAX, INT_MAX, INT_MAX};
#pragma unroll
    for (int j = 0; j < 3; ++j) load(j);
#pragma unroll
    for (int k = 0; k < kNlmChunk; ++k) {
      if (k >= count) break;
      load(k + 3);
      add_products(k, own, window);
      if (k == centre) continue;
      int box[4];
      if constexpr (kPatch > 0) {
        box_sums<kPatch>(column[k], box);
      } else {
        box_sums_any(a, column[k], scan + (k & 1) * 4 * kScanRow, box);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int j = (k + i) & 3, distance = box[i] + own_area[i] + area[j];
        smallest[i] = min(smallest[i], distance);
        const float luma = nlm_weight(a.luma, distance);
        const float chroma = kWeights == 2 ? nlm_weight(a.chroma, distance) : luma;
        total[0][i] += luma;
        if constexpr (kWeights == 2) total[1][i] += chroma;
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          sum[c][i] = fmaf(c == 0 ? luma : chroma, pixel[j][c], sum[c][i]);
        }
      }
    }
    const auto put = [&](int component, const float(&x)[4]) {
      reinterpret_cast<float4*>(partial + component * kNlmColumns)[lane] =
          make_float4(x[0], x[1], x[2], x[3]);
    };
#pragma unroll
    for (int c = 0; c < kChannels; ++c) put(c, sum[c]);
#pragma unroll
    for (int w = 0; w < kWeights; ++w) put(kChannels + w, total[w]);
    reinterpret_cast<int4*>(partial + (kComponents - 1) * kNlmColumns)[lane] =
        make_int4(smallest[0], smallest[1], smallest[2], smallest[3]);
  }
};

// One block's walk: groups first_group .. first_group + groups - 1 over the rows first_row .. of
// the target. Row numbers are relative to the target, ring indices to the first row loaded.
template <int kPatch, int kChannels, int kWeights>
struct NlmWalk {
  using Warp = NlmWarp<kPatch, kChannels, kWeights>;
  using Match = typename Warp::Match;
  using Value = typename Warp::Value;
  static constexpr int kComponents = Warp::kComponents;

  const NlmArgs& a;
  NlmShared<kChannels, kComponents> shared;
  int strip, first_row, rows;
  int first_group, groups, first_dy, dys;

  __device__ int patch() const { return kPatch > 0 ? kPatch : a.patch; }

  // Asynchronous copies of one row of the padded planes.
  template <typename T>
  __device__ void fetch_wide(const void* plane, T* ring, int ring_rows, int index, int row) const {
    const T* from =
        static_cast<const T*>(plane) + static_cast<size_t>(row) * a.pitch + strip * a.strip_step;
    T* to = ring + index % ring_rows * 4 * a.quads;
    for (int i = threadIdx.x; i < 4 * a.quads; i += blockDim.x) {
      __pipeline_memcpy_async(to + quad_index(i, a.quads), from + i, sizeof(T));
    }
  }
  template <typename T>
  __device__ void fetch_own(const void* plane, T* buffers, int turn, int row) const {
    const T* from = static_cast<const T*>(plane) + static_cast<size_t>(row) * a.pitch + a.radius +
                    strip * a.strip_step;
    T* to = buffers + turn % 3 * kNlmColumns;
    for (int i = threadIdx.x; i < kNlmColumns; i += blockDim.x) {
      __pipeline_memcpy_async(to + quad_index(i, 32), from + i, sizeof(T));
    }
  }
  __device__ void fetch_match(int index) const {
    fetch_wide(a.match, shared.match, a.match_rows, index, first_row + a.radius + first_dy + index);
  }
  __device__ void fetch_values(int index) const {
    fetch_wide(a.values, shared.values, a.value_rows, index,
               first_row + a.radius + a.low + first_dy + index);
  }
  // Step t adds the row t of those that any patch of this walk touches, and completes the result
  // row t - patch + 1.
  __device__ void fetch_own_rows(int t) const {
    const int row = first_row + a.radius + t;
    fetch_own(a.match, shared.own_new, t, row);
    if (t >= patch()) fetch_own(a.match, shared.own_old, t, row - patch());
    if (t >= patch() - 1) fetch_own(a.values, shared.own_values, t, row - patch() + 1 + a.low);
  }

  __device__ void fetch_first() const {
    for (int i = 0; i < dys; ++i) {
      fetch_match(i);
      fetch_values(i);
    }
    fetch_own_rows(0);
  }
  __device__ void fetch_next(int t) const {
    fetch_match(t + dys);
    if (t >= patch() - 1) fetch_values(t - patch() + 1 + dys);
    fetch_own_rows(t + 1);
  }

  __device__ void run() const {
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const int group = first_group + warp, steps = rows + patch() - 1;
    const int dy = group / a.chunks - a.radius - first_dy;  // within the walk
    const int start = group % a.chunks * a.chunk;           // first dx + radius
    Warp work;
    work.clear();
    work.count = min(a.chunk, 2 * a.radius + 1 - start);
    work.centre = group / a.chunks == a.radius && start <= a.radius && a.radius < start + work.count
                      ? a.radius - start
                      : -1;
    const int at = lane + start / 4, row = 4 * a.quads;
    fetch_first();
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int t = 0; t < steps; ++t) {
      if (t + 1 < steps) fetch_next(t);
      __pipeline_commit();
      const int done = t - patch();  // row whose partial sums are complete
      if (done >= 0) reduce(done, t + 2);
      if (warp < groups) {
        const Match* entering = shared.match + (t + dy) % a.match_rows * row + at;
        const Match* own = shared.own_new + t % 3 * kNlmColumns;
        if (t >= patch()) {
          work.add_row(shared.own_old + t % 3 * kNlmColumns,
                       shared.match + (t + dy - patch()) % a.match_rows * row + at, a.quads, 2);
        }
        if (t < patch() - 1) {
          work.add_row(own, entering, a.quads, -2);
        } else {
          const int y = t - patch() + 1;
          work.weigh_row(a, own, entering, shared.own_values + t % 3 * kNlmColumns,
                         shared.values + (y + dy) % a.value_rows * row + at,
                         shared.scan + warp * kScanInts, partial(y, warp));
        }
      }
      __pipeline_wait_prior(0);
      __syncthreads();
    }
    reduce(rows - 1, steps + 2);
    __syncthreads();
  }

  __device__ float* partial(int y, int warp) const {
    return shared.partial + ((y & 1) * a.warps + warp) * kComponents * kNlmColumns;
  }

  // Adds the warps' sums of row y, a thread a column; turn: of the row's own values.
  __device__ void reduce(int y, int turn) const {
    for (int column = threadIdx.x; column < kNlmColumns; column += blockDim.x) {
      const int x = a.x0 + a.radius + strip * a.strip_step + column - a.target.rect.x;
      if (column < a.lead || column >= kNlmColumns - a.lead) continue;
      if (x < 0 || x >= a.target.rect.width) continue;
      float sum[kComponents - 1] = {};
      int smallest = INT_MAX;
      float* stored = a.sums + static_cast<size_t>(first_row + y) * a.target.rect.width + x;
      if (first_group > 0) {
#pragma unroll
        for (int c = 0; c < kComponents - 1; ++c) sum[c] = stored[c * a.sums_plane];
        smallest = __float_as_int(stored[(kComponents - 1) * a.sums_plane]);
      }
      for (int w = 0; w < groups; ++w) {
        const float* from = partial(y, w) + column;
#pragma unroll
        for (int c = 0; c < kComponents - 1; ++c) sum[c] += from[c * kNlmColumns];
        smallest = min(smallest, __float_as_int(from[(kComponents - 1) * kNlmColumns]));
      }
      if (first_group + groups < a.groups) {
#pragma unroll
        for (int c = 0; c < kComponents - 1; ++c) stored[c * a.sums_plane] = sum[c];
        stored[(kComponents - 1) * a.sums_plane] = __int_as_float(smallest);
      } else {
        finish(x, first_row + y, column, turn, sum, smallest);
      }
    }
  }

  __device__ void finish(int x, int y, int column, int turn, const float (&sum)[kComponents - 1],
                         int smallest) const {
    const Value* row = shared.own_values + turn % 3 * kNlmColumns;
    float own[kChannels], anchor[kChannels];
    int area;
    unpack(row[quad_index(column, 32)], own, area);
    unpack(row[quad_index(column & ~3, 32)], anchor, area);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const NlmCurve& curve = c == 0 || kWeights == 1 ? a.luma : a.chroma;
      const float total = sum[kChannels + (c == 0 || kWeights == 1 ? 0 : 1)];
      const Centre rule = static_cast<Centre>(a.centre);
      const float centre = rule == Centre::kMax   ? nlm_weight(curve, smallest)
                           : rule == Centre::kOne ? nlm_weight(curve, 0)
                                                  : 0.0f;
      const float relative = own[c] - (a.anchored ? anchor[c] : 0.0f), all = total + centre;
      const float change = fmaf(-relative, total, sum[c]) / (all > 0.0f ? all : 1.0f);
      a.target.plane(c)[static_cast<size_t>(y) * a.target.stride + x] =
          curve.enabled ? own[c] + change : own[c];
    }
  }
};

template <int kPatch, int kChannels, int kWeights>
__global__ void __launch_bounds__(kNlmThreads, 1) nlm_kernel(const NlmArgs a) {
  extern __shared__ uint4 memory[];
  using Walk = NlmWalk<kPatch, kChannels, kWeights>;
  const int block = a.first_block + blockIdx.x;
  const int first_row = block / a.strips * a.block_rows;
  const int rows = min(a.block_rows, a.target.rect.height - first_row);
  for (int first = 0; first < a.groups; first += a.warps) {
    const int groups = min(a.warps, a.groups - first);
    const int first_dy = first / a.chunks, last_dy = (first + groups - 1) / a.chunks;
    const Walk walk{a,
                    NlmShared<kChannels, Walk::kComponents>(memory, a),
                    block % a.strips,
                    first_row,
                    rows,
                    first,
                    groups,
                    first_dy - a.radius,
                    last_dy - first_dy + 1};
    walk.run();
  }
}

}  // namespace grainless::cuda
