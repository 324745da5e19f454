// SPDX-License-Identifier: MIT
// Collaborative filtering of any patch, a block a group, all in shared memory: for patches larger
// than 8 x 8, whose coefficients no warp can hold, and in the first stage for smaller ones, too.
// That stage's arithmetic is the CPU's to the bit (engine/boundary/bm3d_math.h): compiled without
// contraction.
#include <algorithm>
#include <cmath>

#include "aggregate.cuh"
#include "cuda/runtime/launch.h"
#include "engine/boundary/bm3d_math.h"
#include "stage.cuh"

namespace grainless::cuda {
namespace {

constexpr int kThreads = 128;

struct AnyArgs {
  DevicePlanes noisy, pilot, out;
  ReferenceGrid grid;
  const uint16_t* groups;
  PixelSums* sums;
  FirstSums first;
  Bm3dSumScale first_scale;
  float per_deviation;  // of a second stage
  int row, channel;
  Bm3dStage stage;
};

// Rows (or columns) of all patches times m^T.
__device__ void multiply_lines(const float* m, int patch, int count, bool columns, float* group) {
  const int between = columns ? patch : 1;
  for (int line = threadIdx.x; line < count * patch; line += kThreads) {
    const int within = line % patch;
    float* at = group + line / patch * patch * patch + (columns ? within : within * patch);
    float in[kMaxPatch];
#pragma unroll
    for (int i = 0; i < kMaxPatch; ++i) in[i] = i < patch ? at[i * between] : 0.0f;
    for (int k = 0; k < patch; ++k) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kMaxPatch; ++i) {
        if (i < patch) sum += m[k * patch + i] * in[i];
      }
      at[k * between] = sum;
    }
  }
  __syncthreads();
}

__device__ void transform(const float* m, int patch, int count, float* group) {
  multiply_lines(m, patch, count, false, group);
  multiply_lines(m, patch, count, true, group);
}

// Haar transform of one coefficient along the group (engine/boundary/bm3d_math.h: haar_gain).
__device__ void haar(float* v, int count, int size, bool forward) {
  for (int i = 1; i < count; i *= 2) {
    const int step = forward ? i : count / 2 / i;
    for (int j = 0; j < count; j += 2 * step) {
      const float a = v[j * size], b = v[(j + step) * size];
      v[j * size] = a + b;
      v[(j + step) * size] = a - b;
    }
  }
}

__device__ __forceinline__ float pixel_at(const DevicePlanes& planes, int channel, int x, int y) {
  return planes.plane(
      channel)[static_cast<size_t>(y - planes.rect.y) * planes.stride + x - planes.rect.x];
}

// Where a group's patches stand.
struct GroupPlaces {
  int x, y;  // the search window's first pixel
  int count;
  const uint16_t* entries;
};

__device__ void load_group(const DevicePlanes& planes, int channel, int patch,
                           const GroupPlaces& places, float base, float* group) {
  const float* plane = planes.plane(channel);
  const int size = patch * patch;
  for (int i = threadIdx.x; i < places.count * size; i += kThreads) {
    const int entry = places.entries[i / size], pixel = i % size;
    const int px = places.x + (entry & 63) + pixel % patch - planes.rect.x;
    const int py = places.y + (entry >> 6) + pixel / patch - planes.rect.y;
    group[i] = plane[static_cast<size_t>(py) * planes.stride + px] - base;
  }
  __syncthreads();
}

// Leaves what is removed from one coefficient of all patches, divided by its gain; returns the sum
// of squared weights.
__device__ float shrink(float* v, const float* pilot, int count, int size, float amount,
                        bool has_mean) {
  float sum = 0;
  for (int m = 0; m < count; ++m) {
    const float gain = haar_gain(m, count);
    float part = fabsf(v[m * size]) <= amount * haar_root(gain) ? 1 / gain : 0.0f;
    if (pilot != nullptr) part = amount / (pilot[m * size] * pilot[m * size] + amount * gain);
    if (m == 0 && has_mean) part = 0;
    v[m * size] = part == 0 ? 0.0f : v[m * size] * part;
    const float kept = 1 - gain * part;
    sum += kept * kept;
  }
  return sum;
}

// `sums`: kThreads floats that nobody needs any more once all threads are here.
__device__ float block_sum(float v, float* sums) {
  __syncthreads();
  sums[threadIdx.x] = v;
  for (int half = kThreads / 2; half >= 1; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  __syncthreads();
  return sums[0];
}

__device__ void add_group(const AnyArgs& args, const GroupPlaces& places, const float* group,
                          float weight) {
  const int patch = args.stage.patch, size = patch * patch;
  const bool first = args.pilot.data == nullptr;
  const PatchWeight steps = first_stage_weight(weight, args.first_scale);
  if (first && threadIdx.x < places.count) {
    const int entry = places.entries[threadIdx.x];
    args.first.add_weight(places.x + (entry & 63), places.y + (entry >> 6), steps.steps);
  }
  for (int i = threadIdx.x; i < places.count * size; i += kThreads) {
    const int entry = places.entries[i / size], pixel = i % size;
    const int px = places.x + (entry & 63) + pixel % patch;
    const int py = places.y + (entry >> 6) + pixel / patch;
    const int ox = px - args.out.rect.x, oy = py - args.out.rect.y;
    if (ox < 0 || ox >= args.out.rect.width || oy < 0 || oy >= args.out.rect.height) continue;
    const float row = args.stage.kaiser[pixel / patch], column = args.stage.kaiser[pixel % patch];
    if (first) {
      const int removed = __float2int_rn(steps.factor * column * row * group[i]);
      args.first.add_removed(px, py, static_cast<long long>(removed) * (1 << steps.shift));
    } else {
      const float w = weight * (row * column);
      add_to_pixel(args.sums + static_cast<size_t>(oy) * args.out.rect.width + ox,
                   w * (group[i] * args.per_deviation), w);
    }
  }
}

__global__ void __launch_bounds__(kThreads) filter_groups(const __grid_constant__ AnyArgs args) {
  extern __shared__ float shared[];
  const Bm3dStage& stage = args.stage;
  const int row = args.row + blockIdx.y, patch = stage.patch, size = patch * patch;
  const uint16_t* entries =
      args.groups + (static_cast<size_t>(row) * args.grid.columns + blockIdx.x) * stage.group;
  int count = 0;
  while (count < stage.group && entries[count] != kNoPatch) ++count;
  const int x = args.grid.x(args.grid.column + blockIdx.x) - stage.radius;
  const int y = args.grid.y(args.grid.row + row) - stage.radius;
  const GroupPlaces places{x, y, count, entries};
  float* group = shared;
  float* pilot = args.pilot.data != nullptr ? shared + count * size : nullptr;
  const float base = pixel_at(pilot != nullptr ? args.pilot : args.noisy, args.channel,
                              x + stage.radius, y + stage.radius);
  load_group(args.noisy, args.channel, patch, places, base, group);
  transform(stage.forward, patch, count, group);
  if (pilot != nullptr) {
    load_group(args.pilot, args.channel, patch, places, base, pilot);
    transform(stage.forward, patch, count, pilot);
  }
  float sum = 0;
  for (int i = threadIdx.x; i < size; i += kThreads) {
    haar(group + i, count, size, true);
    if (pilot != nullptr) haar(pilot + i, count, size, true);
    sum += shrink(group + i, pilot != nullptr ? pilot + i : nullptr, count, size,
                  stage.shrink[args.channel], i == 0);
    haar(group + i, count, size, false);
  }
  const float weight = 1.0f / block_sum(sum, shared + count * size);
  transform(stage.inverse, patch, count, group);
  add_group(args, places, group, weight);
}

float deviation_of(const Bm3dStage& stage, int c) {
  return std::sqrt(stage.shrink[c]);
}

}  // namespace

float pixel_sums_ratio(const Bm3dStage& stage, int c) {
  return kRemovedUnit / kWeightUnit * deviation_of(stage, c);
}

void filter_stage_any(const StageJob& job, int c, const ProgressSpan& progress) {
  const Bm3dStage& stage = *job.stage;
  const bool first = job.pilot.data == nullptr;
  const Bm3dSumScale scale = first ? first_stage_sums(stage, c) : Bm3dSumScale{};
  AnyArgs args{job.noisy,
               job.pilot,
               job.out,
               job.grid,
               job.groups,
               job.sums,
               first_sums(job),
               scale,
               1 / deviation_of(stage, c),
               0,
               c,
               stage};
  // The block's sum takes the place of the pilot: two groups of 32 patches of 16 x 16 are all that
  // 64 KB hold.
  const int group = stage.group * stage.patch * stage.patch;
  const size_t bytes = sizeof(float) * (group + std::max(first ? 0 : group, kThreads));
  if (bytes > job.limits.shared_bytes) too_little_shared_memory();
  const int references = kReferencesPerMultiprocessor * job.limits.multiprocessors / 8;
  const int rows = std::clamp(references / job.grid.columns, 1, kMostGridRows);
  launch_in_bands(*job.method, {job.grid.rows, rows, progress}, [&](const Band& band) {
    args.row = band.first;
    launch("BM3D filtering of large patches", filter_groups,
           {dim3(job.grid.columns, band.count), kThreads, bytes, job.method->stream}, args);
  });
}

}  // namespace grainless::cuda
