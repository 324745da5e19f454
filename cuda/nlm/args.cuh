// SPDX-License-Identifier: MIT
// What the host side of Non-Local Means hands to its kernels, by value.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/frame/method.cuh"

namespace grainless::cuda {

inline constexpr int kNlmColumns = 128;  // of a strip: 32 lanes, a quad of 4 columns each
// Most warps a block; their 128 registers a thread fill a multiprocessor. Measured on an H200 (24
// megapixels, 21 x 21): 17.3 ms colour 9 x 9 and 11.2 ms grey 7 x 7; 20 warps of 96 registers 19.0
// and 11.8, 12 warps with chunks of 11 21.5 and 14.4, two blocks of 8 warps 18.5 and 12.2.
inline constexpr int kNlmWarps = 16;
// The same patch-wise, with more registers each (patches.cuh); larger patches leave shared memory
// for 8, or fewer, and two weights want the registers. `patch`: of the kernel, 0: any.
constexpr int nlm_patch_warps(int patch, int weights) {
  return patch > 0 && patch < 9 && weights == 1 ? 12 : 8;
}
// Horizontal displacements whose column sums a lane can hold; the window's side is cut into chunks
// of the size that leaves the least over.
inline constexpr int kNlmChunks[] = {7, 5};

// Added to y's match values, which are within +-2^13, lest they be negative: distances stay the
// same.
inline constexpr int kNlmLift = 1 << 15;

// rows.cuh: the window's side, a team's warps, each with a row of the window, and most teams a
// block: their 168 registers a thread fill a multiprocessor.
inline constexpr int kNlmRowSide = 21, kNlmRowRadius = kNlmRowSide / 2;
inline constexpr int kNlmRowQuads = (kNlmColumns + kNlmRowSide - 1 + 3) / 4;
inline constexpr int kNlmTeam = 3, kNlmPasses = kNlmRowSide / kNlmTeam, kNlmTeams = 4;
static_assert(kNlmRowSide % kNlmTeam == 0);

// What the sum of two areas has beside a distance D. Added to the bits of the float 1/2, D < 2^30
// makes another float: 1/2 + D 2^-24, as long as D < 2^23, and more than that beyond, where weights
// are 0 (set_nlm_weights()). So no distance needs to be converted.
inline constexpr unsigned kNlmBias = 0x3f000000;

// Interleaved pixels of the padded planes. Sums of match values' products are modulo 2^32.
template <int kChannels>
struct NlmPixel;
template <>
struct NlmPixel<1> {
  using Match = unsigned;
  using Own = unsigned;  // a match value times 2 or -2
};
template <>
struct NlmPixel<3> {
  using Match = uint2;  // y + kNlmLift | u << 16, v
  using Own = uint4;    // scaled()
};
// What is summed of pixels, kSummed channels, with their patches' areas: the sum of squares of the
// match values over the patch and all channels and half of kNlmBias, bits of an unsigned int.
template <int kSummed>
struct NlmValue;
template <>
struct NlmValue<0> {
  using Type = unsigned;  // area
};
template <>
struct NlmValue<1> {
  using Type = float2;  // y, area
};
template <>
struct NlmValue<3> {
  using Type = float4;  // y, u, v, area
};

// w = 2^min(top, offset - slope * (1/2 + D 2^-24)). All weights carry one factor, such that what
// NlmWeight calls zero (kNlmCutoff) is where the hardware's 2^x falls to zero.
struct NlmCurve {
  float slope, offset, top;
  int enabled;
};

// Rows in turns. `reciprocal`: 2^32 / rows, rounded up: exact for what 16 bits hold.
struct NlmRing {
  int rows = 0;
  unsigned reciprocal = 0;

  NlmRing() = default;
  explicit NlmRing(int count)
      : rows(count), reciprocal(static_cast<unsigned>((1ull << 32) / count + 1)) {}
#ifdef __CUDACC__
  // Row i's place.
  __device__ int at(int i) const { return i - static_cast<int>(__umulhi(i, reciprocal)) * rows; }
#endif
};

enum class NlmWalkKind {
  kPixels,  // pixel-wise means
  kTotals,  // patch-wise, the first walk
  kPatches  // patch-wise, the second
};

// Padded planes: pixel (column, row) is the image's (x0 + column, y0 + row), reflected. Strip s has
// the columns x0 + radius + s * strip_step + 0..127, of which the first and last `lead` only serve
// their neighbours. Quads start at absolute multiples of 4.
//
// Patch-wise there are two walks. The first one's target is one plane a weight: it gets 1 / (sum of
// a patch's weights, the centre's with them), 0 where there is none. These planes are the second
// one's `inverse`: whole quads, from the one with the target's first pixel less `high` both ways.
struct NlmArgs {
  NlmWalkKind kind;
  const void* match;
  const void* values;
  int pitch;          // elements from row to row
  int columns, rows;  // of the padded planes
  int x0, y0;
  int image_width, image_height;
  NlmPlan plan;
  int low, high;      // the patch of p spans p - low .. p + high
  int chunk, chunks;  // a row of displacements is `chunks` chunks; the last may reach beyond it
  int groups;         // chunks * rows of displacements; one warp takes one at a time
  int warps;          // groups at once
  int lead, strip_step, strips;
  int quads;                                 // quads of a row in shared memory
  NlmRing value_rows, match_rows, own_rows;  // rows in shared memory
  int history;                               // uint2 a warp in shared memory
  int block_rows, first_block;
  // rows.cuh: teams at once in a block and in all; the passes are shared by so many, 1 or
  // kNlmPasses. A walk of all strips' parts, one after the other, is cut into as many pieces of
  // one length as there are teams: rows, and what it costs to begin at the top of another one.
  int teams, units, parts;
  int anchored;           // 1: sums are of pixels less the first of their quad
  NlmCurve luma, chroma;  // of the plan's weights
  float* sums;            // partial sums between passes over the displacements
  size_t sums_plane;      // floats a component: [row][strip][128]; by rows.cuh as nlm_row_sums()
  DevicePlanes source, target;
  DevicePlanes inverse;

  // Of rows.cuh: a walk down one strip, and where a team's piece of all begins.
  __host__ __device__ int line() const { return target.rect.height + (plan.patch + 5) / 3; }
  __host__ __device__ int first_of(int unit) const {
    return static_cast<int>(1ll * parts * strips * line() * unit / units);
  }
  // Whether a walk is one of rows.cuh.
  __host__ __device__ bool by_rows() const { return chunk == kNlmRowSide; }
  // Whether `values` are areas alone, of one unsigned int: NlmValue<0>.
  __host__ __device__ bool only_areas() const { return by_rows() && kind == NlmWalkKind::kTotals; }
};

// Fills match and values from source. prepare.cu.
void nlm_prepare(const NlmArgs& args, cudaStream_t stream);

using NlmKernel = void (*)(NlmArgs);
// The kernel for a patch size, chunk, channel count and one or two weights. nlm_kernel_*.cu.
NlmKernel nlm_kernel_grey(int patch, int chunk);
NlmKernel nlm_kernel_colour(int patch, int chunk);
NlmKernel nlm_kernel_colour_two_weights(int patch, int chunk);
// Of rows.cuh.
struct NlmRows {
  NlmKernel walk;
  void (*add_passes)(const NlmArgs& args, cudaStream_t stream);  // where there are parts
  size_t team_bytes;                                             // of shared memory
};
NlmRows nlm_rows_grey(int patch);
NlmRows nlm_rows_colour(int patch);
NlmRows nlm_rows_colour_two_weights(int patch);
// The same of the totals alone.
NlmRows nlm_totals_grey(int patch);
NlmRows nlm_totals_colour(int patch);
NlmRows nlm_totals_colour_two_weights(int patch);
// Of the second walk, patch-wise.
NlmKernel nlm_patches_grey(int patch, int chunk);
NlmKernel nlm_patches_colour(int patch, int chunk);
NlmKernel nlm_patches_colour_two_weights(int patch, int chunk);

}  // namespace grainless::cuda
