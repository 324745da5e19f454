// SPDX-License-Identifier: MIT
// Compiled without contraction: the CPU's bits between the methods.
#include "pyramid.cuh"

#include <algorithm>
#include <utility>

#include "cuda/methods.cuh"
#include "cuda/runtime/launch.h"
#include "engine/boundary/pyramid.h"

namespace grainless::cuda {
namespace {

constexpr int kBlockX = 32, kBlockY = 8;
constexpr size_t kAlign = 256;   // bytes
constexpr int kStrideUnit = 32;  // floats

__device__ float value_at(const DevicePlanes& planes, int c, int x, int y) {
  return planes.plane(
      c)[static_cast<size_t>(y - planes.rect.y) * planes.stride + (x - planes.rect.x)];
}

__device__ float* place_at(const DevicePlanes& planes, int c, int x, int y) {
  return planes.plane(c) + static_cast<size_t>(y - planes.rect.y) * planes.stride +
         (x - planes.rect.x);
}

// down at one pixel of the coarser level; fine_image: the finer level's size.
__device__ float halved_at(const DevicePlanes& fine, const Rect& fine_image, int c, int x, int y) {
  const int right = min(2 * x + 1, fine_image.width - 1);
  const int below = min(2 * y + 1, fine_image.height - 1);
  return mean_of_four(value_at(fine, c, 2 * x, 2 * y), value_at(fine, c, right, 2 * y),
                      value_at(fine, c, 2 * x, below), value_at(fine, c, right, below));
}

// One thread a pixel of `planes`, blockIdx.z its channel.
__device__ bool own_pixel(const DevicePlanes& planes, int& c, int& x, int& y) {
  c = blockIdx.z;
  x = planes.rect.x + blockIdx.x * kBlockX + threadIdx.x;
  y = planes.rect.y + blockIdx.y * kBlockY + threadIdx.y;
  return x < planes.rect.right() && y < planes.rect.bottom();
}

__global__ void halve_kernel(const DevicePlanes fine, const Rect fine_image,
                             const DevicePlanes coarse) {
  int c, x, y;
  if (!own_pixel(coarse, c, x, y)) return;
  *place_at(coarse, c, x, y) = halved_at(fine, fine_image, c, x, y);
}

// difference = result - down(filtered)
__global__ void difference_kernel(const DevicePlanes result, const DevicePlanes filtered,
                                  const Rect fine_image, const DevicePlanes difference) {
  int c, x, y;
  if (!own_pixel(difference, c, x, y)) return;
  *place_at(difference, c, x, y) =
      value_at(result, c, x, y) - halved_at(filtered, fine_image, c, x, y);
}

__global__ void smooth_kernel(const DevicePlanes difference, const Rect image,
                              const DevicePlanes smoothed) {
  int c, x, y;
  if (!own_pixel(smoothed, c, x, y)) return;
  const int above = max(y - 1, 0), below = min(y + 1, image.height - 1);
  const int at[3] = {max(x - 1, 0), x, min(x + 1, image.width - 1)};
  float column[3];
  for (int i = 0; i < 3; ++i) {
    column[i] =
        smooth_three(value_at(difference, c, at[i], above), value_at(difference, c, at[i], y),
                     value_at(difference, c, at[i], below));
  }
  *place_at(smoothed, c, x, y) = smooth_three(column[0], column[1], column[2]);
}

// Chroma's differences, as far as luma lets them pass: one thread a pixel of all chroma planes.
__global__ void guide_kernel(const DevicePlanes result, const DevicePlanes difference,
                             const Rect image, const float guide, const DevicePlanes target) {
  int c, x, y;
  if (!own_pixel(target, c, x, y)) return;
  float luma[kGuideSide * kGuideSide];
  for (int j = 0; j < kGuideSide; ++j) {
    const int row = min(max(y + j - kGuideReach, 0), image.height - 1);
    for (int i = 0; i < kGuideSide; ++i) {
      const int at = min(max(x + i - kGuideReach, 0), image.width - 1);
      luma[j * kGuideSide + i] = value_at(result, 0, at, row) - value_at(difference, 0, at, row);
    }
  }
  const float share = chroma_share(luma, guide);
  for (c = 1; c < target.channels; ++c) {
    *place_at(target, c, x, y) = share * value_at(difference, c, x, y);
  }
}

// The second nearest coarse pixel to pixel i of the finer level.
__device__ int neighbour(int i, int size) {
  return min(max((i >> 1) + ((i & 1) != 0 ? 1 : -1), 0), size - 1);
}

// target = filtered + up(smoothed)
__global__ void add_upsampled_kernel(const DevicePlanes smoothed, const Rect coarse_image,
                                     const DevicePlanes filtered, const DevicePlanes target) {
  int c, x, y;
  if (!own_pixel(target, c, x, y)) return;
  const int near = y >> 1, far = neighbour(y, coarse_image.height);
  const int here = x >> 1, beside = neighbour(x, coarse_image.width);
  const float correction =
      between(between(value_at(smoothed, c, here, near), value_at(smoothed, c, here, far)),
              between(value_at(smoothed, c, beside, near), value_at(smoothed, c, beside, far)));
  *place_at(target, c, x, y) = value_at(filtered, c, x, y) + correction;
}

dim3 grid_for(const DevicePlanes& planes) {
  return dim3((planes.rect.width + kBlockX - 1) / kBlockX,
              (planes.rect.height + kBlockY - 1) / kBlockY, planes.channels);
}

constexpr dim3 kBlock(kBlockX, kBlockY);

size_t plane_bytes(int channels, int width, int height) {
  const size_t stride = (width + kStrideUnit - 1) / kStrideUnit * kStrideUnit;
  return (sizeof(float) * stride * height * channels + kAlign - 1) / kAlign * kAlign;
}

// Cuts the job's scratch memory.
class Cutter {
 public:
  explicit Cutter(const MethodJob& job)
      : next_(static_cast<uint8_t*>(job.scratch)), left_(job.scratch_bytes) {}

  DevicePlanes planes(int channels, const Rect& rect) {
    const size_t bytes = plane_bytes(channels, rect.width, rect.height);
    if (bytes > left_) throw Error(ErrorCode::kInternal, "the levels need more than was reserved");
    left_ -= bytes;
    const int stride = (rect.width + kStrideUnit - 1) / kStrideUnit * kStrideUnit;
    return {reinterpret_cast<float*>(std::exchange(next_, next_ + bytes)), channels, rect, stride};
  }
  void* rest() const { return next_; }
  size_t left() const { return left_; }

 private:
  uint8_t* next_;
  size_t left_;
};

// Progress of one level as a part of the whole.
struct Part {
  const AbiCallbacks* whole;
  LevelTime time;
};

AbiCallbacks callbacks_of(Part& part) {
  return {&part,
          [](void* user) -> int32_t {
            const AbiCallbacks* whole = static_cast<Part*>(user)->whole;
            return whole->cancelled != nullptr ? whole->cancelled(whole->user) : 0;
          },
          [](void* user, double fraction) {
            const Part& own = *static_cast<Part*>(user);
            if (own.whole->progress == nullptr) return;
            own.whole->progress(own.whole->user, own.time.before + own.time.own * fraction);
          }};
}

// A level of the pyramid on the device.
struct DeviceLevel {
  int number;
  PyramidLevel shape;
  DevicePlanes held, filtered, result;
};

// Fills level.filtered.
void run_level(const Plan& plan, const MethodJob& whole, const DeviceLevel& level, int count,
               const Cutter& memory) {
  MethodJob job = whole;
  job.level = &plan.level[level.number];
  job.image_width = level.shape.image.width;
  job.image_height = level.shape.image.height;
  job.source = level.held;
  job.target = level.filtered;
  job.scratch = memory.rest();
  job.scratch_bytes = memory.left();
  Part part{whole.callbacks, level_time(level.number, count)};
  const AbiCallbacks callbacks = callbacks_of(part);
  if (whole.callbacks != nullptr) job.callbacks = &callbacks;
  cuda_method(plan.method).run(job);
}

// Fills fine.result: fine.filtered with the low frequencies of the coarser result.
void recompose(const DeviceLevel& fine, const DeviceLevel& coarse, float guide, Cutter memory,
               cudaStream_t stream) {
  const DevicePlanes &target = fine.result, &filtered = fine.filtered, &coarser = coarse.result;
  const Rect& coarse_image = coarse.shape.image;
  const DevicePlanes difference = memory.planes(target.channels, coarser.rect);
  const DevicePlanes smoothed =
      memory.planes(target.channels, correction_rect(fine.shape, coarse.shape));
  launch("difference", difference_kernel, {grid_for(difference), kBlock, 0, stream}, coarser,
         filtered, fine.shape.image, difference);
  dim3 grid = grid_for(smoothed);
  if (guide > 0) grid.z = 1;  // luma's plane; the guide takes the others
  launch("smooth", smooth_kernel, {grid, kBlock, 0, stream}, difference, coarse_image, smoothed);
  if (guide > 0) {
    launch("guide", guide_kernel, {grid, kBlock, 0, stream}, coarser, difference, coarse_image,
           guide, smoothed);
  }
  launch("add_upsampled", add_upsampled_kernel, {grid_for(target), kBlock, 0, stream}, smoothed,
         coarse_image, filtered, target);
}

}  // namespace

Rect levels_source(const Plan& plan, int width, int height, const Rect& out) {
  PyramidLevel level[kMaxLevels];
  plan_pyramid(plan, pyramid_levels(plan, width, height), width, height, out, level);
  return level[0].held;
}

void run_levels(const Plan& plan, const MethodJob& job) {
  const int count = pyramid_levels(plan, job.image_width, job.image_height);
  PyramidLevel shapes[kMaxLevels];
  plan_pyramid(plan, count, job.image_width, job.image_height, job.target.rect, shapes);
  Cutter memory(job);
  DeviceLevel levels[kMaxLevels];
  const int channels = job.target.channels;
  for (int l = 0; l < count; ++l) {
    DeviceLevel& level = levels[l];
    level.number = l;
    level.shape = shapes[l];
    // The coarsest result is what its method made; the finest is the target.
    level.filtered = count == 1 ? job.target : memory.planes(channels, level.shape.filtered);
    level.result = l == count - 1 ? level.filtered
                   : l == 0       ? job.target
                                  : memory.planes(channels, level.shape.result);
    level.held = l == 0 ? job.source : memory.planes(channels, level.shape.held);
    if (l == 0) continue;
    const DeviceLevel& finer = levels[l - 1];
    launch("halve", halve_kernel, {grid_for(level.held), kBlock, 0, job.stream}, finer.held,
           finer.shape.image, level.held);
  }
  for (int l = count - 1; l >= 0; --l) {
    run_level(plan, job, levels[l], count, memory);
    if (l == count - 1) continue;
    recompose(levels[l], levels[l + 1], plan.level[l + 1].guide, memory, job.stream);
  }
}

size_t levels_scratch_bytes(const Plan& plan, int width, int height) {
  size_t planes = 0, most = 0;
  for (int l = 0; l < plan.level_count; ++l) {
    // Rectangles of a level may stick out by a pixel on either side.
    const int w = (width >> l) + 2, h = (height >> l) + 2;
    const size_t method =
        cuda_method(plan.method).scratch_bytes(plan.level[l], {plan.channels, w, h});
    const size_t one = plane_bytes(plan.channels, w, h);
    // Of a level: filtered and result, and of the coarser ones the unfiltered pixels; recomposing
    // takes two planes of a coarser level where a method's scratch was.
    most = std::max(most, l == 0 ? method : std::max(method, 2 * one));
    if (plan.level_count > 1) planes += (l == 0 ? 1 : 3) * one;
  }
  return planes + most;
}

}  // namespace grainless::cuda
