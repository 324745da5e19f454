// SPDX-License-Identifier: MIT
#include "weak_texture.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "engine/progress.h"

namespace grainless {
namespace {

constexpr int32_t kSide = 7;
constexpr int32_t kSize = kSide * kSide;
constexpr int32_t kStride = 56;             // floats of a patch with padding
constexpr int32_t kMaxPatches = 32768;      // of all tiles together
constexpr int32_t kMinPatches = 6 * kSize;  // fewer give no covariance worth the name
constexpr int32_t kRounds = 3;
constexpr double kDeviate = 2.0;  // normal deviate of the accepted share

// Moments of the texture statistic, the sum of squared differences of neighbours in a patch, under
// white noise of variance 1: a quadratic form p' A p with mean tr A and variance 2 tr A^2.
struct TextureMoments {
  double mean, variance;
};

TextureMoments texture_moments() {
  std::vector<double> a(kSize * kSize, 0.0);
  const auto add_difference = [&a](int32_t i, int32_t j) {
    a[i * kSize + i] += 1;
    a[j * kSize + j] += 1;
    a[i * kSize + j] -= 1;
    a[j * kSize + i] -= 1;
  };
  for (int32_t i = 0; i < kSize; ++i) {
    if (i % kSide + 1 < kSide) add_difference(i, i + 1);
    if (i + kSide < kSize) add_difference(i, i + kSide);
  }
  TextureMoments moments{0, 0};
  for (int32_t i = 0; i < kSize; ++i) moments.mean += a[i * kSize + i];
  for (double entry : a) moments.variance += 2 * entry * entry;
  return moments;
}

// What the statistic of pure noise of variance 1 stays under in 98 of 100 patches: it is nearly
// gamma distributed (Wilson and Hilferty's approximation of its quantile). The authors accept all
// but 1 in 10^6, which lets more texture in: 8 instead of 5 % error on Set12 at sigma 5.
double texture_quantile() {
  const TextureMoments m = texture_moments();
  const double shape = m.mean * m.mean / m.variance;
  return m.mean * std::pow(1 - 1 / (9 * shape) + kDeviate / (3 * std::sqrt(shape)), 3);
}

struct Patch {
  int32_t x, y;
  float texture;
};

struct PatchSet {
  int32_t step_x = 1, step_y = 1;
  std::vector<std::vector<Patch>> tile;  // of each tile of the sample
};

float texture_of(const float* p, int32_t stride) {
  float sum = 0;
  for (int32_t y = 0; y < kSide; ++y) {
    for (int32_t x = 0; x < kSide; ++x) {
      const float* at = p + y * stride + x;
      const float right = x + 1 < kSide ? at[1] - at[0] : 0.0f;
      const float down = y + 1 < kSide ? at[stride] - at[0] : 0.0f;
      sum += right * right + down * down;
    }
  }
  return sum;
}

// Steps along x and y that leave about kMaxPatches of the sample's positions, fewer at the coarser
// levels, where only the kind of the noise is asked.
PatchSet spread_patches(const Sample& sample, int32_t level) {
  double positions = 0;
  for (const SampleTile& tile : sample.tiles) {
    positions += std::max(0.0, 1.0 + tile.width_at(level) - kSide) *
                 std::max(0.0, 1.0 + tile.height_at(level) - kSide);
  }
  const double ratio = std::max(1.0, positions / (kMaxPatches >> (2 * level)));
  PatchSet set;
  set.step_x = static_cast<int32_t>(std::ceil(std::sqrt(ratio)));
  set.step_y = static_cast<int32_t>(std::ceil(ratio / set.step_x));
  set.tile.resize(sample.tiles.size());
  return set;
}

// How many patches side by side take as much room as all those of the set. What two tiles share
// counts once.
double patches_apart(const Sample& sample, const PatchSet& set) {
  double area = 0, positions = 0;
  int32_t left = INT32_MAX, top = INT32_MAX, right = 0, bottom = 0;
  for (size_t i = 0; i < sample.tiles.size(); ++i) {
    const SampleTile& tile = sample.tiles[i];
    left = std::min(left, tile.x);
    top = std::min(top, tile.y);
    right = std::max(right, tile.x + tile.width);
    bottom = std::max(bottom, tile.y + tile.height);
    area += 1.0 * tile.width * tile.height;
    positions += static_cast<double>(set.tile[i].size()) * set.step_x * set.step_y;
  }
  return area > 0 ? positions / kSize * std::min(1.0, 1.0 * (right - left) * (bottom - top) / area)
                  : 0;
}

std::vector<Patch> find_patches(const SampleTile& tile, int32_t channel, int32_t level,
                                const PatchSet& set, double clipped) {
  std::vector<Patch> patches;
  const int32_t width = tile.width_at(level), height = tile.height_at(level);
  const uint8_t states = states_of(tile);
  const bool any_flat = (states & kFlat) != 0;
  for (int32_t y = 0; y + kSide <= height; y += set.step_y) {
    for (int32_t x = 0; x + kSide <= width; x += set.step_x) {
      const int32_t fx = x << level, fy = y << level, side = kSide << level;
      if (!measurable(tile, fx, fy, side, clipped, states)) continue;
      if (any_flat && count_state(tile, fx, fy, side, kFlat) != 0) continue;
      const float* p = tile.plane[level][channel].data() + static_cast<size_t>(y) * width + x;
      patches.push_back({x, y, texture_of(p, width)});
    }
  }
  return patches;
}

// Sums over patches of one tile; sums of tiles are added in the tiles' order.
struct Moments {
  int64_t count = 0;
  double texture = 0;
  std::vector<double> sum = std::vector<double>(kSize, 0.0);
  std::vector<double> products = std::vector<double>(kSize * kSize, 0.0);  // lower triangle
};

// Patches that wait for their products: a block of these is summed in registers for all of them.
class PatchSums {
 public:
  void add(const SampleTile& tile, int32_t channel, int32_t level, const Patch& patch,
           float origin) {
    const int32_t width = tile.width_at(level);
    const float* plane = tile.plane[level][channel].data();
    float* values = waiting_[count_++];
    for (int32_t i = 0; i < kSize; ++i) {
      values[i] =
          plane[static_cast<size_t>(patch.y + i / kSide) * width + patch.x + i % kSide] - origin;
      sum_[i] += values[i];
    }
    if (count_ == kWaiting) multiply();
  }

  // Of all that were added.
  void finish() { multiply(); }
  double sum(int32_t i) const { return sum_[i]; }
  double product(int32_t i, int32_t j) const { return products_[i * kStride + j]; }  // j <= i

 private:
  static constexpr int32_t kWaiting = 64, kRows = 4, kColumns = 8;
  static_assert(kStride % kRows == 0);

  void multiply() {
    for (int32_t i = 0; i < kSize; i += kRows) {
      for (int32_t j = 0; j < i + kRows; j += kColumns) multiply_block(i, j);
    }
    count_ = 0;
  }

  void multiply_block(int32_t i, int32_t j) {
    float part[kRows][kColumns] = {};
    for (int32_t n = 0; n < count_; ++n) {
      const float* rows = waiting_[n] + i;
      const float* columns = waiting_[n] + j;
      for (int32_t a = 0; a < kRows; ++a) {
        for (int32_t b = 0; b < kColumns; ++b) part[a][b] += rows[a] * columns[b];
      }
    }
    for (int32_t a = 0; a < kRows; ++a) {
      float* products = products_ + (i + a) * kStride + j;
      for (int32_t b = 0; b < kColumns; ++b) products[b] += part[a][b];
    }
  }

  int32_t count_ = 0;
  float waiting_[kWaiting][kStride] = {};  // behind each patch there is padding of zeros
  float sum_[kSize] = {};
  float products_[kStride * kStride] = {};
};

Moments tile_moments(const SampleTile& tile, int32_t channel, int32_t level,
                     const std::vector<Patch>& patches, double limit) {
  const float origin = tile.plane[level][channel].front();  // keeps the float sums small
  PatchSums sums;
  Moments moments;
  for (const Patch& patch : patches) {
    if (!(patch.texture < limit)) continue;
    sums.add(tile, channel, level, patch, origin);
    moments.texture += patch.texture;
    ++moments.count;
  }
  sums.finish();
  for (int32_t i = 0; i < kSize; ++i) {
    moments.sum[i] = sums.sum(i);
    for (int32_t j = 0; j <= i; ++j) moments.products[i * kSize + j] = sums.product(i, j);
  }
  // Back to values without the tile's own origin, so that tiles can be added.
  for (int32_t i = 0; i < kSize; ++i) {
    for (int32_t j = 0; j <= i; ++j) {
      moments.products[i * kSize + j] += origin * (moments.sum[i] + moments.sum[j]) +
                                         1.0 * origin * origin * static_cast<double>(moments.count);
    }
  }
  for (double& s : moments.sum) s += 1.0 * origin * static_cast<double>(moments.count);
  return moments;
}

struct Variance {
  double noise = 0, texture = 0;  // texture: mean of the statistic
};

// Of patches whose texture is under the limit; nothing when there are too few.
std::optional<Variance> variance_under(const Sample& sample, int32_t channel, int32_t level,
                                       const PatchSet& patches, double limit, ThreadPool& pool) {
  std::vector<Moments> parts(sample.tiles.size());
  pool.parallel_for(static_cast<int32_t>(parts.size()), [&](int32_t i, int32_t) {
    parts[i] = tile_moments(sample.tiles[i], channel, level, patches.tile[i], limit);
  });
  Moments all;
  for (const Moments& part : parts) {
    all.count += part.count;
    all.texture += part.texture;
    for (int32_t i = 0; i < kSize; ++i) all.sum[i] += part.sum[i];
    for (int32_t i = 0; i < kSize * kSize; ++i) all.products[i] += part.products[i];
  }
  if (all.count < kMinPatches) return {};
  const double n = static_cast<double>(all.count);
  std::vector<double> covariance(kSize * kSize);
  for (int32_t i = 0; i < kSize; ++i) {
    for (int32_t j = 0; j <= i; ++j) {
      const double value = all.products[i * kSize + j] / n - all.sum[i] / n * (all.sum[j] / n);
      covariance[i * kSize + j] = covariance[j * kSize + i] = value;
    }
  }
  // The smallest sample eigenvalue of n patches of white noise lies at the lower edge of
  // Marchenko and Pastur's distribution, not at the variance.
  const double edge = 1 - std::sqrt(kSize / n);
  const double noise = std::max(0.0, smallest_eigenvalue(covariance, kSize)) / (edge * edge);
  return Variance{noise, all.texture / n};
}

// Householder reduction of a symmetric matrix to tridiagonal form.
void tridiagonalise(std::vector<double>& a, int32_t n, std::vector<double>& diagonal,
                    std::vector<double>& off) {
  std::vector<double> v(n), w(n);
  for (int32_t k = 0; k + 2 < n; ++k) {
    double norm = 0;
    for (int32_t i = k + 1; i < n; ++i) norm += a[i * n + k] * a[i * n + k];
    norm = std::sqrt(norm);
    off[k] = a[(k + 1) * n + k] > 0 ? -norm : norm;
    if (norm == 0) continue;
    double length = 0;
    for (int32_t i = k + 1; i < n; ++i) {
      v[i] = a[i * n + k] - (i == k + 1 ? off[k] : 0.0);
      length += v[i] * v[i];
    }
    // a <- H a H with H = 1 - 2 v v' / v'v, on the rows and columns after k.
    double dot = 0;
    for (int32_t i = k + 1; i < n; ++i) {
      w[i] = 0;
      for (int32_t j = k + 1; j < n; ++j) w[i] += a[i * n + j] * v[j];
      w[i] *= 2 / length;
      dot += w[i] * v[i];
    }
    for (int32_t i = k + 1; i < n; ++i) w[i] -= dot / length * v[i];
    for (int32_t i = k + 1; i < n; ++i) {
      for (int32_t j = k + 1; j < n; ++j) a[i * n + j] -= v[i] * w[j] + w[i] * v[j];
    }
  }
  if (n > 1) off[n - 2] = a[(n - 1) * n + n - 2];
  for (int32_t i = 0; i < n; ++i) diagonal[i] = a[i * n + i];
}

// Sturm's count: whether any eigenvalue of the tridiagonal matrix is under x.
bool any_eigenvalue_under(const std::vector<double>& diagonal, const std::vector<double>& off,
                          double x) {
  double pivot = 1;
  for (size_t i = 0; i < diagonal.size(); ++i) {
    const double square = i == 0 ? 0.0 : off[i - 1] * off[i - 1];
    pivot = diagonal[i] - x - square / pivot;
    if (pivot < 0) return true;
    if (pivot == 0) pivot = std::numeric_limits<double>::min();
  }
  return false;
}

}  // namespace

double smallest_eigenvalue(std::vector<double>& matrix, int32_t size) {
  std::vector<double> diagonal(size), off(size, 0.0);
  tridiagonalise(matrix, size, diagonal, off);
  double low = diagonal[0], high = diagonal[0];
  for (int32_t i = 0; i < size; ++i) {  // Gershgorin's discs
    const double reach = std::abs(off[i]) + (i > 0 ? std::abs(off[i - 1]) : 0.0);
    low = std::min(low, diagonal[i] - reach);
    high = std::min(high, diagonal[i]);
  }
  for (int32_t i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (any_eigenvalue_under(diagonal, off, middle) ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

WeakTexture weak_texture_noise(const Sample& sample, int32_t channel, int32_t level,
                               ThreadPool& pool, const Callbacks& callbacks) {
  PatchSet patches = spread_patches(sample, level);
  pool.parallel_for(static_cast<int32_t>(sample.tiles.size()), [&](int32_t i, int32_t) {
    patches.tile[i] = find_patches(sample.tiles[i], channel, level, patches, sample.clipped_share);
  });
  WeakTexture result;
  result.seen = patches_apart(sample, patches);
  double limit = std::numeric_limits<double>::infinity();
  const double quantile = texture_quantile(), mean = texture_moments().mean;
  for (int32_t round = 0; round <= kRounds; ++round) {
    throw_if_cancelled(callbacks);
    const std::optional<Variance> found =
        variance_under(sample, channel, level, patches, limit, pool);
    if (!found) break;
    result.enough = true;
    result.sigma = std::sqrt(found->noise);
    result.texture = found->noise > 0 ? found->texture / (mean * found->noise) : 0;
    limit = quantile * found->noise;
  }
  return result;
}

}  // namespace grainless
