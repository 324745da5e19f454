// SPDX-License-Identifier: MIT
#include "motion.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace grainless {
namespace {

// What noise leaves a displacement to explain, by level, and of how much of its variance it has at
// quarter resolution. Measured on bursts of simulated cameras (docs/quality.md).
constexpr double kMostMotion[kSampleLevels] = {0.01, 0.02, 0.04};
constexpr double kMostAtQuarter = 0.2;
constexpr size_t kFewestFine = 4;  // one of so many squares
// Normal noise has 3; of 64 such bursts' 36 squares one had 14. Stars or rain, one pixel of a
// hundred and each layer's elsewhere, have 50.
constexpr double kMostKurtosis = 16;
// What being sharper may explain: of noise it is a hundredth, and of displacements as little.
constexpr double kMostSharpness = 0.3;

// At most that share of the difference explained by a displacement of so many pixels, from which
// half of the squares stray by no more than `spread`; none that strays further than `apart` belongs
// to it. Measured on simulated bursts: shaken frames stray by 0.02 to 0.1, leaves by 0.13 and more.
struct Shake {
  double share, pixels, spread, apart;
};
constexpr Shake kKnownNoise{0.12, 0.6, 0.12, 0.3}, kHiddenBetween{0.4, 0.9, 0.12, 0.3},
    kHiddenFurther{0.5, 0.9, 0.12, 0.3}, kKnownOnAverage{0.35, 0.9, 0.12, 0.3};
// Of the variance that layers differ by: one that alone shows more of it took texture for noise.
constexpr double kMistaken = 2;
constexpr double kOneMore = 1.5;  // a square's share over the median

struct Part {
  int32_t left, top, width, height;
  Part at(int32_t level) const {
    return {left >> level, top >> level, width >> level, height >> level};
  }
};

bool has_invalid(const SampleTile& tile, const Part& part) {
  for (int32_t y = part.top; y < part.top + part.height; ++y) {
    const uint8_t* state = tile.state.data() + static_cast<size_t>(y) * tile.width + part.left;
    const auto invalid = [](uint8_t bits) { return (bits & kInvalid) != 0; };
    if (std::any_of(state, state + part.width, invalid)) return true;
  }
  return false;
}

struct Comparison {
  double energy = 0;           // of the difference, a pixel
  double kurtosis = 0;         // of its values
  double share = 0;            // of it that one displacement explains
  double right = 0, down = 0;  // which, in pixels of that level
  double blur = 0;             // and its deviation
  double sharpness = 0;        // share of it that one layer's being sharper explains
};

// Gradients and the Laplacian are those of the mean, so that the noise of neither layer speaks for
// motion or for sharpness. A layer that is less in focus is blurred: it differs by its Laplacian.
Comparison compare(const SampleTile& a, const SampleTile& b, int32_t level, const Part& part) {
  const int32_t width = a.width_at(level), height = a.height_at(level);
  const float *one = a.plane[level][0].data(), *other = b.plane[level][0].data();
  const auto mean = [&](int32_t x, int32_t y) {
    const size_t at = static_cast<size_t>(y) * width + x;
    return 0.5 * (one[at] + other[at]);
  };
  double xx = 0, xy = 0, yy = 0, xd = 0, yd = 0, dd = 0, dddd = 0, ll = 0, ld = 0;
  int32_t count = 0;
  const int32_t right = std::min(part.left + part.width, width - 1);
  const int32_t bottom = std::min(part.top + part.height, height - 1);
  for (int32_t y = std::max(part.top, 1); y < bottom; ++y) {
    for (int32_t x = std::max(part.left, 1); x < right; ++x) {
      const size_t at = static_cast<size_t>(y) * width + x;
      const double gx = 0.5 * (mean(x + 1, y) - mean(x - 1, y));
      const double gy = 0.5 * (mean(x, y + 1) - mean(x, y - 1));
      const double l =
          mean(x + 1, y) + mean(x - 1, y) + mean(x, y + 1) + mean(x, y - 1) - 4 * mean(x, y);
      const double d = static_cast<double>(one[at]) - other[at];
      xx += gx * gx;
      xy += gx * gy;
      yy += gy * gy;
      xd += gx * d;
      yd += gy * d;
      ll += l * l;
      ld += l * d;
      dd += d * d;
      dddd += d * d * d * d;
      ++count;
    }
  }
  const double determinant = xx * yy - xy * xy;
  Comparison result;
  result.energy = dd / std::max(1, count);
  // All edges run one way: the displacement across them.
  const double across = xx + yy > 0 ? (xd * xd + yd * yd) / (xx + yy) : 0;
  const double both = determinant > 1e-6 * xx * yy
                          ? (yy * xd * xd - 2 * xy * xd * yd + xx * yd * yd) / determinant
                          : across;
  if (dd > 0) {
    result.share = both / dd;
    result.sharpness = ll > 0 ? ld * ld / (ll * dd) : 0;
    result.kurtosis = dddd * count / (dd * dd);
  }
  if (determinant > 1e-6 * xx * yy) {
    result.right = (yy * xd - xy * yd) / determinant;
    result.down = (xx * yd - xy * xd) / determinant;
    const double left = std::max(0.0, dd - both) / std::max(1, count);
    result.blur = std::sqrt(left * std::max(xx, yy) / determinant);
  }
  return result;
}

// What half of the values keep to on both sides of `centre`.
double spread(std::vector<double> values, double centre) {
  for (double& value : values) value = std::abs(value - centre);
  return median(std::move(values));
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

int32_t squares_along(int32_t pixels) {
  return pixels < kLeastMotion ? 0 : std::max(1, pixels / kMotionSide);
}

std::vector<Rect> motion_squares(const SampleTile& tile) {
  std::vector<Rect> squares;
  for (int32_t row = 0; row < squares_along(tile.height); ++row) {
    for (int32_t column = 0; column < squares_along(tile.width); ++column) {
      const int32_t x = column * kMotionSide, y = row * kMotionSide;
      squares.push_back(
          {x, y, std::min(kMotionSide, tile.width - x), std::min(kMotionSide, tile.height - y)});
    }
  }
  return squares;
}

SquareMotion compare_square(const SampleTile& a, const SampleTile& b, int32_t x, int32_t y) {
  const Part part{x, y, std::min(kMotionSide, a.width - x), std::min(kMotionSide, a.height - y)};
  SquareMotion motion;
  if (has_invalid(a, part) || has_invalid(b, part)) return motion;
  // Of fewer pixels' noise a displacement explains more.
  const double fewer = kMotionSide * kMotionSide / (1.0 * part.width * part.height);
  double energy[kSampleLevels], left[kSampleLevels];  // which no displacement explains
  for (int32_t l = 0; l < kSampleLevels; ++l) {
    const Comparison found = compare(a, b, l, part.at(l));
    energy[l] = found.energy;
    left[l] = (1 - found.share) * found.energy;
    if (l == 0) motion.unlike_noise = found.kurtosis > kMostKurtosis;
    // What is displaced differs by a little of that, too.
    const bool sharper = l < 2 && found.sharpness > found.share;
    if (sharper) motion.sharpness = std::max(motion.sharpness, found.sharpness);
    motion.share = std::max(motion.share, found.share);
    motion.moved = motion.moved || found.share > kMostMotion[l] * fewer;
    if (l != 1) continue;
    motion.right = 2 * found.right;
    motion.down = 2 * found.down;
    motion.blur = 2 * found.blur;
  }
  if (energy[0] <= 0) return motion;
  motion.noise = 0.5 * left[0];
  motion.quarter = 0.5 * left[kSampleLevels - 1];
  motion.coarse = motion.quarter > kMostAtQuarter * motion.noise;
  motion.unlike_noise = motion.unlike_noise || motion.sharpness > kMostSharpness;
  const bool changed = energy[kSampleLevels - 1] > kMostAtQuarter * energy[0];
  motion.state = motion.moved || motion.unlike_noise || motion.coarse || changed
                     ? SquareState::kChanged
                     : SquareState::kStill;
  return motion;
}

void forgive_coarseness(std::vector<SquareMotion>& squares) {
  std::vector<double> fine;
  size_t known = 0;
  for (const SquareMotion& square : squares) {
    if (square.state == SquareState::kUnknown) continue;
    ++known;
    if (!square.coarse && !square.unlike_noise) fine.push_back(square.quarter);
  }
  if (fine.empty() || kFewestFine * fine.size() < known) return;
  const double most = median(std::move(fine));
  for (SquareMotion& square : squares) {
    if (!square.coarse || square.unlike_noise || square.quarter > most) continue;
    square.coarse = false;
    if (!square.moved) square.state = SquareState::kStill;
  }
}

void forgive_shake(double known, Apart apart, std::vector<SquareMotion>& squares) {
  constexpr size_t kFewest = 4;
  std::vector<double> right, down, shares, noise, blur;
  for (const SquareMotion& square : squares) {
    if (square.state == SquareState::kUnknown) continue;
    shares.push_back(square.share);
    noise.push_back(square.noise);
    if (!square.moved) continue;  // too flat, or too noisy, to show by what
    right.push_back(square.right);
    down.push_back(square.down);
    blur.push_back(square.blur);
  }
  if (right.size() < kFewest) return;
  const double differing = median(noise);
  const bool plausible = known >= kHiddenNoise * differing && known <= kMistaken * differing;
  const bool average = plausible && apart == Apart::kOnAverage;
  const Shake& most = average                 ? kKnownOnAverage
                      : plausible             ? kKnownNoise
                      : apart == Apart::kNext ? kHiddenBetween
                                              : kHiddenFurther;
  const double x = median(right), y = median(down), share = median(std::move(shares));
  // What goes by before a background that stands still is no shake.
  const double one = average ? std::max(kKnownNoise.share, 2 * share) : most.share;
  if (share > most.share || std::hypot(x, y) > most.pixels) return;
  // Noise of neighbouring pixels is alike: it blurs twice as much, half of the squares by two
  // thirds of a deviation.
  const double blurred = 4.0 / 3 * median(std::move(blur));
  if (std::max(spread(right, x), spread(down, y)) > most.spread + blurred) return;
  for (SquareMotion& square : squares) {
    if (square.state != SquareState::kChanged || square.unlike_noise || square.coarse) continue;
    if (square.share > kOneMore * one) continue;
    if (std::hypot(square.right - x, square.down - y) > most.apart + 3 * blurred) continue;
    square.state = SquareState::kShaken;
  }
}

}  // namespace grainless
