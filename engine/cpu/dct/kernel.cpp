// SPDX-License-Identifier: MIT
#include "kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/cpu/dct/kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, kDctLanes>;
using FloatVector = hn::Vec<Floats>;

struct LaneOps {
  using V = FloatVector;
  static HWY_INLINE V add(V a, V b) { return hn::Add(a, b); }
  static HWY_INLINE V subtract(V a, V b) { return hn::Sub(a, b); }
  static HWY_INLINE V scaled(float k, V v) { return hn::Mul(hn::Set(Floats(), k), v); }
};

#define GRAINLESS_INLINE HWY_INLINE
#include "engine/boundary/bm3d_passes.inc"
#undef GRAINLESS_INLINE

// One-dimensional transforms of as many samples as a patch has a side.
class EightBasis {
 public:
  explicit EightBasis(const DctTables& tables) : parts_(tables.eight) {}
  static constexpr int32_t size() { return 8; }
  template <class In, class Out>
  HWY_INLINE void forward(const In& in, const Out& out) const {
    DctPass<LaneOps>::forward(parts_, in, out);
  }
  template <class In, class Out>
  HWY_INLINE void inverse(const In& in, const Out& out) const {
    DctPass<LaneOps>::inverse(parts_, in, out);
  }

 private:
  const Dct8& parts_;
};

// Any size. All frequencies but the mean's are made of differences from the first sample, so that
// those of a constant are 0 to the last bit.
class AnyBasis {
 public:
  explicit AnyBasis(const DctTables& tables) : size_(tables.patch), matrix_(tables.matrix) {}
  int32_t size() const { return size_; }
  template <class In, class Out>
  HWY_INLINE void forward(const In& in, const Out& out) const {
    const Floats d;
    HWY_ALIGN float differences[kMaxPatch * kDctLanes];
    const FloatVector first = in(0);
    FloatVector total = first;
    for (int32_t i = 1; i < size_; ++i) {
      const FloatVector sample = in(i);
      total = hn::Add(total, sample);
      hn::Store(hn::Sub(sample, first), d, differences + i * kDctLanes);
    }
    out(0, hn::Mul(hn::Set(d, matrix_[0]), total));
    for (int32_t k = 1; k < size_; ++k) {
      FloatVector sum = hn::Zero(d);
      for (int32_t i = 1; i < size_; ++i) {
        const FloatVector difference = hn::Load(d, differences + i * kDctLanes);
        sum = hn::Add(sum, hn::Mul(hn::Set(d, matrix_[k * size_ + i]), difference));
      }
      out(k, sum);
    }
  }
  template <class In, class Out>
  HWY_INLINE void inverse(const In& in, const Out& out) const {
    const Floats d;
    for (int32_t i = 0; i < size_; ++i) {
      FloatVector sum = hn::Zero(d);
      for (int32_t k = 0; k < size_; ++k) {
        sum = hn::Add(sum, hn::Mul(hn::Set(d, matrix_[k * size_ + i]), in(k)));
      }
      out(i, sum);
    }
  }

 private:
  int32_t size_;
  const float* matrix_;
};

template <class Basis>
class Row {
 public:
  Row(const Basis& basis, const DctBlock& block, int32_t step, int32_t y)
      : basis_(basis), b_(block), step_(step), y_(y) {}

  // Transforms the columns of a plane.
  HWY_INLINE void columns(const float* HWY_RESTRICT plane, float* HWY_RESTRICT columns) const {
    const Floats d;
    const int32_t parts = step_;
    const ptrdiff_t row = b_.row, down = parts * row;
    for (int32_t r = 0; r < parts; ++r) {
      const float* HWY_RESTRICT from = plane + (y_ * parts + r) * row;
      float* HWY_RESTRICT to = columns + r * row;
      for (ptrdiff_t m = 0; m < row; m += kLanes) {
        basis_.forward([&](int32_t i) HWY_ATTR { return hn::Load(d, from + i * down + m); },
                       [&](int32_t k, FloatVector v)
                           HWY_ATTR { hn::Store(v, d, to + k * down + m); });
      }
    }
  }

  HWY_INLINE void hard_threshold(float shrink) const {
    const Floats d;
    const int32_t size = basis_.size();
    const FloatVector threshold = hn::Set(d, shrink), one = hn::Set(d, 1.0f);
    const FloatVector all = hn::Set(d, static_cast<float>(size * size));
    HWY_ALIGN float coefficients[kMaxPatch * kMaxPatch * kDctLanes];
    for (ptrdiff_t n = 0; n < b_.patches; n += kLanes) {
      FloatVector kept = all;
      for (int32_t k = 0; k < size; ++k) {
        basis_.forward(sample(b_.noisy_columns, k, n), [&](int32_t l, FloatVector v) HWY_ATTR {
          const auto removed = hn::Lt(hn::Abs(v), threshold);
          if (k + l > 0) kept = hn::Sub(kept, hn::IfThenElseZero(removed, one));
          hn::Store(hn::IfThenElseZero(removed, v), d, coefficients + (k * size + l) * kDctLanes);
        });
      }
      hn::Store(hn::Zero(d), d, coefficients);
      spread(coefficients, hn::Div(one, kept), n);
    }
  }

  HWY_INLINE void wiener(float shrink) const {
    const Floats d;
    const int32_t size = basis_.size();
    const FloatVector scale = hn::Set(d, shrink), one = hn::Set(d, 1.0f);
    const FloatVector most = hn::Set(d, kMostEnergy);
    HWY_ALIGN float coefficients[kMaxPatch * kMaxPatch * kDctLanes];
    HWY_ALIGN float pilot[kMaxPatch * kDctLanes];
    for (ptrdiff_t n = 0; n < b_.patches; n += kLanes) {
      FloatVector squares = one;
      for (int32_t k = 0; k < size; ++k) {
        basis_.forward(sample(b_.pilot_columns, k, n), [&](int32_t l, FloatVector v) HWY_ATTR {
          const FloatVector scaled = hn::Mul(v, scale), energy = hn::Mul(scaled, scaled);
          const FloatVector part =
              hn::IfThenElseZero(hn::Lt(energy, most), hn::Div(one, hn::Add(energy, one)));
          const FloatVector weight = hn::Sub(one, part);
          if (k + l > 0) squares = hn::Add(squares, hn::Mul(weight, weight));
          hn::Store(part, d, pilot + l * kDctLanes);
        });
        basis_.forward(sample(b_.noisy_columns, k, n), [&](int32_t l, FloatVector v) HWY_ATTR {
          const FloatVector part = hn::Load(d, pilot + l * kDctLanes);
          // Infinite ones, too, are kept.
          const FloatVector removed =
              hn::IfThenElseZero(hn::Gt(part, hn::Zero(d)), hn::Mul(part, v));
          hn::Store(removed, d, coefficients + (k * size + l) * kDctLanes);
        });
      }
      hn::Store(hn::Zero(d), d, coefficients);
      spread(coefficients, hn::Div(one, squares), n);
    }
  }

  // Adds what the row's patches remove, and their weights, to the block's sums.
  HWY_INLINE void add() const {
    const Floats d;
    const int32_t size = basis_.size(), parts = step_;
    const ptrdiff_t row = b_.row, down = parts * row;
    const ptrdiff_t count = b_.patches + (size - 1) / parts;
    HWY_ALIGN float sums[kMaxPatch * kDctLanes];
    for (int32_t r = 0; r < parts && r < size; ++r) {
      float* HWY_RESTRICT removed = b_.removed + (y_ * parts + r) * row;
      float* HWY_RESTRICT weights = b_.weight + (y_ * parts + r) * row;
      for (ptrdiff_t m = 0; m < count; m += kLanes) {
        for (int32_t k = 0; k < size; ++k) {
          hn::Store(gathered(b_.patch_columns + k * size * row, r, m), d, sums + k * kDctLanes);
        }
        const float* HWY_RESTRICT own = b_.patch_columns + size * size * row + kDctFront + m;
        FloatVector weight = hn::LoadU(d, own);
        for (int32_t i = r + parts, j = 1; i < size; i += parts, ++j) {
          weight = hn::Add(weight, hn::LoadU(d, own - j));
        }
        basis_.inverse([&](int32_t k) HWY_ATTR { return hn::Load(d, sums + k * kDctLanes); },
                       [&](int32_t i, FloatVector v) HWY_ATTR {
                         float* to = removed + i * down + m;
                         hn::Store(hn::Add(hn::Load(d, to), v), d, to);
                         to = weights + i * down + m;
                         hn::Store(hn::Add(hn::Load(d, to), weight), d, to);
                       });
      }
    }
  }

 private:
  static constexpr ptrdiff_t kLanes = static_cast<ptrdiff_t>(hn::MaxLanes(Floats()));
  // What float can't square is no noise.
  static constexpr float kMostEnergy = 1e30f;

  // Vertical frequency k of the patches' column i, from patch n on.
  HWY_INLINE auto sample(const float* columns, int32_t k, ptrdiff_t n) const {
    const float* from = columns + k * step_ * b_.row + n;
    const ptrdiff_t row = b_.row;
    const int32_t odd = step_ - 1;  // step is 1 or 2
    return [from, row, odd](int32_t i)
               HWY_ATTR { return hn::LoadU(Floats(), from + (i & odd) * row + (i >> odd)); };
  }

  // Transforms what is removed back along the rows, times the patches' weights.
  HWY_INLINE void spread(const float* HWY_RESTRICT coefficients, FloatVector weight,
                         ptrdiff_t n) const {
    const Floats d;
    const int32_t size = basis_.size();
    float* HWY_RESTRICT to = b_.patch_columns + kDctFront + n;
    for (int32_t k = 0; k < size; ++k) {
      basis_.inverse(
          [&](int32_t l)
              HWY_ATTR { return hn::Load(d, coefficients + (k * size + l) * kDctLanes); },
          [&](int32_t i, FloatVector v)
              HWY_ATTR { hn::Store(hn::Mul(v, weight), d, to + (k * size + i) * b_.row); });
    }
    hn::Store(weight, d, to + size * size * b_.row);
  }

  // The sum over the patches that hold the columns m.. of part r.
  HWY_INLINE FloatVector gathered(const float* HWY_RESTRICT of_frequency, int32_t r,
                                  ptrdiff_t m) const {
    const Floats d;
    const float* HWY_RESTRICT from = of_frequency + r * b_.row + kDctFront + m;
    FloatVector sum = hn::LoadU(d, from);
    for (int32_t i = r + step_, j = 1; i < basis_.size(); i += step_, ++j) {
      sum = hn::Add(sum, hn::LoadU(d, from + j * (step_ * b_.row - 1)));
    }
    return sum;
  }

  const Basis& basis_;
  const DctBlock& b_;
  int32_t step_, y_;
};

template <class Basis>
HWY_INLINE void add_row_with(const Basis& basis, const DctBlock& block, int32_t step, float shrink,
                             int32_t y) {
  const Row<Basis> row(basis, block, step, y);
  row.columns(block.noisy, block.noisy_columns);
  if (block.pilot == nullptr) {
    row.hard_threshold(shrink);
  } else {
    row.columns(block.pilot, block.pilot_columns);
    row.wiener(shrink);
  }
  row.add();
}

void add_row(const DctTables& tables, const DctBlock& block, int32_t step, float shrink,
             int32_t y) {
  if (tables.patch == 8) {
    add_row_with(EightBasis(tables), block, step, shrink, y);
  } else {
    add_row_with(AnyBasis(tables), block, step, shrink, y);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless {

HWY_EXPORT(add_row);

void dct_add_row(const DctTables& tables, const DctBlock& block, int32_t step, float shrink,
                 int32_t y) {
  HWY_DYNAMIC_DISPATCH(add_row)(tables, block, step, shrink, y);
}

DctTables::DctTables(const DctPlan& plan) : patch(plan.patch), matrix(plan.matrix), eight{} {
  if (patch == 8) eight = dct_parts(matrix);
}

}  // namespace grainless
#endif  // HWY_ONCE
