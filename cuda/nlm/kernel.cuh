// SPDX-License-Identifier: MIT
// The kernels of Non-Local Means: how a block walks down its strip. warp.cuh says what a warp
// does with a row, and how it all works; patches.cuh what is different patch-wise.
#pragma once

#include <iterator>
#include <type_traits>

#include "patches.cuh"
#include "warp.cuh"

namespace grainless::cuda {

// One block's walk: groups first_group .. first_group + groups - 1 over the rows first_row .. of
// the target. Row numbers are relative to the target, ring indices to the first row loaded. Step t
// adds row t of those that any patch of this walk touches and weighs the patches round the row
// `centre` = t - patch + 1 (counted from the first one needed); the warps' sums of row y are added
// in step t + 1, and the row is finished where these are the last ones. Pixel-wise y is the same
// row, patch-wise the one that the patches of the last `patch` rows hold: patch - 1 rows later.
template <int kPatch, int kChannels, int kWeights, int kChunk, bool kPatches>
struct NlmWalk {
  using Warp = std::conditional_t<kPatches, NlmPatchWarp<kPatch, kChannels, kWeights, kChunk>,
                                  NlmWarp<kPatch, kChannels, kWeights, kChunk>>;
  using Match = typename Warp::Match;
  using Own = typename Warp::Own;
  using Value = typename Warp::Value;
  static constexpr int kComponents = Warp::kComponents;
  // Housekeeping of a step, each by one warp: sums of a component, or in the last pass of a quarter
  // of the columns, 5 rows to fetch, 2 to convert.
  static constexpr int kQuarters = 4;
  static constexpr int kSums = kComponents > kQuarters ? kComponents : kQuarters;
  static constexpr int kTasks = kSums + 7;

  const NlmArgs& a;
  NlmShared<kChannels, kComponents> shared;
  int strip, first_row, rows;
  int first_group, groups, first_dy, dys;

  __device__ int patch() const { return kPatch > 0 ? kPatch : a.plan.patch; }
  // The step of the first results.
  __device__ int lag() const { return kPatches ? 2 * (patch() - 1) : patch() - 1; }
  __device__ bool last_pass() const { return first_group + groups == a.groups; }
  __device__ Match* match_row(int index) const {
    return shared.match + a.match_rows.at(index) * 4 * a.quads;
  }
  __device__ Value* value_row(int index) const {
    return shared.values + a.value_rows.at(index) * 4 * a.quads;
  }
  __device__ Value* own_values(int t) const {
    return shared.own_values + a.own_rows.at(t) * kNlmColumns;
  }
  // The own values of the row that step t gives results for.
  __device__ Value* own_results(int t) const { return own_values(kPatches ? t - a.low : t); }
  __device__ Match* raw(int t, int leaving) const {
    return shared.raw + ((t & 1) * 2 + leaving) * kNlmColumns;
  }
  __device__ float* partial(int y, int warp) const {
    return shared.partial + ((kPatches ? 0 : y & 1) * a.warps + warp) * kComponents * kNlmColumns;
  }

  template <typename T>
  __device__ void fetch(const void* plane, int row, int column, int count, int quads, T* to) const {
    const T* from = static_cast<const T*>(plane) + static_cast<size_t>(row) * a.pitch +
                    strip * a.strip_step + column;
    fetch_row(from, count, quads, to);
  }
  __device__ void fetch_match(int index) const {
    const int row = first_row + a.plan.radius + first_dy + index;
    fetch(a.match, row, 0, 4 * a.quads, a.quads, match_row(index));
  }
  __device__ void fetch_values(int index) const {
    const int row = first_row + a.plan.radius + a.low + first_dy + index;
    fetch(a.values, row, 0, 4 * a.quads, a.quads, value_row(index));
  }
  __device__ void fetch_raw(int t, int leaving) const {
    const int row = first_row + a.plan.radius + t - (leaving != 0 ? patch() : 0);
    fetch(a.match, row, a.plan.radius, kNlmColumns, 32, raw(t, leaving));
  }
  __device__ void fetch_own_values(int t) const {
    const int row = first_row + a.plan.radius + t - a.high;
    fetch(a.values, row, a.plan.radius, kNlmColumns, 32, own_values(t));
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
    const int centre = t - patch() + 1, y = t - lag();
    if (task < kSums) {
      if (y > 0) run_sums(task, y - 1);
      if constexpr (kPatches) {
        if (first_group > 0 && y >= 0 && y < rows) fetch_sums(task, y);
      }
    } else if (t + 1 < steps) {
      fetch_or_convert(task - kSums, t, centre, steps);
    }
  }
  __device__ __forceinline__ void run_sums(int task, int y) const {
    if (!last_pass()) {
      if (task < kComponents) add_partial(y, task);
    } else if (task < kQuarters) {
      add_and_finish(y, task);
    }
  }
  __device__ __forceinline__ void fetch_or_convert(int task, int t, int centre, int steps) const {
    if (task == 0) {
      fetch_match(t + dys);
    } else if (task == 1) {
      if (centre >= 0) fetch_values(centre + dys);
    } else if (task < 4) {
      if (t + 2 < steps && (task == 2 || t + 2 >= patch())) fetch_raw(t + 2, task - 2);
    } else if (task == 4) {
      if (centre + 1 >= 0) fetch_own_values(t + 1);
    } else {
      if (task == 5 || t + 1 >= patch()) convert(t + 1, task - 5);
    }
  }

  __device__ void run() const {
    const int warp = threadIdx.x / 32, group = first_group + min(warp, groups - 1);
    const int steps = rows + lag();
    const int dy = group / a.chunks - a.plan.radius - first_dy;  // within the walk
    Warp work;
    work.start(a, group);
    if constexpr (kPatches) clear_history(warp);
    prepare();
    float inverse[kWeights][4];  // of the next row of patches
    if constexpr (kPatches) load_inverse(0, inverse);
    for (int t = 0; t <= steps; ++t) {
      for (int task = warp; task < kTasks; task += a.warps) run_task(task, t, steps);
      __pipeline_commit();
      const int centre = t - patch() + 1, y = t - lag();
      if (t < steps) {
        // Warps beyond the last group repeat its work: a branch here would cost all of them more.
        const Own* own = shared.entering + (t & 1) * kNlmColumns;
        if (centre > 0) {
          work.add_row(shared.leaving + (t & 1) * kNlmColumns, match_row(t + dy - patch()));
        }
        if (centre < 0) {
          work.add_row(own, match_row(t + dy));
        } else if constexpr (kPatches) {
          work.weigh_row(a, own, match_row(t + dy), {own_values(t), value_row(centre + dy)},
                         patch_row(t, centre, dy, warp, inverse), partial(y, warp));
        } else {
          work.template weigh_row<true>(a, own, match_row(t + dy), own_values(t),
                                        value_row(centre + dy), partial(y, warp), [] {});
        }
      }
      __pipeline_wait_prior(0);
      __syncthreads();
    }
  }

  __device__ void clear_history(int warp) const {
    for (int i = threadIdx.x & 31; i < a.history; i += 32) {
      shared.history[warp * a.history + i] = {0, 0};
    }
  }

  // NlmQuotients::kScale / total of the lane's patches of a row. Lanes beyond the planes have no
  // result, whatever they read.
  __device__ __forceinline__ void load_inverse(int centre, float (&inverse)[kWeights][4]) const {
    const int x = a.x0 + a.plan.radius + strip * a.strip_step + 4 * nlm_quad<kNlmAhead<kPatch>>() -
                  a.inverse.rect.x;
    const size_t at = static_cast<size_t>(first_row + centre) * a.inverse.stride +
                      min(max(x, 0), a.inverse.rect.width - 4);
#pragma unroll
    for (int w = 0; w < kWeights; ++w) {
      const float4 quad = __ldg(reinterpret_cast<const float4*>(a.inverse.plane(w) + at));
      const float of[4] = {quad.x, quad.y, quad.z, quad.w};
#pragma unroll
      for (int i = 0; i < 4; ++i) inverse[w][i] = of[i] * NlmQuotients::kScale;
    }
  }

  __device__ __forceinline__ PatchRow<Value, kWeights> patch_row(
      int t, int centre, int dy, int warp, float (&inverse)[kWeights][4]) const {
    PatchRow<Value, kWeights> row;
    // Before the sums are complete nobody looks at them.
    const bool full = centre >= patch() - 1;
    row.own_values = full ? own_results(t) : own_values(t);
    row.values = value_row(full ? centre - a.low + dy : centre + dy);
    row.history = shared.history + warp * a.history + centre % patch() * (kChunk * kWeights * 32) +
                  (threadIdx.x & 31);
#pragma unroll
    for (int i = 0; i < 4 * kWeights; ++i) row.inverse[i / 4][i % 4] = inverse[i / 4][i % 4];
    if (t + 1 < rows + lag()) load_inverse(centre + 1, inverse);
    return row;
  }

  // Where sums of the passes before are kept.
  __device__ float* stored_sums(int y, int column) const {
    return a.sums + (static_cast<size_t>(first_row + y) * a.strips + strip) * kNlmColumns + column;
  }

  // Copies what run_sums() adds to, asynchronously, to where the same lanes find it.
  __device__ void fetch_sums(int task, int y) const {
    const int lane = threadIdx.x & 31;
    if (!last_pass()) {
      if (task >= kComponents) return;
      __pipeline_memcpy_async(shared.earlier + task * kNlmColumns + 4 * lane,
                              stored_sums(y, 4 * lane) + task * a.sums_plane, sizeof(float4));
      return;
    }
    if (task >= kQuarters) return;
    const int column = task * 32 + lane;
    const float* from = stored_sums(y, column);
    float* to = shared.earlier + column;
#pragma unroll
    for (int c = 0; c < kComponents; ++c, from += a.sums_plane, to += kNlmColumns) {
      __pipeline_memcpy_async(to, from, sizeof(float));
    }
  }

  // A warp adds all warps' sums of one component of row y, in the order of the groups.
  __device__ void add_partial(int y, int component) const {
    const int lane = threadIdx.x & 31;
    float4* stored = reinterpret_cast<float4*>(stored_sums(y, 4 * lane) + component * a.sums_plane);
    const float4* const before =
        kPatches ? reinterpret_cast<const float4*>(shared.earlier + component * kNlmColumns) + lane
                 : stored;
    float4 sum = first_group > 0 ? *before : make_float4(0, 0, 0, 0);
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
    *stored = sum;
  }

  // The same of all components of 32 columns, which are the last ones.
  __device__ void add_and_finish(int y, int quarter) const {
    const int column = quarter * 32 + (threadIdx.x & 31);
    const float* const before = kPatches ? shared.earlier + column : stored_sums(y, column);
    const size_t plane = kPatches ? kNlmColumns : a.sums_plane;
    float sum[kComponents];
#pragma unroll
    for (int c = 0; c < kComponents; ++c) sum[c] = first_group > 0 ? before[c * plane] : 0.0f;
    for (int w = 0; w < groups; ++w) {
      const float* of = partial(y, w) + column;
#pragma unroll
      for (int c = 0; c < kComponents; ++c) {
        const float x = of[c * kNlmColumns];
        sum[c] = c < kChannels + kWeights ? sum[c] + x : fmaxf(sum[c], x);
      }
    }
    finish(y, column, sum);
  }

  // Writes a pixel of row y to the target.
  __device__ void finish(int y, int column, const float (&sum)[kComponents]) const {
    const int x = a.x0 + a.plan.radius + strip * a.strip_step + column - a.target.rect.x;
    if (column < a.lead || column >= kNlmColumns - a.lead || x < 0) return;
    if (x >= a.target.rect.width) return;
    if constexpr (!kPatches) {
      if (a.kind == NlmWalkKind::kTotals) {
        return write_totals<kChannels, kWeights>(a, x, first_row + y, sum);
      }
    }
    const Value* row = own_results(y + lag());
    float own[kChannels], anchor[kChannels], all[kWeights];
    unsigned area;
    unpack(row[quad_index(column & ~3, 32)], anchor, area);
    unpack(row[quad_index(column, 32)], own, area);
#pragma unroll
    for (int c = 0; c < kChannels; ++c) anchor[c] = a.anchored ? anchor[c] : 0.0f;
#pragma unroll
    for (int w = 0; w < kWeights; ++w) {
      if constexpr (kPatches) {
        all[w] = kQuotientSteps * count_patches(w, x, y);
      } else {
        all[w] = nlm_total<kChannels, kWeights>(a, w, sum);
      }
    }
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const int w = c == 0 ? 0 : kWeights - 1;
      const float change =
          fmaf(anchor[c] - own[c], sum[kChannels + w], sum[c]) / (all[w] > 0.0f ? all[w] : 1.0f);
      a.target.plane(c)[static_cast<size_t>(first_row + y) * a.target.stride + x] =
          changes<kWeights>(a, c) ? own[c] + change : own[c];
    }
  }

  // Patches with an estimate that hold pixel (x, y) of the target.
  __device__ float count_patches(int w, int x, int y) const {
    const float* at = a.inverse.plane(w) + static_cast<size_t>(first_row + y) * a.inverse.stride +
                      (x + a.target.rect.x - a.high - a.inverse.rect.x);
    int count = 0;
    for (int i = 0; i < patch(); ++i, at += a.inverse.stride) {
      for (int k = 0; k < patch(); ++k) count += at[k] > 0.0f;
    }
    return static_cast<float>(count);
  }
};

template <int kPatch, int kChannels, int kWeights, int kChunk, bool kPatches>
__global__ void __launch_bounds__(32 * (kPatches ? nlm_patch_warps(kPatch, kWeights) : kNlmWarps),
                                  1) nlm_kernel(const NlmArgs a) {
  extern __shared__ uint4 memory[];
  using Walk = NlmWalk<kPatch, kChannels, kWeights, kChunk, kPatches>;
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
                    first_dy - a.plan.radius,
                    last_dy - first_dy + 1};
    walk.run();
  }
}

// The kernel for a patch size and a chunk.
template <int kPatch, int kChannels, int kWeights, bool kPatches, size_t kIndex = 0>
NlmKernel nlm_kernel_for(int chunk) {
  constexpr int kChunk = kNlmChunks[kIndex];
  if constexpr (kIndex + 1 < std::size(kNlmChunks)) {
    if (chunk != kChunk) {
      return nlm_kernel_for<kPatch, kChannels, kWeights, kPatches, kIndex + 1>(chunk);
    }
  }
  return nlm_kernel<kPatch, kChannels, kWeights, kChunk, kPatches>;
}
template <int kChannels, int kWeights, bool kPatches>
NlmKernel nlm_kernel_for(int patch, int chunk) {
  switch (patch) {
    case 3:
      return nlm_kernel_for<3, kChannels, kWeights, kPatches>(chunk);
    case 5:
      return nlm_kernel_for<5, kChannels, kWeights, kPatches>(chunk);
    case 7:
      return nlm_kernel_for<7, kChannels, kWeights, kPatches>(chunk);
    case 9:
      return nlm_kernel_for<9, kChannels, kWeights, kPatches>(chunk);
    default:
      return nlm_kernel_for<0, kChannels, kWeights, kPatches>(chunk);
  }
}

}  // namespace grainless::cuda
