// SPDX-License-Identifier: MIT
#include "fourier.h"

#include <hwy/cache_control.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>

#ifdef __linux__
#include <sys/mman.h>
#endif

// A Sample holds vectors; those of ARM's SVE, of a length that the compiler doesn't know, can't be
// members.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_ALL_SVE
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tools/metrics/fourier.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef GRAINLESS_FOURIER_PASS
#define GRAINLESS_FOURIER_PASS
namespace grainless::tools {

inline constexpr ptrdiff_t kSample =
    2 * kFourierLanes;  // floats from one row of a block to the next

// Down the columns of one block.
struct FourierPass {
  const LineTables* tables;
  const float* from;
  // Factors of the samples, [row][column], which exchange their parts; or null.
  const float *a, *b;
  // Or real numbers, row-major, of which base is taken: columns of a row, floats from row to row.
  ptrdiff_t columns, stride;
  float base;
  float* to;
  float* work;  // work_floats()
};

// Rows of a block, results of a pass, become columns of a plane.
struct FourierTurn {
  const float* from;
  int32_t rows, columns;  // columns: up to 16
  float* to;              // its row for the first column, in its first block
  ptrdiff_t block;        // floats from there to its next block
};

}  // namespace grainless::tools
#endif

HWY_BEFORE_NAMESPACE();
namespace grainless::tools {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kFourierLanes>;
using V = hn::Vec<D>;

struct Sample {
  V re, im;
};

HWY_INLINE Sample load(const float* at) {
  return {hn::Load(D(), at), hn::Load(D(), at + kFourierLanes)};
}

HWY_INLINE void store(Sample v, float* at) {
  hn::Store(v.re, D(), at);
  hn::Store(v.im, D(), at + kFourierLanes);
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

HWY_INLINE Sample scaled(Sample a, V factor) {
  return {hn::Mul(a.re, factor), hn::Mul(a.im, factor)};
}

HWY_INLINE Sample scaled(Sample a, float by) {
  return scaled(a, hn::Set(D(), by));
}

// sum + by * a
HWY_INLINE Sample with(Sample sum, Sample a, float by) {
  const V factor = hn::Set(D(), by);
  return {hn::MulAdd(a.re, factor, sum.re), hn::MulAdd(a.im, factor, sum.im)};
}

// -i * a
HWY_INLINE Sample turned_back(Sample a) {
  return {a.im, hn::Neg(a.re)};
}

// Of 2 pi / 3, 2 pi / 5, 4 pi / 5 and 2 pi / 8.
constexpr float kCosine3 = -0.5F, kSine3 = 0.866025404F;
constexpr float kCosine5 = 0.309016994F, kSine5 = 0.951056516F;
constexpr float kCosine52 = -0.809016994F, kSine52 = 0.587785252F;
constexpr float kCosine8 = 0.707106781F;

// What a pass begins with: the samples of `lanes` of a block's columns.
class PlainSource {
 public:
  PlainSource(const FourierPass& pass, ptrdiff_t lane) : from_(pass.from + lane) {}
  HWY_INLINE Sample operator()(ptrdiff_t row) const { return load(from_ + row * kSample); }

 private:
  const float* from_;
};

class FilteredSource {
 public:
  FilteredSource(const FourierPass& pass, ptrdiff_t lane)
      : from_(pass.from + lane), a_(pass.a + lane), b_(pass.b + lane) {}
  HWY_INLINE Sample operator()(ptrdiff_t row) const {
    const D d;
    const Sample v = load(from_ + row * kSample);
    const V filter =
        hn::Mul(hn::Load(d, a_ + row * kFourierLanes), hn::Load(d, b_ + row * kFourierLanes));
    return {hn::Mul(v.im, filter), hn::Mul(v.re, filter)};
  }

 private:
  const float *from_, *a_, *b_;
};

class RealSource {
 public:
  RealSource(const FourierPass& pass, ptrdiff_t lane)
      : from_(pass.from + lane),
        stride_(pass.stride),
        count_(std::max<ptrdiff_t>(pass.columns - lane, 0)),
        base_(hn::Set(D(), pass.base)) {}
  HWY_INLINE Sample operator()(ptrdiff_t row) const {
    const V v = hn::LoadN(D(), from_ + row * stride_, static_cast<size_t>(count_));
    return {hn::Sub(v, base_), hn::Zero(D())};
  }

 private:
  const float* from_;
  ptrdiff_t stride_, count_;
  V base_;
};

// The waves of a longer line: those from 0 on at its begin, the negative ones at its end.
template <class Source>
class SparseSource {
 public:
  SparseSource(const Source& source, const LineTables& tables)
      : source_(source),
        gains_(tables.resampling->gains.data()),
        begin_((tables.size + 1) / 2),
        gap_(tables.resampling->longer->size - tables.size) {}
  HWY_INLINE Sample operator()(ptrdiff_t row) const {
    if (row >= begin_ && row < begin_ + gap_) return {hn::Zero(D()), hn::Zero(D())};
    const ptrdiff_t wave = row < begin_ ? row : row - gap_;
    return scaled(source_(wave), gains_[wave]);
  }

 private:
  const Source& source_;
  const float* gains_;
  ptrdiff_t begin_, gap_;
};

// Butterflies: in(r) gives sample r, out(q, sample) takes result q.
template <class In, class Out>
HWY_INLINE void two(const In& in, const Out& out) {
  const Sample a = in(0), b = in(1);
  out(0, add(a, b));
  out(1, subtract(a, b));
}

template <class In, class Out>
HWY_INLINE void three(const In& in, const Out& out) {
  const Sample a = in(0), b = in(1), c = in(2);
  const Sample sum = add(b, c);
  const Sample even = with(a, sum, kCosine3);
  const Sample odd = turned_back(scaled(subtract(b, c), kSine3));
  out(0, add(a, sum));
  out(1, add(even, odd));
  out(2, subtract(even, odd));
}

template <class In, class Out>
HWY_INLINE void four(const In& in, const Out& out) {
  const Sample a = in(0), b = in(1), c = in(2), e = in(3);
  const Sample ac = add(a, c), be = add(b, e), a_c = subtract(a, c);
  const Sample b_e = turned_back(subtract(b, e));
  out(0, add(ac, be));
  out(1, add(a_c, b_e));
  out(2, subtract(ac, be));
  out(3, subtract(a_c, b_e));
}

template <class In, class Out>
HWY_INLINE void five(const In& in, const Out& out) {
  const Sample a = in(0), b = in(1), c = in(2), e = in(3), f = in(4);
  const Sample near = add(b, f), far = add(c, e);
  const Sample near_odd = subtract(b, f), far_odd = subtract(c, e);
  out(0, add(a, add(near, far)));
  const Sample even1 = with(with(a, near, kCosine5), far, kCosine52);
  const Sample odd1 = turned_back(with(scaled(near_odd, kSine5), far_odd, kSine52));
  out(1, add(even1, odd1));
  out(4, subtract(even1, odd1));
  const Sample even2 = with(with(a, near, kCosine52), far, kCosine5);
  const Sample odd2 = turned_back(with(scaled(near_odd, kSine52), far_odd, -kSine5));
  out(2, add(even2, odd2));
  out(3, subtract(even2, odd2));
}

template <class In, class Out>
HWY_INLINE void eight(const In& in, const Out& out) {
  // Set, as GCC gives a default constructor no target's instructions, which ARM's vectors want.
  const Sample zero{hn::Zero(D()), hn::Zero(D())};
  Sample odd[4] = {zero, zero, zero, zero};
  four([&](ptrdiff_t r) HWY_ATTR { return in(2 * r + 1); },
       [&](ptrdiff_t q, Sample v) HWY_ATTR { odd[q] = v; });
  const V root = hn::Set(D(), kCosine8);
  const Sample one = odd[1], three_eighths = odd[3];
  odd[1] = scaled(Sample{hn::Add(one.re, one.im), hn::Sub(one.im, one.re)}, root);
  odd[2] = turned_back(odd[2]);
  odd[3] = scaled(Sample{hn::Sub(three_eighths.im, three_eighths.re),
                         hn::Neg(hn::Add(three_eighths.re, three_eighths.im))},
                  root);
  four([&](ptrdiff_t r) HWY_ATTR { return in(2 * r); },
       [&](ptrdiff_t q, Sample v) HWY_ATTR {
         out(q, add(v, odd[q]));
         out(q + 4, subtract(v, odd[q]));
       });
}

// Cooley and Tukey's decimation in time by the factors of the length.
template <class Source>
class Lines {
 public:
  // scratch: as many samples as the largest factor has.
  Lines(const LineTables& tables, const Source& source, float* scratch)
      : tables_(tables), source_(source), scratch_(scratch) {}

  void run(float* to) const { run(0, 1, to, tables_.size, 0); }

 private:
  // Samples first, first + stride, ... of the source.
  void run(ptrdiff_t first, ptrdiff_t stride, float* to, ptrdiff_t size, size_t depth) const {
    if (size == 1) return store(source_(first), to);
    const LineTables::Factor& factor = tables_.factors[depth];
    const ptrdiff_t p = factor.p, m = size / p;
    if (m == 1) {
      wing(
          factor, [&](ptrdiff_t r) HWY_ATTR { return source_(first + r * stride); },
          [&](ptrdiff_t q, Sample v) HWY_ATTR { store(v, to + q * kSample); });
      return;
    }
    for (ptrdiff_t r = 0; r < p; ++r) {
      run(first + r * stride, stride * p, to + r * m * kSample, m, depth + 1);
    }
    const ptrdiff_t step = m * kSample;
    wing(
        factor, [&](ptrdiff_t r) HWY_ATTR { return load(to + r * step); },
        [&](ptrdiff_t q, Sample v) HWY_ATTR { store(v, to + q * step); });
    const float *cosines = tables_.cosines.data(), *sines = tables_.sines.data();
    for (ptrdiff_t k = 1; k < m; ++k) {
      float* at = to + k * kSample;
      const ptrdiff_t turn = k * stride;
      wing(
          factor,
          [&](ptrdiff_t r) HWY_ATTR {
            const Sample v = load(at + r * step);
            return r == 0 ? v : times(v, cosines[r * turn], sines[r * turn]);
          },
          [&](ptrdiff_t q, Sample v) HWY_ATTR { store(v, at + q * step); });
    }
  }

  template <class In, class Out>
  HWY_INLINE void wing(const LineTables::Factor& factor, const In& in, const Out& out) const {
    switch (factor.p) {
      case 2:
        return two(in, out);
      case 3:
        return three(in, out);
      case 4:
        return four(in, out);
      case 5:
        return five(in, out);
      case 8:
        return eight(in, out);
      default:
        odd(factor, in, out);
    }
  }

  // Results q and p - q share their products: cosines with the sums of opposite samples, sines with
  // the differences.
  template <class In, class Out>
  HWY_INLINE void odd(const LineTables::Factor& factor, const In& in, const Out& out) const {
    const ptrdiff_t p = factor.p, half = p / 2;
    const Sample first = in(0);
    Sample total = first;
    for (ptrdiff_t k = 1; k <= half; ++k) {
      const Sample a = in(k), b = in(p - k);
      const Sample sum = add(a, b);
      total = add(total, sum);
      store(sum, scratch_ + 2 * (k - 1) * kSample);
      store(subtract(a, b), scratch_ + (2 * k - 1) * kSample);
    }
    out(0, total);
    for (ptrdiff_t q = 0; q < half; q += 4) products(factor, first, q, out);
  }

  template <class Out>
  HWY_INLINE void products(const LineTables::Factor& factor, Sample first, ptrdiff_t q,
                           const Out& out) const {
    const D d;
    const ptrdiff_t half = factor.p / 2;
    Sample even[4] = {first, first, first, first};
    const Sample zero{hn::Zero(d), hn::Zero(d)};
    Sample odd[4] = {zero, zero, zero, zero};
    const float *c = factor.cosines.data() + q, *s = factor.sines.data() + q;
    for (ptrdiff_t k = 0; k < half; ++k, c += factor.padded, s += factor.padded) {
      const Sample sum = load(scratch_ + 2 * k * kSample);
      const Sample difference = load(scratch_ + (2 * k + 1) * kSample);
      for (int j = 0; j < 4; ++j) {
        even[j] = with(even[j], sum, c[j]);
        odd[j] = with(odd[j], difference, s[j]);
      }
    }
    for (int j = 0; j < 4 && q + 1 + j <= half; ++j) {
      const Sample turned = turned_back(odd[j]);
      out(q + 1 + j, add(even[j], turned));
      out(factor.p - (q + 1 + j), subtract(even[j], turned));
    }
  }

  const LineTables& tables_;
  const Source& source_;
  float* scratch_;
};

// Places between those of a longer line, which has room for as many more samples as there are taps.
void resample(const Resampling& resampling, float* longer, float* to) {
  const ptrdiff_t size = resampling.longer->size, taps = resampling.taps;
  for (ptrdiff_t k = 0; k < taps; ++k) {
    store(load(longer + k * kSample), longer + (size + k) * kSample);
  }
  const float* weights = resampling.weights.data();
  for (size_t x = 0; x < resampling.first.size(); ++x, weights += taps, to += kSample) {
    const float* from = longer + resampling.first[x] * kSample;
    Sample even = scaled(load(from), weights[0]), odd = scaled(load(from + kSample), weights[1]);
    for (ptrdiff_t k = 2; k < taps; k += 2) {
      even = with(even, load(from + k * kSample), weights[k]);
      odd = with(odd, load(from + (k + 1) * kSample), weights[k + 1]);
    }
    store(add(even, odd), to);
  }
}

template <class Source>
HWY_INLINE void transform_lines(const FourierPass& pass, const Source& source, ptrdiff_t lane) {
  const LineTables& tables = *pass.tables;
  float* work = pass.work + lane;
  if (tables.resampling == nullptr) {
    Lines<Source>(tables, source, work).run(pass.to + lane);
    return;
  }
  const LineTables& longer = *tables.resampling->longer;
  const SparseSource<Source> sparse(source, tables);
  float* line = work + 5 * kSample;  // the longer line has no factor beyond 5
  Lines<SparseSource<Source>>(longer, sparse, work).run(line);
  resample(*tables.resampling, line, pass.to + lane);
}

// What a pass reads: rows come in an order that no processor foresees, in planes larger than the
// nearer caches.
HWY_INLINE void fetch(const float* from, ptrdiff_t floats) {
  constexpr ptrdiff_t kLine = 16;
  for (ptrdiff_t i = 0; i < floats; i += kLine) hwy::Prefetch(from + i);
}

void transform_block(const FourierPass& pass) {
  const ptrdiff_t rows = pass.tables->size;
  if (pass.stride == 0) fetch(pass.from, rows * kSample);
  if (pass.a != nullptr) {
    fetch(pass.a, rows * kFourierLanes);
    fetch(pass.b, rows * kFourierLanes);
  }
  for (ptrdiff_t lane = 0; lane < kFourierLanes; lane += static_cast<ptrdiff_t>(hn::Lanes(D()))) {
    if (pass.a != nullptr) {
      transform_lines(pass, FilteredSource(pass, lane), lane);
    } else if (pass.stride > 0) {
      transform_lines(pass, RealSource(pass, lane), lane);
    } else {
      transform_lines(pass, PlainSource(pass, lane), lane);
    }
  }
}

// Four samples of four lines; the line's samples become neighbours.
HWY_INLINE void turn_four(const float* from, float* to) {
#if HWY_TARGET == HWY_SCALAR
  for (ptrdiff_t i = 0; i < 4; ++i) {
    for (ptrdiff_t k = 0; k < 4; ++k) to[i * kSample + k] = from[k * kSample + i];
  }
#else
  const hn::FixedTag<float, 4> d;
  const auto a = hn::Load(d, from), b = hn::Load(d, from + kSample);
  const auto c = hn::Load(d, from + 2 * kSample), e = hn::Load(d, from + 3 * kSample);
  const auto ac0 = hn::InterleaveLower(d, a, c), ac1 = hn::InterleaveUpper(d, a, c);
  const auto be0 = hn::InterleaveLower(d, b, e), be1 = hn::InterleaveUpper(d, b, e);
  hn::Store(hn::InterleaveLower(d, ac0, be0), d, to);
  hn::Store(hn::InterleaveUpper(d, ac0, be0), d, to + kSample);
  hn::Store(hn::InterleaveLower(d, ac1, be1), d, to + 2 * kSample);
  hn::Store(hn::InterleaveUpper(d, ac1, be1), d, to + 3 * kSample);
#endif
}

// Rows that pad the last four go along; the plane has no rows for columns beyond `columns`.
void turn_block(const FourierTurn& turn) {
  for (ptrdiff_t y = 0; y < turn.rows; y += 4) {
    const float* from = turn.from + y * kSample;
    float* to = turn.to + y / kFourierLanes * turn.block + y % kFourierLanes;
    for (ptrdiff_t part = 0; part < kSample; part += kFourierLanes) {
      ptrdiff_t i = 0;
      for (; i + 4 <= turn.columns; i += 4) turn_four(from + part + i, to + i * kSample + part);
      for (; i < turn.columns; ++i) {
        for (ptrdiff_t k = 0; k < 4; ++k) {
          to[i * kSample + part + k] = from[k * kSample + part + i];
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace grainless::tools
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace grainless::tools {
namespace {

HWY_EXPORT(transform_block);
HWY_EXPORT(turn_block);

constexpr size_t kLargePage = size_t{2} << 20, kSmallPage = 4096;  // bytes

// Powers of two by eights and fours, then what is left.
std::vector<int32_t> factors_of(int32_t size) {
  std::vector<int32_t> factors;
  int32_t twos = 0;
  for (; size % 2 == 0; size /= 2) ++twos;
  for (; twos >= 3 && twos != 4; twos -= 3) factors.push_back(8);
  for (; twos >= 2; twos -= 2) factors.push_back(4);
  if (twos == 1) factors.push_back(2);
  for (int32_t p = 3; size > 1; p += 2) {
    for (; size % p == 0; size /= p) factors.push_back(p);
  }
  return factors;
}

LineTables::Factor tables_of(int32_t p) {
  const int32_t half = p / 2, padded = (half + 3) / 4 * 4;
  LineTables::Factor factor{p, padded, {}, {}};
  if (p <= 5 || p == 8) return factor;
  for (int64_t k = 1; k <= half; ++k) {
    for (int64_t q = 1; q <= padded; ++q) {
      const double angle = 2 * std::numbers::pi * double(k * q % p) / p;
      factor.cosines.push_back(q > half ? 0 : float(std::cos(angle)));
      factor.sines.push_back(q > half ? 0 : float(std::sin(angle)));
    }
  }
  return factor;
}

// Vector instructions a sample, about, loads and stores among them.
double cost_of(int32_t size) {
  double cost = 0;
  for (const int32_t p : factors_of(size)) {
    cost += p == 2 ? 8 : p <= 4 ? 11 : p == 5 || p == 8 ? 14.5 : p + 10;
  }
  return cost;
}

bool is_fast(int32_t size) {
  for (const int32_t p : {2, 3, 5}) {
    while (size % p == 0) size /= p;
  }
  return size == 1;
}

// The kernel's errors, where it is least good, near the last wave, are about exp(-pi taps root).
// More taps lose more by rounding than they win: waves are weakened more.
int32_t taps_for(int32_t size, int32_t longer) {
  constexpr double kErrors = 14;  // -ln of them
  const double root = std::sqrt(1 - double(size) / longer);
  return 2 * int32_t(std::ceil(kErrors / (2 * std::numbers::pi * root)));
}

// The length to resample from, or 0 where the plain transform is as fast.
int32_t longer_length(int32_t size) {
  double best = cost_of(size);
  int32_t length = 0;
  for (int32_t longer = (5 * size + 3) / 4; longer <= 2 * size; ++longer) {
    const int32_t taps = taps_for(size, longer);
    if (longer < 2 * taps || !is_fast(longer)) continue;
    const double cost = cost_of(longer) * longer / size + 3.5 * taps;
    if (cost < best) {
      best = cost;
      length = longer;
    }
  }
  return length;
}

// The modified Bessel function of order 0.
double bessel(double x) {
  double sum = 1, term = 1;
  for (int k = 1; term > 1e-17 * sum; ++k) {
    term *= x * x / (4.0 * k * k);
    sum += term;
  }
  return sum;
}

// Rows of a line that turns: by four.
int32_t turned_rows(const LineTables& tables) {
  return (tables.size + 3) / 4 * 4;
}

// Floats that transform_block works in.
size_t work_floats(const LineTables& tables) {
  int32_t samples = 5;
  for (const LineTables::Factor& factor : tables.factors) samples = std::max(samples, factor.p);
  if (tables.resampling) samples = 5 + tables.resampling->longer->size + tables.resampling->taps;
  return size_t(samples * kSample);
}

// A block, whose columns become rows of `to` from row y on.
void transform_and_turn(const FourierPass& pass, int32_t y, const ComplexPlane& to) {
  HWY_DYNAMIC_DISPATCH(transform_block)(pass);
  HWY_DYNAMIC_DISPATCH(turn_block)
  ({pass.to, pass.tables->size, std::min(kFourierLanes, to.height - y), to.samples + y * kSample,
    to.block_floats()});
}

}  // namespace

PlaneMemory::PlaneMemory(size_t floats)
    : memory_(static_cast<float*>(
          ::operator new(floats * sizeof(float), std::align_val_t{kLargePage}))) {
  // Where one of these fails the system gives a small page at the first touch of each.
#ifdef MADV_HUGEPAGE
  const size_t bytes = floats * sizeof(float), large = bytes / kLargePage * kLargePage;
  (void)madvise(memory_.get(), large, MADV_HUGEPAGE);
#ifdef MADV_POPULATE_WRITE
  auto* rest = reinterpret_cast<char*>(memory_.get()) + large;
  (void)madvise(rest, (bytes - large) / kSmallPage * kSmallPage, MADV_POPULATE_WRITE);
#endif
#endif
}

void PlaneMemory::Free::operator()(float* memory) const {
  ::operator delete(memory, std::align_val_t{kLargePage});
}

float* PlaneMemory::take(size_t floats) {
  float* memory = memory_.get() + taken_;
  taken_ += floats;
  return memory;
}

Resampling::Resampling(int32_t size, int32_t longer_size)
    : longer(std::make_unique<LineTables>(longer_size)), taps(taps_for(size, longer_size)) {
  const double pi = std::numbers::pi;
  const double beta = pi * taps * (1 - size / (2.0 * longer_size));
  for (int32_t k = 0; k < size; ++k) {
    const double wave = double(2 * k < size ? k : k - size) / longer_size;
    const double root = std::sqrt(beta * beta - std::pow(pi * taps * wave, 2));
    gains.push_back(float(root / (taps * std::sinh(root))));
  }
  for (int32_t x = 0; x < size; ++x) {
    const double place = double(x) * longer_size / size;
    const double begin = std::floor(place) - taps / 2 + 1;
    first.push_back(int32_t(begin) + (begin < 0 ? longer_size : 0));
    for (int32_t k = 0; k < taps; ++k) {
      const double z = (begin + k - place) / (taps / 2.0);
      weights.push_back(float(bessel(beta * std::sqrt(std::max(0.0, 1 - z * z)))));
    }
  }
}

LineTables::LineTables(int32_t length) : size(length) {
  if (const int32_t longer = longer_length(size); longer > 0) {
    resampling = std::make_unique<Resampling>(size, longer);
    return;
  }
  for (const int32_t p : factors_of(size)) factors.push_back(tables_of(p));
  for (int32_t k = 0; k < size; ++k) {
    const double angle = 2 * std::numbers::pi * k / size;
    cosines.push_back(float(std::cos(angle)));
    sines.push_back(float(-std::sin(angle)));
  }
}

static hwy::AlignedFreeUniquePtr<float[]> zeros(size_t floats) {
  hwy::AlignedFreeUniquePtr<float[]> memory = hwy::AllocateAligned<float>(floats);
  if (memory == nullptr) throw std::bad_alloc();
  std::fill_n(memory.get(), floats, 0.0f);
  return memory;
}

PlaneTransform::PlaneTransform(int32_t width, int32_t height)
    : along_x_(width),
      along_y_(height),
      line_(zeros(size_t(std::max(turned_rows(along_x_), turned_rows(along_y_)) * kSample))),
      work_(zeros(std::max(work_floats(along_x_), work_floats(along_y_)))) {}

void PlaneTransform::forward(const float* f, float base, const ComplexPlane& middle,
                             const ComplexPlane& spectrum) {
  const int32_t width = along_x_.size;
  for (int32_t x = 0; x < width; x += kFourierLanes) {
    transform_and_turn(
        {&along_y_, f + x, nullptr, nullptr, width - x, width, base, line_.get(), work_.get()}, x,
        middle);
  }
  for (int32_t i = 0; i < fourier_blocks(spectrum.width); ++i) {
    HWY_DYNAMIC_DISPATCH(transform_block)
    ({&along_x_, middle.block(i), nullptr, nullptr, 0, 0, 0, spectrum.block(i), work_.get()});
  }
}

void PlaneTransform::backward_along_x(const ComplexPlane& spectrum, const RealPlane& a,
                                      const RealPlane& b, int32_t block,
                                      const ComplexPlane& middle) {
  transform_and_turn({&along_x_, spectrum.block(block), a.block(block), b.block(block), 0, 0, 0,
                      line_.get(), work_.get()},
                     block * kFourierLanes, middle);
}

void PlaneTransform::backward_along_y(const ComplexPlane& middle, int32_t block, float* to) {
  HWY_DYNAMIC_DISPATCH(transform_block)
  ({&along_y_, middle.block(block), nullptr, nullptr, 0, 0, 0, to, work_.get()});
}

}  // namespace grainless::tools
#endif  // HWY_ONCE
