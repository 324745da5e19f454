// SPDX-License-Identifier: MIT
#include "tools/metrics/fsim.h"

#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <ctime>
#include <limits>
#include <numbers>
#include <random>

#include "tests/support/reference_fsim.h"
#include "tool_testing.h"
#include "tools/metrics/fourier.h"
#include "tools/metrics/metrics.h"

namespace grainless::tools {
namespace {

double fsim(const Image& a, const Image& b) {
  return Fsim(a.view()).of(b.view()).value();
}

// Ramps, a board and, by `shift`, a pattern over it.
Image pattern(int32_t channels, int32_t width, int32_t height, int32_t shift) {
  Image image = make_image({Component::kU8, channels}, width, height, "test");
  uint8_t* to = image.pixels.get();
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      for (int32_t c = 0; c < channels; ++c) {
        const int32_t board = (x / 7 + y / 5) % 2 * 60, over = (x * 31 + y * 17 + c * 13) % 11;
        *to++ = static_cast<uint8_t>(3 * x * (1 + c) + y * y / (5 + c) + board + shift * over);
      }
    }
  }
  return image;
}

// A smooth picture with edges, as floats in 8-bit steps.
std::vector<double> scene(int32_t side) {
  std::vector<double> values;
  for (int32_t y = 0; y < side; ++y) {
    for (int32_t x = 0; x < side; ++x) {
      const double disc = std::hypot(x - side / 2.0, y - side / 2.5) < side / 4.0 ? 70 : 0;
      values.push_back(80 + 30 * std::sin(x / 9.0) + disc + (y > 2 * side / 3 ? 40 : 0));
    }
  }
  return values;
}

Image image_of(const std::vector<double>& values, int32_t side) {
  Image image = make_image({Component::kFloat, 1}, side, side, "test");
  auto* to = reinterpret_cast<float*>(image.pixels.get());
  for (size_t i = 0; i < values.size(); ++i) to[i] = static_cast<float>(values[i] / 255);
  return image;
}

Image noisy(const std::vector<double>& values, int32_t side, double sigma) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise;
  std::vector<double> sum = values;
  for (double& value : sum) value += sigma * noise(random);
  return image_of(sum, side);
}

Image blurred(std::vector<double> values, int32_t side, int32_t times) {
  for (int32_t t = 0; t < times; ++t) {
    const std::vector<double> before = values;
    for (int32_t i = 0; i < side * side; ++i) {
      const int32_t x = i % side, y = i / side;
      double sum = 0;
      for (int32_t k = 0; k < 9; ++k) {
        const int32_t u = std::clamp(x + k % 3 - 1, 0, side - 1);
        const int32_t v = std::clamp(y + k / 3 - 1, 0, side - 1);
        sum += before[size_t(v * side + u)] / 9;
      }
      values[size_t(i)] = sum;
    }
  }
  return image_of(values, side);
}

double fsim_of_patterns(int32_t channels, int32_t width, int32_t height) {
  return fsim(pattern(channels, width, height, 0), pattern(channels, width, height, 3));
}

// The same equations in NumPy 2 with its own FFT, on the same patterns (shift 0 against 3).
TEST(Fsim, AgreesWithPlainNumpy) {
  EXPECT_NEAR(fsim_of_patterns(1, 60, 45), 0.872576806682, 1e-6);
  EXPECT_NEAR(fsim_of_patterns(1, 64, 31), 0.862613974056, 1e-6);
  EXPECT_NEAR(fsim_of_patterns(3, 60, 45), 0.872962400976, 1e-6);
  EXPECT_NEAR(fsim_of_patterns(3, 64, 31), 0.876049567812, 1e-6);
}

std::vector<double> values_of(const Image& grey) {
  return {grey.pixels.get(), grey.pixels.get() + grey.bytes()};
}

// Odd and even sides, of large prime factors and of small ones: each edge of the spectrum has its
// own rule.
TEST(Fsim, AgreesWithItsTwinForAnySize) {
  const std::pair<int32_t, int32_t> sizes[] = {{127, 131}, {97, 251}, {61, 32}, {16, 16},
                                               {48, 37},   {7, 50},   {3, 5},   {1, 40}};
  for (const auto& [width, height] : sizes) {
    const Image a = pattern(1, width, height, 0), b = pattern(1, width, height, 3);
    const double twin = test::reference_fsim(values_of(a), values_of(b), width, height);
    EXPECT_NEAR(fsim(a, b), twin, 1e-6) << width << ' ' << height;
  }
}

TEST(Fsim, IsTheSameBitsInEveryRun) {
  const Image a = pattern(3, 97, 131, 0), b = pattern(3, 97, 131, 3);
  EXPECT_EQ(fsim(a, b), fsim(a, b));
}

// piq 0.8.0 from PyPI, another program after the authors' one. Photographs differ less:
// docs/quality.md.
TEST(Fsim, AgreesWithAnotherProgram) {
  EXPECT_NEAR(fsim_of_patterns(1, 60, 45), 0.872631, 1e-4);
  EXPECT_NEAR(fsim_of_patterns(1, 64, 48), 0.871897, 1e-4);
}

TEST(Fsim, IsOneForThePictureItselfAndSymmetric) {
  for (int32_t channels : {1, 3}) {
    const Image a = pattern(channels, 75, 52, 0), b = pattern(channels, 75, 52, 5);
    EXPECT_NEAR(fsim(a, a), 1, 1e-12);
    EXPECT_NEAR(fsim(a, b), fsim(b, a), 1e-12);
    EXPECT_GT(fsim(a, b), 0);
    EXPECT_LT(fsim(a, b), 1);
  }
}

TEST(Fsim, FallsWithNoiseAndWithBlur) {
  constexpr int32_t kSide = 128;
  const std::vector<double> clean = scene(kSide);
  Fsim reference(image_of(clean, kSide).view());
  double last = 1;
  for (double sigma : {2.0, 5.0, 10.0, 20.0, 40.0}) {
    const double now = *reference.of(noisy(clean, kSide, sigma).view());
    EXPECT_LT(now, last - 0.005) << sigma;
    last = now;
  }
  last = 1;
  for (int32_t times : {1, 2, 4, 8, 16}) {
    const double now = *reference.of(blurred(clean, kSide, times).view());
    EXPECT_LT(now, last - 0.002) << times;
    last = now;
  }
}

TEST(Fsim, BrightnessHardlyMatters) {  // it does to the edge, outside of which is 0
  std::vector<double> values = scene(64);
  const Image a = image_of(values, 64);
  for (double& value : values) value += 20;
  EXPECT_NEAR(fsim(a, image_of(values, 64)), 1, 2e-3);
}

TEST(Fsim, LargePicturesAreTakenAtTheirSmallerScale) {
  const Image a = pattern(3, 256, 260, 0), b = pattern(3, 256, 260, 3);
  const auto doubled = [](const Image& image) {
    Image large = make_image(image.format, 2 * image.width + 1, 2 * image.height, "test");
    for (int32_t y = 0; y < large.height; ++y) {
      for (int32_t x = 0; x < large.width; ++x) {
        const void* from = pixel_at(image.view(), std::min(x / 2, image.width - 1), y / 2);
        std::memcpy(const_cast<void*>(static_cast<const void*>(pixel_at(large.view(), x, y))), from,
                    3);
      }
    }
    return large;
  };
  EXPECT_NEAR(fsim(doubled(a), doubled(b)), fsim(a, b), 1e-9);
}

TEST(Fsim, ColourCounts) {
  const Image a = pattern(3, 64, 64, 0);
  Image b = pattern(3, 64, 64, 0);
  for (size_t i = 0; i < b.bytes(); i += 3) std::swap(b.pixels.get()[i], b.pixels.get()[i + 2]);
  EXPECT_LT(fsim(a, b), 0.99);
}

// std::clock() of Windows is the time of day.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(_WIN32)
template <class Work>
double seconds_of(const Work& work) {
  const std::clock_t begin = std::clock();
  work();
  return double(std::clock() - begin) / CLOCKS_PER_SEC;
}

// 321 = 3 * 107 and 481 = 13 * 37. By plain transforms they took 1.3 s of one core.
TEST(Fsim, AwkwardSizesTakeAFewTimesAsLongAsOthers) {
  const auto least_of = [](int32_t width, int32_t height) {
    const Image a = pattern(3, width, height, 0), b = pattern(3, width, height, 3);
    double least = 1e9;
    for (int i = 0; i < 3; ++i) least = std::min(least, seconds_of([&] { fsim(a, b); }));
    return least;
  };
  EXPECT_LT(least_of(321, 481), 4 * least_of(320, 480));
}

// Other processors are emulated.
#if HWY_ARCH_X86
TEST(Fsim, AwkwardSizesTakeLittleTime) {  // 0.03 s of one core
  const Image a = pattern(3, 321, 481, 0), b = pattern(3, 321, 481, 3);
  EXPECT_LT(seconds_of([&] { fsim(a, b); }), 0.4);
}

// SSIM of the same pictures is the measure, as machines differ and are busy. 367, a prime, took 5.3
// times as long with AVX-512, 7.5 with AVX2 and 13 with SSE4 before lines were resampled; it takes
// 2.3, 3.3 and 5.8 times.
TEST(Fsim, TakesAFewTimesAsLongAsSsim) {
  const bool wide = (hwy::SupportedTargets() & (HWY_AVX2 | (HWY_AVX2 - 1))) != 0;
  const Image a = pattern(3, 367, 367, 0), b = pattern(3, 367, 367, 3);
  double least = 1e9, least_ssim = 1e9;
  for (int i = 0; i < 7; ++i) {
    least = std::min(least, seconds_of([&] { fsim(a, b); }));
    least_ssim = std::min(least_ssim, seconds_of([&] { ssim(a.view(), b.view()); }));
  }
  EXPECT_LT(least, (wide ? 4.5 : 9) * least_ssim);
}
#endif
#endif

TEST(Fsim, AMedianOfManyEqualValues) {  // flat areas, whose responses are hardly more than nothing
  const Image flat = make_image({Component::kU8, 1}, 300, 200, "test");
  std::fill_n(flat.pixels.get(), flat.bytes(), uint8_t{90});
  EXPECT_NEAR(fsim(flat, flat), 1, 1e-12);
}

TEST(Fsim, NoValueWithoutFinitePixels) {
  const std::vector<double> clean = scene(32);
  std::vector<double> broken = clean;
  broken[40] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(Fsim(image_of(clean, 32).view()).of(image_of(broken, 32).view()).has_value());
}

using Complex = std::complex<double>;

// The sum over all pixels, with an exponent of this sign.
std::vector<Complex> plain_sum(const std::vector<Complex>& data, int32_t width, int32_t height,
                               int32_t sign) {
  std::vector<Complex> sums;
  for (int32_t v = 0; v < height; ++v) {
    for (int32_t u = 0; u < width; ++u) {
      Complex sum = 0;
      for (int32_t y = 0; y < height; ++y) {
        for (int32_t x = 0; x < width; ++x) {
          const double turn = double(u) * x / width + double(v) * y / height;
          sum += data[size_t(y * width + x)] * std::polar(1.0, sign * 2 * std::numbers::pi * turn);
        }
      }
      sums.push_back(sum);
    }
  }
  return sums;
}

// The planes of a transform of this size.
struct TransformPlanes {
  TransformPlanes(int32_t width, int32_t height)
      : memory(4 *
               std::max(ComplexPlane::floats(width, height), ComplexPlane::floats(height, width))),
        spectrum{height, width, memory.take(ComplexPlane::floats(height, width))},
        picture{width, height, memory.take(ComplexPlane::floats(width, height))},
        middle{height, width,
               memory.take(std::max(ComplexPlane::floats(width, height),
                                    ComplexPlane::floats(height, width)))},
        ones{height, width, memory.take(RealPlane::floats(height, width))} {
    std::fill_n(spectrum.samples, ComplexPlane::floats(height, width), 0.0F);
    std::fill_n(ones.samples, ones.floats(), 1.0F);
  }

  PlaneMemory memory;
  ComplexPlane spectrum, picture, middle;
  RealPlane ones;
};

float* place(const ComplexPlane& plane, int32_t x, int32_t y) {
  return plane.block(x / kFourierLanes) + 2 * kFourierLanes * y + x % kFourierLanes;
}

Complex sample(const ComplexPlane& plane, int32_t x, int32_t y) {
  const float* at = place(plane, x, y);
  return {double(at[0]), double(at[kFourierLanes])};
}

const std::pair<int32_t, int32_t> kTransformSizes[] = {
    {1, 1},   {2, 1},   {1, 3},   {4, 6},   {7, 5},   {30, 2},  {16, 31}, {9, 49},  {17, 1},
    {34, 23}, {64, 24}, {107, 3}, {2, 211}, {367, 2}, {2, 383}, {257, 3}, {5, 128}, {802, 1}};

TEST(Fourier, ForwardIsThePlainSumForAnyLength) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const auto& [width, height] : kTransformSizes) {
    std::vector<float> picture;
    std::vector<Complex> less;
    for (int32_t i = 0; i < width * height; ++i) {
      picture.push_back(normal(random));
      less.emplace_back(double(picture.back() - 0.125F));
    }
    const TransformPlanes planes(width, height);
    PlaneTransform(width, height).forward(picture.data(), 0.125F, planes.middle, planes.spectrum);
    const std::vector<Complex> plain = plain_sum(less, width, height, -1);
    const double tolerance = 8e-6 * std::sqrt(double(width) * height);
    for (int32_t i = 0; i < width * height; ++i) {
      const Complex found = sample(planes.spectrum, i / width, i % width);
      EXPECT_LT(std::abs(found - plain[size_t(i)]), tolerance) << width << ' ' << height;
    }
  }
}

TEST(Fourier, BackwardIsThePlainSumForAnyLength) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const auto& [width, height] : kTransformSizes) {
    const TransformPlanes planes(width, height);
    std::vector<Complex> spectrum;
    for (int32_t i = 0; i < width * height; ++i) {
      float* at = place(planes.spectrum, i / width, i % width);
      at[0] = normal(random);
      at[kFourierLanes] = normal(random);
      spectrum.push_back(sample(planes.spectrum, i / width, i % width));
    }
    PlaneTransform transform(width, height);
    const ComplexPlane middle{width, height, planes.middle.samples};
    for (int32_t i = 0; i < fourier_blocks(height); ++i) {
      transform.backward_along_x(planes.spectrum, planes.ones, planes.ones, i, middle);
    }
    for (int32_t i = 0; i < fourier_blocks(width); ++i) {
      transform.backward_along_y(middle, i, planes.picture.block(i));
    }
    const std::vector<Complex> plain = plain_sum(spectrum, width, height, 1);
    const double tolerance = 8e-6 * std::sqrt(double(width) * height);
    for (int32_t i = 0; i < width * height; ++i) {
      const Complex found = sample(planes.picture, i % width, i / width);
      const Complex exchanged{found.imag(), found.real()};
      EXPECT_LT(std::abs(exchanged - plain[size_t(i)]), tolerance) << width << ' ' << height;
    }
  }
}

}  // namespace
}  // namespace grainless::tools
