// SPDX-License-Identifier: MIT
// Transforms of single patches, for filter.cpp alone. A basis has a patch's side, the distance
// of its rows and its size in memory in floats (a multiple of 16, the rest zero), and
//   forward(image, image_stride, base, temporary, patch)
//                               patch = F * (image - base) * F^T, or its transpose
//   inverse(temporary, patch)   the way back, in place
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

// Any patch and any matrices.
class MatrixBasis {
 public:
  explicit MatrixBasis(const FilterTables& tables) : tables_(tables) {}
  int32_t patch() const { return tables_.patch; }
  int32_t stride() const { return tables_.stride; }
  int32_t size() const { return (patch() * stride() + 15) / 16 * 16; }

  HWY_INLINE void forward(const float* image, ptrdiff_t image_stride, float base, float* temporary,
                          float* out) const {
    std::fill(out, out + size(), 0.0f);
    for (int32_t y = 0; y < patch(); ++y) {
      for (int32_t x = 0; x < patch(); ++x) {
        out[y * stride() + x] = image[y * image_stride + x] - base;
      }
    }
    multiply(out, stride(), tables_.forward_t, temporary);
    multiply(tables_.forward, patch(), temporary, out);
  }

  HWY_INLINE void inverse(float* temporary, float* values) const {
    multiply(values, stride(), tables_.inverse_t, temporary);
    multiply(tables_.inverse, patch(), temporary, values);
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
HWY_INLINE void transpose_blocks(VRow& a, VRow& b, VRow& c, VRow& e) {
  const DRow d;
  const VRow ac0 = hn::InterleaveLower(d, a, c), ac1 = hn::InterleaveUpper(d, a, c);
  const VRow be0 = hn::InterleaveLower(d, b, e), be1 = hn::InterleaveUpper(d, b, e);
  a = hn::InterleaveLower(d, ac0, be0);
  b = hn::InterleaveUpper(d, ac0, be0);
  c = hn::InterleaveLower(d, ac1, be1);
  e = hn::InterleaveUpper(d, ac1, be1);
}

// out = in^T, 8 x 8.
HWY_INLINE void transpose(const float* HWY_RESTRICT in, float* HWY_RESTRICT out) {
  const DRow d;
  if (hn::Lanes(d) == 8) {
    VRow a0 = hn::Load(d, in), a1 = hn::Load(d, in + 8), a2 = hn::Load(d, in + 16),
         a3 = hn::Load(d, in + 24), b0 = hn::Load(d, in + 32), b1 = hn::Load(d, in + 40),
         b2 = hn::Load(d, in + 48), b3 = hn::Load(d, in + 56);
    transpose_blocks(a0, a1, a2, a3);
    transpose_blocks(b0, b1, b2, b3);
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
    transpose_blocks(a, b, c, e);
    hn::Store(a, d, to);
    hn::Store(b, d, to + 8);
    hn::Store(c, d, to + 16);
    hn::Store(e, d, to + 24);
  }
}
#endif

struct RowOps {
  using V = VRow;
  static HWY_INLINE V add(V a, V b) { return hn::Add(a, b); }
  static HWY_INLINE V subtract(V a, V b) { return hn::Sub(a, b); }
  static HWY_INLINE V scaled(float k, V v) { return hn::Mul(hn::Set(DRow(), k), v); }
};

#define GRAINLESS_INLINE HWY_INLINE
#include "engine/boundary/bm3d_passes.inc"
#undef GRAINLESS_INLINE

// 8 x 8 patches: a pass along the columns, and another one after transposition. Coefficients come
// out transposed, which the inverse undoes.
template <class Pass, class Parts>
class Basis8 {
 public:
  Basis8(const Parts& forward, const Parts& inverse) : forward_(forward), inverse_(inverse) {}
  static constexpr int32_t patch() { return 8; }
  static constexpr int32_t stride() { return 8; }
  static constexpr int32_t size() { return 64; }

  HWY_INLINE void forward(const float* image, ptrdiff_t image_stride, float base, float* temporary,
                          float* values) const {
    const DRow d;
    const VRow subtracted = hn::Set(d, base);
    for (int32_t c = 0; c < 8; c += kLanes) {
      const auto in = [&](int32_t i) HWY_ATTR {
        return hn::Sub(hn::LoadU(d, image + c + i * image_stride), subtracted);
      };
      Pass::forward(forward_, in, to(temporary + c));
    }
    transpose(temporary, values);
    for (int32_t c = 0; c < 8; c += kLanes)
      Pass::forward(forward_, rows(values + c), to(values + c));
  }

  HWY_INLINE void inverse(float* temporary, float* values) const {
    for (int32_t c = 0; c < 8; c += kLanes) {
      Pass::inverse(inverse_, rows(values + c), to(temporary + c));
    }
    transpose(temporary, values);
    for (int32_t c = 0; c < 8; c += kLanes)
      Pass::inverse(inverse_, rows(values + c), to(values + c));
  }

 private:
  static constexpr int32_t kLanes = static_cast<int32_t>(hn::MaxLanes(DRow()));

  static HWY_INLINE auto rows(const float* from) {
    return [from](int32_t i) HWY_ATTR { return hn::Load(DRow(), from + 8 * i); };
  }
  static HWY_INLINE auto to(float* to) {
    return [to](int32_t i, VRow v) HWY_ATTR { hn::Store(v, DRow(), to + 8 * i); };
  }

  const Parts &forward_, &inverse_;
};

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#endif
