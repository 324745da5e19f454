// SPDX-License-Identifier: MIT
// Transforms of single patches, for filter.cpp alone. A basis has a patch's side, the distance
// of its rows and its size in memory in floats (a multiple of 16, the rest zero), and
//   forward(in, image_stride, base, temporary)
//                               patch = F * (image - base) * F^T, or its transpose
//   inverse(patches, temporary) the way back, in place
// each of as many patches as kTogether says, which may be the same. With kInRegisters it has
// inverse_rows instead of inverse.
#if defined(GRAINLESS_BM3D_TRANSFORM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAINLESS_BM3D_TRANSFORM_INL_H
#undef GRAINLESS_BM3D_TRANSFORM_INL_H
#else
#define GRAINLESS_BM3D_TRANSFORM_INL_H
#endif

#include <algorithm>

#include "filter.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace grainless {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Patch rows have 8 or 16 floats.
using DRow = hn::CappedTag<float, 8>;
using VRow = hn::Vec<DRow>;

// Patches on their way from the image to memory.
template <int32_t kCount>
struct PatchCopies {
  const float* image[kCount];
  float* patch[kCount];
};

// Any patch and any matrices.
class MatrixBasis {
 public:
  explicit MatrixBasis(const FilterTables& tables) : tables_(tables) {}
  int32_t patch() const { return tables_.patch; }
  int32_t stride() const { return tables_.stride; }
  int32_t size() const { return (patch() * stride() + 15) / 16 * 16; }

  static constexpr int32_t kTogether = 1;
  static constexpr bool kInRegisters = false;

  HWY_INLINE void forward(const PatchCopies<1>& in, ptrdiff_t image_stride, float base,
                          float* temporary) const {
    float* out = in.patch[0];
    std::fill(out, out + size(), 0.0f);
    for (int32_t y = 0; y < patch(); ++y) {
      for (int32_t x = 0; x < patch(); ++x) {
        out[y * stride() + x] = in.image[0][y * image_stride + x] - base;
      }
    }
    multiply(out, stride(), tables_.forward_t, temporary);
    multiply(tables_.forward, patch(), temporary, out);
  }

  HWY_INLINE void inverse(float* const (&patches)[1], float* temporary) const {
    multiply(patches[0], stride(), tables_.inverse_t, temporary);
    multiply(tables_.inverse, patch(), temporary, patches[0]);
  }

 private:
  // out = left * right.
  HWY_INLINE void multiply(const float* HWY_RESTRICT left, int32_t left_stride,
                           const float* HWY_RESTRICT right, float* HWY_RESTRICT out) const {
    const DRow d;
    for (int32_t c = 0; c < stride(); c += static_cast<int32_t>(hn::Lanes(d))) {
      for (int32_t k = 0; k < patch(); ++k) {
        VRow sum = hn::Zero(d);
        for (int32_t i = 0; i < patch(); ++i) {
          const VRow row = hn::Load(d, right + i * stride() + c);
          sum = hn::Add(sum, hn::Mul(hn::Set(d, left[k * left_stride + i]), row));
        }
        hn::Store(sum, d, out + k * stride() + c);
      }
    }
  }

  const FilterTables& tables_;
};

#if HWY_TARGET == HWY_SCALAR
// out = in^T, 8 x 8.
HWY_INLINE void transpose(const float* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  for (int32_t i = 0; i < 64; ++i) out[i] = in[i % 8 * 8 + i / 8];
}
#else
// Transposes every 4 x 4 block of four rows.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void transpose_blocks(D d, V& a, V& b, V& c, V& e) {
  const V ac0 = hn::InterleaveLower(d, a, c), ac1 = hn::InterleaveUpper(d, a, c);
  const V be0 = hn::InterleaveLower(d, b, e), be1 = hn::InterleaveUpper(d, b, e);
  a = hn::InterleaveLower(d, ac0, be0);
  b = hn::InterleaveUpper(d, ac0, be0);
  c = hn::InterleaveLower(d, ac1, be1);
  e = hn::InterleaveUpper(d, ac1, be1);
}
#endif

template <class D>
struct LaneOps {
  using V = hn::Vec<D>;
  static HWY_INLINE V add(V a, V b) { return hn::Add(a, b); }
  static HWY_INLINE V subtract(V a, V b) { return hn::Sub(a, b); }
  static HWY_INLINE V scaled(float k, V v) { return hn::Mul(hn::Set(D(), k), v); }
};

#define GRAINLESS_INLINE HWY_INLINE
#include "engine/boundary/bm3d_passes.inc"
#undef GRAINLESS_INLINE

// 8 x 8 patches: a pass along the columns, and another one after transposition. Coefficients come
// out transposed, which the inverse undoes.
#if !HWY_HAVE_SCALABLE && HWY_TARGET != HWY_SCALAR && HWY_MAX_BYTES >= 32
#if HWY_MAX_BYTES >= 64
// A row of each of two patches.
using DRows = hn::FixedTag<float, 16>;
using VRows = hn::Vec<DRows>;
HWY_INLINE VRows load_rows(const float* const (&patches)[2], ptrdiff_t at) {
  return hn::Combine(DRows(), hn::LoadU(DRow(), patches[1] + at),
                     hn::LoadU(DRow(), patches[0] + at));
}
HWY_INLINE void store_rows(VRows v, float* const (&patches)[2], ptrdiff_t at) {
  hn::Store(hn::LowerHalf(DRow(), v), DRow(), patches[0] + at);
  hn::Store(hn::UpperHalf(DRow(), v), DRow(), patches[1] + at);
}
// A row for each of the patches.
HWY_INLINE VRows repeat_row(const float* row) {
  const VRow v = hn::Load(DRow(), row);
  return hn::Combine(DRows(), v, v);
}
// The row of patch 0 or 1; of floats or of integers.
template <class V, class D = hn::Half<hn::DFromV<V>>>
HWY_INLINE hn::Vec<D> row_of(V v, int32_t patch) {
  return patch == 0 ? hn::LowerHalf(D(), v) : hn::UpperHalf(D(), v);
}
// Exchanges each patch's second block of a and first one of b.
HWY_INLINE void exchange_blocks(VRows& a, VRows& b) {
  const VRows low = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
  b = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  a = low;
}
#else
using DRows = DRow;
using VRows = VRow;
HWY_INLINE VRows load_rows(const float* const (&patch)[1], ptrdiff_t at) {
  return hn::LoadU(DRow(), patch[0] + at);
}
HWY_INLINE void store_rows(VRows v, float* const (&patch)[1], ptrdiff_t at) {
  hn::Store(v, DRow(), patch[0] + at);
}
HWY_INLINE VRows repeat_row(const float* row) {
  return hn::Load(DRow(), row);
}
template <class V>
HWY_INLINE V row_of(V v, int32_t) {
  return v;
}
HWY_INLINE void exchange_blocks(VRows& a, VRows& b) {
  const VRows low = hn::ConcatLowerLower(DRow(), b, a);
  b = hn::ConcatUpperUpper(DRow(), b, a);
  a = low;
}
#endif

// A vector holds a whole row, of one or of two patches: all happens in registers.
template <template <class> class Pass, class Parts>
class Basis8 {
 public:
  static constexpr int32_t kTogether = HWY_MAX_BYTES >= 64 ? 2 : 1;

  Basis8(const Parts& forward, const Parts& inverse) : forward_(forward), inverse_(inverse) {}
  static constexpr int32_t patch() { return 8; }
  static constexpr int32_t stride() { return 8; }
  static constexpr int32_t size() { return 64; }

  HWY_INLINE void forward(const PatchCopies<kTogether>& in, ptrdiff_t image_stride, float base,
                          float*) const {
    const V subtracted = hn::Set(D(), base);
    V v[8];
    Rows::forward(
        forward_,
        [&](int32_t i)
            HWY_ATTR { return hn::Sub(load_rows(in.image, i * image_stride), subtracted); },
        [&](int32_t i, V value) HWY_ATTR { v[i] = value; });
    transpose(v);
    Rows::forward(
        forward_, [&](int32_t i) HWY_ATTR { return v[i]; },
        [&](int32_t i, V value) HWY_ATTR { store_rows(value, in.patch, 8 * i); });
  }

  // The way back to row i of the patches for each i, without memory for them.
  static constexpr bool kInRegisters = true;
  HWY_INLINE void inverse_rows(const float* const (&patches)[kTogether], VRows (&rows)[8]) const {
    V v[8];
    Rows::inverse(
        inverse_, [&](int32_t i) HWY_ATTR { return load_rows(patches, 8 * i); },
        [&](int32_t i, V value) HWY_ATTR { v[i] = value; });
    transpose(v);
    Rows::inverse(
        inverse_, [&](int32_t i) HWY_ATTR { return v[i]; },
        [&](int32_t i, V value) HWY_ATTR { rows[i] = value; });
  }

 private:
  using D = DRows;
  using V = VRows;
  using Rows = Pass<LaneOps<D>>;

  static HWY_INLINE void transpose(V (&v)[8]) {
    const D d;
    transpose_blocks(d, v[0], v[1], v[2], v[3]);
    transpose_blocks(d, v[4], v[5], v[6], v[7]);
    exchange_blocks(v[0], v[4]);
    exchange_blocks(v[1], v[5]);
    exchange_blocks(v[2], v[6]);
    exchange_blocks(v[3], v[7]);
  }

  const Parts &forward_, &inverse_;
};
#else
#if HWY_TARGET != HWY_SCALAR
// out = in^T, 8 x 8.
HWY_INLINE void transpose(const float* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const DRow d;
  if (hn::Lanes(d) == 8) {
    VRow a0 = hn::Load(d, in), a1 = hn::Load(d, in + 8), a2 = hn::Load(d, in + 16),
         a3 = hn::Load(d, in + 24), b0 = hn::Load(d, in + 32), b1 = hn::Load(d, in + 40),
         b2 = hn::Load(d, in + 48), b3 = hn::Load(d, in + 56);
    transpose_blocks(d, a0, a1, a2, a3);
    transpose_blocks(d, b0, b1, b2, b3);
    hn::Store(hn::ConcatLowerLower(d, b0, a0), d, out);
    hn::Store(hn::ConcatLowerLower(d, b1, a1), d, out + 8);
    hn::Store(hn::ConcatLowerLower(d, b2, a2), d, out + 16);
    hn::Store(hn::ConcatLowerLower(d, b3, a3), d, out + 24);
    hn::Store(hn::ConcatUpperUpper(d, b0, a0), d, out + 32);
    hn::Store(hn::ConcatUpperUpper(d, b1, a1), d, out + 40);
    hn::Store(hn::ConcatUpperUpper(d, b2, a2), d, out + 48);
    hn::Store(hn::ConcatUpperUpper(d, b3, a3), d, out + 56);
    return;
  }
  for (int32_t block = 0; block < 4; ++block) {
    const int32_t y = block / 2 * 4, x = block % 2 * 4;
    const float* from = in + y * 8 + x;
    float* to = out + x * 8 + y;
    VRow a = hn::Load(d, from), b = hn::Load(d, from + 8), c = hn::Load(d, from + 16),
         e = hn::Load(d, from + 24);
    transpose_blocks(d, a, b, c, e);
    hn::Store(a, d, to);
    hn::Store(b, d, to + 8);
    hn::Store(c, d, to + 16);
    hn::Store(e, d, to + 24);
  }
}
#endif

template <template <class> class Pass, class Parts>
class Basis8 {
 public:
  static constexpr int32_t kTogether = 1;
  static constexpr bool kInRegisters = false;

  Basis8(const Parts& forward, const Parts& inverse) : forward_(forward), inverse_(inverse) {}
  static constexpr int32_t patch() { return 8; }
  static constexpr int32_t stride() { return 8; }
  static constexpr int32_t size() { return 64; }

  HWY_INLINE void forward(const PatchCopies<1>& from, ptrdiff_t image_stride, float base,
                          float* temporary) const {
    const DRow d;
    const VRow subtracted = hn::Set(d, base);
    float* values = from.patch[0];
    for (int32_t c = 0; c < 8; c += kLanes) {
      const auto in = [&](int32_t i) HWY_ATTR {
        return hn::Sub(hn::LoadU(d, from.image[0] + c + i * image_stride), subtracted);
      };
      Rows::forward(forward_, in, to(temporary + c));
    }
    transpose(temporary, values);
    for (int32_t c = 0; c < 8; c += kLanes)
      Rows::forward(forward_, rows(values + c), to(values + c));
  }

  HWY_INLINE void inverse(float* const (&patches)[1], float* temporary) const {
    float* values = patches[0];
    for (int32_t c = 0; c < 8; c += kLanes) {
      Rows::inverse(inverse_, rows(values + c), to(temporary + c));
    }
    transpose(temporary, values);
    for (int32_t c = 0; c < 8; c += kLanes)
      Rows::inverse(inverse_, rows(values + c), to(values + c));
  }

 private:
  using Rows = Pass<LaneOps<DRow>>;
  static constexpr int32_t kLanes = static_cast<int32_t>(hn::MaxLanes(DRow()));

  static HWY_INLINE auto rows(const float* from) {
    return [from](int32_t i) HWY_ATTR { return hn::Load(DRow(), from + 8 * i); };
  }
  static HWY_INLINE auto to(float* to) {
    return [to](int32_t i, VRow v) HWY_ATTR { hn::Store(v, DRow(), to + 8 * i); };
  }

  const Parts &forward_, &inverse_;
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#endif
