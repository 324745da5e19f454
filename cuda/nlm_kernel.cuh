// SPDX-License-Identifier: MIT
// The kernel of Non-Local Means. The distance of two patches by inner products,
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
// Per pixel and displacement (colour, 9 x 9): 6 multiply-adds for products, 2 shuffles and 1.5 adds
// for the box, 6 for distance and weight, 8 for the sums, 4 for loads, 4 for what a row costs:
// about 31 issue slots.
#pragma once

#include <cuda_pipeline.h>

#include <cmath>
#include <iterator>

#include "nlm_args.cuh"

namespace grainless::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kOwnRows = 4;  // from the row after this to the one being finished

// A row in shared memory: column c at (c % 4) * quads + c / 4, so that lanes reading every fourth
// column touch neighbouring words.
__device__ __forceinline__ int quad_index(int column, int quads) {
  return (column & 3) * quads + (column >> 2);
}

// A block's shared memory.
template <int kChannels, int kComponents>
struct NlmShared {
  using Match = typename NlmPixel<kChannels>::Match;
  using Own = typename NlmPixel<kChannels>::Own;
  using Value = typename NlmPixel<kChannels>::Value;

  Value* values;      // ring of value_rows rows, [4 * quads]
  Value* own_values;  // ring of kOwnRows rows, [128]
  Own* entering;      // [2][128]: -2 * the row that enters the patch
  Own* leaving;       // [2][128]: 2 * the row that leaves it
  float* partial;     // [2][warps][kComponents][128]
  float* totals;      // [2][kComponents][128]
  Match* match;       // ring of match_rows rows, [4 * quads]
  Match* raw;         // [2][entering, leaving][128]

  __host__ __device__ static size_t bytes(const NlmArgs& a) {
    const size_t row = 4 * a.quads;
    return sizeof(Value) * (a.value_rows * row + kOwnRows * kNlmColumns) +
           sizeof(Own) * 4 * kNlmColumns +
           sizeof(float) * 2 * (a.warps + 1) * kComponents * kNlmColumns +
           sizeof(Match) * (a.match_rows * row + 4 * kNlmColumns);
  }

  __device__ NlmShared(void* memory, const NlmArgs& a) {
    const int row = 4 * a.quads;
    values = static_cast<Value*>(memory);
    own_values = values + a.value_rows * row;
    entering = reinterpret_cast<Own*>(own_values + kOwnRows * kNlmColumns);
    leaving = entering + 2 * kNlmColumns;
    partial = reinterpret_cast<float*>(leaving + 2 * kNlmColumns);
    totals = partial + 2 * a.warps * kComponents * kNlmColumns;
    match = reinterpret_cast<Match*>(totals + 2 * kComponents * kNlmColumns);
    raw = match + a.match_rows * row;
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

__device__ __forceinline__ void unpack(int4 match, int (&out)[3]) {
  out[0] = match.x;
  out[1] = match.y;
  out[2] = match.z;
}
__device__ __forceinline__ int scaled(int match, int factor) {
  return factor * match;
}
__device__ __forceinline__ int4 scaled(uint2 match, int factor) {
  int m[3];
  unpack(match, m);
  return make_int4(factor * m[0], factor * m[1], factor * m[2], 0);
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

__device__ __forceinline__ float nlm_weight(const NlmCurve& curve, int distance, float top) {
  const float exponent = fminf(fmaf(__int2float_rn(distance), -curve.slope, curve.offset), top);
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

__device__ __forceinline__ int pick(const int (&x)[4], int i) {
  return i < 2 ? (i == 0 ? x[0] : x[1]) : (i == 2 ? x[2] : x[3]);
}

// The same for any patch, as differences of the row's running sums, which a scan makes.
__device__ __forceinline__ void box_sums_any(const NlmArgs& a, const int (&column)[4],
                                             int (&box)[4]) {
  const int lane = threadIdx.x & 31;
  const int quad = column[0] + column[1] + column[2] + column[3];
  int sum = quad;
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const int other = __shfl_up_sync(kAllLanes, sum, d);
    if (lane >= d) sum += other;
  }
  int before[4] = {sum - quad};  // the sum of all columns before the lane's i-th
#pragma unroll
  for (int i = 1; i < 4; ++i) before[i] = before[i - 1] + column[i - 1];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int end = i + a.high + 1, first = i - a.low;
    box[i] = __shfl_sync(kAllLanes, pick(before, end & 3), lane + (end >> 2)) -
             __shfl_sync(kAllLanes, pick(before, first & 3), lane + (first >> 2));
  }
}

// One warp's work on one group of displacements.
template <int kPatch, int kChannels, int kWeights, int kChunk>
struct NlmWarp {
  using Match = typename NlmPixel<kChannels>::Match;
  using Own = typename NlmPixel<kChannels>::Own;
  using Value = typename NlmPixel<kChannels>::Value;
  // Weighted pixels a channel, then sums of weights and largest weights.
  static constexpr int kComponents = kChannels + 2 * kWeights;

  int column[kChunk][4];  // sums of products of columns over the patch's height, times -2
  float top[kChunk];      // NlmArgs::top; minus infinity where a displacement is not used
  int offset[4];          // of the group's window in a row in shared memory, columns 0 to 3

  __device__ void start(const NlmArgs& a, int group) {
    const int first = group % a.chunks * a.chunk, lane = threadIdx.x & 31;
    const bool centre_row = group / a.chunks == a.radius;
#pragma unroll
    for (int k = 0; k < kChunk; ++k) {
      const int dx = first + k - a.radius;
      top[k] = dx > a.radius || (centre_row && dx == 0) ? -INFINITY : a.top;
#pragma unroll
      for (int i = 0; i < 4; ++i) column[k][i] = 0;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) offset[j] = lane + quad_index(first + j, a.quads);
  }

  __device__ static void load_own(const Own* row, int (&own)[4][kChannels]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) unpack(row[i * 32 + (threadIdx.x & 31)], own[i]);
  }

  __device__ __forceinline__ void add_products(int k, const int (&own)[4][kChannels],
                                               const int (&window)[4][kChannels]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int c = 0; c < kChannels; ++c) column[k][i] += own[i][c] * window[(k + i) & 3][c];
    }
  }

  // Adds one row's products, of the lane's own columns with the ring's row.
  __device__ __forceinline__ void add_row(const Own* own_row, const Match* row) {
    int own[4][kChannels], window[4][kChannels];
    load_own(own_row, own);
#pragma unroll
    for (int j = 0; j < kChunk + 3; ++j) {
      unpack(row[offset[j & 3] + (j >> 2)], window[j & 3]);
      if (j >= 3) add_products(j - 3, own, window);
    }
  }

  // Adds the row that completes the patches, and sums the group's weighted pixels of the row of
  // patch centres into partial[kComponents][128]. The pixels are taken relative to the quad's
  // first, which keeps a constant picture what it is to the last bit.
  __device__ __forceinline__ void weigh_row(const NlmArgs& a, const Own* own_row, const Match* row,
                                            const Value* own_values, const Value* values,
                                            float* partial) {
    const int lane = threadIdx.x & 31;
    int own[4][kChannels], window[4][kChannels], own_area[4], area[4];
    float anchor[kChannels], pixel[4][kChannels];
    load_own(own_row, own);
#pragma unroll
    for (int i = 0; i < 4; ++i) unpack(own_values[i * 32 + lane], pixel[i], own_area[i]);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) anchor[c] = a.anchored ? pixel[0][c] : 0.0f;
    float sum[kChannels + kWeights][4] = {};
    int largest[kWeights][4] = {}, before[kWeights][4];
#pragma unroll
    for (int j = 0; j < kChunk + 3; ++j) {
      const int at = offset[j & 3] + (j >> 2), k = j - 3;
      unpack(row[at], window[j & 3]);
      unpack(values[at], pixel[j & 3], area[j & 3]);
#pragma unroll
      for (int c = 0; c < kChannels; ++c) pixel[j & 3][c] -= anchor[c];
      if (k < 0) continue;
      add_products(k, own, window);
      int box[4];
      if constexpr (kPatch > 0) {
        box_sums<kPatch>(column[k], box);
      } else {
        box_sums_any(a, column[k], box);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int q = (k + i) & 3, distance = box[i] + own_area[i] + area[q];
        float weight[kWeights];
        weight[0] = nlm_weight(a.luma, distance, top[k]);
        if constexpr (kWeights == 2) weight[1] = nlm_weight(a.chroma, distance, top[k]);
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          sum[c][i] = fmaf(weight[c == 0 ? 0 : kWeights - 1], pixel[q][c], sum[c][i]);
        }
#pragma unroll
        for (int w = 0; w < kWeights; ++w) {
          // Bits of floats that are not negative have the floats' order; two at a time.
          sum[kChannels + w][i] += weight[w];
          const int bits = __float_as_int(weight[w]);
          if (k % 2 != 0 || k == kChunk - 1) {
            largest[w][i] = __vimax3_s32(largest[w][i], bits, k % 2 != 0 ? before[w][i] : 0);
          }
          before[w][i] = bits;
        }
      }
    }
    const auto put = [&](int component, float x, float y, float z, float w) {
      reinterpret_cast<float4*>(partial + component * kNlmColumns)[lane] = make_float4(x, y, z, w);
    };
#pragma unroll
    for (int c = 0; c < kChannels + kWeights; ++c)
      put(c, sum[c][0], sum[c][1], sum[c][2], sum[c][3]);
#pragma unroll
    for (int w = 0; w < kWeights; ++w) {
      put(kChannels + kWeights + w, __int_as_float(largest[w][0]), __int_as_float(largest[w][1]),
          __int_as_float(largest[w][2]), __int_as_float(largest[w][3]));
    }
  }
};

// One block's walk: groups first_group .. first_group + groups - 1 over the rows first_row .. of
// the target. Row numbers are relative to the target, ring indices to the first row loaded. Step t
// adds row t of those that any patch of this walk touches and weighs the row y = t - patch + 1; the
// warps' sums of row y are added in step t + 1, the row is finished in step t + 2.
template <int kPatch, int kChannels, int kWeights, int kChunk>
struct NlmWalk {
  using Warp = NlmWarp<kPatch, kChannels, kWeights, kChunk>;
  using Match = typename Warp::Match;
  using Own = typename Warp::Own;
  using Value = typename Warp::Value;
  static constexpr int kComponents = Warp::kComponents;
  // Housekeeping of a step, each by one warp: 5 rows to fetch, 2 to convert, sums, finishing.
  static constexpr int kFirstSum = 7, kFirstFinish = kFirstSum + kComponents,
                       kTasks = kFirstFinish + 4;

  const NlmArgs& a;
  NlmShared<kChannels, kComponents> shared;
  int strip, first_row, rows;
  int first_group, groups, first_dy, dys;

  __device__ int patch() const { return kPatch > 0 ? kPatch : a.patch; }
  __device__ bool last_pass() const { return first_group + groups == a.groups; }
  __device__ const Match* match_row(int index) const {
    return shared.match + (index & (a.match_rows - 1)) * 4 * a.quads;
  }
  __device__ const Value* value_row(int index) const {
    return shared.values + (index & (a.value_rows - 1)) * 4 * a.quads;
  }
  __device__ Value* own_values(int t) const {
    return shared.own_values + (t & (kOwnRows - 1)) * kNlmColumns;
  }
  __device__ Match* raw(int t, int leaving) const {
    return shared.raw + ((t & 1) * 2 + leaving) * kNlmColumns;
  }
  __device__ float* partial(int y, int warp) const {
    return shared.partial + ((y & 1) * a.warps + warp) * kComponents * kNlmColumns;
  }
  __device__ float* totals(int y) const {
    return shared.totals + (y & 1) * kComponents * kNlmColumns;
  }

  // A warp copies, asynchronously, `count` pixels of a row of the padded planes, quads of `quads`.
  template <typename T>
  __device__ void fetch(const void* plane, int row, int column, int count, int quads,
                        const T* to) const {
    const T* from = static_cast<const T*>(plane) + static_cast<size_t>(row) * a.pitch +
                    strip * a.strip_step + column;
    for (int i = threadIdx.x & 31; i < count; i += 32) {
      __pipeline_memcpy_async(const_cast<T*>(to) + quad_index(i, quads), from + i, sizeof(T));
    }
  }
  __device__ void fetch_match(int index) const {
    const int row = first_row + a.radius + first_dy + index;
    fetch(a.match, row, 0, 4 * a.quads, a.quads, match_row(index));
  }
  __device__ void fetch_values(int index) const {
    const int row = first_row + a.radius + a.low + first_dy + index;
    fetch(a.values, row, 0, 4 * a.quads, a.quads, value_row(index));
  }
  __device__ void fetch_raw(int t, int leaving) const {
    const int row = first_row + a.radius + t - (leaving != 0 ? patch() : 0);
    fetch(a.match, row, a.radius, kNlmColumns, 32, raw(t, leaving));
  }
  __device__ void fetch_own_values(int t) const {
    const int row = first_row + a.radius + t - a.high;
    fetch(a.values, row, a.radius, kNlmColumns, 32, own_values(t));
  }
  __device__ void convert(int t, int leaving) const {
    Own* to = (leaving != 0 ? shared.leaving : shared.entering) + (t & 1) * kNlmColumns;
    for (int i = threadIdx.x & 31; i < kNlmColumns; i += 32) {
      to[i] = scaled(raw(t, leaving)[i], leaving != 0 ? 2 : -2);
    }
  }

  // What must be there before step 0.
  __device__ void prepare() const {
    const int warp = threadIdx.x / 32;
    for (int i = warp; i < dys; i += a.warps) {
      fetch_match(i);
      fetch_values(i);
    }
    if (warp == 0) fetch_raw(0, 0);
    if (warp == a.warps - 1) fetch_raw(1, 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    if (warp == 0) convert(0, 0);
    __syncthreads();
  }

  __device__ void run_task(int task, int t, int steps) const {
    // Hides t from the compiler, which otherwise computes all tasks' addresses in every warp.
    asm volatile("" : "+r"(t));
    const int y = t - patch() + 1;
    if (task == 0) {
      if (t + 1 < steps) fetch_match(t + dys);
    } else if (task == 1) {
      if (t + 1 < steps && y >= 0) fetch_values(y + dys);
    } else if (task < 4) {
      if (t + 2 < steps && (task == 2 || t + 2 >= patch())) fetch_raw(t + 2, task - 2);
    } else if (task == 4) {
      if (t + 1 < steps && y + 1 >= 0) fetch_own_values(t + 1);
    } else if (task < kFirstSum) {
      if (t + 1 < steps && (task == 5 || t + 1 >= patch())) convert(t + 1, task - 5);
    } else if (task < kFirstFinish) {
      if (y > 0 && y <= rows) add_partial(y - 1, task - kFirstSum);
    } else {
      if (y > 1 && y <= rows + 1 && last_pass()) finish(y - 2, task - kFirstFinish);
    }
  }

  __device__ void run() const {
    const int warp = threadIdx.x / 32, group = first_group + min(warp, groups - 1);
    const int steps = rows + patch() - 1;
    const int dy = group / a.chunks - a.radius - first_dy;  // within the walk
    Warp work;
    work.start(a, group);
    prepare();
    for (int t = 0; t < steps + 2; ++t) {
      for (int task = warp; task < kTasks; task += a.warps) run_task(task, t, steps);
      __pipeline_commit();
      const int y = t - patch() + 1;
      if (t < steps) {
        // Warps beyond the last group repeat its work: a branch here would cost all of them more.
        const Own* own = shared.entering + (t & 1) * kNlmColumns;
        if (y > 0) {
          work.add_row(shared.leaving + (t & 1) * kNlmColumns, match_row(t + dy - patch()));
        }
        if (y < 0) {
          work.add_row(own, match_row(t + dy));
        } else {
          work.weigh_row(a, own, match_row(t + dy), own_values(t), value_row(y + dy),
                         partial(y, warp));
        }
      }
      __pipeline_wait_prior(0);
      __syncthreads();
    }
  }

  // A warp adds all warps' sums of one component of row y, in the order of the groups.
  __device__ void add_partial(int y, int component) const {
    const int lane = threadIdx.x & 31;
    float4* stored = reinterpret_cast<float4*>(
        a.sums + component * a.sums_plane +
        (static_cast<size_t>(first_row + y) * a.strips + strip) * kNlmColumns);
    float4 sum = first_group > 0 ? stored[lane] : make_float4(0, 0, 0, 0);
    const auto of = [&](int w) {
      return reinterpret_cast<const float4*>(partial(y, w) + component * kNlmColumns)[lane];
    };
    if (component < kChannels + kWeights) {
      for (int w = 0; w < groups; ++w) {
        const float4 x = of(w);
        sum = make_float4(sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w);
      }
    } else {
      for (int w = 0; w < groups; ++w) {
        const float4 x = of(w);
        sum =
            make_float4(fmaxf(sum.x, x.x), fmaxf(sum.y, x.y), fmaxf(sum.z, x.z), fmaxf(sum.w, x.w));
      }
    }
    if (last_pass()) {
      stored = reinterpret_cast<float4*>(totals(y) + component * kNlmColumns);
    }
    stored[lane] = sum;
  }

  // A warp writes a quarter of row y to the target.
  __device__ void finish(int y, int quarter) const {
    const int column = quarter * 32 + (threadIdx.x & 31);
    const int x = a.x0 + a.radius + strip * a.strip_step + column - a.target.rect.x;
    if (column < a.lead || column >= kNlmColumns - a.lead || x < 0) return;
    if (x >= a.target.rect.width) return;
    const Value* row = own_values(y + patch() - 1);
    const float* sum = totals(y) + column;
    float own[kChannels], anchor[kChannels];
    int area;
    unpack(row[quad_index(column & ~3, 32)], anchor, area);
    unpack(row[quad_index(column, 32)], own, area);
    const Centre rule = static_cast<Centre>(a.centre);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const int w = c == 0 ? 0 : kWeights - 1;
      const NlmCurve& curve = w == 0 ? a.luma : a.chroma;
      const float total = sum[(kChannels + w) * kNlmColumns];
      const float centre = rule == Centre::kMax   ? sum[(kChannels + kWeights + w) * kNlmColumns]
                           : rule == Centre::kOne ? nlm_weight(curve, 0, a.top)
                                                  : 0.0f;
      const float relative = own[c] - (a.anchored ? anchor[c] : 0.0f), all = total + centre;
      const float change = fmaf(-relative, total, sum[c * kNlmColumns]) / (all > 0.0f ? all : 1.0f);
      a.target.plane(c)[static_cast<size_t>(first_row + y) * a.target.stride + x] =
          curve.enabled ? own[c] + change : own[c];
    }
  }
};

template <int kPatch, int kChannels, int kWeights, int kChunk>
__global__ void __launch_bounds__(32 * kNlmWarps, 1) nlm_kernel(const NlmArgs a) {
  extern __shared__ uint4 memory[];
  using Walk = NlmWalk<kPatch, kChannels, kWeights, kChunk>;
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

// The kernel for a patch size and a chunk.
template <int kPatch, int kChannels, int kWeights, size_t kIndex = 0>
NlmKernel nlm_kernel_for(int chunk) {
  constexpr int kChunk = kNlmChunks[kIndex];
  if constexpr (kIndex + 1 < std::size(kNlmChunks)) {
    if (chunk != kChunk) return nlm_kernel_for<kPatch, kChannels, kWeights, kIndex + 1>(chunk);
  }
  return nlm_kernel<kPatch, kChannels, kWeights, kChunk>;
}
template <int kChannels, int kWeights>
NlmKernel nlm_kernel_for(int patch, int chunk) {
  switch (patch) {
    case 3:
      return nlm_kernel_for<3, kChannels, kWeights>(chunk);
    case 5:
      return nlm_kernel_for<5, kChannels, kWeights>(chunk);
    case 7:
      return nlm_kernel_for<7, kChannels, kWeights>(chunk);
    case 9:
      return nlm_kernel_for<9, kChannels, kWeights>(chunk);
    default:
      return nlm_kernel_for<0, kChannels, kWeights>(chunk);
  }
}

}  // namespace grainless::cuda
