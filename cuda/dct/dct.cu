// SPDX-License-Identifier: MIT
// A block walks down a strip, a row of patches at a time, a patch a thread. A column's own
// transform serves all patches of the row that hold it, both ways (engine/cpu/dct/kernel.h). The
// order of a pixel's sums is the CPU's, and does not depend on the block: with the contraction of
// products and sums switched off (meson.build) the results are the CPU's to the bit.
#include "dct.cuh"

#include <algorithm>

#include "cuda/runtime/check.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/sizes.h"
#include "engine/boundary/bm3d_math.h"
#include "engine/boundary/pixel_math.h"

namespace grainless::cuda {
namespace {

#define GRAINLESS_INLINE __device__ __forceinline__
#include "engine/boundary/bm3d_passes.inc"
#undef GRAINLESS_INLINE

struct ScalarOps {
  using V = float;
  static __device__ __forceinline__ float add(float a, float b) { return a + b; }
  static __device__ __forceinline__ float subtract(float a, float b) { return a - b; }
  static __device__ __forceinline__ float scaled(float k, float v) { return k * v; }
};

// Instructions that one launch may take: 16 ms of the slowest card in reach (a GTX 1650).
constexpr double kLaunchInstructions = 2e10;
// Rows of results that a block walks over: fewer of small pictures, so that all of the device
// works, although what a band needs above it is then more of it.
constexpr int kMostBandRows = 64, kLeastBandRows = 8;
constexpr int64_t kEnoughBlocks = 528;  // four for each multiprocessor of the largest card
constexpr float kMostEnergy = 1e30f;    // what float can't square is no noise

struct DctArgs {
  int image_width, image_height;
  int patch, step;
  int strip;      // columns of results a block
  int band_rows;  // of results a block
  int first_row;  // of the launch, within the target
  int has_pilot;
  float shrink[kMaxChannels];
  Dct8 eight;
  float matrix[kMaxPatch * kMaxPatch];
  DevicePlanes source, pilot, target;
};

// 8 x 8 patches live in registers.
struct EightBasis {
  static constexpr int kThreads = 128, kSide = 8;
  const DctArgs& a;
  __device__ static constexpr int size() { return kSide; }
  template <class In, class Out>
  __device__ __forceinline__ void forward(const In& in, const Out& out) const {
    DctPass<ScalarOps>::forward(a.eight, in, out);
  }
  template <class In, class Out>
  __device__ __forceinline__ void inverse(const In& in, const Out& out) const {
    DctPass<ScalarOps>::inverse(a.eight, in, out);
  }
};

// Any size; the twin of engine/cpu/dct/kernel.cpp's.
struct AnyBasis {
  static constexpr int kThreads = 64, kSide = kMaxPatch;
  const DctArgs& a;
  __device__ int size() const { return a.patch; }
  template <class In, class Out>
  __device__ __forceinline__ void forward(const In& in, const Out& out) const {
    float differences[kSide];
    const float first = in(0);
    float total = first;
    for (int i = 1; i < a.patch; ++i) {
      const float sample = in(i);
      total = total + sample;
      differences[i] = sample - first;
    }
    out(0, a.matrix[0] * total);
    for (int k = 1; k < a.patch; ++k) {
      float sum = 0.0f;
      for (int i = 1; i < a.patch; ++i) sum = sum + a.matrix[k * a.patch + i] * differences[i];
      out(k, sum);
    }
  }
  template <class In, class Out>
  __device__ __forceinline__ void inverse(const In& in, const Out& out) const {
    for (int i = 0; i < a.patch; ++i) {
      float sum = 0.0f;
      for (int k = 0; k < a.patch; ++k) sum = sum + a.matrix[k * a.patch + i] * in(k);
      out(i, sum);
    }
  }
};

// The largest multiple of step that is not above x.
__host__ __device__ int on_grid(int x, int step) {
  const int over = x % step;
  return x - (over < 0 ? over + step : over);
}

// Columns of pixels that `threads` patches hold.
constexpr int columns_of(int threads, int step, int patch) {
  return (threads - 1) * step + patch;
}

template <class Basis>
class Walk {
 public:
  __device__ Walk(const DctArgs& args, float* shared)
      : basis_{args}, a_(args), channel_(static_cast<int>(blockIdx.z)) {
    const Rect& to = a_.target.rect;
    const int patch = basis_.size();
    results_.x = to.x + static_cast<int>(blockIdx.x) * a_.strip;
    results_.width = min(a_.strip, to.right() - results_.x);
    results_.y = to.y + a_.first_row + static_cast<int>(blockIdx.y) * a_.band_rows;
    results_.height = min(a_.band_rows, to.bottom() - results_.y);
    left_ = on_grid(results_.x - patch + a_.step, a_.step);
    top_ = on_grid(results_.y - patch + a_.step, a_.step);
    columns_ = columns_of(Basis::kThreads, a_.step, patch);
    noisy_ = shared;
    sums_ = noisy_ + patch * columns_;
    removed_ = sums_ + patch * columns_;
    weights_ = removed_ + patch * columns_;
    row_weights_ = weights_ + patch * columns_;
    pilot_ = row_weights_ + columns_;
  }

  __device__ void run() {
    if (!(a_.shrink[channel_] > 0)) return copy();
    clear();
    for (int y = top_; y < results_.bottom(); y += a_.step) {
      __syncthreads();
      transform_columns(a_.source, y, noisy_);
      if (a_.has_pilot != 0) transform_columns(a_.pilot, y, pilot_);
      __syncthreads();
      const float weight = a_.has_pilot != 0 ? wiener() : hard_threshold();
      spread(weight);
      add_columns(y);
      for (int done = y; done < y + a_.step; ++done) finish(done);
    }
  }

 private:
  __device__ void copy() const {
    for (int i = threadIdx.x; i < results_.width * results_.height; i += Basis::kThreads) {
      const int x = results_.x + i % results_.width, y = results_.y + i / results_.width;
      *at(a_.target, x, y) = *at(a_.source, x, y);
    }
  }

  __device__ float* at(const DevicePlanes& planes, int x, int y) const {
    return planes.plane(channel_) + static_cast<size_t>(y - planes.rect.y) * planes.stride +
           (x - planes.rect.x);
  }

  // Reflected. What only patches beyond the results' read is some pixel or other.
  static __device__ __forceinline__ int held(int i, int image, int first, int count) {
    const int inside = i >= 0 && i < image ? i : reflect(i, image);
    return min(max(inside, first), first + count - 1);
  }

  __device__ void clear() {
    for (int i = threadIdx.x; i < basis_.size() * columns_; i += Basis::kThreads) {
      removed_[i] = 0.0f;
      weights_[i] = 0.0f;
    }
  }

  // Of the row of patches at y; clears its sums.
  __device__ __forceinline__ void transform_columns(const DevicePlanes& planes, int y, float* to) {
    const Rect& rect = planes.rect;
    for (int c = threadIdx.x; c < columns_; c += Basis::kThreads) {
      const int x = held(left_ + c, a_.image_width, rect.x, rect.width);
      basis_.forward(
          [&](int i) { return *at(planes, x, held(y + i, a_.image_height, rect.y, rect.height)); },
          [&](int k, float v) { to[k * columns_ + c] = v; });
      for (int k = 0; k < basis_.size(); ++k) sums_[k * columns_ + c] = 0.0f;
      row_weights_[c] = 0.0f;
    }
  }

  __device__ __forceinline__ float hard_threshold() {
    const float threshold = a_.shrink[channel_];
    const float* own = noisy_ + threadIdx.x * a_.step;
    int kept = basis_.size() * basis_.size();
#pragma unroll
    for (int k = 0; k < basis_.size(); ++k) {
      basis_.forward([&](int i) { return own[k * columns_ + i]; },
                     [&](int l, float v) {
                       const bool removed = fabsf(v) < threshold;
                       if (k + l > 0 && removed) --kept;
                       coefficients_[k * Basis::kSide + l] = removed ? v : 0.0f;
                     });
    }
    coefficients_[0] = 0.0f;
    return 1.0f / static_cast<float>(kept);
  }

  __device__ __forceinline__ float wiener() {
    const float scale = a_.shrink[channel_];
    const float *own = noisy_ + threadIdx.x * a_.step, *guide = pilot_ + threadIdx.x * a_.step;
    float squares = 1.0f;
#pragma unroll
    for (int k = 0; k < basis_.size(); ++k) {
      float parts[Basis::kSide];
      basis_.forward([&](int i) { return guide[k * columns_ + i]; },
                     [&](int l, float v) {
                       const float scaled = v * scale, energy = scaled * scaled;
                       const float part = energy < kMostEnergy ? 1.0f / (energy + 1.0f) : 0.0f;
                       const float weight = 1.0f - part;
                       if (k + l > 0) squares = squares + weight * weight;
                       parts[l] = part;
                     });
      basis_.forward([&](int i) { return own[k * columns_ + i]; },
                     [&](int l, float v) {
                       // Infinite ones, too, are kept.
                       coefficients_[k * Basis::kSide + l] = parts[l] > 0 ? parts[l] * v : 0.0f;
                     });
    }
    coefficients_[0] = 0.0f;
    return 1.0f / squares;
  }

  // Back along the rows; then the patches' columns are added to the row's, one after the other, so
  // that no two threads add to the same one at a time.
  __device__ __forceinline__ void spread(float weight) {
#pragma unroll
    for (int k = 0; k < basis_.size(); ++k) {
      float* row = coefficients_ + k * Basis::kSide;
      float back[Basis::kSide];
      basis_.inverse([&](int l) { return row[l]; }, [&](int i, float v) { back[i] = v * weight; });
#pragma unroll
      for (int i = 0; i < basis_.size(); ++i) row[i] = back[i];
    }
#pragma unroll
    for (int i = 0; i < basis_.size(); ++i) {
      const int c = threadIdx.x * a_.step + i;
#pragma unroll
      for (int k = 0; k < basis_.size(); ++k) {
        sums_[k * columns_ + c] += coefficients_[k * Basis::kSide + i];
      }
      row_weights_[c] += weight;
      __syncthreads();
    }
  }

  // Ring of rows: row y is in (y - top_) % size.
  __device__ __forceinline__ int ring(int y) const { return (y - top_) % basis_.size() * columns_; }

  __device__ __forceinline__ void add_columns(int y) {
    for (int c = threadIdx.x; c < columns_; c += Basis::kThreads) {
      const float weight = row_weights_[c];
      basis_.inverse([&](int k) { return sums_[k * columns_ + c]; },
                     [&](int i, float v) {
                       const int to = ring(y + i) + c;
                       removed_[to] = removed_[to] + v;
                       weights_[to] = weights_[to] + weight;
                     });
    }
  }

  // Row y has all its patches. A thread has the columns that it adds to.
  __device__ __forceinline__ void finish(int y) {
    const bool wanted = y >= results_.y && y < results_.bottom();
    for (int c = threadIdx.x; c < columns_; c += Basis::kThreads) {
      const int x = left_ + c, from = ring(y) + c;
      if (wanted && x >= results_.x && x < results_.right()) {
        *at(a_.target, x, y) = *at(a_.source, x, y) - removed_[from] / weights_[from];
      }
      removed_[from] = 0.0f;
      weights_[from] = 0.0f;
    }
  }

  Basis basis_;
  const DctArgs& a_;
  int channel_;
  Rect results_;
  int left_, top_;  // of the first patch
  int columns_;
  // Shared memory, `columns_` floats a row: a row of patches' vertical frequencies, the sums that
  // go back, the ring of pixel rows.
  float *noisy_, *sums_, *removed_, *weights_, *row_weights_, *pilot_;
  float coefficients_[Basis::kSide * Basis::kSide];
};

template <class Basis>
__global__ void __launch_bounds__(Basis::kThreads) dct_kernel(const DctArgs a) {
  extern __shared__ float shared[];
  Walk<Basis> walk(a, shared);
  walk.run();
}

struct Shape {
  int threads, strip;
  size_t shared_bytes;

  Shape(const DctPlan& plan, const DctStage& stage, bool has_pilot) {
    threads = plan.patch == EightBasis::kSide ? EightBasis::kThreads : AnyBasis::kThreads;
    const int columns = columns_of(threads, stage.step, plan.patch);
    // One that starts anywhere on the grid has all patches of so many columns.
    strip = threads * stage.step - plan.patch + 1;
    const int planes = has_pilot ? 5 : 4;
    shared_bytes = sizeof(float) * columns * (planes * plan.patch + 1);
  }
};

// The pixels that stage s is to fill.
Rect wanted(const MethodJob& job, int s) {
  const DctPlan& plan = job.level->dct;
  const int after = plan.stage_count - 1 - s;
  return intersect(expand(job.target.rect, after * (plan.patch - 1)),
                   {0, 0, job.image_width, job.image_height});
}

int stride_of(int width) {
  return (width + 31) / 32 * 32;
}

size_t estimate_bytes(const LevelSize& size) {
  return aligned(sizeof(float) * size.channels * stride_of(size.width) * size.height);
}

int band_rows_of(const DevicePlanes& target, int strip) {
  const int64_t strips = int64_t{ceil_div(target.rect.width, strip)} * target.channels;
  int rows = kMostBandRows;
  while (rows > kLeastBandRows && strips * ceil_div(target.rect.height, rows) < kEnoughBlocks) {
    rows /= 2;
  }
  return rows;
}

void run_stage(const MethodJob& job, int s, const DevicePlanes& pilot, const DevicePlanes& target) {
  const DctPlan& plan = job.level->dct;
  const DctStage& stage = plan.stage[s];
  const Shape shape(plan, stage, s > 0);
  const bool eight = plan.patch == EightBasis::kSide;
  DctArgs a{};
  a.image_width = job.image_width;
  a.image_height = job.image_height;
  a.patch = plan.patch;
  a.step = stage.step;
  a.strip = shape.strip;
  a.band_rows = band_rows_of(target, shape.strip);
  a.has_pilot = s > 0 ? 1 : 0;
  std::copy_n(stage.shrink, kMaxChannels, a.shrink);
  std::copy_n(plan.matrix, plan.patch * plan.patch, a.matrix);
  if (eight) a.eight = dct_parts(plan.matrix);
  a.source = job.source;
  a.pilot = pilot;
  a.target = target;
  const Rect& rect = target.rect;
  const double pixel = (eight ? 1e3 : 20.0 * plan.patch * plan.patch * plan.patch) * (s + 1);
  const double row = pixel * target.channels * rect.width / stage.step;
  const int bands = static_cast<int>(std::clamp(kLaunchInstructions / row / a.band_rows, 1.0, 1e4));
  for (; a.first_row < rect.height; a.first_row += bands * a.band_rows) {
    checkpoint(job, (s + 1.0 * a.first_row / rect.height) / plan.stage_count);
    const int rows = std::min(bands * a.band_rows, rect.height - a.first_row);
    const dim3 grid(ceil_div(rect.width, a.strip), ceil_div(rows, a.band_rows), target.channels);
    launch("DCT", eight ? dct_kernel<EightBasis> : dct_kernel<AnyBasis>,
           {grid, shape.threads, shape.shared_bytes, job.stream}, a);
  }
}

}  // namespace

size_t dct_scratch_bytes(const LevelPlan& level, const LevelSize& size) {
  return level.dct.stage_count > 1 ? estimate_bytes(size) : 0;
}

void expect_dct(const LevelPlan& level, int, const DeviceLimits* limits) {
  if (limits == nullptr) return;
  for (int s = 0; s < level.dct.stage_count; ++s) {
    const Shape shape(level.dct, level.dct.stage[s], s > 0);
    if (shape.shared_bytes > limits->shared_bytes) too_little_shared_memory();
  }
}

void run_dct(const MethodJob& job) {
  static_assert(kMaxDctStages == 2, "one estimate between the stages");
  DevicePlanes estimate{};
  for (int s = 0; s < job.level->dct.stage_count; ++s) {
    if (s == job.level->dct.stage_count - 1) return run_stage(job, s, estimate, job.target);
    const Rect rect = wanted(job, s);
    if (estimate_bytes({job.target.channels, rect.width, rect.height}) > job.scratch_bytes) {
      throw Error(ErrorCode::kInternal, "DCT: scratch too small");
    }
    estimate = {static_cast<float*>(job.scratch), job.target.channels, rect, stride_of(rect.width)};
    run_stage(job, s, job.source, estimate);
  }
}

}  // namespace grainless::cuda
