// SPDX-License-Identifier: MIT
// Shapiro-Wilk NLM, a row of displacements after the other: the pairs' weights go to memory, then
// every pixel takes those of p + D and p - D, in one order.
#include "sw_nlm.cuh"

#include <algorithm>
#include <cmath>

#include "args.cuh"
#include "cuda/frame/warp.cuh"
#include "cuda/runtime/check.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/sizes.h"

namespace grainless::cuda {
namespace {

constexpr int kThreads = 128;

// Samples of pairs that one launch may sort or compare. The slowest card in reach (a GTX 1650) does
// about 1.3e12 instructions a second and spends 30 on a sample: 16 ms a launch.
constexpr double kLaunchSamples = 6.6e8;

SwNlmArgs geometry(const SwNlmPlan& plan, int channels, const Rect& target) {
  SwNlmArgs a{};
  const int around = 2 * plan.radius + plan.patch - 1;
  a.plan = plan;
  a.channels = channels;
  a.margin = plan.radius + plan.patch / 2;
  a.x0 = target.x - a.margin;
  a.y0 = target.y - a.margin;
  a.columns = target.width + around;
  a.rows = target.height + around;
  a.pitch = ceil_div(a.columns, 64) * 64;
  a.plane = static_cast<size_t>(a.pitch) * a.rows;
  a.weight_pitch = ceil_div(target.width + plan.radius, 32) * 32;
  a.weight_plane = static_cast<size_t>(a.weight_pitch) * (target.height + plan.radius);
  a.sums_plane = static_cast<size_t>(target.width) * target.height;
  return a;
}

struct ScratchLayout {
  size_t match, values, weights, sums, total;  // offsets, bytes

  explicit ScratchLayout(const SwNlmArgs& a) {
    match = 0;
    values = aligned(a.plane * a.channels * sizeof(int16_t));
    weights = values + aligned(a.plane * a.channels * sizeof(float));
    sums = weights + aligned(a.weight_plane * (2 * a.plan.radius + 1) * sizeof(float));
    total = sums + aligned(a.sums_plane * (a.channels + 2) * sizeof(float));
  }
};

struct Pixel {
  int x, y;  // in the target
  bool inside;

  __device__ explicit Pixel(const SwNlmArgs& a)
      : x(blockIdx.x * kThreads + threadIdx.x),
        y(a.first_row + static_cast<int>(blockIdx.y)),
        inside(x < a.target.rect.width) {}
};

__device__ size_t padded_index(const SwNlmArgs& a, int x, int y) {
  return static_cast<size_t>(y + a.margin) * a.pitch + x + a.margin;
}

// Adds a row of displacements to the sums.
template <int kCount>
__global__ void __launch_bounds__(kThreads) accumulate_kernel(const SwNlmArgs a) {
  const Pixel pixel(a);
  if (!pixel.inside) return;
  const size_t out = static_cast<size_t>(pixel.y) * a.target.rect.width + pixel.x;
  const float* values = a.values + a.first * a.plane + padded_index(a, pixel.x, pixel.y);
  float own[kCount], sums[kCount + 2];
#pragma unroll
  for (int c = 0; c < kCount; ++c) own[c] = values[c * a.plane];
#pragma unroll
  for (int i = 0; i < kCount + 2; ++i) sums[i] = a.sums[i * a.sums_plane + out];
  for (int slot = 0; slot < a.slots; ++slot) {
    const int dx = a.first_dx + slot, shift = a.dy * a.pitch + dx;
    const float* row =
        a.weights + slot * a.weight_plane + static_cast<size_t>(pixel.y) * a.weight_pitch + pixel.x;
    const float ahead = row[a.dy * a.weight_pitch + max(dx, 0)], behind = row[max(-dx, 0)];
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const float* value = values + c * a.plane;
      sums[c] += ahead * (value[shift] - own[c]) + behind * (value[-shift] - own[c]);
    }
    sums[kCount] += ahead + behind;
    sums[kCount + 1] = fmaxf(sums[kCount + 1], fmaxf(ahead, behind));
  }
#pragma unroll
  for (int i = 0; i < kCount + 2; ++i) a.sums[i * a.sums_plane + out] = sums[i];
}

__device__ float fallback_weight(const SwNlmArgs& a, size_t at, int shift) {
  uint32_t distance = 0;
  const ptrdiff_t before = a.plan.patch / 2;
  for (int c = 0; c < a.channels; ++c) {
    const int16_t* corner = a.match + c * a.plane + at - before * a.pitch - before;
    for (int ky = 0; ky < a.plan.patch; ++ky) {
      for (int kx = 0; kx < a.plan.patch; ++kx) {
        const int16_t* match = corner + ky * a.pitch + kx;
        const int d = min(max(match[0] - match[shift], -kSwDifference), kSwDifference);
        distance += d * d;
      }
    }
  }
  const NlmWeight& weight = a.gate.fallback;
  const float t = (static_cast<float>(distance) * weight.gain - weight.noise) * weight.decay;
  return t > kNlmCutoff ? 0.0f : expf(-fmaxf(t, 0.0f));
}

// The weights of Non-Local Means for one pixel of the warp: the lanes share the displacements.
// `sums` of the lane that owns the pixel become them.
template <int kCount>
__device__ void fall_back(const SwNlmArgs& a, int x, int y, bool owner, float (&sums)[kCount + 2]) {
  const size_t at = padded_index(a, x, y);
  const float* values = a.values + a.first * a.plane + at;
  const int side = 2 * a.plan.radius + 1;
  float part[kCount + 2] = {};
  for (int i = threadIdx.x & 31; i < side * side; i += 32) {
    if (i == side * side / 2) continue;
    const int shift = (i / side - a.plan.radius) * a.pitch + i % side - a.plan.radius;
    const float w = fallback_weight(a, at, shift);
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      part[c] += w * (values[c * a.plane + shift] - values[c * a.plane]);
    }
    part[kCount] += w;
    part[kCount + 1] = fmaxf(part[kCount + 1], w);
  }
  for (int step = 16; step > 0; step /= 2) {
    part[kCount + 1] = fmaxf(part[kCount + 1], __shfl_xor_sync(~0u, part[kCount + 1], step));
  }
#pragma unroll
  for (int c = 0; c <= kCount; ++c) part[c] = warp_sum(part[c]);
  for (int i = 0; i < kCount + 2 && owner; ++i) sums[i] = part[i];
}

template <int kCount>
__global__ void __launch_bounds__(kThreads) finish_kernel(const SwNlmArgs a) {
  const Pixel pixel(a);
  const size_t out = static_cast<size_t>(pixel.y) * a.target.rect.width + pixel.x;
  float sums[kCount + 2] = {};
  for (int i = 0; i < kCount + 2 && pixel.inside; ++i) sums[i] = a.sums[i * a.sums_plane + out];
  unsigned lonely = __ballot_sync(~0u, pixel.inside && !(sums[kCount] > 0.0f));
  for (; lonely != 0; lonely &= lonely - 1) {
    const int lane = __ffs(lonely) - 1, own = threadIdx.x & 31;
    fall_back<kCount>(a, pixel.x - own + lane, pixel.y, own == lane, sums);
  }
  if (!pixel.inside) return;
  const float centre = a.plan.centre.own + a.plan.centre.of_largest * sums[kCount + 1];
  const float total = sums[kCount] + centre;
  const size_t at = padded_index(a, pixel.x, pixel.y);
#pragma unroll
  for (int c = 0; c < kCount; ++c) {
    const float removed = sums[c] / (total > 0.0f ? total : 1.0f);
    a.target.plane(a.first + c)[static_cast<size_t>(pixel.y) * a.target.stride + pixel.x] =
        a.values[(a.first + c) * a.plane + at] + a.plan.taken[a.first + c] * removed;
  }
}

SwNlmArgs make_args(const MethodJob& job) {
  const SwNlmPlan& plan = job.level->sw_nlm;
  SwNlmArgs a = geometry(plan, job.source.channels, job.target.rect);
  a.image_width = job.image_width;
  a.image_height = job.image_height;
  std::copy_n(plan.coefficient, plan.patch * plan.patch / 2, a.coefficient);
  a.source = job.source;
  a.target = job.target;
  const ScratchLayout layout(a);
  if (layout.total > job.scratch_bytes) {
    throw Error(ErrorCode::kInternal, "Shapiro-Wilk NLM: scratch too small");
  }
  auto* scratch = static_cast<unsigned char*>(job.scratch);
  a.match = reinterpret_cast<int16_t*>(scratch + layout.match);
  a.values = reinterpret_cast<float*>(scratch + layout.values);
  a.weights = reinterpret_cast<float*>(scratch + layout.weights);
  a.sums = reinterpret_cast<float*>(scratch + layout.sums);
  return a;
}

// Rows that one launch takes.
int rows_at_once(double samples_a_row) {
  constexpr double kMostRows = 32768;  // of a grid
  const int rows = static_cast<int>(std::min(kLaunchSamples / samples_a_row, kMostRows));
  return std::max(16, rows / 16 * 16);
}

void set_rows(const Band& band, SwNlmArgs& a) {
  a.first_row = band.first;
  a.last_row = band.first + band.count;
}

LaunchShape shape_of(const SwNlmArgs& a, const Band& band, cudaStream_t stream) {
  return {dim3(ceil_div(a.target.rect.width, kThreads), band.count), kThreads, 0, stream};
}

template <int kCount>
void run_planes(const MethodJob& job, SwNlmArgs a, const ProgressSpan& progress) {
  const int height = job.target.rect.height, samples = a.plan.patch * a.plan.patch;
  const double slowness = sw_nlm_sorts_in_registers(a.plan.patch) ? 1 : 6;
  check(cudaMemsetAsync(a.sums, 0, (kCount + 2) * a.sums_plane * sizeof(float), job.stream),
        "clearing sums");
  for (a.dy = 0; a.dy <= a.plan.radius; ++a.dy) {
    a.first_dx = a.dy == 0 ? 1 : -a.plan.radius;
    a.slots = a.plan.radius - a.first_dx + 1;
    const double fraction = progress.at(a.dy, a.plan.radius + 1);
    const int weighed = rows_at_once(slowness * a.weight_pitch * a.slots * samples);
    launch_in_bands(job, {height + a.dy, weighed, {fraction, fraction}}, [&](const Band& band) {
      set_rows(band, a);
      sw_nlm_weigh(a, job.stream);
    });
    const int added = rows_at_once(4.0 * a.target.rect.width * a.slots);
    for_bands(height, added, [&](const Band& band) {
      set_rows(band, a);
      launch("sw_nlm accumulate", accumulate_kernel<kCount>, shape_of(a, band, job.stream), a);
    });
  }
  // All pixels may need it.
  const double side = 2 * a.plan.radius + 1;
  const int finished = rows_at_once(a.target.rect.width * side * side * samples * a.channels);
  launch_in_bands(job, {height, finished, {progress.to, progress.to}}, [&](const Band& band) {
    set_rows(band, a);
    launch("sw_nlm finish", finish_kernel<kCount>, shape_of(a, band, job.stream), a);
  });
}

void copy_plane(const MethodJob& job, int c) {
  const Rect &from = job.source.rect, &to = job.target.rect;
  const float* first = job.source.plane(c) +
                       static_cast<size_t>(to.y - from.y) * job.source.stride + (to.x - from.x);
  check(cudaMemcpy2DAsync(job.target.plane(c), job.target.stride * sizeof(float), first,
                          job.source.stride * sizeof(float), to.width * sizeof(float), to.height,
                          cudaMemcpyDeviceToDevice, job.stream),
        "copying a plane");
}

// Planes that share a gate.
struct PlaneGroup {
  int first, count;
  const SwNlmGate& gate;
};

// Copies the planes when none of them is to change.
void run_group(const MethodJob& job, SwNlmArgs a, const PlaneGroup& group,
               const ProgressSpan& progress) {
  const auto& [first, count, gate] = group;
  if (std::all_of(a.plan.taken + first, a.plan.taken + first + count,
                  [](float s) { return s <= 0; })) {
    for (int c = first; c < first + count; ++c) copy_plane(job, c);
    return;
  }
  a.first = first;
  a.count = count;
  a.gate = gate;
  if (count == 1) run_planes<1>(job, a, progress);
  if (count == 2) run_planes<2>(job, a, progress);
  if (count == 3) run_planes<3>(job, a, progress);
}

}  // namespace

size_t sw_nlm_scratch_bytes(const LevelPlan& level, const LevelSize& size) {
  const Rect target{0, 0, size.width, size.height};
  return ScratchLayout(geometry(level.sw_nlm, size.channels, target)).total;
}

void expect_sw_nlm(const LevelPlan&, int, const DeviceLimits*) {}

void run_sw_nlm(const MethodJob& job) {
  const SwNlmPlan& plan = job.level->sw_nlm;
  const SwNlmArgs a = make_args(job);
  sw_nlm_prepare(a, job.stream);
  if (plan.joint != 0) return run_group(job, a, {0, a.channels, plan.luma}, {0, 1});
  run_group(job, a, {0, 1, plan.luma}, {0, 0.5});
  run_group(job, a, {1, a.channels - 1, plan.chroma}, {0.5, 1});
}

}  // namespace grainless::cuda
