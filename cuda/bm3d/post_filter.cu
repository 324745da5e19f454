// SPDX-License-Identifier: MIT
// The learned post-filter as products of matrices of half precision. Compiled without contraction
// to fused multiply-add: the same estimate gives the same inputs on every backend.
//
// A block runs down a strip of kOutColumns columns. In each step the first warps make a row of
// inputs, a row of the first convolution and one of corrections, the second ones a row of the
// second convolution, the third ones one of the third; rings in shared memory hold four rows of
// each, three that are read while the next is written. A warp takes 16 columns: they times the
// channels of one tap are a matrix, the tap's weights another, which stays in registers.
#include "post_filter.cuh"

#include <cuda_fp16.h>

#include <algorithm>

#include "engine/boundary/post_filter.h"

namespace grainless::cuda {
namespace {

constexpr int kSegments = 4, kSegment = 16;  // a warp's columns
constexpr int kColumns = kSegments * kSegment;
constexpr int kOutColumns = kColumns - 2 * (kPostFilterConvolutions - 1);
constexpr int kRows = 128;  // of a block's corrections
constexpr int kLanes = 32, kGroups = 3;
constexpr int kThreads = kGroups * kSegments * kLanes;
// Columns that a row of columns 0..kColumns-1 reads of the convolution before.
constexpr int kRead = kColumns + 2;
constexpr int kBlocksPerMultiprocessor = 16;  // of a launch: some 0.1 megapixels
constexpr int kRing = 4;                      // rows, a power of two
// Rows from one convolution's to the next one's in the same step: three were finished before.
constexpr int kBehind = 3;
constexpr int kWords = kPostFilterChannels / 2;  // of a pixel, two channels each
constexpr int kSide = kPostFilterChannels;

// Inputs of a pixel: one word. Of what lies between convolutions each pixel has two chunks of 8
// channels, which change places every 4 pixels: 8 neighbours' chunks lie in different banks.
struct SharedRows {
  uint32_t inputs[kRing][kRead];
  alignas(16) uint32_t maps[kPostFilterConvolutions - 1][kRing][kRead * kWords];
};

struct PostFilterArgs {
  const float *noisy, *estimate;  // of luma, at the image's (0, 0), which need not exist
  float* out;                     // at the target's first pixel
  int noisy_stride, estimate_stride, out_stride;
  Rect target;
  int last_x, last_y;  // what the target needs ends there, and with it the image or both planes
  float sigma;
};

// kPostFilterWeights.
__device__ const uint16_t post_filter_weights[] = {
#include "engine/boundary/post_filter_weights.inc"
};

// Two channels' weights of a tap; `weights` are those of one output.
__device__ uint32_t weight_pair(const uint16_t* weights, int channel, int tap) {
  const uint16_t* const at = weights + channel * kPostFilterTaps + tap;
  return at[0] | static_cast<uint32_t>(at[kPostFilterTaps]) << 16;
}

// The whole block's, from two places in the code.
__device__ __forceinline__ void wait_for_block() {
  asm volatile("bar.sync 1, %0;" ::"n"(kThreads) : "memory");
}

// 16 x 8 += 16 x 16 times 16 x 8.
__device__ __forceinline__ void multiply_add(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0,
                                             uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(b0));
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}

// A word of a row of maps: `chunk` is 0 or 1, `word` 0..3 of the chunk.
__device__ __forceinline__ int map_word(int pixel, int chunk, int word) {
  return pixel * kWords + ((chunk ^ (pixel >> 2 & 1)) << 2) + word;
}

// 16 pixels from `first` on and all their channels, as multiply_add() takes them.
__device__ __forceinline__ void load_pixels(const uint32_t* row, int first, uint32_t (&a)[4]) {
  const int lane = threadIdx.x % kLanes, pixel = first + lane % 16;
  const auto address =
      static_cast<uint32_t>(__cvta_generic_to_shared(row + map_word(pixel, lane / 16, 0)));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ uint32_t rectified(float first, float second) {
  const __half2 pair = __floats2half2_rn(fminf(fmaxf(first, 0.0f), kPostFilterMost),
                                         fminf(fmaxf(second, 0.0f), kPostFilterMost));
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// Sums of 16 pixels and 16 channels into a row of maps.
__device__ __forceinline__ void store_pixels(uint32_t* row, int first, const float (&sum)[2][4]) {
  const int lane = threadIdx.x % kLanes, pixel = first + lane / 4;
#pragma unroll
  for (int chunk = 0; chunk < 2; ++chunk) {
    row[map_word(pixel, chunk, lane % 4)] = rectified(sum[chunk][0], sum[chunk][1]);
    row[map_word(pixel + 8, chunk, lane % 4)] = rectified(sum[chunk][2], sum[chunk][3]);
  }
}

// The second and the third convolution.
struct MiddleWeights {
  uint32_t pairs[kPostFilterTaps][2][2];  // [tap][8 outputs][8 channels]

  __device__ explicit MiddleWeights(const uint16_t* weights) {
    const int lane = threadIdx.x % kLanes;
#pragma unroll
    for (int tap = 0; tap < kPostFilterTaps; ++tap) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int output = i / 2 * 8 + lane / 4, channel = i % 2 * 8 + lane % 4 * 2;
        pairs[tap][i / 2][i % 2] =
            weight_pair(weights + output * kSide * kPostFilterTaps, channel, tap);
      }
    }
  }

  __device__ void convolve(const uint32_t (*in)[kRead * kWords], int row, int first,
                           uint32_t* out) const {
    float sum[2][4] = {};
#pragma unroll
    for (int tap = 0; tap < kPostFilterTaps; ++tap) {
      uint32_t a[4];
      load_pixels(in[(row + tap / 3) % kRing], first + tap % 3, a);
      multiply_add(sum[0], a, pairs[tap][0][0], pairs[tap][0][1]);
      multiply_add(sum[1], a, pairs[tap][1][0], pairs[tap][1][1]);
    }
    store_pixels(out, first, sum);
  }
};

// The taps of the two inputs take the place of channels: 8 taps are a matrix, the ninth another.
struct FirstWeights {
  uint32_t pairs[2][2], ninth[2];  // [8 outputs]

  __device__ explicit FirstWeights(const uint16_t* weights) {
    const int lane = threadIdx.x % kLanes, tap = lane % 4;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint16_t* const of = weights + (i * 8 + lane / 4) * kPostFilterInputs * kPostFilterTaps;
      pairs[i][0] = weight_pair(of, 0, tap);
      pairs[i][1] = weight_pair(of, 0, tap + 4);
      ninth[i] = tap == 0 ? weight_pair(of, 0, 8) : 0;
    }
  }

  __device__ void convolve(const uint32_t (*in)[kRead], int row, int first, uint32_t* out) const {
    const int lane = threadIdx.x % kLanes, tap = lane % 4, pixel = first + lane / 4;
    const auto at = [&](int of, int right) {
      return in[(row + of / 3) % kRing][pixel + of % 3 + right];
    };
    const uint32_t a[4] = {at(tap, 0), at(tap, 8), at(tap + 4, 0), at(tap + 4, 8)};
    const uint32_t last[4] = {tap == 0 ? at(8, 0) : 0, tap == 0 ? at(8, 8) : 0, 0, 0};
    float sum[2][4] = {};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      multiply_add(sum[i], a, pairs[i][0], pairs[i][1]);
      multiply_add(sum[i], last, ninth[i], 0);
    }
    store_pixels(out, first, sum);
  }
};

// One output: of the matrix's eight columns the first alone counts.
struct LastWeights {
  uint32_t pairs[kPostFilterTaps][2];

  __device__ explicit LastWeights(const uint16_t* weights) {
    const int lane = threadIdx.x % kLanes;
#pragma unroll
    for (int tap = 0; tap < kPostFilterTaps; ++tap) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        pairs[tap][i] = lane < 4 ? weight_pair(weights, i * 8 + lane * 2, tap) : 0;
      }
    }
  }

  // In lanes whose number is a multiple of 4: corrections of pixels first + lane / 4 and 8 further.
  __device__ float2 convolve(const uint32_t (*in)[kRead * kWords], int row, int first) const {
    float sum[4] = {};
#pragma unroll
    for (int tap = 0; tap < kPostFilterTaps; ++tap) {
      uint32_t a[4];
      load_pixels(in[(row + tap / 3) % kRing], first + tap % 3, a);
      multiply_add(sum, a, pairs[tap][0], pairs[tap][1]);
    }
    return {sum[0], sum[2]};
  }
};

// One column of inputs, from top to bottom: (Y - E) / sigma and (E - m) / sigma, bounded. The next
// row's pixels are on their way while the others are worked on.
class InputColumn {
 public:
  __device__ InputColumn(const PostFilterArgs& args, int x, int y) : args_(args), y_(y) {
#pragma unroll
    for (int k = 0; k < kBox; ++k) {
      columns_[k] = min(max(x + k - kPostFilterMeanRadius, 0), args.last_x);
    }
#pragma unroll
    for (int k = 1; k < kBox; ++k) {
      load(y - kPostFilterMeanRadius + k - 1);
      push();
    }
    load(y + kPostFilterMeanRadius);
  }

  // Of the next row.
  __device__ uint32_t next() {
    push();
    ++y_;
    const float estimate = centres_[0], noisy = noisy_[0];
    load(y_ + kPostFilterMeanRadius);
    float sum = sums_[0];
#pragma unroll
    for (int k = 1; k < kBox; ++k) sum += sums_[k];
    const float per_sigma = 1.0f / args_.sigma;
    const float lost = (noisy - estimate) * per_sigma;
    const float detail = (estimate - sum * (1.0f / (kBox * kBox))) * per_sigma;
    const __half2 pair = __floats2half2_rn(post_filter_input(lost), post_filter_input(detail));
    return *reinterpret_cast<const uint32_t*>(&pair);
  }

 private:
  static constexpr int kBox = 2 * kPostFilterMeanRadius + 1;

  __device__ void load(int y) {
    y = min(max(y, 0), args_.last_y);
    const float* const row = args_.estimate + static_cast<ptrdiff_t>(y) * args_.estimate_stride;
#pragma unroll
    for (int k = 0; k < kBox; ++k) loaded_[k] = row[columns_[k]];
    loaded_noisy_ = args_.noisy[static_cast<ptrdiff_t>(y) * args_.noisy_stride +
                                columns_[kPostFilterMeanRadius]];
  }

  // What was loaded is the last of kBox rows; centres_[0] and noisy_[0] are the middle one's.
  __device__ void push() {
#pragma unroll
    for (int k = 0; k + 1 < kBox; ++k) sums_[k] = sums_[k + 1];
#pragma unroll
    for (int k = 0; k < kPostFilterMeanRadius; ++k) {
      centres_[k] = centres_[k + 1];
      noisy_[k] = noisy_[k + 1];
    }
    float sum = loaded_[0];
#pragma unroll
    for (int k = 1; k < kBox; ++k) sum += loaded_[k];
    sums_[kBox - 1] = sum;
    centres_[kPostFilterMeanRadius] = loaded_[kPostFilterMeanRadius];
    noisy_[kPostFilterMeanRadius] = loaded_noisy_;
  }

  const PostFilterArgs& args_;
  int y_;  // of the next row
  int columns_[kBox];
  float loaded_[kBox] = {}, loaded_noisy_ = 0, sums_[kBox] = {};
  float centres_[kPostFilterMeanRadius + 1] = {}, noisy_[kPostFilterMeanRadius + 1] = {};
};

__device__ __forceinline__ void write_correction(const PostFilterArgs& args, int x, int y,
                                                 float correction) {
  if (x >= args.target.right()) return;
  const float estimate = args.estimate[static_cast<ptrdiff_t>(y) * args.estimate_stride + x];
  args.out[static_cast<ptrdiff_t>(y - args.target.y) * args.out_stride + x - args.target.x] =
      estimate + args.sigma * clamp_to(correction, -kPostFilterBound, kPostFilterBound);
}

// Inputs, the first convolution and corrections, of the strip's columns from x0 and rows from y0.
__device__ void run_outer(const PostFilterArgs& args, SharedRows& shared, int x0, int y0,
                          int rows) {
  const int thread = threadIdx.x, lane = thread % kLanes, first = thread / kLanes * kSegment;
  const FirstWeights first_weights(post_filter_weights + kPostFilterFirst);
  const LastWeights last_weights(post_filter_weights + kPostFilterLast);
  InputColumn column(args, x0 - kPostFilterConvolutions + min(thread, kRead - 1),
                     y0 - kPostFilterConvolutions);
  const int steps = rows + kPostFilterConvolutions * kBehind;
  for (int step = 0; step < steps; ++step) {
    const uint32_t input = column.next();
    if (thread < kRead) shared.inputs[step % kRing][thread] = input;
    if (step >= kBehind) {
      first_weights.convolve(shared.inputs, step - kBehind, first,
                             shared.maps[0][(step - kBehind) % kRing]);
    }
    const int row = step - kPostFilterConvolutions * kBehind;
    if (row >= 0) {
      const float2 correction = last_weights.convolve(shared.maps[2], row, first);
      const int out = first + lane / 4;
      if (lane % 4 == 0) {
        if (out < kOutColumns) write_correction(args, x0 + out, y0 + row, correction.x);
        if (out + 8 < kOutColumns) write_correction(args, x0 + out + 8, y0 + row, correction.y);
      }
    }
    wait_for_block();
  }
}

// The convolution that makes shared.maps[number], 1 or 2.
__device__ void run_middle(SharedRows& shared, int number, int rows) {
  const int first = threadIdx.x / kLanes % kSegments * kSegment;
  const MiddleWeights weights(post_filter_weights +
                              (number == 1 ? kPostFilterSecond : kPostFilterThird));
  const int steps = rows + kPostFilterConvolutions * kBehind, behind = (number + 1) * kBehind;
  for (int step = 0; step < steps; ++step) {
    if (step >= behind) {
      weights.convolve(shared.maps[number - 1], step - behind, first,
                       shared.maps[number][(step - behind) % kRing]);
    }
    wait_for_block();
  }
}

__global__ void __launch_bounds__(kThreads, 2)
    post_filter(const __grid_constant__ PostFilterArgs args, int first_strip) {
  __shared__ SharedRows shared;
  const int x0 = args.target.x + blockIdx.x * kOutColumns;
  const int y0 = args.target.y + (first_strip + blockIdx.y) * kRows;
  const int rows = min(kRows, args.target.bottom() - y0);
  const int group = threadIdx.x / (kSegments * kLanes);
  if (group == 0) {
    run_outer(args, shared, x0, y0, rows);
  } else {
    run_middle(shared, group, rows);
  }
}

const float* origin_of(const DevicePlanes& planes) {
  return planes.plane(0) - static_cast<ptrdiff_t>(planes.rect.y) * planes.stride - planes.rect.x;
}

}  // namespace

void run_post_filter(const MethodJob& job, const DevicePlanes& estimate,
                     const ProgressSpan& progress) {
  const Rect& target = job.target.rect;
  const PostFilterArgs args{origin_of(job.source),
                            origin_of(estimate),
                            job.target.plane(0),
                            job.source.stride,
                            estimate.stride,
                            job.target.stride,
                            target,
                            std::min(target.right() + kPostFilterReach, job.image_width) - 1,
                            std::min(target.bottom() + kPostFilterReach, job.image_height) - 1,
                            job.level->post_filter};
  const int across = (target.width + kOutColumns - 1) / kOutColumns;
  const int strips = (target.height + kRows - 1) / kRows;
  const int blocks_at_once = kBlocksPerMultiprocessor * device_limits().multiprocessors;
  const BandPlan bands{strips, std::max(1, blocks_at_once / across), progress};
  launch_in_bands(job, bands, [&](const Band& band) {
    launch("correcting the estimate", post_filter,
           {dim3(across, band.count), kThreads, 0, job.stream}, args, band.first);
  });
}

}  // namespace grainless::cuda
