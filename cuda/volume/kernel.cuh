// SPDX-License-Identifier: MIT
// Non-Local Means over a volume, cubic patches of kPatch, one weight for all channels.
//
// A lane owns a brick of 4 x 2 x kDeep voxels, with all their sums in registers, and goes through
// all displacements alone: nothing is exchanged, no barrier waits. For kChunk neighbouring
// displacements along x at once it walks over the layers that the brick's patches reach: squared
// differences of a layer, their sums over the height and width of a patch, and over the layers as
// soon as they are complete; the weight follows at once. What two sums share is added once.
//
// Issue slots a voxel and displacement, grey, kPatch 3, kDeep 4: layers are computed 6/4 times:
// differences 4.5, squares and sums along y 4.5, along x 2.2; along z 1.5, weight 3, sums 3, loads
// and addresses 1.5: 20. An H200 takes the time of 40 for it, waiting with its 8 warps a
// multiprocessor for the window's rows, which come from the first-level cache (RESULTS.md).
//
// Distances are floats. They hold integers; those that pass 2^24 are not exact, but stay beyond it
// in any order of additions, since nothing is ever subtracted from a sum.
#pragma once

#include <cmath>

#include "args.cuh"
#include "cuda/nlm/warp.cuh"

namespace grainless::cuda {

inline constexpr int kVolumeTileX = 32, kVolumeTileY = 16;
// Bricks are at the same places in a part of larger layers.
static_assert(kVolumeCut % 4 == 0);

// Four sums of kPatch neighbouring elements each.
template <int kPatch>
__device__ __forceinline__ void box_of_row(const float (&c)[kPatch + 3], float (&out)[4]) {
  if constexpr (kPatch == 3) {
    const float a = c[1] + c[2], b = c[3] + c[4];
    out[0] = c[0] + a;
    out[1] = a + c[3];
    out[2] = c[2] + b;
    out[3] = b + c[5];
  } else {
    static_assert(kPatch == 5);
    const float m = c[3] + c[4], a = (c[1] + c[2]) + m, b = m + (c[5] + c[6]);
    out[0] = c[0] + a;
    out[1] = a + c[5];
    out[2] = c[2] + b;
    out[3] = b + c[7];
  }
}

// Reads kCount floats and moves on by `step`. The compiler must neither see through the address, or
// it keeps those of all rows in registers, nor read rows much earlier than they are used (which
// __syncwarp() keeps it from): it spills.
template <int kCount>
__device__ __forceinline__ void load_row(const float*& from, size_t step, float (&to)[kCount]) {
  static_assert(kCount % 4 == 0);
  asm volatile("" : "+l"(from));
#pragma unroll
  for (int i = 0; i < kCount; i += 4) {
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[i]), "=f"(to[i + 1]), "=f"(to[i + 2]), "=f"(to[i + 3])
                 : "l"(from + i)
                 : "memory");
  }
  from += step;
}

__device__ __forceinline__ float volume_weight(const VolumeCurve& curve, float distance,
                                               float top) {
  const float exponent = fminf(fmaf(distance, -curve.slope, curve.offset), top);
  float weight;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(weight) : "f"(exponent));
  return weight;
}

// Where a row of displacements reads: the brick's own match values, and the window's match values
// and voxels from the multiple of 4 columns before on.
struct VolumeWindow {
  const float *own, *match, *values;
  bool centre_row;  // the row of the displacement 0
  int there;        // the volume's layer that it leads to from the brick's first one
};

// Displacements first .. first + kChunk - 1 of a row of them are one step; a row of the window is
// read from the multiple of 4 before.
template <int kPatch, int kChannels, int kDeep, int kChunk>
struct VolumeBrick {
  static constexpr int kWide = (kPatch + 3 + 3) / 4 * 4;  // of an own row, read
  static constexpr int kPlanes = kDeep + kPatch - 1;
  static constexpr int kValues = (kChannels + 2) * kDeep * 8;

  float sum[kChannels][kDeep][2][4], total[kDeep][2][4], largest[kDeep][2][4];
  // Of a layer: sums are of voxels less the brick's first one there, which keeps a constant volume
  // what it is to the last bit.
  float anchor[kChannels][kDeep];

  // The weighted sums of one layer of the brick.
  template <int kFirst>
  __device__ __forceinline__ void add(const VolumeArgs& a, const float* values, int z,
                                      const float (&weight)[kChunk][2][4]) {
    constexpr int kWindow = (kFirst + kChunk + 3 + 3) / 4 * 4;
    const size_t pitch = a.padded.pitch;
    const float* row = values;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
#pragma unroll
      for (int y = 0; y < 2; ++y) {
        float other[kWindow];
        load_row(row, y == 0 ? pitch : a.padded.plane() - pitch, other);
#pragma unroll
        for (int x = kFirst; x < kFirst + kChunk + 3; ++x) other[x] -= anchor[c][z];
#pragma unroll
        for (int k = 0; k < kChunk; ++k) {
#pragma unroll
          for (int x = 0; x < 4; ++x) {
            sum[c][z][y][x] = fmaf(weight[k][y][x], other[kFirst + k + x], sum[c][z][y][x]);
          }
        }
      }
    }
#pragma unroll
    for (int y = 0; y < 2; ++y) {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
#pragma unroll
        for (int k = 0; k < kChunk; ++k) total[z][y][x] += weight[k][y][x];
        // Bits of floats that are not negative have the floats' order; two at a time.
        int most = __float_as_int(largest[z][y][x]);
#pragma unroll
        for (int k = 0; k < kChunk; k += 2) {
          const int second = k + 1 < kChunk ? __float_as_int(weight[k + 1][y][x]) : 0;
          most = __vimax3_s32(most, __float_as_int(weight[k][y][x]), second);
        }
        largest[z][y][x] = __int_as_float(most);
      }
    }
  }

  // Squared differences of one layer, summed over height and width of the patches. Moves on by a
  // layer.
  template <int kFirst>
  __device__ __forceinline__ void plane(const VolumeArgs& a, const float*& own, const float*& match,
                                        float (&box)[kChunk][2][4]) {
    constexpr int kWindow = (kFirst + kPatch + kChunk + 2 + 3) / 4 * 4;
    __syncwarp();
    const size_t pitch = a.padded.pitch;
    float upper[kChunk][kPatch + 3], middle[kChunk][kPatch + 3], lower[kChunk][kPatch + 3];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
#pragma unroll
      for (int row = 0; row <= kPatch; ++row) {
        float here[kWide], there[kWindow];
        const bool last = row == kPatch;
        load_row(own, last ? a.padded.own_plane() - kPatch * pitch : pitch, here);
        load_row(match, last ? a.padded.plane() - kPatch * pitch : pitch, there);
#pragma unroll
        for (int k = 0; k < kChunk; ++k) {
#pragma unroll
          for (int x = 0; x < kPatch + 3; ++x) {
            const float d = here[x] - there[kFirst + k + x];
            if (row == 0) {
              upper[k][x] = c == 0 ? d * d : fmaf(d, d, upper[k][x]);
            } else if (row == 1) {
              middle[k][x] = c == 0 ? d * d : fmaf(d, d, middle[k][x]);
            } else if (row < kPatch) {
              middle[k][x] = fmaf(d, d, middle[k][x]);
            } else if (c < kChannels - 1) {
              lower[k][x] = c == 0 ? d * d : fmaf(d, d, lower[k][x]);
            } else {
              lower[k][x] = fmaf(d, d, kChannels > 1 ? lower[k][x] + middle[k][x] : middle[k][x]);
              upper[k][x] += middle[k][x];
            }
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kChunk; ++k) {
      box_of_row<kPatch>(upper[k], box[k][0]);
      box_of_row<kPatch>(lower[k], box[k][1]);
    }
  }

  // Steps through kChunk displacements of one row, from index `first` on, whose window begins
  // kFirst columns after the window's `match` and `values`.
  template <int kFirst>
  __device__ __forceinline__ void step(const VolumeArgs& a, const VolumeWindow& window, int first) {
    const float *own = window.own, *match = window.match, *values = window.values;
    float top[kChunk];
#pragma unroll
    for (int k = 0; k < kChunk; ++k) {
      const int dx = first + k - a.plan.nlm.radius;
      top[k] = dx > a.plan.nlm.radius || (window.centre_row && dx == 0) ? -INFINITY : a.top;
    }
    const size_t layer = kChannels * a.padded.plane();
    float box[kPlanes][kChunk][2][4];
#pragma unroll
    for (int i = 0; i < kPlanes; ++i) {
      plane<kFirst>(a, own, match, box[i]);
      const int z = i - (kPatch - 1);
      if (z < 0) continue;
      __syncwarp();
      // Beyond the volume's ends there are only copies.
      const int layer_there = window.there + z;
      const bool missing = layer_there < 0 || layer_there >= a.volume_layers;
      float weight[kChunk][2][4];
#pragma unroll
      for (int k = 0; k < kChunk; ++k) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          const int y = j / 4, x = j % 4;
          // The middle of an even z's sum is the beginning of the next one's.
          float inner, outer;
          if (z % 2 == 0) {
            inner = box[z + 1][k][y][x] + box[z + 2][k][y][x];
            if constexpr (kPatch == 5) inner += box[z + 3][k][y][x] + box[z + 4][k][y][x];
            box[z + 1][k][y][x] = kDeep > 1 ? inner : 0.0f;
            outer = box[z][k][y][x];
          } else {
            inner = box[z][k][y][x];
            outer = box[z + kPatch - 1][k][y][x];
          }
          weight[k][y][x] = volume_weight(a.luma, inner + outer, missing ? -INFINITY : top[k]);
        }
      }
      add<kFirst>(a, values, z, weight);
      values += layer;
    }
  }
};

template <int kPatch, int kChannels, int kDeep, int kChunk, int kBlocks>
__global__ void __launch_bounds__(kVolumeThreads, kBlocks) volume_kernel(const VolumeArgs a) {
  using Brick = VolumeBrick<kPatch, kChannels, kDeep, kChunk>;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int block = a.first_block + blockIdx.x;
  const int warp_y = (block / a.tiles_x % a.tiles_y) * kVolumeTileY + (warp & 1) * 8;
  const int z0 = (block / a.tiles_x / a.tiles_y * 2 + (warp >> 1)) * kDeep;
  if (warp_y >= a.height || z0 >= a.layers) return;
  const int x0 = block % a.tiles_x * kVolumeTileX + (lane & 7) * 4, y0 = warp_y + (lane >> 3) * 2;

  const PaddedVolume& p = a.padded;
  const size_t at = static_cast<size_t>(y0) * p.pitch + x0, layer = kChannels * p.plane();
  const float* own = p.own + z0 * kChannels * p.own_plane() + at;
  const float* centre = p.values + (z0 + a.near + a.plan.depth) * layer + at +
                        static_cast<size_t>(a.low + a.plan.nlm.radius) * p.pitch +
                        a.plan.nlm.radius;
  Brick brick;
#pragma unroll
  for (int z = 0; z < kDeep; ++z) {
#pragma unroll
    for (int c = 0; c < kChannels; ++c) brick.anchor[c][z] = centre[z * layer + c * p.plane()];
  }
  float* const flat = &brick.sum[0][0][0][0];
  static_assert(sizeof(Brick) == sizeof(float) * (Brick::kValues + kChannels * kDeep));
  float* const kept = a.sums + static_cast<size_t>(block) * kVolumeThreads + threadIdx.x;
  const size_t kept_step = static_cast<size_t>(a.blocks) * kVolumeThreads;
#pragma unroll
  for (int i = 0; i < Brick::kValues; ++i) flat[i] = a.first_row == 0 ? 0.0f : kept[i * kept_step];

  for (int row = a.first_row; row < a.last_row; ++row) {
    const int dz = row / a.side - a.plan.depth, dy = row % a.side - a.plan.nlm.radius;
    const bool centre_row = dz == 0 && dy == 0;
    const int there = a.first + z0 + dz;
    const size_t window = (z0 + a.plan.depth + dz) * layer + at;
    const float* match = p.match + window + static_cast<size_t>(a.plan.nlm.radius + dy) * p.pitch;
    const float* values = p.values + window + a.near * layer +
                          static_cast<size_t>(a.low + a.plan.nlm.radius + dy) * p.pitch;
    // The radius, not `side`: with the same value twice the compiler spills 15 times as much.
#pragma unroll 1
    for (int first = 0; first <= 2 * a.plan.nlm.radius; first += 4) {
      const VolumeWindow at_first{own, match + first, values + first, centre_row, there};
      brick.template step<0>(a, at_first, first);
      if constexpr (kChunk == 2) brick.template step<2>(a, at_first, first + 2);
    }
  }

  if (a.last_row < a.rows_in_all) {
#pragma unroll
    for (int i = 0; i < Brick::kValues; ++i) kept[i * kept_step] = flat[i];
    return;
  }
  const float least_own = a.plan.nlm.centre.own * volume_weight(a.luma, 0.0f, a.top);
  if (a.luma.enabled == 0) return;
#pragma unroll
  for (int z = 0; z < kDeep; ++z) {
    if (z0 + z >= a.layers) break;
    float* const target = a.source.layer(a.first - a.in_first + z0 + z);
#pragma unroll
    for (int y = 0; y < 2; ++y) {
#pragma unroll
      for (int x = 0; x < 4; ++x) {
        if (x0 + x >= a.width || y0 + y >= a.height) continue;
        const float own_weight = least_own + a.plan.nlm.centre.of_largest * brick.largest[z][y][x];
        const float total = brick.total[z][y][x] + own_weight;
        if (!(total > 0.0f)) continue;
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          const float value = centre[z * layer + c * p.plane() + y * p.pitch + x];
          const float anchor = brick.anchor[c][z];
          const float sum = fmaf(own_weight, value - anchor, brick.sum[c][z][y][x]);
          target[c * a.source.plane_floats() + static_cast<size_t>(y0 + y) * a.source.stride + x0 +
                 x] = anchor + sum / total;
        }
      }
    }
  }
}

template <int kPatch, int kChannels, int kDeep, int kChunk, int kBlocks>
VolumeShape volume_shape(double slots) {
  return {volume_kernel<kPatch, kChannels, kDeep, kChunk, kBlocks>,
          kVolumeTileX,
          kVolumeTileY,
          2 * kDeep,
          VolumeBrick<kPatch, kChannels, kDeep, kChunk>::kValues,
          slots};
}

}  // namespace grainless::cuda
