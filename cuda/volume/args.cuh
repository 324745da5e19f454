// SPDX-License-Identifier: MIT
// What the host side of Non-Local Means over volumes hands to its kernels, by value.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "cuda/nlm/args.cuh"
#include "engine/boundary/volume_plan.h"

namespace grainless::cuda {

inline constexpr int kVolumeThreads = 128;

// Planar floats of the layers of a slab, one layer after the other.
struct DeviceStack {
  float* data;
  int channels, width, height, stride;  // as in DevicePlanes
  int layers;

  __host__ __device__ size_t plane_floats() const { return static_cast<size_t>(height) * stride; }
  __host__ __device__ size_t layer_floats() const { return channels * plane_floats(); }
  __host__ __device__ float* layer(int z) const { return data + z * layer_floats(); }
};

// Three copies of the slab with reflected borders, [layer][channel][row][pitch] floats. A window's
// row begins at a multiple of 4 floats for every x that is one. Voxel (x, y, z) of the slab lies at
// clang-format off
//             holds         row               column            layer
//     own     match values  y + low           x + low           z + near
//     match   match values  y + low + radius  x + low + radius  z + near + depth
//     values  the voxels    y + low + radius  x + radius        z + near + depth
// clang-format on
// `low` and `near` are the voxels of a patch before its centre, within a layer and across layers.
struct PaddedVolume {
  float *own, *match, *values;
  int pitch, own_rows, rows, own_layers, layers;

  __host__ __device__ size_t own_plane() const { return static_cast<size_t>(own_rows) * pitch; }
  __host__ __device__ size_t plane() const { return static_cast<size_t>(rows) * pitch; }
};

// w = 2^min(VolumeArgs::top, offset - slope * D), as NlmCurve's.
struct VolumeCurve {
  float slope, offset;
  int enabled;
};

struct VolumeArgs {
  PaddedVolume padded;
  DeviceStack source;  // the layers in_first on; those of the slab become the result
  int volume_layers, in_first, first;  // of the volume; first and layers are the slab's
  int width, height, layers;
  VolumePlan plan;
  int low, near, side;  // side = 2 radius + 1
  int tiles_x, tiles_y, blocks;
  int first_block;
  int first_row, last_row;  // rows of displacements: (dz + depth) * side + dy + radius
  int rows_in_all;
  VolumeCurve luma, chroma;  // of the plan's weights
  float top;
  float* sums;  // between launches over different rows: [value][block][thread]
};

// A voxel's sums are the same sequence of operations wherever it is: displacements in raster order.
using VolumeKernel = void (*)(VolumeArgs);

// How a kernel divides a slab among blocks, and what it takes.
struct VolumeShape {
  VolumeKernel kernel;
  int tile_x, tile_y, tile_z;  // voxels of a block
  int values;                  // sums a thread keeps
  double slots;                // of an H200 for a voxel and displacement, idle ones included
};

// Kernels for cubic patches of 3 and 5 and one weight, with distances in float: exact up to 2^24,
// which is beyond kNlmVanishes. grey.cu, colour.cu.
bool volume_shape_grey(int patch, VolumeShape& shape);
bool volume_shape_colour(int patch, VolumeShape& shape);
// For every patch, in integers. any.cu.
VolumeShape volume_shape_any(const VolumePlan& plan, int channels);

// Fills args.padded from args.source. prepare.cu.
void volume_prepare(const VolumeArgs& args, cudaStream_t stream);

}  // namespace grainless::cuda
