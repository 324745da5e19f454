// SPDX-License-Identifier: MIT
// Transforms of single patches, for bm3d_filter.cpp alone. A basis has a patch's side, the distance
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

#include "bm3d_filter.h"
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

// k * v
HWY_INLINE VRow scaled(float k, VRow v) {
  return hn::Mul(hn::Set(DRow(), k), v);
}

// k[0] * a + k[1] * b + k[2] * c + k[3] * e, entries of k `step` apart.
HWY_INLINE VRow product4(const float* k, int32_t step, VRow a, VRow b, VRow c, VRow e) {
  return hn::Add(hn::Add(scaled(k[0], a), scaled(k[step], b)),
                 hn::Add(scaled(k[2 * step], c), scaled(k[3 * step], e)));
}

// DCT-II of 8 rows by its symmetries: sums of mirrored rows make the even coefficients, and again
// within these; differences the odd ones.
struct DctPass {
  template <class Row>
  static HWY_INLINE void forward(const FilterTables& tables, const Row& row, float* out) {
    const DRow d;
    const Dct8& k = tables.dct;
    const VRow x0 = row(0), x1 = row(1), x2 = row(2), x3 = row(3);
    const VRow x4 = row(4), x5 = row(5), x6 = row(6), x7 = row(7);
    const VRow s0 = hn::Add(x0, x7), s1 = hn::Add(x1, x6), s2 = hn::Add(x2, x5),
               s3 = hn::Add(x3, x4);
    const VRow d0 = hn::Sub(x0, x7), d1 = hn::Sub(x1, x6), d2 = hn::Sub(x2, x5),
               d3 = hn::Sub(x3, x4);
    const VRow ss0 = hn::Add(s0, s3), ss1 = hn::Add(s1, s2);
    const VRow sd0 = hn::Sub(s0, s3), sd1 = hn::Sub(s1, s2);
    hn::Store(scaled(k.mean, hn::Add(ss0, ss1)), d, out);
    hn::Store(product4(k.odd[0], 1, d0, d1, d2, d3), d, out + 8);
    hn::Store(hn::Add(scaled(k.even[0], sd0), scaled(k.even[1], sd1)), d, out + 16);
    hn::Store(product4(k.odd[1], 1, d0, d1, d2, d3), d, out + 24);
    hn::Store(scaled(k.mean, hn::Sub(ss0, ss1)), d, out + 32);
    hn::Store(product4(k.odd[2], 1, d0, d1, d2, d3), d, out + 40);
    hn::Store(hn::Sub(scaled(k.even[1], sd0), scaled(k.even[0], sd1)), d, out + 48);
    hn::Store(product4(k.odd[3], 1, d0, d1, d2, d3), d, out + 56);
  }

  static HWY_INLINE void inverse(const FilterTables& tables, const float* in, float* out) {
    const DRow d;
    const Dct8& k = tables.dct;
    const auto row = [&](int32_t i) HWY_ATTR { return hn::Load(d, in + 8 * i); };
    const VRow x1 = row(1), x3 = row(3), x5 = row(5), x7 = row(7);
    const VRow x2 = row(2), x6 = row(6);
    const VRow p = scaled(k.mean, hn::Add(row(0), row(4)));
    const VRow q = scaled(k.mean, hn::Sub(row(0), row(4)));
    const VRow u = hn::Add(scaled(k.even[0], x2), scaled(k.even[1], x6));
    const VRow v = hn::Sub(scaled(k.even[1], x2), scaled(k.even[0], x6));
    const VRow s0 = hn::Add(p, u), s1 = hn::Add(q, v), s2 = hn::Sub(q, v), s3 = hn::Sub(p, u);
    const VRow d0 = product4(k.odd[0], 4, x1, x3, x5, x7);
    const VRow d1 = product4(k.odd[0] + 1, 4, x1, x3, x5, x7);
    const VRow d2 = product4(k.odd[0] + 2, 4, x1, x3, x5, x7);
    const VRow d3 = product4(k.odd[0] + 3, 4, x1, x3, x5, x7);
    hn::Store(hn::Add(s0, d0), d, out);
    hn::Store(hn::Add(s1, d1), d, out + 8);
    hn::Store(hn::Add(s2, d2), d, out + 16);
    hn::Store(hn::Add(s3, d3), d, out + 24);
    hn::Store(hn::Sub(s3, d3), d, out + 32);
    hn::Store(hn::Sub(s2, d2), d, out + 40);
    hn::Store(hn::Sub(s1, d1), d, out + 48);
    hn::Store(hn::Sub(s0, d0), d, out + 56);
  }
};

// bior1.5 and Haar of 8 rows. With S and D the sums and differences of pairs of rows, the wavelet's
// first low-pass is a S_i + b (D_i+1 - D_i-1), its outer taps cancelling in the period of 4; at the
// next levels, of period 2 and 1, all the D cancel and it is Haar's.
struct PairPass {
  template <class Row>
  static HWY_INLINE void forward(const FilterTables& tables, const Row& row, float* out) {
    const DRow d;
    const Pairs8& k = tables.pairs;
    const VRow x0 = row(0), x1 = row(1), x2 = row(2), x3 = row(3);
    const VRow x4 = row(4), x5 = row(5), x6 = row(6), x7 = row(7);
    const VRow s0 = hn::Add(x0, x1), s1 = hn::Add(x2, x3), s2 = hn::Add(x4, x5),
               s3 = hn::Add(x6, x7);
    const VRow d0 = hn::Sub(x0, x1), d1 = hn::Sub(x2, x3), d2 = hn::Sub(x4, x5),
               d3 = hn::Sub(x6, x7);
    const VRow e0 = hn::Sub(d1, d3), e1 = hn::Sub(d2, d0);
    const VRow s01 = hn::Add(s0, s1), s23 = hn::Add(s2, s3);
    const VRow cross = scaled(k.detail2[1], hn::Sub(e0, e1));
    hn::Store(scaled(k.mean, hn::Add(s01, s23)), d, out);
    hn::Store(
        hn::Add(scaled(k.detail3[0], hn::Sub(s01, s23)), scaled(k.detail3[1], hn::Add(e0, e1))), d,
        out + 8);
    hn::Store(hn::Add(scaled(k.detail2[0], hn::Sub(s0, s1)), cross), d, out + 16);
    hn::Store(hn::Sub(scaled(k.detail2[0], hn::Sub(s2, s3)), cross), d, out + 24);
    hn::Store(scaled(k.detail1, d0), d, out + 32);
    hn::Store(scaled(k.detail1, d1), d, out + 40);
    hn::Store(scaled(k.detail1, d2), d, out + 48);
    hn::Store(scaled(k.detail1, d3), d, out + 56);
  }

  static HWY_INLINE void inverse(const FilterTables& tables, const float* in, float* out) {
    const DRow d;
    const Pairs8& k = tables.pairs_back;
    const auto row = [&](int32_t i) HWY_ATTR { return hn::Load(d, in + 8 * i); };
    // Halves of the differences, quarters of S0 + S1 and S2 + S3, halves of the sums.
    const VRow d0 = scaled(k.detail1, row(4)), d1 = scaled(k.detail1, row(5));
    const VRow d2 = scaled(k.detail1, row(6)), d3 = scaled(k.detail1, row(7));
    const VRow e0 = hn::Sub(d1, d3), e1 = hn::Sub(d2, d0);
    const VRow mean = scaled(k.mean, row(0));
    const VRow slope = hn::Sub(scaled(k.detail3[0], row(1)), scaled(k.detail3[1], hn::Add(e0, e1)));
    const VRow cross = scaled(k.detail2[1], hn::Sub(e0, e1));
    const VRow u = hn::Sub(scaled(k.detail2[0], row(2)), cross);
    const VRow v = hn::Add(scaled(k.detail2[0], row(3)), cross);
    const VRow s01 = hn::Add(mean, slope), s23 = hn::Sub(mean, slope);
    const VRow s0 = hn::Add(s01, u), s1 = hn::Sub(s01, u);
    const VRow s2 = hn::Add(s23, v), s3 = hn::Sub(s23, v);
    hn::Store(hn::Add(s0, d0), d, out);
    hn::Store(hn::Sub(s0, d0), d, out + 8);
    hn::Store(hn::Add(s1, d1), d, out + 16);
    hn::Store(hn::Sub(s1, d1), d, out + 24);
    hn::Store(hn::Add(s2, d2), d, out + 32);
    hn::Store(hn::Sub(s2, d2), d, out + 40);
    hn::Store(hn::Add(s3, d3), d, out + 48);
    hn::Store(hn::Sub(s3, d3), d, out + 56);
  }
};

// 8 x 8 patches: a pass along the columns, and another one after transposition. Coefficients come
// out transposed, which the inverse undoes.
template <class Pass>
class Basis8 {
 public:
  explicit Basis8(const FilterTables& tables) : tables_(tables) {}
  static constexpr int32_t patch() { return 8; }
  static constexpr int32_t stride() { return 8; }
  static constexpr int32_t size() { return 64; }

  HWY_INLINE void forward(const float* image, ptrdiff_t image_stride, float base, float* temporary,
                          float* out) const {
    constexpr int32_t n = static_cast<int32_t>(hn::MaxLanes(DRow()));
    const DRow d;
    const VRow subtracted = hn::Set(d, base);
    for (int32_t c = 0; c < 8; c += n) {
      const auto row = [&](int32_t i) HWY_ATTR {
        return hn::Sub(hn::LoadU(d, image + c + i * image_stride), subtracted);
      };
      Pass::forward(tables_, row, temporary + c);
    }
    transpose(temporary, out);
    for (int32_t c = 0; c < 8; c += n) {
      const auto row = [&](int32_t i) HWY_ATTR { return hn::Load(d, out + c + i * 8); };
      Pass::forward(tables_, row, out + c);
    }
  }

  HWY_INLINE void inverse(float* temporary, float* values) const {
    constexpr int32_t n = static_cast<int32_t>(hn::MaxLanes(DRow()));
    for (int32_t c = 0; c < 8; c += n) Pass::inverse(tables_, values + c, temporary + c);
    transpose(temporary, values);
    for (int32_t c = 0; c < 8; c += n) Pass::inverse(tables_, values + c, values + c);
  }

 private:
  const FilterTables& tables_;
};

}  // namespace HWY_NAMESPACE
}  // namespace grainless
HWY_AFTER_NAMESPACE();

#endif
