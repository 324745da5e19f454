// SPDX-License-Identifier: MIT
// The learned post-filter, cell after cell of the target: all four convolutions of a cell stay in
// the processor's cache. Sums are in one order whatever the vectors' width, and their products are
// exact: fused multiply-add gives the same bits.
#include "post_filter.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/bm3d/post_filter.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef GRAINLESS_POST_FILTER_CELL
#define GRAINLESS_POST_FILTER_CELL
namespace grainless {
namespace {

constexpr int32_t kSide = kPostFilterChannels;
// What is computed of each row, whole vectors: of the first convolution's columns all are needed,
// two less of each further one's.
constexpr int32_t kColumns = 64, kRow = kColumns + 16;
constexpr int32_t kCellWidth = kColumns - 2 * (kPostFilterConvolutions - 1), kCellHeight = 32;
constexpr int32_t kMostRows = kCellHeight + 2 * kPostFilterConvolutions;
constexpr int32_t kAtOnce = 4;  // output channels whose sums stay in registers

// Rows of what a convolution reads or writes: [row][channel][column].
using Maps = AlignedBuffer<float>;

// Weights as convolutions read them: [output / kAtOnce][input][tap][output % kAtOnce].
struct WeightTables {
  float first[kSide * kPostFilterInputs * kPostFilterTaps];
  float second[kSide * kSide * kPostFilterTaps];
  float third[kSide * kSide * kPostFilterTaps];
  float last[kSide * kPostFilterTaps];

  WeightTables() {
    fill(kPostFilterFirst, kSide, kPostFilterInputs, kAtOnce, first);
    fill(kPostFilterSecond, kSide, kSide, kAtOnce, second);
    fill(kPostFilterThird, kSide, kSide, kAtOnce, third);
    fill(kPostFilterLast, 1, kSide, 1, last);
  }

 private:
  static void fill(int32_t from, int32_t outputs, int32_t inputs, int32_t at_once, float* to) {
    for (int32_t o = 0; o < outputs; ++o) {
      for (int32_t i = 0; i < inputs * kPostFilterTaps; ++i) {
        to[(o / at_once * inputs * kPostFilterTaps + i) * at_once + o % at_once] =
            float_from_half(kPostFilterWeights[from + o * inputs * kPostFilterTaps + i]);
      }
    }
  }
};

const WeightTables& weight_tables() {
  static const WeightTables tables;
  return tables;
}

struct CellScratch {
  Maps a{static_cast<size_t>(kMostRows) * kSide * kRow};
  Maps b{static_cast<size_t>(kMostRows) * kSide * kRow};
  Maps sums{static_cast<size_t>(kMostRows + 2 * kPostFilterMeanRadius) * kRow};
};

}  // namespace
}  // namespace grainless
#endif

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;

// To the nearest value of half precision, even ones of two; |v| is at most kPostFilterMost.
HWY_INLINE FloatVector as_half(FloatVector v) {
  const Floats d;
  const hn::RebindToUnsigned<Floats> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1u));
  const auto up = hn::Add(hn::Add(bits, odd), hn::Set(du, 0xfffu));
  const auto normal = hn::BitCast(d, hn::And(up, hn::Set(du, 0xffffe000u)));
  // Under 2^-14 values lie 2^-24 apart, as floats do between 0.5 and 1.
  const auto shift = hn::CopySign(hn::Set(d, 0.75f), v);
  const auto small = hn::Sub(hn::Add(v, shift), shift);
  return hn::IfThenElse(hn::Lt(hn::Abs(v), hn::Set(d, 6.103515625e-5f)), small, normal);
}

// kAtOnce channels of a row of a convolution; `in` is the first of its three rows.
template <int32_t kInputs>
HWY_INLINE void convolve_channels(const float* HWY_RESTRICT in, const float* HWY_RESTRICT weights,
                                  float* HWY_RESTRICT out) {
  const Floats d;
  const auto lanes = static_cast<int32_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d), most = hn::Set(d, kPostFilterMost);
  for (int32_t x = 0; x < kColumns; x += 2 * lanes) {
    FloatVector a0 = zero, a1 = zero, a2 = zero, a3 = zero;
    FloatVector b0 = zero, b1 = zero, b2 = zero, b3 = zero;
    const float* w = weights;
    for (int32_t i = 0; i < kInputs; ++i) {
      for (int32_t tap = 0; tap < kPostFilterTaps; ++tap, w += kAtOnce) {
        const float* at = in + (tap / 3 * kInputs + i) * kRow + x + tap % 3;
        const auto a = hn::LoadU(d, at), b = hn::LoadU(d, at + lanes);
        const auto w0 = hn::Set(d, w[0]), w1 = hn::Set(d, w[1]);
        a0 = hn::MulAdd(a, w0, a0);
        b0 = hn::MulAdd(b, w0, b0);
        a1 = hn::MulAdd(a, w1, a1);
        b1 = hn::MulAdd(b, w1, b1);
        const auto w2 = hn::Set(d, w[2]), w3 = hn::Set(d, w[3]);
        a2 = hn::MulAdd(a, w2, a2);
        b2 = hn::MulAdd(b, w2, b2);
        a3 = hn::MulAdd(a, w3, a3);
        b3 = hn::MulAdd(b, w3, b3);
      }
    }
    const auto store = [&](int32_t channel, FloatVector a, FloatVector b) {
      float* to = out + channel * kRow + x;
      hn::Store(as_half(hn::Min(hn::Max(a, zero), most)), d, to);
      hn::Store(as_half(hn::Min(hn::Max(b, zero), most)), d, to + lanes);
    };
    store(0, a0, b0);
    store(1, a1, b1);
    store(2, a2, b2);
    store(3, a3, b3);
  }
}

template <int32_t kInputs>
HWY_INLINE void convolve(const float* in, int32_t rows, const float* weights, float* out) {
  for (int32_t y = 0; y < rows; ++y) {
    for (int32_t channel = 0; channel < kSide; channel += kAtOnce) {
      convolve_channels<kInputs>(in + y * kInputs * kRow,
                                 weights + channel * kInputs * kPostFilterTaps,
                                 out + (y * kSide + channel) * kRow);
    }
  }
}

// A row of the last convolution.
HWY_INLINE void convolve_last(const float* HWY_RESTRICT in, const float* HWY_RESTRICT weights,
                              float* HWY_RESTRICT out) {
  const Floats d;
  const auto lanes = static_cast<int32_t>(hn::Lanes(d));
  for (int32_t x = 0; x < kColumns; x += lanes) {
    FloatVector sum = hn::Zero(d);
    for (int32_t i = 0; i < kSide; ++i) {
      for (int32_t tap = 0; tap < kPostFilterTaps; ++tap) {
        const float* at = in + (tap / 3 * kSide + i) * kRow + x + tap % 3;
        sum = hn::MulAdd(hn::LoadU(d, at), hn::Set(d, weights[i * kPostFilterTaps + tap]), sum);
      }
    }
    hn::Store(sum, d, out + x);
  }
}

// Rows of inputs, all their columns: `values` are (Y - E) / sigma and then (E - m) / sigma.
HWY_INLINE void as_inputs(float* values, int32_t rows) {
  const Floats d;
  const auto one = hn::Set(d, 1.0f), eighth = hn::Set(d, 0.125f);
  const auto widest = hn::Set(d, kPostFilterWidest);
  const auto lanes = static_cast<int32_t>(hn::Lanes(d));
  for (int32_t i = 0; i < rows * kPostFilterInputs * kRow; i += lanes) {
    const auto v = hn::Clamp(hn::Load(d, values + i), hn::Neg(widest), widest);
    const auto by = hn::Add(one, hn::Mul(hn::Abs(v), eighth));
    hn::Store(as_half(hn::Div(v, by)), d, values + i);
  }
}

// scratch.a holds the inputs; returns the corrections, a row of kRow each.
const float* correct(int32_t height, CellScratch& scratch) {
  const WeightTables& weights = weight_tables();
  float *a = scratch.a.data(), *b = scratch.b.data();
  as_inputs(a, height + 8);
  convolve<kPostFilterInputs>(a, height + 6, weights.first, b);
  convolve<kSide>(b, height + 4, weights.second, a);
  convolve<kSide>(a, height + 2, weights.third, b);
  for (int32_t y = 0; y < height; ++y)
    convolve_last(b + y * kSide * kRow, weights.last, a + y * kRow);
  return a;
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {
namespace {

HWY_EXPORT(correct);

constexpr int32_t kBoxSide = 2 * kPostFilterMeanRadius + 1;

// Of one cell, before they are bounded: as the CUDA kernel has them, to the bit.
class CellInputs {
 public:
  CellInputs(const PostFilterJob& job, const Rect& cell, CellScratch& scratch)
      : job_(job), cell_(cell), scratch_(scratch) {
    for (int32_t x = 0; x < kRow + 2 * kPostFilterMeanRadius; ++x) {
      const int32_t at = cell.x - kPostFilterReach + x;
      column_[x] = std::clamp(at, 0, last_needed_column());
    }
  }

  void fill() {
    const int32_t rows = cell_.height + 2 * kPostFilterConvolutions;
    const int32_t top = cell_.y - kPostFilterConvolutions;
    for (int32_t y = 0; y < rows + 2 * kPostFilterMeanRadius; ++y) {
      sum_row(top - kPostFilterMeanRadius + y, scratch_.sums.data() + y * kRow);
    }
    for (int32_t y = 0; y < rows; ++y) {
      fill_row(top + y, scratch_.sums.data() + y * kRow,
               scratch_.a.data() + y * kPostFilterInputs * kRow);
    }
  }

 private:
  // Columns beyond what the cell's pixels need are the last one's, which the planes hold.
  int32_t last_needed_column() const {
    return std::min(cell_.right() + kPostFilterReach, job_.image_width) - 1;
  }
  const float* row_of(const Planes& planes, int32_t y) const {
    return planes.at(0, 0, std::clamp(y, 0, job_.image_height - 1));
  }

  void sum_row(int32_t y, float* sums) const {
    const float* in = row_of(*job_.estimate, y);
    for (int32_t x = 0; x < kRow; ++x) {
      float sum = in[column_[x]];
      for (int32_t k = 1; k < kBoxSide; ++k) sum += in[column_[x + k]];
      sums[x] = sum;
    }
  }

  void fill_row(int32_t y, const float* sums, float* out) const {
    const float *noisy = row_of(*job_.noisy, y), *estimate = row_of(*job_.estimate, y);
    const float per_sigma = 1.0f / job_.sigma;
    for (int32_t x = 0; x < kRow; ++x) {
      const int32_t at = column_[x + kPostFilterMeanRadius];
      float sum = sums[x];
      for (int32_t k = 1; k < kBoxSide; ++k) sum += sums[k * kRow + x];
      out[x] = (noisy[at] - estimate[at]) * per_sigma;
      out[kRow + x] = (estimate[at] - sum * (1.0f / (kBoxSide * kBoxSide))) * per_sigma;
    }
  }

  const PostFilterJob& job_;
  const Rect& cell_;
  CellScratch& scratch_;
  int32_t column_[kRow + 2 * kPostFilterMeanRadius];
};

void filter_cell(const PostFilterJob& job, const Rect& cell, CellScratch& scratch) {
  CellInputs(job, cell, scratch).fill();
  const float* correction = HWY_DYNAMIC_DISPATCH(correct)(cell.height, scratch);
  for (int32_t y = 0; y < cell.height; ++y, correction += kRow) {
    const float* in = job.estimate->at(0, cell.x, cell.y + y);
    float* out = job.target->at(0, cell.x, cell.y + y);
    for (int32_t x = 0; x < cell.width; ++x) {
      out[x] = in[x] + job.sigma * clamp_to(correction[x], -kPostFilterBound, kPostFilterBound);
    }
  }
}

}  // namespace

void run_post_filter(const PostFilterJob& job) {
  const Rect& rect = job.target->rect();
  const int32_t across = (rect.width + kCellWidth - 1) / kCellWidth;
  const int32_t down = (rect.height + kCellHeight - 1) / kCellHeight;
  std::vector<CellScratch> scratch(job.pool->size());
  job.pool->parallel_for(across * down, [&](int32_t i, int32_t slot) {
    throw_if_cancelled(*job.callbacks);
    const int32_t x = rect.x + i % across * kCellWidth, y = rect.y + i / across * kCellHeight;
    filter_cell(job, intersect({x, y, kCellWidth, kCellHeight}, rect), scratch[slot]);
  });
}

uint64_t post_filter_bytes(int32_t threads) {
  constexpr uint64_t kFloats =
      2 * kMostRows * kSide * kRow + (kMostRows + 2 * kPostFilterMeanRadius) * kRow;
  return threads * (kFloats * sizeof(float) + 3 * kAlignment);
}

}  // namespace grainless
#endif  // HWY_ONCE
