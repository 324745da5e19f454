// SPDX-License-Identifier: MIT
#include "engine/noise/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "engine/boundary/status.h"
#include "engine/noise/flat_blocks.h"
#include "engine/noise/neutral.h"
#include "engine/noise/sample.h"
#include "engine/noise/shades.h"
#include "engine/noise/weak_texture.h"

namespace grainless {
namespace {

// A picture of floats, 0..1, interleaved.
struct Picture {
  PixelFormat format;
  int32_t width, height;
  std::vector<float> values;

  Picture(int32_t channels, int32_t w, int32_t h)
      : format{Component::kFloat, channels},
        width(w),
        height(h),
        values(static_cast<size_t>(w) * h * channels) {}

  float& at(int32_t x, int32_t y, int32_t c) {
    return values[(static_cast<size_t>(y) * width + x) * format.channels + c];
  }
  ConstImage image() const {
    return {format,        width,
            height,        {0, 0, width, height},
            values.data(), ptrdiff_t{width} * format.pixel_bytes()};
  }
};

using Scene = std::function<double(int32_t x, int32_t y, int32_t c)>;  // 8-bit steps

Picture draw(int32_t channels, int32_t width, int32_t height, const Scene& scene) {
  Picture picture(channels, width, height);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      for (int32_t c = 0; c < channels; ++c) {
        picture.at(x, y, c) = static_cast<float>(scene(x, y, c) / 255);
      }
    }
  }
  return picture;
}

void add_noise(Picture& picture, double sigma, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (float& value : picture.values) value += static_cast<float>(normal(random) * (sigma / 255));
}

std::vector<uint8_t> to_bytes(const Picture& picture) {
  std::vector<uint8_t> bytes;
  for (float value : picture.values) {
    bytes.push_back(static_cast<uint8_t>(std::clamp(value * 255.0f, 0.0f, 255.0f) + 0.5f));
  }
  return bytes;
}

PictureNoise estimate(const ConstImage& image, int32_t threads = 2,
                      NoiseKind kind = NoiseKind::kSure) {
  ThreadPool pool(threads);
  return estimate_noise(image, kind, pool, {});
}

PictureNoise estimate_bytes(const Picture& picture, NoiseKind kind = NoiseKind::kSure) {
  const std::vector<uint8_t> bytes = to_bytes(picture);
  ConstImage image = picture.image();
  image.format.component = Component::kU8;
  image.data = bytes.data();
  image.row_bytes = ptrdiff_t{picture.width} * image.format.pixel_bytes();
  return estimate(image, 2, kind);
}

// Smooth hills with stripes, checks and an edge: texture at several scales.
double textured(int32_t x, int32_t y, int32_t c) {
  const double hills = 40 * std::sin(0.021 * x + 0.3 * c) * std::cos(0.017 * y);
  const double stripes = x > 160 && y > 120 ? 25 * std::sin(1.1 * x + 0.4 * y) : 0;
  const double checks = x < 90 && y < 90 ? 20 * (((x / 3) + (y / 5)) % 2) : 0;
  return 120 + hills + stripes + checks + (x + 2 * y > 600 ? 35 : 0);
}

void expect_sigma(const PictureNoise& noise, double sigma, double tolerance) {
  for (int32_t c = 0; c < noise.channels; ++c) {
    for (int32_t l = 0; l < noise.levels; ++l) {
      EXPECT_NEAR(noise.sigma[l][c], std::ldexp(sigma, -l), std::ldexp(tolerance * sigma, -l))
          << "channel " << c << " level " << l;
    }
    EXPECT_TRUE(noise.white[c]);
  }
}

void expect_nothing_found(const PictureNoise& noise) {
  for (int32_t c = 0; c < noise.channels; ++c) {
    EXPECT_LT(noise.sigma[0][c], 1.0f) << "channel " << c;
  }
}

TEST(NoiseEstimate, WhiteNoiseOverTexture) {
  for (int32_t channels : {1, 3}) {
    for (double sigma : {5.0, 10.0, 15.0, 25.0, 50.0}) {
      Picture picture = draw(channels, 320, 256, textured);
      add_noise(picture, sigma, 7);
      const PictureNoise noise = estimate(picture.image());
      EXPECT_EQ(noise.channels, channels);
      EXPECT_EQ(noise.levels, kSampleLevels);
      expect_sigma(noise, sigma, 0.06);
    }
  }
}

TEST(NoiseEstimate, NoiseFreePicturesHaveNone) {
  const Scene flat = [](int32_t, int32_t, int32_t) { return 90.0; };
  const Scene gradient = [](int32_t x, int32_t y, int32_t c) { return 20 + 0.4 * x + 0.3 * y + c; };
  const Scene radial = [](int32_t x, int32_t y, int32_t) {
    return 255 * std::exp(-(std::pow(x - 150.0, 2) + std::pow(y - 120.0, 2)) / 2e4);
  };
  const Scene graphics = [](int32_t x, int32_t y, int32_t c) {
    const bool disc = std::hypot(x - 100.0, y - 100.0) < 60, bar = x / 25 % 2 == 0 && y > 180;
    return disc ? 200.0 - 40 * c : bar ? 30.0 : 140.0;
  };
  const Scene checks = [](int32_t x, int32_t y, int32_t) {
    return (x / 2 + y / 2) % 2 * 150.0 + 50;
  };
  for (const Scene& scene : {flat, gradient, radial, graphics, checks}) {
    for (int32_t channels : {1, 3}) {
      const Picture picture = draw(channels, 300, 260, scene);
      expect_nothing_found(estimate(picture.image()));
      expect_nothing_found(estimate_bytes(picture));
    }
  }
}

// Seven eighths of the tones are textured, without a flat block and without noise.
TEST(NoiseEstimate, TextureOfMostTonesIsNotTakenForCameraNoise) {
  const auto scene = [](int32_t x, int32_t y, int32_t) {
    const double texture = 12 * std::sin(0.9 * x + 0.2 * y) + 9 * std::sin(0.31 * x - 1.1 * y) +
                           8 * std::sin(0.0021 * x * y) + 6 * std::cos(0.7 * (x + y));
    return x < 40 ? 30 + 0.2 * y + 0.7 * std::sin(0.4 * x * y) : 70 + 0.5 * x + texture;
  };
  const Picture picture = draw(1, 320, 320, scene);
  const PictureNoise camera = estimate_bytes(picture, NoiseKind::kCamera);
  EXPECT_FALSE(camera.white[0]);
  EXPECT_LT(camera.sigma[0][0], 6.0f);  // its texture has a deviation of 13
  EXPECT_LE(estimate_bytes(picture).sigma[0][0], 2.0f);
}

TEST(NoiseEstimate, SaturatedAreasDoNotBiasBytes) {
  // Half of the picture is burnt out and a quarter black, as in a photograph against the light.
  Picture picture = draw(3, 320, 320, [](int32_t x, int32_t y, int32_t) {
    return x < 160 ? 400.0 : y < 160 ? -100.0 : 100 + 0.1 * y;
  });
  add_noise(picture, 10, 3);
  expect_sigma(estimate_bytes(picture), 10, 0.06);
}

void fill_colour(Picture& picture, int32_t c, double value) {
  for (int32_t y = 0; y < picture.height; ++y) {
    for (int32_t x = 0; x < picture.width; ++x) picture.at(x, y, c) = static_cast<float>(value);
  }
}

// Under red light, under water, of one dye: a colour that is one value everywhere, mostly black or
// white, says nothing, and the others are measured.
TEST(NoiseEstimate, AnEmptyColourHidesNoNoise) {
  constexpr double kNoise = 18;
  for (const std::vector<int32_t>& empty : std::vector<std::vector<int32_t>>{{2}, {0, 2}}) {
    for (const double value : {0.0, 0.5, 1.0}) {
      Picture picture = draw(3, 256, 256, textured);
      add_noise(picture, kNoise, 21);
      for (const int32_t c : empty) fill_colour(picture, c, value);
      const PictureNoise noise = estimate_bytes(picture);
      EXPECT_EQ(noise.confidence, Confidence::kMeasured);
      const double kept = 1 - static_cast<double>(empty.size()) / 3;  // of (R + G + B) / sqrt(3)
      EXPECT_NEAR(noise.sigma[0][0], kNoise * std::sqrt(kept), 0.08 * kNoise);
    }
  }
}

Sample sample_of(const Picture& picture) {
  ThreadPool pool(2);
  return take_sample(picture.image(), pool, {});
}

int32_t count_clipped(const Sample& sample) {
  int32_t clipped = 0;
  for (const SampleTile& tile : sample.tiles) {
    clipped += count_state(tile, 0, 0, tile.width, kClipped);
  }
  return clipped;
}

TEST(NoiseEstimate, FixedColoursAreThoseOfNearlyAllPixels) {
  const Picture photograph = draw(3, 128, 128, textured);
  EXPECT_EQ(sample_of(photograph).fixed_colours, 0);
  for (const double value : {0.0, 0.2, 1.0, 40.0}) {
    Picture picture = photograph;
    fill_colour(picture, 1, value);
    for (int32_t x = 0; x < 128; ++x)
      picture.at(x, 3, 0) = x % 2 == 0 ? 0.0f : 1.0f;  // one row is clipped by red
    Sample sample = sample_of(picture);
    EXPECT_EQ(sample.fixed_colours, 1) << value;
    EXPECT_EQ(count_clipped(sample), 128) << value;
    for (int32_t y = 10; y < 12; ++y) {
      for (int32_t x = 0; x < 128; ++x) picture.at(x, y, 1) = 0.6f;
    }
    EXPECT_EQ(sample_of(picture).fixed_colours, 1) << value;  // but for 1.6 % of the pixels
    for (int32_t x = 0; x < 128; ++x) picture.at(x, 12, 1) = 0.6f;
    sample = sample_of(picture);
    EXPECT_EQ(sample.fixed_colours, 0) << value;  // 2.3 %
    const bool is_end = value == 0 || value == 1;
    EXPECT_EQ(count_clipped(sample), is_end ? 128 * 125 : 128) << value;
  }
  Picture black = photograph;
  for (int32_t c = 0; c < 3; ++c) fill_colour(black, c, 0);
  EXPECT_EQ(sample_of(black).fixed_colours, 0);
  EXPECT_EQ(count_clipped(sample_of(black)), 128 * 128);
}

TEST(NoiseEstimate, StrongNoiseThatClipsEverywhereIsStillFound) {
  Picture picture = draw(3, 256, 256, [](int32_t, int32_t, int32_t) { return 127.0; });
  add_noise(picture, 60, 3);
  const PictureNoise noise = estimate_bytes(picture);
  for (int32_t c = 0; c < 3; ++c) EXPECT_NEAR(noise.sigma[0][c], 60, 9);
}

TEST(NoiseEstimate, NeverMoreThanTheParameterTakes) {
  Picture picture = draw(3, 256, 256, [](int32_t, int32_t, int32_t) { return 127.0; });
  add_noise(picture, 170, 3);
  const PictureNoise noise = estimate(picture.image());
  for (int32_t c = 0; c < 3; ++c) EXPECT_NEAR(noise.sigma[0][c], 100, 1e-4);
}

TEST(NoiseEstimate, UnitsDoNotMatter) {
  for (const int32_t channels : {1, 3}) {
    Picture picture = draw(channels, 320, 256, textured);
    add_noise(picture, 10, 3);
    const auto sigma_in = [&](float unit) {
      Picture measured = picture;
      for (float& value : measured.values) value *= unit;
      const PictureNoise noise = estimate(measured.image());
      EXPECT_EQ(noise.confidence, Confidence::kMeasured) << unit;
      EXPECT_TRUE(noise.white[0]) << unit;
      return noise.sigma[0][0] / unit;
    };
    const float usual = sigma_in(0x1p30f);
    EXPECT_NEAR(usual, 10, 0.6);
    // Squares of the larger ones' values are no floats.
    for (const float unit : {0x1p45f, 0x1p49f, 0x1p55f, 0x1p58f}) {
      EXPECT_FLOAT_EQ(sigma_in(unit), usual) << unit;
    }
    for (float& value : picture.values) value *= 0x1p70f;
    const PictureNoise beyond = estimate(picture.image());
    EXPECT_EQ(beyond.confidence, Confidence::kLittle);
    EXPECT_EQ(beyond.sigma[0][0], 0);
  }
}

TEST(NoiseEstimate, TransparentAndNotFinitePixelsAreLeftOut) {
  Picture picture = draw(4, 320, 256, textured);
  add_noise(picture, 12, 5);
  for (int32_t y = 0; y < picture.height; ++y) {
    for (int32_t x = 0; x < picture.width; ++x) {
      picture.at(x, y, 3) = x < 100 ? 0.0f : 1.0f;
      if (x < 100) picture.at(x, y, 0) = static_cast<float>(x * y % 97);
      if (x > 250 && y > 200) picture.at(x, y, 1) = std::numeric_limits<float>::quiet_NaN();
    }
  }
  expect_sigma(estimate(picture.image()), 12, 0.08);
}

TEST(NoiseEstimate, TooFewPixelsGiveNoNoise) {
  for (int32_t side : {1, 2, 5, 9}) {
    Picture picture = draw(3, side, side, [](int32_t, int32_t, int32_t) { return 100.0; });
    add_noise(picture, 20, 1);
    const PictureNoise noise = estimate(picture.image());
    EXPECT_EQ(noise.levels, kSampleLevels);
    for (int32_t c = 0; c < 3; ++c) EXPECT_EQ(noise.sigma[0][c], 0.0f);
    EXPECT_EQ(noise.confidence, Confidence::kTooSmall);
  }
  Picture strip = draw(1, 4000, 3, [](int32_t, int32_t, int32_t) { return 100.0; });
  EXPECT_EQ(estimate(strip.image()).sigma[0][0], 0.0f);
}

// Sides that tiles of 128 pixels don't divide: no pixel is evidence twice.
TEST(NoiseEstimate, NoiseAloneIsFoundInAFewPixels) {
  for (const int32_t side : {25, 31, 41, 130}) {
    for (const int32_t channels : {1, 3}) {
      Picture picture = draw(channels, side, side, [](int32_t, int32_t, int32_t) { return 100.0; });
      add_noise(picture, 10, 5);
      const PictureNoise noise = estimate(picture.image());
      for (int32_t c = 0; c < channels; ++c) EXPECT_NEAR(noise.sigma[0][c], 10, 1.5) << side;
      EXPECT_EQ(noise.confidence, Confidence::kMeasured) << side;
    }
  }
}

TEST(NoiseEstimate, SameBitsForAnyNumberOfThreads) {
  Picture picture = draw(3, 700, 500, textured);
  add_noise(picture, 8, 11);
  const PictureNoise one = estimate(picture.image(), 1);
  for (int32_t threads : {2, 3, 7}) {
    const PictureNoise other = estimate(picture.image(), threads);
    EXPECT_EQ(std::memcmp(one.sigma, other.sigma, sizeof one.sigma), 0);
  }
}

// Over the scene: noise smoothed by a 3 x 3 binomial filter, as demosaicing and noise reduction
// leave it, with some of it as it was, and its sigma.
Picture smoothed_noise(const Scene& scene, double sigma, double& truth, double rest = 0) {
  Picture noise(3, 322, 258);
  add_noise(noise, sigma, 9);
  const double weight[3] = {0.25, 0.5, 0.25};
  double power = 0;
  for (double a : weight) {
    for (double b : weight) power += a * a * b * b;
  }
  truth = sigma * std::sqrt(power + 2 * rest * weight[1] * weight[1] + rest * rest);
  return draw(3, 320, 256, [&](int32_t x, int32_t y, int32_t c) {
    double sum = 0;
    for (int32_t i = 0; i < 9; ++i) {
      sum += weight[i / 3] * weight[i % 3] * noise.at(x + i % 3, y + i / 3, c);
    }
    return scene(x, y, c) + 255 * (sum + rest * noise.at(x + 1, y + 1, c));
  });
}

TEST(NoiseEstimate, NoiseWithoutItsFinestBandIsFoundAndNotCalledWhite) {
  const auto slope = [](int32_t x, int32_t y, int32_t) { return 110 + 0.1 * x + 0.1 * y; };
  double truth = 0;
  const PictureNoise found = estimate(smoothed_noise(slope, 20, truth).image());
  for (int32_t c = 0; c < 3; ++c) {
    EXPECT_FALSE(found.white[c]);
    EXPECT_GT(found.sigma[0][c], 0.8 * truth);
    EXPECT_LT(found.sigma[0][c], 2.0 * truth);
    EXPECT_GT(found.sigma[1][c], 0.6 * found.sigma[0][c]);
  }
  EXPECT_FALSE(found.like_grain);
  EXPECT_FALSE(found.was_white);
}

// Noise as a demosaicing that follows edges leaves it: luma's is white but for its finest
// diagonals, colours' is smooth and weaker.
Picture demosaiced(const Scene& scene, double sigma) {
  constexpr int32_t kWidth = 512, kHeight = 384, kAround = 3;
  Picture noise(3, kWidth + 2 * kAround, kHeight + 2 * kAround);
  add_noise(noise, sigma, 21);
  return draw(3, kWidth, kHeight, [&](int32_t x, int32_t y, int32_t c) {
    const auto at = [&](int32_t i, int32_t j, int32_t k) {
      return 255.0 * noise.at(x + kAround + i, y + kAround + j, k);
    };
    const double luma =
        at(0, 0, 1) + 0.1 * (at(-1, 0, 1) + at(1, 0, 1) + at(0, -1, 1) + at(0, 1, 1));
    double colour = 0;
    for (int32_t j = -1; j <= 1; ++j) {
      for (int32_t i = -1; i <= 1; ++i) colour += at(i, j, c) * std::pow(0.2, i * i + j * j);
    }
    return scene(x, y, c) + luma + (c == 1 ? 0 : 0.7 * colour);
  });
}

TEST(NoiseEstimate, StrongNoiseBehindDemosaicingIsToldFromTexture) {
  // Calm enough for nobody: a wall of stripes, as rough as the noise.
  const auto wall = [](int32_t x, int32_t y, int32_t) {
    const double hills = 50 * std::sin(0.013 * x) * std::cos(0.011 * y);
    return 120 + hills + (x > 200 ? 25 * std::sin(0.35 * x + 0.2 * y) : 0);
  };
  for (const double sigma : {8.0, 14.0}) {
    const double luma = sigma * std::sqrt(3.0 * (1 + 4 * 0.1 * 0.1));
    const PictureNoise found = estimate_bytes(demosaiced(wall, sigma));
    EXPECT_EQ(found.confidence, Confidence::kMeasured);
    EXPECT_NEAR(found.sigma[0][0], luma, 0.25 * luma);
    EXPECT_FLOAT_EQ(found.strength[0], 1.0f);
  }
  // The same picture without noise is left as it is.
  EXPECT_LT(estimate_bytes(demosaiced(wall, 0)).sigma[0][0], 3.0f);
}

// Kinds of pictures that have no noise, and were taken for noisy ones.

// Strokes one pixel wide, in bundles.
double line_art(int32_t x, int32_t y, int32_t) {
  const bool left = x % 160 < 80;
  const int32_t across = left ? x + y / 3 : x / 2 - y;
  return across % 7 == 0 && (x / 40 + y / 30) % 3 != 0 ? 0.0 : 255.0;
}

// Black letters' worth of edges on white.
double text(int32_t x, int32_t y, int32_t) {
  if (y % 18 > 11 || x < 64) return 255;
  const uint32_t letter = static_cast<uint32_t>(x / 8 + 97 * (y / 18)) * 2654435761u;
  const int32_t u = x % 8, v = y % 18;
  const bool stroke = ((letter >> (u / 2 + 4 * (v / 3))) & 1) != 0 && u < 7;
  return stroke ? 20 : u == 7 || v == 0 ? 255 : ((letter >> 20) & 3) == 0 ? 140 : 255;
}

// Black dots whose size follows the tone, as a scan of a print shows them: averaged 2 x 2.
double halftone(int32_t x, int32_t y, int32_t c) {
  double sum = 0;
  for (int32_t i = 0; i < 4; ++i) {
    const double px = 2 * x + i % 2, py = 2 * y + i / 2, angle = 0.3 + 0.5 * c;
    const double u = (px * std::cos(angle) + py * std::sin(angle)) * 0.63;
    const double v = (py * std::cos(angle) - px * std::sin(angle)) * 0.63;
    const double tone = 0.3 + 0.4 * (px + 0.5 * py) / 1000;
    sum += 0.5 + 0.25 * (std::cos(u) + std::cos(v)) < tone ? 235 : 20;
  }
  return sum / 4;
}

double hills(int32_t x, int32_t y, int32_t c) {
  return 128 + 60 * std::sin(0.013 * x + c) * std::cos(0.017 * y);
}

// Hills in 6 levels a colour, the threshold from pixel to pixel another one.
double dithered(int32_t x, int32_t y, int32_t c) {
  const int32_t bayer[16] = {0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5};
  const double threshold = (bayer[y % 4 * 4 + x % 4] + 0.5) / 16;
  return 51 * std::floor(hills(x, y, c) / 51 + threshold);
}

// Random values at the corners of squares of 2, 4, ... 32 pixels, smooth between them: as strong
// in every octave.
double all_octaves(int32_t x, int32_t y, int32_t c) {
  const auto corner = [c](int32_t i, int32_t j, int32_t side) {
    const auto part = [](int32_t value, uint32_t by) { return static_cast<uint32_t>(value) * by; };
    uint32_t hash = part(i, 73856093) ^ part(j, 19349663) ^ part(side, 83492791) ^ part(c, 1019);
    for (int32_t round = 0; round < 3; ++round) hash = (hash ^ (hash >> 15)) * 2246822519u + 7;
    hash ^= hash >> 15;
    return hash / 4294967296.0 - 0.5;
  };
  double sum = 128;
  for (int32_t side = 2; side <= 32; side *= 2) {
    const int32_t i = x / side, j = y / side;
    const double u = x % side / static_cast<double>(side), v = y % side / static_cast<double>(side);
    const double top = (1 - u) * corner(i, j, side) + u * corner(i + 1, j, side);
    const double bottom = (1 - u) * corner(i, j + 1, side) + u * corner(i + 1, j + 1, side);
    sum += 35 * ((1 - v) * top + v * bottom);
  }
  return sum;
}

// A dark gradient with stars as lenses draw them.
double stars(int32_t x, int32_t y, int32_t) {
  const int32_t cell = 24;
  const uint32_t hash = static_cast<uint32_t>(x / cell + 131 * (y / cell)) * 2654435761u;
  const double dx = x % cell - 8.0 - hash % 7, dy = y % cell - 8.0 - (hash >> 8) % 7;
  const double light = 8 + (hash >> 16) % 200;
  return 18 + 0.05 * y + light * std::exp(-(dx * dx + dy * dy) / 1.5);
}

// Random clumps about 4 pixels wide, everywhere: film grain that belongs to the picture.
Picture grainy(int32_t channels) {
  Picture noise(1, 340, 340);
  add_noise(noise, 60, 21);
  return draw(channels, 320, 320, [&](int32_t x, int32_t y, int32_t c) {
    double sum = 0, weights = 0;
    for (int32_t dy = 0; dy < 9; ++dy) {
      for (int32_t dx = 0; dx < 9; ++dx) {
        const double w = std::exp(-((dx - 4) * (dx - 4) + (dy - 4) * (dy - 4)) / 4.5);
        sum += w * noise.at(x + dx, y + dy, 0);
        weights += w;
      }
    }
    return hills(x, y, c) + 255 * 2.2 * sum / weights;
  });
}

void expect_harmless(const PictureNoise& noise, const char* what) {
  EXPECT_LE(noise.sigma[0][0], noise.channels == 1 ? 2.0f : 2.8f) << what;
  for (int32_t c = 1; c < noise.channels; ++c) EXPECT_LE(noise.sigma[0][c], 1.0f) << what;
  EXPECT_NE(noise.confidence, Confidence::kMeasured) << what;
  for (int32_t c = 0; c < noise.channels; ++c) EXPECT_EQ(noise.strength[c], 1.0f) << what;
}

// Colour tells that there is noise, and texture everywhere adds to what luma shows of it.
TEST(NoiseEstimate, TextureEverywhereDoesNotAddToACamerasNoise) {
  const auto water = [](int32_t x, int32_t y, int32_t) {
    const double rough = 0.45 + x / 320.0;
    return 128 + rough * (all_octaves(x, y, 0) - 128);
  };
  double truth = 0;
  const PictureNoise found = estimate_bytes(smoothed_noise(water, 16, truth));
  EXPECT_EQ(found.confidence, Confidence::kUnsure);
  EXPECT_LT(found.sigma[0][0], truth);
  EXPECT_EQ(estimate_bytes(smoothed_noise(hills, 20, truth, 0.1)).confidence,
            Confidence::kMeasured);
}

TEST(NoiseEstimate, CleanPicturesOfAllKindsAreNotHarmed) {
  const struct {
    const char* name;
    Scene scene;
  } kinds[] = {{"line art", line_art}, {"text", text},           {"halftone", halftone},
               {"dither", dithered},   {"octaves", all_octaves}, {"stars", stars}};
  for (const auto& [name, scene] : kinds) {
    for (int32_t channels : {1, 3}) {
      expect_harmless(estimate_bytes(draw(channels, 320, 256, scene)), name);
    }
  }
  for (int32_t channels : {1, 3}) expect_harmless(estimate_bytes(grainy(channels)), "grain");
}

// The calmest patches of a small piece hold texture, and weak noise is not told from it: what is
// found harms a picture with noise of 0.5 if it is much more.
TEST(NoiseEstimate, TextureOfASmallPieceIsNotTakenForNoise) {
  const struct {
    int32_t width, height;
  } pieces[] = {{28, 28}, {40, 56}, {256, 31}, {96, 96}, {120, 90}};
  for (const auto& [width, height] : pieces) {
    for (const int32_t channels : {1, 3}) {
      Picture piece = draw(channels, width, height, all_octaves);
      add_noise(piece, 0.5, 17);
      for (const PictureNoise& noise : {estimate(piece.image()), estimate_bytes(piece)}) {
        for (int32_t c = 0; c < channels; ++c) {
          EXPECT_LT(noise.sigma[0][c], 0.6f) << width << " x " << height << " channel " << c;
        }
        EXPECT_NE(noise.confidence, Confidence::kMeasured) << width << " x " << height;
      }
    }
  }
}

// What noise surely is, is found in a piece as well: strong noise, and weak noise that
// colours show.
TEST(NoiseEstimate, NoiseOfASmallPieceIsFound) {
  for (const int32_t channels : {1, 3}) {
    Picture strong = draw(channels, 96, 80, textured);
    add_noise(strong, 12, 19);
    EXPECT_NEAR(estimate(strong.image()).sigma[0][0], 12, 1.2) << channels;
  }
  Picture weak = draw(3, 160, 128, textured);
  add_noise(weak, 3, 19);
  const PictureNoise noise = estimate(weak.image());
  for (int32_t c = 0; c < 3; ++c) EXPECT_NEAR(noise.sigma[0][c], 3, 0.6) << c;
}

// The grain of a scan: blurred a little, so that it doesn't halve from level to level.
Picture with_grain(int32_t channels, double sigma) {
  constexpr int32_t kWide = 322, kHigh = 258;
  std::mt19937 random(77);
  std::normal_distribution<double> normal;
  std::vector<double> noise(static_cast<size_t>(kWide) * kHigh);
  for (double& value : noise) value = normal(random);
  const auto at = [&](int32_t x, int32_t y) { return noise[static_cast<size_t>(y) * kWide + x]; };
  // 0.85 in the middle and 0.13 beside it: 0.85^2 + 4 * 0.13^2 = 0.79.
  const auto grain = [&](int32_t x, int32_t y) {
    return (0.85 * at(x + 1, y + 1) +
            0.13 * (at(x, y + 1) + at(x + 2, y + 1) + at(x + 1, y) + at(x + 1, y + 2))) /
           std::sqrt(0.79);
  };
  return draw(channels, kWide - 2, kHigh - 2, [&](int32_t x, int32_t y, int32_t c) {
    return hills(x, y, c) + sigma * grain(x, y);
  });
}

// What a picture had before weak noise came to it is its own: filtering it away loses more than
// the noise is worth.
TEST(NoiseEstimate, WeakNoiseIsToldFromAPicturesOwnGrain) {
  Picture grey = with_grain(1, 2.4);
  add_noise(grey, 1, 3);
  const float found = estimate(grey.image()).sigma[0][0];
  EXPECT_GT(found, 0.5f);
  EXPECT_LT(found, 1.2f);  // the finest band of both shows 1.4
  Picture colour = with_grain(3, 1.6);
  add_noise(colour, 1, 3);
  const PictureNoise noise = estimate(colour.image());
  EXPECT_NEAR(noise.sigma[0][1], 1.0, 0.15);
  EXPECT_NEAR(noise.sigma[0][0], 1.0, 0.15);  // the finest band of both shows 1.6
}

// Stronger noise is what it was, whatever grain there is.
TEST(NoiseEstimate, GrainDoesNotHideNoise) {
  for (const int32_t channels : {1, 3}) {
    Picture picture = with_grain(channels, 1.6);
    add_noise(picture, 6, 3);
    EXPECT_NEAR(estimate(picture.image()).sigma[0][0], 6.1, 0.4);
  }
}

TEST(NoiseEstimate, NoiseIsStillMeasuredOnWhatIsDrawn) {
  for (const Scene& scene : {Scene(text), Scene(stars), Scene(hills)}) {
    for (int32_t channels : {1, 3}) {
      Picture picture = draw(channels, 320, 256, scene);
      add_noise(picture, 10, 31);
      const PictureNoise noise = estimate(picture.image());
      expect_sigma(noise, 10, 0.08);
      EXPECT_EQ(noise.confidence, Confidence::kMeasured);
    }
  }
}

// Four fifths of it: the noise of what is in it is what counts.
TEST(NoiseEstimate, AMountOfOneColourSaysNothingOfThePhotographInIt) {
  for (const int32_t channels : {1, 3}) {
    Picture photograph =
        draw(channels, 320, 256, [](int32_t x, int32_t y, int32_t c) { return textured(x, y, c); });
    add_noise(photograph, 12, 3);
    const auto mounted = [&](const auto& mount) {
      return draw(channels, 700, 560, [&](int32_t x, int32_t y, int32_t c) -> double {
        const int32_t px = x - 190, py = y - 152;
        const bool inside = px >= 0 && py >= 0 && px < 320 && py < 256;
        return inside ? 255.0 * photograph.at(px, py, c) : mount(x, y, c);
      });
    };
    const PictureNoise alone = estimate_bytes(photograph);
    const PictureNoise framed =
        estimate_bytes(mounted([](int32_t, int32_t, int32_t c) { return 40.0 + 9 * c; }));
    EXPECT_EQ(framed.confidence, Confidence::kMeasured);
    EXPECT_NEAR(framed.sigma[0][0], alone.sigma[0][0], 0.08 * alone.sigma[0][0]);
    // A drawing around it is one.
    const PictureNoise drawn =
        estimate_bytes(mounted([](int32_t x, int32_t, int32_t) { return 40.0 + x / 30 % 5 * 9; }));
    EXPECT_EQ(drawn.confidence, Confidence::kLittle);
  }
}

// White noise becomes coarse in editing, and texture everywhere adds to what luma shows of it. It
// is that of the colours: nothing has taken more of theirs.
TEST(NoiseEstimate, NoiseOfAnEditedPictureIsThatOfItsColours) {
  const auto water = [](int32_t x, int32_t y, int32_t) {
    const double rough = 0.3 + x / 320.0;
    return 128 + rough * (all_octaves(x, y, 0) - 128);
  };
  for (const double sigma : {4.0, 6.0, 10.0, 16.0}) {
    double truth = 0;
    const PictureNoise found = estimate_bytes(smoothed_noise(water, sigma, truth, 0.2));
    EXPECT_TRUE(found.was_white);
    EXPECT_FALSE(found.white[0]);
    EXPECT_EQ(found.confidence, Confidence::kMeasured);
    EXPECT_NEAR(found.sigma[0][0], 1.1 * truth, 0.15 * truth);
    for (int32_t c = 1; c < 3; ++c) EXPECT_NEAR(found.sigma[0][c], 1.4 * truth, 0.2 * truth);
  }
}

// What a program has filled, or a lens never let through: luma and chroma of the two that are left
// hold each other's texture, and none of it is a camera's coarse noise.
TEST(NoiseEstimate, TwoColoursDoNotTellOfCoarseNoise) {
  double truth = 0;
  Picture picture = smoothed_noise(textured, 12, truth, 0.2);
  EXPECT_EQ(estimate_bytes(picture).confidence, Confidence::kMeasured);
  for (const double value : {0.0, 0.5}) {
    fill_colour(picture, 2, value);
    const PictureNoise noise = estimate_bytes(picture);
    EXPECT_NE(noise.confidence, Confidence::kMeasured);
    EXPECT_LE(noise.sigma[0][0], 2.8f);
    EXPECT_LE(std::max(noise.sigma[0][1], noise.sigma[0][2]), 1.0f);
  }
}

// A scan's grain becomes coarse when the picture is straightened, as a camera's noise is.
TEST(NoiseEstimate, GrainOfAStraightenedPictureIsNotTakenForACamerasNoise) {
  Picture scan = draw(3, 400, 320, [](int32_t x, int32_t y, int32_t c) {
    return textured(x, y, c) + 6 * std::sin(1.9 * x + 0.3 * c) * std::sin(1.7 * y);
  });
  add_noise(scan, 1.4, 5);
  const auto between = [&](double x, double y, int32_t c) {
    const auto left = static_cast<int32_t>(x), top = static_cast<int32_t>(y);
    const double right = x - left, down = y - top;
    return 255 *
           std::lerp(std::lerp(scan.at(left, top, c), scan.at(left + 1, top, c), right),
                     std::lerp(scan.at(left, top + 1, c), scan.at(left + 1, top + 1, c), right),
                     down);
  };
  const Picture straight = draw(3, 360, 280, [&](int32_t x, int32_t y, int32_t c) {
    return between(15 + x - 0.035 * y, 5 + y + 0.035 * x, c);
  });
  const PictureNoise noise = estimate_bytes(straight);
  EXPECT_LE(noise.sigma[0][0], 2.8f);
  EXPECT_LE(std::max(noise.sigma[0][1], noise.sigma[0][2]), 1.0f);
}

// As most scans and JPEG files have them: 256 colours at most, which are no palette's.
TEST(NoiseEstimate, BlackAndWhiteInThreeEqualChannelsIsMeasuredAsGrey) {
  Picture grey = draw(1, 320, 256, [](int32_t x, int32_t y, int32_t) { return textured(x, y, 0); });
  add_noise(grey, 12, 3);
  Picture equal = draw(3, grey.width, grey.height,
                       [&](int32_t x, int32_t y, int32_t) { return 255 * grey.at(x, y, 0); });
  for (int32_t i = 0; i < 100; ++i) equal.at(20 + i, 250, 0) = 1;  // a red stamp
  const PictureNoise of_grey = estimate_bytes(grey), of_equal = estimate_bytes(equal);
  EXPECT_EQ(of_equal.channels, 3);
  EXPECT_EQ(of_equal.confidence, Confidence::kMeasured);
  EXPECT_NEAR(of_grey.sigma[0][0], 12, 1);
  EXPECT_NEAR(of_equal.sigma[0][0], std::sqrt(3.0) * of_grey.sigma[0][0], 0.3);
  EXPECT_EQ(of_equal.sigma[0][1], 0);
  EXPECT_EQ(of_equal.sigma[0][2], 0);
  EXPECT_NEAR(estimate(equal.image()).sigma[0][0], of_equal.sigma[0][0], 0.3);  // more than 8 bits
}

TEST(NoiseEstimate, BlackAndWhiteInThreeEqualChannelsIsNotHarmed) {
  const Picture clean =
      draw(3, 320, 256, [](int32_t x, int32_t y, int32_t) { return textured(x, y, 0); });
  const PictureNoise noise = estimate_bytes(clean);
  EXPECT_LE(noise.sigma[0][0], std::sqrt(3.0) * 2);
  EXPECT_NE(noise.confidence, Confidence::kMeasured);
}

// A black-and-white photograph that a program has toned: 256 colours at most, each channel
// following from the grey. Clipped ones, too: sepia's red and green reach white before blue.
TEST(NoiseEstimate, TonedPhotographsAreMeasuredAsGrey) {
  Picture grey = draw(1, 320, 256, [](int32_t x, int32_t y, int32_t) { return textured(x, y, 0); });
  add_noise(grey, 12, 3);
  for (float& value : grey.values) value = std::rint(255 * std::clamp(value, 0.0f, 1.0f)) / 255;
  const PictureNoise of_grey = estimate_bytes(grey);
  const double sepia[] = {1.351, 1.203, 0.937}, scaled[] = {1, 0.85, 0.65};
  for (const double* gain : {sepia, scaled}) {
    const auto toned = [&](int32_t x, int32_t y, int32_t c) {
      return std::min(255.0, 255 * gain[c] * grey.at(x, y, 0));
    };
    Picture picture = draw(3, grey.width, grey.height, toned);
    const PictureNoise noise = estimate_bytes(picture);
    EXPECT_EQ(noise.confidence, Confidence::kMeasured);
    EXPECT_TRUE(noise.toned);
    const double luma = (gain[0] + gain[1] + gain[2]) / std::sqrt(3.0);
    EXPECT_NEAR(noise.sigma[0][0], luma * of_grey.sigma[0][0], 0.06 * luma * 12);
    EXPECT_NEAR(noise.sigma[0][1], (gain[0] - gain[2]) / std::sqrt(2.0) * 12, 0.5);
    EXPECT_NEAR(noise.sigma[0][2], std::abs(gain[0] - 2 * gain[1] + gain[2]) / std::sqrt(6.0) * 12,
                0.5);
    EXPECT_NEAR(estimate(picture.image()).sigma[0][0], noise.sigma[0][0], 0.3);  // more than 8 bits
    // Noise of each channel's own, as a scanned print has it, is that of colour.
    add_noise(picture, 12, 4);
    EXPECT_FALSE(estimate_bytes(picture).toned);
  }
  const auto clean = [&](int32_t x, int32_t y, int32_t c) { return scaled[c] * textured(x, y, 0); };
  EXPECT_NE(estimate_bytes(draw(3, 320, 256, clean)).confidence, Confidence::kMeasured);
}

// Dithered greys are a palette's as long as they lie apart; those of a dark photograph don't.
TEST(NoiseEstimate, FewGreysApartAreAPalettes) {
  for (const int32_t channels : {1, 3}) {
    const auto levels_of = [&](double step) {
      std::mt19937 random(5);
      std::normal_distribution<double> normal(0, 1.2 * step);
      std::vector<double> noise(320 * 256);
      for (double& value : noise) value = normal(random);
      return draw(channels, 320, 256, [&](int32_t x, int32_t y, int32_t) {
        const double value = textured(x, y, 0) * step / 8 + noise[y * 320 + x];
        return std::clamp(std::rint(value / step), 0.0, 31.0) * step;
      });
    };
    EXPECT_EQ(estimate_bytes(levels_of(8)).sigma[0][0], 0) << channels;
    EXPECT_GT(estimate_bytes(levels_of(1)).sigma[0][0], 0.8) << channels;
  }
}

TEST(NoiseEstimate, SaysHowSureItIs) {
  EXPECT_EQ(estimate_bytes(draw(1, 300, 300, hills)).confidence, Confidence::kLittle);
  Picture mixed = grainy(1);
  add_noise(mixed, 4, 5);
  EXPECT_EQ(estimate(mixed.image()).confidence, Confidence::kUnsure);
  EXPECT_STREQ(confidence_id(Confidence::kUnsure), "unsure");
  EXPECT_EQ(confidence_text(Confidence::kTooSmall), "too small to measure");
}

TEST(NoiseEstimate, CancelStops) {
  CancelToken cancel;
  cancel.cancel();
  ThreadPool pool(2);
  const Picture picture = draw(1, 64, 64, textured);
  EXPECT_THROW(estimate_noise(picture.image(), NoiseKind::kSure, pool, {&cancel, {}}), Error);
}

TEST(NoiseSample, TilesShareLessThanHalfOfASmallImage) {
  for (const int32_t width : {24, 25, 31, 100, 128, 130, 200, 250, 256, 321, 500}) {
    for (const int32_t height : {24, 39, 129, 300}) {
      int32_t pixels = 0;
      for (const SampleTile& tile : sample_tiles(width, height, kSampleTiles)) {
        pixels += tile.width * tile.height;
      }
      EXPECT_GE(pixels, 0.75 * width * height) << width << " x " << height;
      EXPECT_LE(pixels, 1.8 * width * height) << width << " x " << height;
    }
  }
}

TEST(NoiseSample, LargeImagesAreSampledEvenly) {
  const std::vector<uint8_t> bytes(20000 * 3000, 17);
  const ConstImage image{{Component::kU8, 1}, 20000,        3000,
                         {0, 0, 20000, 3000}, bytes.data(), 20000};
  ThreadPool pool(2);
  const Sample sample = take_sample(image, pool, {});
  EXPECT_LE(sample.tiles.size(), 96u);
  EXPECT_GE(sample.tiles.size(), 48u);
  int32_t right = 0, bottom = 0;
  for (const SampleTile& tile : sample.tiles) {
    right = std::max(right, tile.x + tile.width);
    bottom = std::max(bottom, tile.y + tile.height);
  }
  EXPECT_EQ(right, 20000);
  EXPECT_EQ(bottom, 3000);
}

// Brighter than the pieces of the curve can be counted: UBSan looks on.
Shades shades_of(const Picture& picture) {
  ThreadPool pool(2);
  return measure_shades(take_sample(picture.image(), pool, {}), 32, pool);
}

TEST(Shades, NoiseOfColoursIsApartAndShadesOfOneAreNot) {
  Picture noise = draw(3, 200, 150, [](int32_t, int32_t, int32_t) { return 120.0; });
  add_noise(noise, 6, 3);
  EXPECT_GT(shades_of(noise).apart, 0.8);
  EXPECT_LT(shades_of(noise).told, 0.1);
  EXPECT_NEAR(shades_of(noise).v_with_luma, 0, 0.1);
  EXPECT_LT(shades_of(noise).spread, 1.2);
  Picture shades(3, 200, 150);
  for (int32_t y = 0; y < 150; ++y) {
    for (int32_t x = 0; x < 200; ++x) {
      for (int32_t c = 0; c < 3; ++c) {
        shades.at(x, y, c) = (0.6f - 0.2f * static_cast<float>(c)) * noise.at(x, y, 0);
      }
    }
  }
  EXPECT_LT(shades_of(shades).apart, 0.05);
  EXPECT_GT(shades_of(shades).told, 0.95);
  const Picture small = draw(3, 20, 20, [](int32_t, int32_t, int32_t) { return 120.0; });
  EXPECT_EQ(shades_of(small).apart, 1);
}

TEST(Shades, ValuesBeyondAllPicturesAreBorne) {
  for (const double scale : {1e10, 1e18, 1e25, 1e36}) {
    Picture noise = draw(3, 200, 150, [](int32_t, int32_t, int32_t) { return 120.0; });
    add_noise(noise, 20, 3);
    for (float& value : noise.values) value *= static_cast<float>(scale);
    const Shades shades = shades_of(noise);
    EXPECT_GE(shades.apart, 0) << scale;
    EXPECT_GE(shades.spread, 0) << scale;
    estimate(noise.image());
  }
}

TEST(Shades, VRisesWithTheNoiseOfRedAndBlueAndFallsWithThatOfGreen) {
  for (const int32_t noisy : {0, 1, 2}) {
    Picture noise = draw(3, 200, 150, [](int32_t, int32_t, int32_t) { return 120.0; });
    add_noise(noise, 2, 3);
    std::mt19937 random(5);
    std::normal_distribution<double> normal(0, 8 / 255.0);
    for (int32_t y = 0; y < 150; ++y) {
      for (int32_t x = 0; x < 200; ++x) {
        noise.at(x, y, noisy) += static_cast<float>(normal(random));
      }
    }
    const double v = shades_of(noise).v_with_luma;
    EXPECT_TRUE(noisy == 1 ? v < -0.5 : v > 0.3) << noisy << ": " << v;
  }
}

TEST(Toning, IsFoundFarBeyondWhite) {
  Sample sample;
  sample.channels = 3;
  SampleTile& tile = sample.tiles.emplace_back();
  tile.width = tile.height = 16;
  tile.state.assign(256, 0);
  const float luma = std::ldexp(1.0f, 35);
  for (int32_t i = 0; i < 256; ++i) {
    const float pixel = i % 2 == 0 ? luma : 2 * luma;
    tile.plane[0][0].push_back(pixel);
    tile.plane[0][1].push_back(-pixel / 4);
    tile.plane[0][2].push_back(0);
  }
  const auto toning = find_toning(sample);
  ASSERT_TRUE(toning.has_value());
  EXPECT_EQ(toning->slope[1], 0.25f);
  EXPECT_EQ(toning->slope[2], 0.0f);
}

TEST(SmallestEigenvalue, OfKnownMatrices) {
  std::vector<double> diagonal = {3, 0, 0, 0, 0.5, 0, 0, 0, 2};
  EXPECT_NEAR(smallest_eigenvalue(diagonal, 3), 0.5, 1e-12);
  // The second difference matrix: 2 - 2 cos(pi / (n + 1)).
  const int32_t n = 12;
  std::vector<double> second(n * n, 0.0);
  for (int32_t i = 0; i < n; ++i) {
    second[i * n + i] = 2;
    if (i > 0) second[i * n + i - 1] = second[(i - 1) * n + i] = -1;
  }
  EXPECT_NEAR(smallest_eigenvalue(second, n), 2 - 2 * std::cos(std::acos(-1.0) / (n + 1)), 1e-10);
  // R diag(1..4) R' with a reflection R = 1 - 2 v v'.
  const double v[4] = {0.5, -0.5, 0.1, 0.7};
  std::vector<double> full(16, 0.0);
  for (int32_t i = 0; i < 4; ++i) {
    for (int32_t j = 0; j < 4; ++j) {
      for (int32_t k = 0; k < 4; ++k) {
        full[i * 4 + j] += ((i == k) - 2 * v[i] * v[k]) * (k + 1) * ((j == k) - 2 * v[j] * v[k]);
      }
    }
  }
  EXPECT_NEAR(smallest_eigenvalue(full, 4), 1.0, 1e-10);
}

}  // namespace
}  // namespace grainless
