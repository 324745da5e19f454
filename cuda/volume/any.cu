// SPDX-License-Identifier: MIT
// Non-Local Means over a volume for any patch, number of channels and weights: the plain twin of
// kernel.cuh, with exact integer distances. A warp is a row of 32 columns, of which those
// with their whole patch among them give results; a lane keeps the sums of kDeep layers and walks
// over the layers of their patches, one displacement after the other: sums of columns in the lane,
// over the width by a scan of the warp, over layers by a running sum.
#include "kernel.cuh"

namespace grainless::cuda {
namespace {

constexpr int kDeep = 8;
constexpr int kWarps = kVolumeThreads / 32;

template <int kChannels, int kWeights>
struct Column {
  float sum[kChannels][kDeep], total[kWeights][kDeep], largest[kWeights][kDeep];

  // Calls visit(i, sum) for all of them.
  template <typename Visit>
  __device__ __forceinline__ void for_all(const Visit& visit) {
#pragma unroll
    for (int z = 0; z < kDeep; ++z) {
      int i = z;
#pragma unroll
      for (int c = 0; c < kChannels; ++c, i += kDeep) visit(i, sum[c][z]);
#pragma unroll
      for (int w = 0; w < kWeights; ++w, i += 2 * kDeep) {
        visit(i, total[w][z]);
        visit(i + kDeep, largest[w][z]);
      }
    }
  }
};

// Squared differences of a layer, summed over the patch's height and width.
template <int kChannels>
__device__ __forceinline__ uint32_t box_of_layer(const VolumeArgs& a, const float* own,
                                                 const float* match) {
  uint32_t sum = 0;
  for (int c = 0; c < kChannels; ++c) {
    const float *here = own + c * a.padded.own_plane(), *there = match + c * a.padded.plane();
    for (int row = 0; row < a.plan.nlm.patch; ++row) {
      const int d = __float2int_rn(here[row * a.padded.pitch] - there[row * a.padded.pitch]);
      sum += static_cast<uint32_t>(d * d);
    }
  }
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t before = __shfl_up_sync(kAllLanes, sum, step);
    if (lane >= step) sum += before;
  }
  // Sums of all columns may wrap; a patch's does not.
  const int first = lane - a.low;
  const uint32_t before = __shfl_sync(kAllLanes, sum, max(first - 1, 0));
  return __shfl_sync(kAllLanes, sum, min(first + a.plan.nlm.patch - 1, 31)) -
         (first > 0 ? before : 0);
}

template <int kChannels, int kWeights>
__device__ __forceinline__ void add_weight(const VolumeArgs& a, uint32_t distance, float top,
                                           const float (&other)[kChannels], int z,
                                           Column<kChannels, kWeights>& column) {
  const float d = __int2float_rn(static_cast<int>(distance));
  float weight[kWeights];
  weight[0] = volume_weight(a.luma, d, top);
  if constexpr (kWeights == 2) weight[1] = volume_weight(a.chroma, d, top);
#pragma unroll
  for (int c = 0; c < kChannels; ++c) {
    column.sum[c][z] = fmaf(weight[c == 0 ? 0 : kWeights - 1], other[c], column.sum[c][z]);
  }
#pragma unroll
  for (int w = 0; w < kWeights; ++w) {
    column.total[w][z] += weight[w];
    column.largest[w][z] = fmaxf(column.largest[w][z], weight[w]);
  }
}

// Where a lane reads for one displacement: its own match values, those beside, the voxels there and
// its own.
struct Places {
  const float *own, *match, *values, *centre;
};

// `there`: the volume's layer that the displacement leads to from the column's first one.
template <int kChannels, int kWeights>
__device__ __forceinline__ void add_displacement(const VolumeArgs& a, const Places& places,
                                                 float top, int there,
                                                 Column<kChannels, kWeights>& column) {
  auto [own, match, values, centre] = places;
  const size_t own_layer = kChannels * a.padded.own_plane(), layer = kChannels * a.padded.plane();
  uint32_t boxes[kMaxPatch], distance = 0;
  for (int i = 0; i < a.plan.layers - 1; ++i) {
    boxes[i] = box_of_layer<kChannels>(a, own, match);
    distance += boxes[i];
    own += own_layer;
    match += layer;
  }
#pragma unroll
  for (int z = 0; z < kDeep; ++z) {
    const uint32_t box = box_of_layer<kChannels>(a, own, match);
    float other[kChannels];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const size_t at = z * layer + c * a.padded.plane();
      other[c] = values[at] - centre[at];
    }
    boxes[(z + a.plan.layers - 1) % kMaxPatch] = box;
    distance += box;
    // Beyond the volume's ends there are only copies.
    const bool missing = there + z < 0 || there + z >= a.volume_layers;
    add_weight(a, distance, missing ? -INFINITY : top, other, z, column);
    distance -= boxes[z];
    own += own_layer;
    match += layer;
  }
}

template <int kChannels, int kWeights>
__device__ __forceinline__ void finish(const VolumeArgs& a,
                                       const Column<kChannels, kWeights>& column,
                                       const float* centre, int x, int y, int z0) {
#pragma unroll
  for (int z = 0; z < kDeep; ++z) {
    if (z0 + z >= a.layers) break;
    float* const target = a.source.layer(a.first - a.in_first + z0 + z) +
                          static_cast<size_t>(y) * a.source.stride + x;
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      const int w = c == 0 ? 0 : kWeights - 1;
      const VolumeCurve& curve = w == 0 ? a.luma : a.chroma;
      const float one = volume_weight(curve, 0.0f, a.top);
      const float own_weight =
          a.plan.nlm.centre.own * one + a.plan.nlm.centre.of_largest * column.largest[w][z];
      const float total = column.total[w][z] + own_weight;
      if (curve.enabled == 0 || !(total > 0.0f)) continue;
      target[c * a.source.plane_floats()] =
          centre[(z * kChannels + c) * a.padded.plane()] + column.sum[c][z] / total;
    }
  }
}

template <int kChannels, int kWeights>
__global__ void __launch_bounds__(kVolumeThreads) any_kernel(const VolumeArgs a) {
  const int lane = threadIdx.x & 31, block = a.first_block + blockIdx.x;
  const int step_x = 33 - a.plan.nlm.patch;
  const int left = block % a.tiles_x * step_x;
  const int y = block / a.tiles_x % a.tiles_y * kWarps + (threadIdx.x >> 5);
  const int z0 = block / a.tiles_x / a.tiles_y * kDeep;
  if (y >= a.height) return;
  const PaddedVolume& p = a.padded;
  const size_t layer = kChannels * p.plane();
  const int x = left + lane - a.low;
  const float* own =
      p.own + z0 * kChannels * p.own_plane() + static_cast<size_t>(y) * p.pitch + left + lane;
  // Columns before the first, of lanes without a result, read others.
  const float* const centre = p.values + (z0 + a.near + a.plan.depth) * layer +
                              static_cast<size_t>(y + a.low + a.plan.nlm.radius) * p.pitch +
                              a.plan.nlm.radius + max(x, 0);
  Column<kChannels, kWeights> column;
  float* const kept = a.sums + static_cast<size_t>(block) * kVolumeThreads + threadIdx.x;
  const size_t kept_step = static_cast<size_t>(a.blocks) * kVolumeThreads;
  column.for_all([&](int i, float& sum) { sum = a.first_row == 0 ? 0.0f : kept[i * kept_step]; });

  for (int row = a.first_row; row < a.last_row; ++row) {
    const int dz = row / a.side - a.plan.depth, dy = row % a.side - a.plan.nlm.radius;
    const float* match = p.match + (z0 + a.plan.depth + dz) * layer +
                         static_cast<size_t>(y + a.plan.nlm.radius + dy) * p.pitch + left + lane;
    const float* values = centre + dz * static_cast<ptrdiff_t>(layer) +
                          dy * static_cast<ptrdiff_t>(p.pitch) - a.plan.nlm.radius;
    for (int i = 0; i < a.side; ++i) {
      const bool itself = dz == 0 && dy == 0 && i == a.plan.nlm.radius;
      add_displacement(a, {own, match + i, values + i, centre}, itself ? -INFINITY : a.top,
                       a.first + z0 + dz, column);
    }
  }

  if (a.last_row < a.rows_in_all) {
    column.for_all([&](int i, float& sum) { kept[i * kept_step] = sum; });
    return;
  }
  const bool whole = lane >= a.low && lane < a.low + step_x;
  if (whole && x < a.width) finish(a, column, centre, x, y, z0);
}

}  // namespace

VolumeShape volume_shape_any(const VolumePlan& plan, int channels) {
  const NlmPlan& nlm = plan.nlm;
  VolumeShape shape{};
  shape.kernel = channels == 1    ? any_kernel<1, 1>
                 : nlm.joint != 0 ? any_kernel<3, 1>
                                  : any_kernel<3, 2>;
  shape.tile_x = 33 - nlm.patch;
  shape.tile_y = kWarps;
  shape.tile_z = kDeep;
  shape.values = (channels + (nlm.joint != 0 ? 2 : 4)) * kDeep;
  const double layers = (kDeep + plan.layers - 1.0) / kDeep, columns = 32.0 / shape.tile_x;
  // An H200 takes five times its instructions' time (RESULTS.md).
  constexpr double kWaiting = 5;
  shape.slots = kWaiting * columns * (layers * (5.0 * channels * nlm.patch + 30) + 20);
  return shape;
}

}  // namespace grainless::cuda
