// SPDX-License-Identifier: MIT
// Non-Local Means with a search window of kNlmRowSide, which is what all qualities but fast have:
// as warp.cuh and kernel.cuh say, but a warp takes a whole row of the window, so that what a row
// costs beside its displacements is shared by three times as many of them, and three warps are a
// team, which walks down a strip on its own. Nobody waits for more than two others, and where a
// picture is too small for all teams of a card, they share the passes over the window, too: then
// every pass leaves sums of its own, which another kernel adds.
#pragma once

#include "cuda/runtime/launch.h"
#include "warp.cuh"

namespace grainless::cuda {

// A team's shared memory. Rows are laid out by word_index().
template <int kChannels, int kWeights, int kSummed>
struct NlmTeamShared {
  using Match = typename NlmPixel<kChannels>::Match;
  using Value = typename NlmValue<kSummed>::Type;
  static constexpr int kComponents = kSummed + 2 * kWeights;
  static constexpr int kColumns = 4 * kNlmRowQuads;
  static constexpr int kValueRows = 4, kOwnRows = 4;

  Value* values;      // ring of kValueRows rows, [kColumns]
  Value* own_values;  // ring of kOwnRows rows, [128]
  float* partial;     // [kNlmTeam][kComponents][128]
  Match* match;       // ring of match_rows() rows, [kColumns]
  Match* own;         // [2][entering, leaving][128]

  // From the one that leaves the first patch to the one that is fetched for the next step.
  __host__ __device__ static constexpr int match_rows(int patch) { return patch + kNlmTeam + 1; }
  __host__ __device__ static constexpr size_t bytes(int patch) {
    return sizeof(Value) * (kValueRows * kColumns + kOwnRows * kNlmColumns) +
           sizeof(float) * kNlmTeam * kComponents * kNlmColumns +
           sizeof(Match) * (match_rows(patch) * kColumns + 4 * kNlmColumns);
  }

  __device__ NlmTeamShared(void* memory, int patch) {
    values = static_cast<Value*>(memory);
    own_values = values + kValueRows * kColumns;
    partial = reinterpret_cast<float*>(own_values + kOwnRows * kNlmColumns);
    match = reinterpret_cast<Match*>(partial + kNlmTeam * kComponents * kNlmColumns);
    own = match + match_rows(patch) * kColumns;
  }
};

// A strip's sums of row y of the target: [component][128]. `part`: the pass that left them, where
// every pass leaves its own.
template <int kComponents>
__device__ __forceinline__ float* nlm_row_sums(const NlmArgs& a, int part, int y, int strip) {
  const size_t row = static_cast<size_t>(part) * a.target.rect.height + y;
  return a.sums + (row * a.strips + strip) * (kComponents * kNlmColumns);
}

// Sums of pixels and weights are added, of the largest weights the largest is.
template <int kSummed, int kWeights>
__device__ __forceinline__ float add_component(int component, float x, float y) {
  return component < kSummed + kWeights ? x + y : fmaxf(x, y);
}

// Writes what `sum` makes of pixel (x, y) of the target. `value`: the pixel, `first`: its quad's.
template <int kChannels, int kWeights, int kSummed>
__device__ __forceinline__ void finish_pixel(const NlmArgs& a, int x, int y,
                                             const float (&sum)[kSummed + 2 * kWeights],
                                             const typename NlmValue<kSummed>::Type& value,
                                             const typename NlmValue<kSummed>::Type& first) {
  if constexpr (kSummed == 0) {
    write_totals<kSummed, kWeights>(a, x, y, sum);
  } else {
    float own[kChannels], anchor[kChannels], inverse[kWeights];
    unsigned area;
    unpack(first, anchor, area);
    unpack(value, own, area);
#pragma unroll
    for (int w = 0; w < kWeights; ++w) {
      inverse[w] = nlm_inverse(nlm_total<kSummed, kWeights>(a, w, sum));
    }
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const int w = c == 0 ? 0 : kWeights - 1;
      const float change = fmaf(anchor[c] - own[c], sum[kChannels + w], sum[c]) * inverse[w];
      a.target.plane(c)[static_cast<size_t>(y) * a.target.stride + x] =
          changes<kWeights>(a, c) ? own[c] + change : own[c];
    }
  }
}

// One team's walk in one pass, over kNlmTeam rows of displacements. Rows and steps are NlmWalk's.
// The last warp fetches, the others add the sums.
template <int kPatch, int kChannels, int kWeights, int kSummed>
struct NlmTeamWalk {
  using Warp = NlmWarp<kPatch, kChannels, kWeights, kNlmRowSide, kSummed>;
  using Shared = NlmTeamShared<kChannels, kWeights, kSummed>;
  using Match = typename Warp::Match;
  using Value = typename Warp::Value;
  static constexpr int kComponents = Warp::kComponents, kColumns = Shared::kColumns;

  const NlmArgs& a;
  Shared shared;
  int team, warp, lane;
  int strip, first_row, rows;
  int pass;

  __device__ int patch() const { return kPatch > 0 ? kPatch : a.plan.patch; }
  __device__ int first_dy() const { return pass * kNlmTeam - kNlmRowRadius; }
  __device__ Match* match_row(int index) const {
    return shared.match + static_cast<unsigned>(index) % Shared::match_rows(patch()) * kColumns;
  }
  __device__ Value* value_row(int index) const {
    return shared.values + (index & (Shared::kValueRows - 1)) * kColumns;
  }
  __device__ Value* own_values(int t) const {
    return shared.own_values + (t & (Shared::kOwnRows - 1)) * kNlmColumns;
  }
  __device__ Match* own(int t, int leaving) const {
    return shared.own + ((t & 1) * 2 + leaving) * kNlmColumns;
  }

  __device__ void sync() const {
    asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(kNlmTeam * 32) : "memory");
  }

  template <int kCount, int kColumn, typename T>
  __device__ void fetch(const void* plane, int row, T* to) const {
    constexpr int kBytes = kColumn * sizeof(T) % 16 == 0 ? 16 : 8;
    const T* from = static_cast<const T*>(plane) + static_cast<size_t>(row) * a.pitch +
                    strip * a.strip_step + kColumn;
    fetch_words<kCount, kBytes>(from, to);
  }
  __device__ void fetch_match(int index) const {
    const int row = first_row + kNlmRowRadius + first_dy() + index;
    fetch<kColumns, 0>(a.match, row, match_row(index));
  }
  __device__ void fetch_values(int index) const {
    const int row = first_row + kNlmRowRadius + a.low + first_dy() + index;
    fetch<kColumns, 0>(a.values, row, value_row(index));
  }
  __device__ void fetch_own(int t, int leaving) const {
    const int row = first_row + kNlmRowRadius + t - (leaving != 0 ? patch() : 0);
    fetch<kNlmColumns, kNlmRowRadius>(a.match, row, own(t, leaving));
  }
  __device__ void fetch_own_values(int t) const {
    const int row = first_row + kNlmRowRadius + t - a.high;
    fetch<kNlmColumns, kNlmRowRadius>(a.values, row, own_values(t));
  }

  // What leaves the first patches, whose rows all enter, is nothing.
  __device__ void clear_own(int t) const {
    if (warp == 0) {
      for (int i = lane; i < kNlmColumns; i += 32) own(t, 1)[i] = Match{};
    }
  }

  // What must be there before step 0.
  __device__ void prepare() const {
    fetch_match(warp);
    fetch_values(warp);
    if (warp == 0) fetch_own(0, 0);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    sync();
  }

  __device__ float* sums_of_row(int y) const {
    return nlm_row_sums<kComponents>(a, a.parts > 1 ? pass : 0, first_row + y, strip);
  }

  // Has the sums of row y that the passes before left brought near.
  __device__ void prefetch_sums(int y) const {
    constexpr int kLine = 32;  // floats
    if (lane >= kComponents * kNlmColumns / kLine) return;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(sums_of_row(y) + lane * kLine));
  }

  // What step t + 1 needs.
  __device__ __forceinline__ void fetch_next(int t) const {
    const int y = t - patch() + 1;
    fetch_match(t + kNlmTeam);
    fetch_own(t + 1, 0);
    if (y + 1 > 0) fetch_own(t + 1, 1);
    if (y + 1 >= 0) fetch_own_values(t + 1);
    if (y >= 0) {
      fetch_values(y + kNlmTeam);
      if (pass > 0 && a.parts == 1) prefetch_sums(y);
    }
  }

  // What runs beside step t of the walk itself.
  __device__ __forceinline__ void serve(int t, int steps) const {
    const int y = t - patch() + 1;
    if (warp == kNlmTeam - 1) {
      if (t + 1 < steps) fetch_next(t);
      __pipeline_commit();
    } else if (y > 0) {
      add_partial(y - 1, own_values(t - 1));
    }
  }

  __device__ __forceinline__ void end_step() const {
    __pipeline_wait_prior(0);
    sync();
  }

  // Row by row, or both at once in a loop of its own: which one is faster only measuring tells.
  __device__ void run() const {
    Warp work;
    work.start(a, pass * kNlmTeam + warp);
    const int first = patch() - 1, steps = rows + first;  // first: completes the first patches
    if constexpr (kChannels == 1) {
      prepare();
      for (int t = 0; t <= steps; ++t) {
        const int y = t - first;
        serve(t, steps);
        if (t < steps) {
          if (y > 0) work.add_row(own(t, 1), 2, match_row(t + warp - patch()));
          work.add_row(own(t, 0), -2, match_row(t + warp));
          if (y >= 0) {
            float* const partial = shared.partial + warp * kComponents * kNlmColumns;
            work.template weigh_row<false>(a, nullptr, nullptr, own_values(t), value_row(y + warp),
                                           partial, [this] { sync(); });
          }
        }
        end_step();
      }
    } else {
      clear_own(first);
      prepare();
      for (int t = 0; t < first; ++t) {
        serve(t, steps);
        work.add_row(own(t, 0), -2, match_row(t + warp));
        end_step();
      }
      float* const partial = shared.partial + warp * kComponents * kNlmColumns;
      for (int t = first; t < steps; ++t) {
        serve(t, steps);
        work.move_down(own(t, 1), match_row(t + warp - patch()), own(t, 0), match_row(t + warp));
        work.template weigh_row<false>(a, nullptr, nullptr, own_values(t),
                                       value_row(t - first + warp), partial, [this] { sync(); });
        end_step();
      }
      serve(steps, steps);
      sync();
    }
  }

  // One of the first two warps has two columns a lane of its half of a row.
  __device__ int sums_in_half() const { return kNlmColumns / 2 - a.lead; }
  __device__ int first_column() const { return a.lead + warp * sums_in_half() + 2 * lane; }

  // Adds the team's sums of row y to those of the passes before, or finishes them.
  __device__ __forceinline__ void add_partial(int y, const Value* own_row) const {
    if (2 * lane >= sums_in_half()) return;
    const int column = first_column();
    const float* from = shared.partial + column;
    float* const stored = sums_of_row(y) + column;
    float2 before[kComponents] = {}, sum[kComponents];
    if (a.parts == 1 && pass > 0) {
#pragma unroll
      for (int c = 0; c < kComponents; ++c) before[c] = pair_at(stored + c * kNlmColumns);
    }
#pragma unroll
    for (int c = 0; c < kComponents; ++c, from += kNlmColumns) {
      sum[c] = pair_at(from);
#pragma unroll
      for (int w = 1; w < kNlmTeam; ++w) {
        sum[c] = added(c, sum[c], pair_at(from + w * kComponents * kNlmColumns));
      }
      sum[c] = added(c, before[c], sum[c]);
    }
    if (a.parts > 1 || pass < kNlmPasses - 1) {
#pragma unroll
      for (int c = 0; c < kComponents; ++c) {
        *reinterpret_cast<float2*>(stored + c * kNlmColumns) = sum[c];
      }
      return;
    }
    // Colour has no registers for two pixels at once beside its column sums.
    constexpr int kAtOnce = kChannels == 1 ? 2 : 1;
    float one[kComponents];
#pragma unroll kAtOnce
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int c = 0; c < kComponents; ++c) one[c] = i == 0 ? sum[c].x : sum[c].y;
      finish(y, column + i, own_row, one);
    }
  }

  __device__ void finish(int y, int column, const Value* own_row,
                         const float (&sum)[kComponents]) const {
    const int x = a.x0 + kNlmRowRadius + strip * a.strip_step + column - a.target.rect.x;
    if (x < 0 || x >= a.target.rect.width) return;
    finish_pixel<kChannels, kWeights, kSummed>(a, x, first_row + y, sum,
                                               own_row[word_index<Value>(column, 32)],
                                               own_row[word_index<Value>(column & ~3, 32)]);
  }

  static __device__ __forceinline__ float2 pair_at(const float* at) {
    return *reinterpret_cast<const float2*>(at);
  }
  static __device__ __forceinline__ float2 added(int component, float2 x, float2 y) {
    return {add_component<kSummed, kWeights>(component, x.x, y.x),
            add_component<kSummed, kWeights>(component, x.y, y.y)};
  }
};

template <int kPatch, int kChannels, int kWeights, int kSummed>
__global__ void __launch_bounds__(32 * kNlmTeam * kNlmTeams, 1) nlm_rows_kernel(const NlmArgs a) {
  extern __shared__ uint4 memory[];
  using Walk = NlmTeamWalk<kPatch, kChannels, kWeights, kSummed>;
  using Shared = typename Walk::Shared;
  const int warp = __shfl_sync(kAllLanes, threadIdx.x / 32, 0), team = warp / kNlmTeam;
  const int unit = (a.first_block + blockIdx.x) * a.teams + team;
  if (unit >= a.units) return;
  const int patch = kPatch > 0 ? kPatch : a.plan.patch;
  void* const own_memory = reinterpret_cast<char*>(memory) + team * Shared::bytes(patch);
  const int line = a.line(), end = a.first_of(unit + 1);
  for (int at = a.first_of(unit); at < end;) {
    const int walk_of = at / line, first_row = at - walk_of * line;
    const int rows = min(end - at, a.target.rect.height - first_row);
    at = first_row + rows < a.target.rect.height ? end : (walk_of + 1) * line;
    if (rows <= 0) continue;
    const int part = walk_of % a.parts, passes = kNlmPasses / a.parts;
    for (int pass = part * passes; pass < (part + 1) * passes; ++pass) {
      const Walk walk{a,
                      Shared(own_memory, patch),
                      team,
                      warp - team * kNlmTeam,
                      static_cast<int>(threadIdx.x & 31),
                      walk_of / a.parts,
                      first_row,
                      rows,
                      pass};
      walk.run();
    }
  }
}

// Where every pass left sums of its own: a thread adds those of two neighbouring pixels.
constexpr int kAddRows = 4;  // of a block
template <int kChannels, int kWeights, int kSummed>
__global__ void __launch_bounds__(kNlmColumns / 2 * kAddRows)
    nlm_add_passes_kernel(const NlmArgs a) {
  constexpr int kComponents = kSummed + 2 * kWeights;
  using Value = typename NlmValue<kSummed>::Type;
  const int first = 2 * threadIdx.x, strip = blockIdx.x, y = blockIdx.y * kAddRows + threadIdx.y;
  if (first < a.lead || first >= kNlmColumns - a.lead || y >= a.target.rect.height) return;
  const Value* const values = static_cast<const Value*>(a.values) +
                              static_cast<size_t>(y + kNlmRowRadius + a.low) * a.pitch +
                              strip * a.strip_step + kNlmRowRadius + first;
  const Value value[2] = {values[0], values[1]}, anchor = values[-(first & 2)];
  float sum[2][kComponents] = {};
#pragma unroll
  for (int pass = 0; pass < kNlmPasses; ++pass) {
    const float* const stored = nlm_row_sums<kComponents>(a, pass, y, strip) + first;
#pragma unroll
    for (int c = 0; c < kComponents; ++c) {
      const float2 of_pass = __ldcs(reinterpret_cast<const float2*>(stored + c * kNlmColumns));
      sum[0][c] = add_component<kSummed, kWeights>(c, sum[0][c], of_pass.x);
      sum[1][c] = add_component<kSummed, kWeights>(c, sum[1][c], of_pass.y);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int x = a.x0 + kNlmRowRadius + strip * a.strip_step + first + i - a.target.rect.x;
    if (x < 0 || x >= a.target.rect.width) continue;
    finish_pixel<kChannels, kWeights, kSummed>(a, x, y, sum[i], value[i], anchor);
  }
}

template <int kChannels, int kWeights, int kSummed>
void nlm_add_passes(const NlmArgs& a, cudaStream_t stream) {
  const dim3 blocks(a.strips, (a.target.rect.height + kAddRows - 1) / kAddRows);
  launch("Non-Local Means, sums", nlm_add_passes_kernel<kChannels, kWeights, kSummed>,
         {blocks, dim3(kNlmColumns / 2, kAddRows), 0, stream}, a);
}

template <int kChannels, int kWeights, int kSummed>
NlmKernel nlm_rows_kernel_for(int patch) {
  switch (patch) {
    case 3:
      return nlm_rows_kernel<3, kChannels, kWeights, kSummed>;
    case 5:
      return nlm_rows_kernel<5, kChannels, kWeights, kSummed>;
    case 7:
      return nlm_rows_kernel<7, kChannels, kWeights, kSummed>;
    case 9:
      return nlm_rows_kernel<9, kChannels, kWeights, kSummed>;
    default:
      return nlm_rows_kernel<0, kChannels, kWeights, kSummed>;
  }
}

template <int kChannels, int kWeights, int kSummed>
NlmRows nlm_rows_for(int patch) {
  return {nlm_rows_kernel_for<kChannels, kWeights, kSummed>(patch),
          nlm_add_passes<kChannels, kWeights, kSummed>,
          NlmTeamShared<kChannels, kWeights, kSummed>::bytes(patch)};
}

}  // namespace grainless::cuda
