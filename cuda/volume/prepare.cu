// SPDX-License-Identifier: MIT
// Match values and reflected borders of volumes. Compiled without contraction: match values are the
// CPU's to the bit.
#include "args.cuh"
#include "cuda/runtime/launch.h"
#include "engine/boundary/pixel_math.h"

namespace grainless::cuda {
namespace {

constexpr int kBlockX = 64, kBlockY = 4;

// Which voxels a copy holds: those at the given place and after it.
struct Corner {
  int x, y, z;
};

// Padding that no result depends on may lie beyond the source, and reads some voxel of it.
__device__ float voxel(const VolumeArgs& a, int c, int x, int y, int z) {
  const int layer = reflect(a.first + z, a.volume_layers) - a.in_first;
  const float* plane = a.source.layer(min(max(layer, 0), a.source.layers - 1)) +
                       static_cast<size_t>(c) * a.source.plane_floats();
  return plane[static_cast<size_t>(reflect(y, a.height)) * a.source.stride + reflect(x, a.width)];
}

template <bool kMatch>
__global__ void pad_kernel(const VolumeArgs a, float* to, int rows, int first_layer,
                           Corner corner) {
  const int column = blockIdx.x * kBlockX + threadIdx.x, row = blockIdx.y * kBlockY + threadIdx.y;
  if (column >= a.padded.pitch || row >= rows) return;
  const int layer = first_layer + blockIdx.z;
  for (int c = 0; c < a.source.channels; ++c) {
    const float value = voxel(a, c, corner.x + column, corner.y + row, corner.z + layer);
    const size_t at =
        ((static_cast<size_t>(layer) * a.source.channels + c) * rows + row) * a.padded.pitch +
        column;
    to[at] = kMatch ? static_cast<float>(match_value(value, a.plan.nlm.match[c])) : value;
  }
}

template <bool kMatch>
void pad(const VolumeArgs& a, float* to, int rows, int layers, const Corner& corner,
         cudaStream_t stream) {
  constexpr int kMostLayers = 32768;  // of a grid
  for_bands(layers, kMostLayers, [&](const Band& band) {
    const dim3 grid((a.padded.pitch + kBlockX - 1) / kBlockX, (rows + kBlockY - 1) / kBlockY,
                    band.count);
    launch("volume_prepare", pad_kernel<kMatch>, {grid, dim3(kBlockX, kBlockY), 0, stream}, a, to,
           rows, band.first, corner);
  });
}

}  // namespace

void volume_prepare(const VolumeArgs& a, cudaStream_t stream) {
  const int r = a.plan.nlm.radius, reach = a.near + a.plan.depth;
  pad<true>(a, a.padded.own, a.padded.own_rows, a.padded.own_layers, {-a.low, -a.low, -a.near},
            stream);
  pad<true>(a, a.padded.match, a.padded.rows, a.padded.layers, {-a.low - r, -a.low - r, -reach},
            stream);
  pad<false>(a, a.padded.values, a.padded.rows, a.padded.layers, {-r, -a.low - r, -reach}, stream);
}

}  // namespace grainless::cuda
