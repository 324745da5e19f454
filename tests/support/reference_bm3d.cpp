// SPDX-License-Identifier: MIT
#include "reference_bm3d.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/post_filter.h"
#include "reference_dft.h"

namespace grainless::test {
namespace {

using Patch = std::vector<double>;
using Position = std::pair<int32_t, int32_t>;  // x, y

std::vector<int32_t> references(int32_t last, int32_t step) {
  std::vector<int32_t> result;
  for (int32_t p = 0; p < last; p += step) result.push_back(p);
  result.push_back(last);
  return result;
}

int64_t squared_difference(const Bm3dStage& stage, const Planes& plane, Position a, Position b) {
  int64_t sum = 0;
  for (int32_t y = 0; y < stage.patch; ++y) {
    for (int32_t x = 0; x < stage.patch; ++x) {
      const float va = *plane.at(0, a.first + x, a.second + y);
      const float vb = *plane.at(0, b.first + x, b.second + y);
      const int64_t difference = match_value(va, stage.match) - match_value(vb, stage.match);
      sum += difference * difference;
    }
  }
  return sum;
}

// The group of one reference, by key.
std::vector<Position> group_of(const Bm3dStage& stage, const Planes& plane, Position reference) {
  std::map<uint32_t, Position> found;
  const int32_t r = stage.radius;
  for (int32_t dy = -r; dy <= r; ++dy) {
    for (int32_t dx = -r; dx <= r; ++dx) {
      const Position at{reference.first + dx, reference.second + dy};
      if (at.first < 0 || at.first + stage.patch > plane.rect().width) continue;
      if (at.second < 0 || at.second + stage.patch > plane.rect().height) continue;
      if (at == reference) {
        found[0] = at;
        continue;
      }
      const int64_t shifted =
          squared_difference(stage, plane, reference, at) >> stage.distance_shift;
      const uint32_t distance = static_cast<uint32_t>(std::min<int64_t>(shifted, kMaxKeyDistance));
      const uint32_t index = 1 + (dy + r) * (2 * r + 1) + (dx + r);
      if (distance <= stage.max_distance) found[(distance << kKeyIndexBits) | index] = at;
    }
  }
  size_t count = 1;
  while (2 * count <= std::min<size_t>(found.size(), stage.group)) count *= 2;
  std::vector<Position> group;
  for (const auto& [key, at] : found) {
    if (group.size() < count) group.push_back(at);
  }
  return group;
}

// m * patch * m^T
Patch transformed(const float* m, const Patch& patch, int32_t n) {
  Patch half(n * n, 0.0), result(n * n, 0.0);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t k = 0; k < n; ++k) half[i * n + j] += double{m[i * n + k]} * patch[k * n + j];
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t k = 0; k < n; ++k) result[i * n + j] += half[i * n + k] * double{m[j * n + k]};
    }
  }
  return result;
}

// Haar transform along the patches: means first, then details from coarse to fine.
void haar_forward(std::vector<Patch>& group) {
  for (size_t n = group.size(); n > 1; n /= 2) {
    std::vector<Patch> out(group.begin(), group.begin() + n);
    for (size_t i = 0; i < n / 2; ++i) {
      for (size_t k = 0; k < group[0].size(); ++k) {
        out[i][k] = (group[2 * i][k] + group[2 * i + 1][k]) / std::sqrt(2.0);
        out[n / 2 + i][k] = (group[2 * i][k] - group[2 * i + 1][k]) / std::sqrt(2.0);
      }
    }
    std::copy(out.begin(), out.end(), group.begin());
  }
}

void haar_inverse(std::vector<Patch>& group) {
  for (size_t n = 2; n <= group.size(); n *= 2) {
    std::vector<Patch> out(group.begin(), group.begin() + n);
    for (size_t i = 0; i < n / 2; ++i) {
      for (size_t k = 0; k < group[0].size(); ++k) {
        out[2 * i][k] = (group[i][k] + group[n / 2 + i][k]) / std::sqrt(2.0);
        out[2 * i + 1][k] = (group[i][k] - group[n / 2 + i][k]) / std::sqrt(2.0);
      }
    }
    std::copy(out.begin(), out.end(), group.begin());
  }
}

// The patches' pixels.
std::vector<Patch> pixels_of(const Bm3dStage& stage, const Planes& plane, int32_t c,
                             const std::vector<Position>& positions) {
  std::vector<Patch> group;
  for (const Position& at : positions) {
    Patch patch;
    for (int32_t i = 0; i < stage.patch * stage.patch; ++i) {
      patch.push_back(*plane.at(c, at.first + i % stage.patch, at.second + i / stage.patch));
    }
    group.push_back(patch);
  }
  return group;
}

double take_mean(std::vector<Patch>& group) {
  double mean = 0;
  for (const Patch& patch : group) {
    for (double value : patch) mean += value / static_cast<double>(group.size() * patch.size());
  }
  for (Patch& patch : group) {
    for (double& value : patch) value -= mean;
  }
  return mean;
}

// Solves matrix * x = b, Gauss and Jordan, for all columns of b. matrix is positive definite.
void solve(std::vector<Patch> matrix, std::vector<Patch>& b) {
  const size_t n = matrix.size();
  for (size_t p = 0; p < n; ++p) {
    for (size_t i = 0; i < n; ++i) {
      if (i == p) continue;
      const double factor = matrix[i][p] / matrix[p][p];
      for (size_t j = 0; j < n; ++j) matrix[i][j] -= factor * matrix[p][j];
      for (size_t j = 0; j < b[0].size(); ++j) b[i][j] -= factor * b[p][j];
    }
  }
  for (size_t i = 0; i < n; ++i) {
    for (double& value : b[i]) value /= matrix[i][i];
  }
}

// Filters the group by GroupRule::kRidge; returns the patches' weights in the aggregation.
std::vector<double> ridge(std::vector<Patch>& noisy, std::vector<Patch> pilot, double variance) {
  const size_t k = noisy.size(), n = noisy[0].size();
  const auto patches = static_cast<double>(k), pixels = static_cast<double>(n);
  const double mean = take_mean(noisy);
  take_mean(pilot);
  std::vector<Patch> q(k, Patch(k, 0.0)), t(k, Patch(k, 0.0));
  for (size_t i = 0; i < k; ++i) {
    for (size_t j = 0; j < k; ++j) {
      for (size_t p = 0; p < n; ++p) q[i][j] += pilot[i][p] * pilot[j][p];
    }
    q[i][i] += pixels * variance;
    t[i][i] = 1;
  }
  solve(q, t);
  std::vector<Patch> result(k, Patch(n, mean));
  std::vector<double> weights;
  for (size_t i = 0; i < k; ++i) {
    double sum = 1.0 / (patches * pixels);
    for (size_t j = 0; j < k; ++j) {
      const double part = (i == j ? 1.0 : 0.0) - pixels * variance * t[i][j];
      sum += part * part;
      for (size_t p = 0; p < n; ++p) result[i][p] += part * noisy[j][p];
    }
    weights.push_back(1 / std::clamp(sum, 1.0 / patches, 1.0));
  }
  noisy = result;
  return weights;
}

std::vector<Patch> spectrum(const Bm3dStage& stage, const Planes& plane, int32_t c,
                            const std::vector<Position>& positions) {
  std::vector<Patch> group = pixels_of(stage, plane, c, positions);
  for (Patch& patch : group) patch = transformed(stage.forward, patch, stage.patch);
  haar_forward(group);
  return group;
}

// Shrinks all coefficients but the mean; returns the group's weight in the aggregation.
double shrink(std::vector<Patch>& group, const std::vector<Patch>* pilot, double amount) {
  double sum = 1;
  for (size_t i = 0; i < group.size(); ++i) {
    for (size_t k = i == 0 ? 1 : 0; k < group[i].size(); ++k) {
      double weight = std::abs(group[i][k]) > amount ? 1 : 0;
      if (pilot != nullptr) {
        const double energy = (*pilot)[i][k] * (*pilot)[i][k];
        weight = energy / (energy + amount);
      }
      group[i][k] *= weight;
      sum += weight * weight;
    }
  }
  return 1 / sum;
}

struct Sums {
  std::vector<double> value, weight;
};

void aggregate(const Bm3dStage& stage, const Patch& patch, Position at, double weight,
               int32_t width, Sums& sums) {
  for (int32_t y = 0; y < stage.patch; ++y) {
    for (int32_t x = 0; x < stage.patch; ++x) {
      const double w = weight * stage.kaiser[y] * stage.kaiser[x];
      const size_t i = static_cast<size_t>(at.second + y) * width + at.first + x;
      sums.value[i] += w * patch[y * stage.patch + x];
      sums.weight[i] += w;
    }
  }
}

// What a stage is given.
struct Inputs {
  const Planes& noisy;
  const Planes *pilot, *share;
};

double ridge_variance(const Bm3dStage& stage, const Planes* share, int32_t c, Position reference) {
  const int32_t middle = stage.patch / 2;
  const double part =
      share != nullptr ? *share->at(c, reference.first + middle, reference.second + middle) : 1.0;
  return part * part * stage.shrink[c];
}

// The estimates of one group's patches, and their weights.
std::vector<Patch> filtered_group(const Bm3dStage& stage, const Inputs& inputs, int32_t c,
                                  const std::vector<Position>& positions,
                                  std::vector<double>& weights) {
  const auto& [noisy, pilot, share] = inputs;
  if (stage.rule == static_cast<int32_t>(GroupRule::kRidge)) {
    std::vector<Patch> group = pixels_of(stage, noisy, c, positions);
    weights = ridge(group, pixels_of(stage, *pilot, c, positions),
                    ridge_variance(stage, share, c, positions[0]));
    return group;
  }
  if (stage.transform == static_cast<int32_t>(Transform::kDft)) {
    std::vector<Patch> group = pixels_of(stage, noisy, c, positions);
    weights.assign(group.size(), reference_dft_group(group, stage.patch, stage.shrink[c]));
    return group;
  }
  std::vector<Patch> group = spectrum(stage, noisy, c, positions), guide;
  if (pilot != nullptr) guide = spectrum(stage, *pilot, c, positions);
  weights.assign(group.size(), shrink(group, pilot != nullptr ? &guide : nullptr, stage.shrink[c]));
  haar_inverse(group);
  for (Patch& patch : group) patch = transformed(stage.inverse, patch, stage.patch);
  return group;
}

}  // namespace

Planes reference_bm3d_stage(const Bm3dStage& stage, const Planes& noisy, const Planes* pilot,
                            const Planes* first, const Planes* share) {
  const Rect rect = noisy.rect();
  const Planes& matched = first != nullptr ? *first : pilot != nullptr ? *pilot : noisy;
  const size_t pixels = static_cast<size_t>(rect.width) * rect.height;
  std::vector<Sums> sums(noisy.channels(),
                         {std::vector<double>(pixels), std::vector<double>(pixels)});
  for (int32_t y : references(rect.height - stage.patch, stage.step)) {
    for (int32_t x : references(rect.width - stage.patch, stage.step)) {
      const std::vector<Position> positions = group_of(stage, matched, {x, y});
      for (int32_t c = 0; c < noisy.channels(); ++c) {
        std::vector<double> weights;
        const std::vector<Patch> group =
            filtered_group(stage, {noisy, pilot, share}, c, positions, weights);
        for (size_t i = 0; i < group.size(); ++i) {
          aggregate(stage, group[i], positions[i], weights[i], rect.width, sums[c]);
        }
      }
    }
  }
  Planes result(noisy.channels(), rect);
  for (int32_t c = 0; c < noisy.channels(); ++c) {
    for (size_t i = 0; i < pixels; ++i) {
      const int32_t x = static_cast<int32_t>(i % rect.width),
                    y = static_cast<int32_t>(i / rect.width);
      const double estimate = sums[c].value[i] / sums[c].weight[i];
      const Planes& before = pilot != nullptr ? *pilot : noisy;
      *result.at(c, x, y) =
          stage.shrink[c] > 0 ? static_cast<float>(estimate) : *before.at(c, x, y);
    }
  }
  return result;
}

ReferenceLeft reference_left(const Planes& noisy, const ReferenceLeft& before,
                             const Planes& estimate, const Bm3dStage& next) {
  const Rect& rect = noisy.rect();
  const bool all = before.picture.channels() == 0;
  ReferenceLeft result{Planes(noisy.channels(), rect), Planes(noisy.channels(), rect)};
  for (int32_t c = 0; c < noisy.channels(); ++c) {
    for (int32_t y = 0; y < rect.height; ++y) {
      for (int32_t x = 0; x < rect.width; ++x) {
        const double part = next.share / (all ? 1.0 : *before.share.at(c, x, y));
        const double had = *(all ? noisy : before.picture).at(c, x, y);
        const double kept = *estimate.at(c, x, y) + part * (had - *estimate.at(c, x, y));
        *result.picture.at(c, x, y) = static_cast<float>(kept);
      }
    }
    for (int32_t y = 0; y < rect.height; ++y) {
      for (int32_t x = 0; x < rect.width; ++x) {
        double squares = 0, count = 0;
        for (int32_t v = y - kShareRadius; v <= y + kShareRadius; ++v) {
          for (int32_t u = x - kShareRadius; u <= x + kShareRadius; ++u) {
            if (u < 0 || v < 0 || u >= rect.width || v >= rect.height) continue;
            squares += std::pow(*noisy.at(c, u, v) - *result.picture.at(c, u, v), 2);
            ++count;
          }
        }
        const double lost = std::sqrt(squares / count) / next.sigma[c];
        *result.share.at(c, x, y) = std::max(next.share, static_cast<float>(1 - lost));
      }
    }
  }
  return result;
}

Planes reference_post_filter(float sigma, const Planes& noisy, const Planes& estimate) {
  const int32_t width = noisy.rect().width, height = noisy.rect().height;
  const auto at = [&](const Planes& plane, int32_t x, int32_t y) -> double {
    return *plane.at(0, std::clamp(x, 0, width - 1), std::clamp(y, 0, height - 1));
  };
  const auto as_half = [](double v) {
    return double{float_from_half(half_from_float(static_cast<float>(v)))};
  };
  const auto bounded = [&](double v) { return as_half(v / sigma / (1 + std::abs(v / sigma) / 8)); };
  // Over the image and kPostFilterConvolutions pixels around, one less with each convolution.
  int32_t border = kPostFilterConvolutions, across = width + 2 * border;
  std::vector<std::vector<double>> maps(kPostFilterInputs);
  for (int32_t y = -border; y < height + border; ++y) {
    for (int32_t x = -border; x < width + border; ++x) {
      double mean = 0;
      for (int32_t v = -2; v <= 2; ++v) {
        for (int32_t u = -2; u <= 2; ++u) mean += at(estimate, x + u, y + v) / 25;
      }
      maps[0].push_back(bounded(at(noisy, x, y) - at(estimate, x, y)));
      maps[1].push_back(bounded(at(estimate, x, y) - mean));
    }
  }
  const uint16_t* weights = kPostFilterWeights;
  for (int32_t n = 0; n < kPostFilterConvolutions; ++n) {
    const bool last = n + 1 == kPostFilterConvolutions;
    const auto inputs = static_cast<int32_t>(maps.size());
    std::vector<std::vector<double>> next(last ? 1 : kPostFilterChannels);
    for (std::vector<double>& map : next) {
      for (int32_t y = 0; y + 2 < height + 2 * border; ++y) {
        for (int32_t x = 0; x + 2 < across; ++x) {
          double sum = 0;
          for (int32_t i = 0; i < inputs * kPostFilterTaps; ++i) {
            const int32_t tap = i % kPostFilterTaps;
            sum += double{float_from_half(weights[i])} *
                   maps[i / kPostFilterTaps][(y + tap / 3) * across + x + tap % 3];
          }
          map.push_back(last ? sum : as_half(std::max(sum, 0.0)));
        }
      }
      weights += inputs * kPostFilterTaps;
    }
    maps = std::move(next);
    --border;
    across -= 2;
  }
  Planes result(noisy.channels(), noisy.rect());
  for (int32_t c = 0; c < noisy.channels(); ++c) {
    for (int32_t i = 0; i < width * height; ++i) {
      const int32_t x = i % width, y = i / width;
      const double correction = c == 0 ? sigma * std::clamp(maps[0][i], -0.25, 0.25) : 0;
      *result.at(c, x, y) = static_cast<float>(*estimate.at(c, x, y) + correction);
    }
  }
  return result;
}

Planes reference_bm3d(const LevelPlan& level, const Planes& noisy) {
  std::vector<Planes> estimates;
  ReferenceLeft left;
  int32_t matched = -1;  // the last hard threshold's
  for (int32_t s = 0; s < level.stage_count; ++s) {
    const Bm3dStage& stage = level.bm3d[s];
    const bool hard = stage.rule == static_cast<int32_t>(GroupRule::kHardThreshold);
    if (stage.share < 1) left = reference_left(noisy, left, estimates.back(), stage);
    const bool all = left.picture.channels() == 0;
    estimates.push_back(reference_bm3d_stage(
        stage, all ? noisy : left.picture, hard ? nullptr : &estimates.back(),
        matched < 0 ? nullptr : &estimates[matched], all ? nullptr : &left.share));
    if (hard) matched = s;
  }
  if (!(level.post_filter > 0)) return std::move(estimates.back());
  return reference_post_filter(level.post_filter, noisy, estimates.back());
}

}  // namespace grainless::test
