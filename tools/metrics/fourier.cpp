// SPDX-License-Identifier: MIT
#include "fourier.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

// A Sample holds vectors; those of ARM's SVE, of a length that the compiler doesn't know, can't be
// members.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_ALL_SVE
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/metrics/fourier.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// A pass transforms as many lines at once as a vector has lanes: the lines' samples k stand side by
// side, the real parts and after them the imaginary ones.
#ifndef GRAINLESS_FOURIER_PASS
#define GRAINLESS_FOURIER_PASS
namespace grainless::tools {

// Down the columns of a plane.
struct FourierPass {
  const LineTables* tables;
  const float *re, *im;
  ptrdiff_t stride;
  int32_t width;
  const float *a, *b;  // factors of the samples, in the same layout, or null
  float *to_re, *to_im;
  ptrdiff_t to_stride;
  bool turn;  // rows become columns
  float* work;
};

}  // namespace grainless::tools
#endif

HWY_BEFORE_NAMESPACE();
namespace grainless::tools {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kFourierLanes>;
using V = hn::Vec<D>;

HWY_INLINE ptrdiff_t lanes() {
  return static_cast<ptrdiff_t>(hn::Lanes(D()));
}

struct Sample {
  V re, im;
};

HWY_INLINE Sample load(const float* at) {
  return {hn::Load(D(), at), hn::Load(D(), at + lanes())};
}

HWY_INLINE void store(Sample v, float* at) {
  hn::Store(v.re, D(), at);
  hn::Store(v.im, D(), at + lanes());
}

HWY_INLINE Sample add(Sample a, Sample b) {
  return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)};
}

HWY_INLINE Sample subtract(Sample a, Sample b) {
  return {hn::Sub(a.re, b.re), hn::Sub(a.im, b.im)};
}

HWY_INLINE Sample times(Sample a, float re, float im) {
  const V r = hn::Set(D(), re), i = hn::Set(D(), im);
  return {hn::NegMulAdd(a.im, i, hn::Mul(a.re, r)), hn::MulAdd(a.re, i, hn::Mul(a.im, r))};
}

HWY_INLINE Sample scaled(Sample a, float by) {
  const V factor = hn::Set(D(), by);
  return {hn::Mul(a.re, factor), hn::Mul(a.im, factor)};
}

// sum + by * a
HWY_INLINE Sample with(Sample sum, Sample a, float by) {
  const V factor = hn::Set(D(), by);
  return {hn::MulAdd(a.re, factor, sum.re), hn::MulAdd(a.im, factor, sum.im)};
}

// Results q and p - q of a transform of p samples.
HWY_INLINE void store_pair(Sample even, Sample odd, float* q, float* p_q) {
  store(add(even, odd), q);
  store(subtract(even, odd), p_q);
}

// -i * a
HWY_INLINE Sample turned_back(Sample a) {
  return {a.im, hn::Neg(a.re)};
}

// Of 2 pi / 3, 2 pi / 5 and 4 pi / 5.
constexpr float kCosine3 = -0.5F, kSine3 = 0.866025404F;
constexpr float kCosine5 = 0.309016994F, kSine5 = 0.951056516F;
constexpr float kCosine52 = -0.809016994F, kSine52 = 0.587785252F;

// Cooley and Tukey's decimation in time by the factors of the length.
class Lines {
 public:
  // scratch: as many samples as the largest factor has.
  Lines(const LineTables& tables, float* scratch)
      : tables_(tables), sample_(2 * lanes()), scratch_(scratch) {}

  void run(const float* from, float* to) const { run(from, 1, to, tables_.size, 0); }

 private:
  // One butterfly: samples `step` apart, from `in` to `out`, sample r turned by r * turn roots.
  struct Wing {
    const float* in;
    ptrdiff_t in_step;
    float* out;
    ptrdiff_t out_step;
    ptrdiff_t turn;
  };

  void run(const float* from, ptrdiff_t stride, float* to, ptrdiff_t size, size_t depth) const {
    if (size == 1) return store(load(from), to);
    const LineTables::Factor& factor = tables_.factors[depth];
    const ptrdiff_t p = factor.p, m = size / p;
    if (m == 1) {
      return wing(factor, {from, stride * sample_, to, sample_, 0});
    }
    for (ptrdiff_t r = 0; r < p; ++r) {
      run(from + r * stride * sample_, stride * p, to + r * m * sample_, m, depth + 1);
    }
    for (ptrdiff_t k = 0; k < m; ++k) {
      float* at = to + k * sample_;
      wing(factor, {at, m * sample_, at, m * sample_, k * stride});
    }
  }

  HWY_INLINE Sample turned(const Wing& w, ptrdiff_t r) const {
    const Sample v = load(w.in + r * w.in_step);
    if (w.turn == 0) return v;
    const auto root = static_cast<size_t>(r * w.turn);
    return times(v, tables_.cosines[root], -tables_.sines[root]);
  }

  void wing(const LineTables::Factor& factor, const Wing& w) const {
    if (factor.p == 4) {
      four(w);
    } else if (factor.p == 2) {
      const Sample a = turned(w, 0), b = turned(w, 1);
      store(add(a, b), w.out);
      store(subtract(a, b), w.out + w.out_step);
    } else if (factor.p == 3) {
      three(w);
    } else if (factor.p == 5) {
      five(w);
    } else {
      odd(factor, w);
    }
  }

  HWY_INLINE void three(const Wing& w) const {
    const Sample a = turned(w, 0), b = turned(w, 1), c = turned(w, 2);
    const Sample sum = add(b, c);
    store(add(a, sum), w.out);
    store_pair(with(a, sum, kCosine3), turned_back(scaled(subtract(b, c), kSine3)),
               w.out + w.out_step, w.out + 2 * w.out_step);
  }

  HWY_INLINE void five(const Wing& w) const {
    const Sample a = turned(w, 0), b = turned(w, 1), c = turned(w, 2), e = turned(w, 3);
    const Sample f = turned(w, 4);
    const Sample near = add(b, f), far = add(c, e);
    const Sample near_odd = subtract(b, f), far_odd = subtract(c, e);
    store(add(a, add(near, far)), w.out);
    store_pair(with(with(a, near, kCosine5), far, kCosine52),
               turned_back(with(scaled(near_odd, kSine5), far_odd, kSine52)), w.out + w.out_step,
               w.out + 4 * w.out_step);
    store_pair(with(with(a, near, kCosine52), far, kCosine5),
               turned_back(with(scaled(near_odd, kSine52), far_odd, -kSine5)),
               w.out + 2 * w.out_step, w.out + 3 * w.out_step);
  }

  HWY_INLINE void four(const Wing& w) const {
    const Sample a = turned(w, 0), b = turned(w, 1), c = turned(w, 2), e = turned(w, 3);
    const Sample ac = add(a, c), be = add(b, e), a_c = subtract(a, c);
    const Sample b_e = turned_back(subtract(b, e));
    store(add(ac, be), w.out);
    store(add(a_c, b_e), w.out + w.out_step);
    store(subtract(ac, be), w.out + 2 * w.out_step);
    store(subtract(a_c, b_e), w.out + 3 * w.out_step);
  }

  // Results q and p - q share their products: cosines with the sums of opposite samples, sines with
  // the differences.
  void odd(const LineTables::Factor& factor, const Wing& w) const {
    const ptrdiff_t p = factor.p, half = p / 2;
    const Sample first = turned(w, 0);
    Sample total = first;
    for (ptrdiff_t k = 1; k <= half; ++k) {
      const Sample a = turned(w, k), b = turned(w, p - k);
      const Sample sum = add(a, b);
      total = add(total, sum);
      store(sum, scratch_ + 2 * (k - 1) * sample_);
      store(subtract(a, b), scratch_ + (2 * k - 1) * sample_);
    }
    store(total, w.out);
    for (ptrdiff_t q = 0; q < half; q += 4) products(factor, w, first, q);
  }

  HWY_INLINE void products(const LineTables::Factor& factor, const Wing& w, Sample first,
                           ptrdiff_t q) const {
    const D d;
    const ptrdiff_t half = factor.p / 2;
    Sample even0 = first, even1 = first, even2 = first, even3 = first;
    Sample odd0{hn::Zero(d), hn::Zero(d)}, odd1 = odd0, odd2 = odd0, odd3 = odd0;
    const float *c = factor.cosines.data() + q, *s = factor.sines.data() + q;
    for (ptrdiff_t k = 0; k < half; ++k, c += factor.padded, s += factor.padded) {
      const Sample sum = load(scratch_ + 2 * k * sample_);
      const Sample difference = load(scratch_ + (2 * k + 1) * sample_);
      accumulate(sum, difference, c[0], s[0], even0, odd0);
      accumulate(sum, difference, c[1], s[1], even1, odd1);
      accumulate(sum, difference, c[2], s[2], even2, odd2);
      accumulate(sum, difference, c[3], s[3], even3, odd3);
    }
    both(factor, w, q + 1, even0, odd0);
    both(factor, w, q + 2, even1, odd1);
    both(factor, w, q + 3, even2, odd2);
    both(factor, w, q + 4, even3, odd3);
  }

  static HWY_INLINE void accumulate(Sample sum, Sample difference, float c, float s, Sample& even,
                                    Sample& odd) {
    const V cosine = hn::Set(D(), c), sine = hn::Set(D(), s);
    even = {hn::MulAdd(cosine, sum.re, even.re), hn::MulAdd(cosine, sum.im, even.im)};
    odd = {hn::MulAdd(sine, difference.re, odd.re), hn::MulAdd(sine, difference.im, odd.im)};
  }

  static HWY_INLINE void both(const LineTables::Factor& factor, const Wing& w, ptrdiff_t q,
                              Sample even, Sample odd) {
    if (q > factor.p / 2) return;
    store_pair(even, turned_back(odd), w.out + q * w.out_step, w.out + (factor.p - q) * w.out_step);
  }

  const LineTables& tables_;
  const ptrdiff_t sample_;
  float* scratch_;
};

// to[k] = from[k] * (re[k], im[k]).
void multiply(const float* from, const std::vector<float>& re, const std::vector<float>& im,
              float* to) {
  const ptrdiff_t sample = 2 * lanes();
  for (size_t k = 0; k < re.size(); ++k) {
    const ptrdiff_t at = static_cast<ptrdiff_t>(k) * sample;
    store(times(load(from + at), re[k], im[k]), to + at);
  }
}

// A backward transform is a forward one with both parts exchanged, before and after.
void exchange(float* samples, int32_t count) {
  for (int32_t k = 0; k < count; ++k, samples += 2 * lanes()) {
    const Sample v = load(samples);
    store({v.im, v.re}, samples);
  }
}

// Transforms `line` into `to`; both have room for the convolution, if there is one.
void transform_lines(const LineTables& tables, float* line, float* to, float* scratch) {
  if (tables.convolution == nullptr) return Lines(tables, scratch).run(line, to);
  const LineTables& longer = *tables.convolution;
  const Lines lines(longer, scratch);
  const ptrdiff_t sample = 2 * lanes();
  multiply(line, tables.chirp_re, tables.chirp_im, line);
  std::fill(line + tables.size * sample, line + longer.size * sample, 0.0f);
  lines.run(line, to);
  multiply(to, tables.kernel_re, tables.kernel_im, to);
  exchange(to, longer.size);
  lines.run(to, line);
  exchange(line, tables.size);
  multiply(line, tables.chirp_re, tables.chirp_im, to);
}

HWY_INLINE V filtered(const float* samples, const FourierPass& pass, ptrdiff_t at) {
  const D d;
  const V v = hn::LoadU(d, samples + at);
  if (pass.a == nullptr) return v;
  return hn::Mul(v, hn::Mul(hn::LoadU(d, pass.a + at), hn::LoadU(d, pass.b + at)));
}

// Four samples of four lines; the line's samples become neighbours.
HWY_INLINE void turn_block(const float* from, ptrdiff_t from_stride, float* to,
                           ptrdiff_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (ptrdiff_t i = 0; i < 4; ++i) {
    for (ptrdiff_t k = 0; k < 4; ++k) to[i * to_stride + k] = from[k * from_stride + i];
  }
#else
  const hn::FixedTag<float, 4> d;
  const auto a = hn::Load(d, from), b = hn::Load(d, from + from_stride);
  const auto c = hn::Load(d, from + 2 * from_stride), e = hn::Load(d, from + 3 * from_stride);
  const auto ac0 = hn::InterleaveLower(d, a, c), ac1 = hn::InterleaveUpper(d, a, c);
  const auto be0 = hn::InterleaveLower(d, b, e), be1 = hn::InterleaveUpper(d, b, e);
  hn::Store(hn::InterleaveLower(d, ac0, be0), d, to);
  hn::Store(hn::InterleaveUpper(d, ac0, be0), d, to + to_stride);
  hn::Store(hn::InterleaveLower(d, ac1, be1), d, to + 2 * to_stride);
  hn::Store(hn::InterleaveUpper(d, ac1, be1), d, to + 3 * to_stride);
#endif
}

// Writes the lines from x on as rows. Padding goes along: fewer than four samples of a line, and of
// lines those that the plane's height has no row for are left out.
void store_turned(const FourierPass& pass, const float* result, ptrdiff_t x) {
  const ptrdiff_t sample = 2 * lanes(), lines = std::min<ptrdiff_t>(lanes(), pass.width - x);
  for (ptrdiff_t y = 0; y < pass.tables->size; y += 4) {
    const float* from = result + y * sample;
    ptrdiff_t i = 0;
    for (; i + 4 <= lines; i += 4) {
      const ptrdiff_t to = (x + i) * pass.to_stride + y;
      turn_block(from + i, sample, pass.to_re + to, pass.to_stride);
      turn_block(from + lanes() + i, sample, pass.to_im + to, pass.to_stride);
    }
    for (; i < lines; ++i) {
      const ptrdiff_t to = (x + i) * pass.to_stride + y;
      for (ptrdiff_t k = 0; k < 4; ++k) {
        pass.to_re[to + k] = from[k * sample + i];
        pass.to_im[to + k] = from[k * sample + lanes() + i];
      }
    }
  }
}

void pass_columns(const FourierPass& pass) {
  const D d;
  const int32_t size = pass.tables->size;
  const ptrdiff_t count = lanes(), sample = 2 * count;
  const int32_t longest = pass.tables->convolution ? pass.tables->convolution->size : size;
  float* line = pass.work;
  float* result = line + longest * sample;
  float* scratch = result + (longest + 4) * sample;
  for (ptrdiff_t x = 0; x < pass.width; x += count) {
    for (ptrdiff_t y = 0; y < size; ++y) {
      const ptrdiff_t at = y * pass.stride + x;
      store({filtered(pass.re, pass, at), filtered(pass.im, pass, at)}, line + y * sample);
    }
    transform_lines(*pass.tables, line, result, scratch);
    if (pass.turn) {
      store_turned(pass, result, x);
      continue;
    }
    for (ptrdiff_t y = 0; y < size; ++y) {
      const Sample v = load(result + y * sample);
      hn::StoreU(v.re, d, pass.to_re + y * pass.to_stride + x);
      hn::StoreU(v.im, d, pass.to_im + y * pass.to_stride + x);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless::tools
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless::tools {
namespace {

HWY_EXPORT(pass_columns);

// A plain transform of a prime factor beyond this takes longer than the chirps.
constexpr int32_t kLargestFactor = 250;

size_t padded(int32_t length) {
  return size_t(length + kFourierLanes - 1) / kFourierLanes * kFourierLanes;
}

std::vector<int32_t> factors_of(int32_t size) {
  std::vector<int32_t> factors;
  for (; size % 4 == 0; size /= 4) factors.push_back(4);
  for (int32_t p = 2; size > 1; ++p) {
    for (; size % p == 0; size /= p) factors.push_back(p);
  }
  return factors;
}

LineTables::Factor tables_of(int32_t p) {
  const int32_t half = p / 2, padded = (half + 3) / 4 * 4;
  LineTables::Factor factor{p, padded, {}, {}};
  for (int64_t k = 1; k <= half; ++k) {
    for (int64_t q = 1; q <= padded; ++q) {
      const double angle = 2 * std::numbers::pi * double(k * q % p) / p;
      factor.cosines.push_back(q > half ? 0 : float(std::cos(angle)));
      factor.sines.push_back(q > half ? 0 : float(std::sin(angle)));
    }
  }
  return factor;
}

// The chirps' own transform, in double precision by its definition's parts.
void transform_exactly(std::vector<double>& re, std::vector<double>& im) {
  const size_t size = re.size();
  if (size == 1) return;
  const auto p = size_t(factors_of(int32_t(size)).back()), m = size / p;
  std::vector<std::vector<double>> part_re(p), part_im(p);
  for (size_t k = 0; k < size; ++k) {
    part_re[k % p].push_back(re[k]);
    part_im[k % p].push_back(im[k]);
  }
  for (size_t r = 0; r < p; ++r) transform_exactly(part_re[r], part_im[r]);
  for (size_t k = 0; k < size; ++k) {
    re[k] = im[k] = 0;
    for (size_t r = 0; r < p; ++r) {
      const double angle = -2 * std::numbers::pi * double(r * k % size) / double(size);
      const double c = std::cos(angle), s = std::sin(angle);
      re[k] += part_re[r][k % m] * c - part_im[r][k % m] * s;
      im[k] += part_re[r][k % m] * s + part_im[r][k % m] * c;
    }
  }
}

// The least length of fast factors that a convolution of `size` samples fits in.
int32_t convolution_length(int32_t size) {
  const auto least = uint32_t(2 * size - 1);
  uint32_t best = std::bit_ceil(least);
  for (const uint32_t odd : {3U, 5U, 9U, 15U}) {
    best = std::min(best, odd * std::bit_ceil((least + odd - 1) / odd));
  }
  return int32_t(best);
}

void add_chirps(LineTables& tables) {
  const int64_t size = tables.size;
  const int32_t length = convolution_length(tables.size);
  tables.convolution = std::make_unique<LineTables>(length);
  std::vector<double> re(size_t(length), 0.0), im(size_t(length), 0.0);
  for (int64_t k = 0; k < size; ++k) {
    const double angle = std::numbers::pi * double(k * k % (2 * size)) / double(size);
    tables.chirp_re.push_back(float(std::cos(angle)));
    tables.chirp_im.push_back(float(-std::sin(angle)));
    for (const int64_t at : {k, k == 0 ? 0 : length - k}) {
      re[size_t(at)] = std::cos(angle);
      im[size_t(at)] = std::sin(angle);
    }
  }
  transform_exactly(re, im);
  for (size_t k = 0; k < re.size(); ++k) {
    tables.kernel_re.push_back(float(re[k] / length));
    tables.kernel_im.push_back(float(im[k] / length));
  }
}

// Floats that pass_columns works in.
size_t work_of(const LineTables& tables) {
  const int32_t longest = tables.convolution ? tables.convolution->size : tables.size;
  return size_t(2 * longest + 4 + kLargestFactor) * 2 * kFourierLanes;
}

}  // namespace

ComplexPlane::ComplexPlane(int32_t w, int32_t h)
    : width(w), height(h), stride(ptrdiff_t(padded(w))), re(padded(w) * h), im(padded(w) * h) {}

LineTables::LineTables(int32_t length) : size(length) {
  const std::vector<int32_t> all = factors_of(size);
  if (!all.empty() && all.back() > kLargestFactor) {
    add_chirps(*this);
    return;
  }
  for (const int32_t p : all) factors.push_back(tables_of(p));
  for (int32_t k = 0; k < size; ++k) {
    const double angle = 2 * std::numbers::pi * k / size;
    cosines.push_back(float(std::cos(angle)));
    sines.push_back(float(std::sin(angle)));
  }
}

PlaneTransform::PlaneTransform(int32_t width, int32_t height)
    : along_x_(width),
      along_y_(height),
      middle_re_(std::max(padded(width) * size_t(height), padded(height) * size_t(width))),
      middle_im_(middle_re_.size()),
      work_(std::max(work_of(along_x_), work_of(along_y_))) {}

void PlaneTransform::forward(const ComplexPlane& from, ComplexPlane& spectrum) {
  const auto stride = ptrdiff_t(padded(along_y_.size));
  HWY_DYNAMIC_DISPATCH(pass_columns)
  ({&along_y_, from.re.data(), from.im.data(), from.stride, from.width, nullptr, nullptr,
    middle_re_.data(), middle_im_.data(), stride, true, work_.data()});
  HWY_DYNAMIC_DISPATCH(pass_columns)
  ({&along_x_, middle_re_.data(), middle_im_.data(), stride, from.height, nullptr, nullptr,
    spectrum.re.data(), spectrum.im.data(), spectrum.stride, false, work_.data()});
}

// With both parts exchanged, before and after.
void PlaneTransform::backward(const ComplexPlane& spectrum, const float* a, const float* b,
                              ComplexPlane& to) {
  const auto stride = ptrdiff_t(padded(along_x_.size));
  HWY_DYNAMIC_DISPATCH(pass_columns)
  ({&along_x_, spectrum.im.data(), spectrum.re.data(), spectrum.stride, spectrum.width, a, b,
    middle_re_.data(), middle_im_.data(), stride, true, work_.data()});
  HWY_DYNAMIC_DISPATCH(pass_columns)
  ({&along_y_, middle_re_.data(), middle_im_.data(), stride, to.width, nullptr, nullptr,
    to.im.data(), to.re.data(), to.stride, false, work_.data()});
}

}  // namespace grainless::tools
#endif  // HWY_ONCE
