// SPDX-License-Identifier: MIT
#include "tone_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "finest_band.h"
#include "linear_system.h"

namespace grainless {
namespace {

constexpr int32_t kTones = 16;
constexpr size_t kFewestBlocks = 12;
constexpr double kFlattest = 0.15;      // share of a tone's blocks
constexpr double kClippedShare = 0.02;  // of a block's pixels
constexpr double kLeast = 0.3;          // sigma that rounding to 8 bits leaves room for
constexpr double kMedian = 1.4826;      // sigma of normal noise over the median of its sizes
constexpr int32_t kUnknowns = kMaxChannels + kProfileKnots;

// The profile is the smoothest one near the points: weights of its second and first differences.
constexpr double kBendCost = 0.03, kSlopeCost = 0.06;
constexpr int32_t kRounds = 10;   // of weighing outliers down (Huber)
constexpr double kFarAway = 0.5;  // a deviation counts no more than this

// Measured: sigma of a channel at a brightness.
struct Point {
  double brightness, log_sigma, weight;
  int32_t channel;
};

double luma_scale(int32_t channels) {
  return channels == 3 ? std::sqrt(3.0) : 1.0;
}

void add_point(std::vector<BandBlock>& blocks, double scale, int32_t channel,
               std::vector<Point>& points) {
  if (blocks.size() < kFewestBlocks) return;
  const BandNoise noise = flattest_band(blocks, kFlattest, kFewestBlocks);
  if (noise.sigma <= kLeast) return;
  // Luma's band is a sure witness, a colour's flat blocks are chosen by luma.
  const double share = channel == 0 ? 1.0 : 0.5;
  const double weight = share * std::min(1.0, static_cast<double>(noise.blocks) / 60);
  points.push_back(
      {std::clamp(noise.brightness / scale, 0.0, 255.0), std::log(noise.sigma), weight, channel});
}

std::vector<Point> measure_points(const Sample& sample, ThreadPool& pool) {
  std::vector<Point> points;
  const double scale = luma_scale(sample.channels);
  for (int32_t c = 0; c < sample.channels; ++c) {
    std::vector<std::vector<BandBlock>> parts(sample.tiles.size());
    pool.parallel_for(static_cast<int32_t>(parts.size()), [&](int32_t i, int32_t) {
      parts[i] = band_blocks(sample.tiles[i], c, kClippedShare);
    });
    std::array<std::vector<BandBlock>, kTones> tones;
    for (std::vector<BandBlock>& part : parts) {
      for (BandBlock& block : part) {
        const double tone = std::floor(block.brightness / scale * kTones / 256);
        const auto index = static_cast<size_t>(std::clamp(tone, 0.0, kTones - 1.0));
        tones[index].push_back(std::move(block));
      }
    }
    for (std::vector<BandBlock>& tone : tones) add_point(tone, scale, c, points);
  }
  return points;
}

using Unknowns = Vector<kUnknowns>;
using System = Matrix<kUnknowns>;

// A point is its channel's level plus the profile between two knots.
struct Row {
  int32_t knot;
  double part;  // of the next knot
};

Row row_of(const Point& point) {
  const double at = point.brightness / 255 * (kProfileKnots - 1);
  const auto knot = std::min(static_cast<int32_t>(at), kProfileKnots - 2);
  return {knot, at - knot};
}

double value_at(const Unknowns& x, const Point& point) {
  const Row row = row_of(point);
  const double* knots = x.data() + kMaxChannels + row.knot;
  return x[point.channel] + (1 - row.part) * knots[0] + row.part * knots[1];
}

// What smoothness costs. Without a profile: so much that there is none.
System costs(bool with_profile) {
  constexpr double kKnots = kProfileKnots, kStep = 1.0 / (kKnots - 1);
  System cost{};
  for (int32_t i = 0; i < kUnknowns; ++i) cost[i][i] = 1e-6;
  const auto add = [&](int32_t first, std::initializer_list<double> difference, double weight) {
    int32_t i = first;
    for (double a : difference) {
      int32_t j = first;
      for (double b : difference) cost[i][j++] += weight * a * b;
      ++i;
    }
  };
  for (int32_t k = 0; k + 2 < kProfileKnots; ++k) {
    add(kMaxChannels + k, {1, -2, 1}, kBendCost * kKnots * kKnots * kKnots * kStep);
  }
  for (int32_t k = 0; k + 1 < kProfileKnots; ++k) {
    add(kMaxChannels + k, {-1, 1}, with_profile ? kSlopeCost * kKnots * kStep : 1e6);
  }
  return cost;
}

double median_size(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Least squares, with points far off weighed down.
Unknowns fit(const std::vector<Point>& points, bool with_profile) {
  const System cost = costs(with_profile);
  std::vector<double> trust(points.size(), 1.0), off(points.size());
  Unknowns x{};
  for (int32_t round = 0; round < kRounds; ++round) {
    System a = cost;
    Unknowns b{};
    for (size_t i = 0; i < points.size(); ++i) {
      const Row row = row_of(points[i]);
      const double weight = points[i].weight * trust[i];
      const std::array<std::pair<int32_t, double>, 3> terms{
          {{points[i].channel, 1.0},
           {kMaxChannels + row.knot, 1 - row.part},
           {kMaxChannels + row.knot + 1, row.part}}};
      for (const auto& [p, at_p] : terms) {
        for (const auto& [q, at_q] : terms) a[p][q] += weight * at_p * at_q;
        b[p] += weight * at_p * points[i].log_sigma;
      }
    }
    x = solved(a, b);
    for (size_t i = 0; i < points.size(); ++i)
      off[i] = points[i].log_sigma - value_at(x, points[i]);
    const double usual = kMedian * median_size(off) + 0.03;
    for (size_t i = 0; i < points.size(); ++i) {
      trust[i] = 1 / std::max(1.0, std::abs(off[i]) / (1.5 * usual));
    }
  }
  return x;
}

double deviation(const std::vector<Point>& points, const Unknowns& x) {
  double sum = 0;
  for (const Point& point : points) {
    sum += point.weight * std::min(kFarAway, std::abs(point.log_sigma - value_at(x, point)));
  }
  return sum;
}

// How much more noise dark tones hold than bright ones, as a natural logarithm.
double fall_of(const ToneProfile& profile) {
  return profile.log_sigma[1] - profile.log_sigma[kProfileKnots - 2];
}

ToneProfile profile_of(const std::vector<Point>& points) {
  constexpr size_t kFewestPoints = 5;
  ToneProfile profile;
  profile.tones = static_cast<int32_t>(points.size());
  if (points.size() < kFewestPoints) return profile;
  const Unknowns x = fit(points, true);
  const double even = deviation(points, fit(points, false));
  profile.explained = even > 0 ? 1 - deviation(points, x) / even : 0;
  double mean = 0;
  for (int32_t k = 0; k < kProfileKnots; ++k) mean += x[kMaxChannels + k] / kProfileKnots;
  const bool rises = x[kMaxChannels + 1] < x[kUnknowns - 2];
  const double most = rises ? kMostRisingDeviation : kMostDeviation;
  for (int32_t k = 0; k < kProfileKnots; ++k) {
    profile.log_sigma[k] = std::clamp(x[kMaxChannels + k] - mean, -most, most);
  }
  return profile;
}

}  // namespace

ToneProfile measure_profile(const Sample& sample, ThreadPool& pool) {
  std::vector<Point> points = measure_points(sample, pool);
  ToneProfile profile = profile_of(points);
  if (sample.channels != 3 || fall_of(profile) >= 0) return profile;
  // Texture is stronger where a picture is brighter, too, and next to all of it is luma's.
  std::erase_if(points, [](const Point& point) { return point.channel == 0; });
  return profile_of(points);
}

ToneBend bend_with(const std::function<double(double)>& slope, double& scale) {
  constexpr double kStep = 255.0 / kBendSegments;
  std::array<double, kBendSegments + 1> sum{};
  for (int32_t i = 0; i < kBendSegments; ++i) {
    sum[i + 1] = sum[i] + 0.5 * kStep * (slope(i * kStep) + slope((i + 1) * kStep));
  }
  scale = 255 / sum[kBendSegments];
  ToneBend bend;
  bend.enabled = 1;
  for (int32_t i = 0; i <= kBendSegments; ++i) bend.to[i] = static_cast<float>(scale * sum[i]);
  return bend;
}

ToneBend bend_of(const ToneProfile& profile, double share) {
  double scale = 0;
  return bend_with(
      [&](double brightness) {
        const double at = brightness / 255 * (kProfileKnots - 1);
        const auto knot = std::min(static_cast<int32_t>(at), kProfileKnots - 2);
        const double part = at - knot;
        return std::exp(
            -share * ((1 - part) * profile.log_sigma[knot] + part * profile.log_sigma[knot + 1]));
      },
      scale);
}

void bend_sample(const ToneBend& bend, Sample& sample, ThreadPool& pool) {
  pool.parallel_for(static_cast<int32_t>(sample.tiles.size()), [&](int32_t t, int32_t) {
    SampleTile& tile = sample.tiles[t];
    auto& plane = tile.plane[0];
    for (size_t i = 0; i < tile.state.size(); ++i) {
      if (sample.channels == 1) {
        plane[0][i] = bent(bend, plane[0][i]);
        continue;
      }
      const Rgb rgb = rgb_from_yuv({plane[0][i], plane[1][i], plane[2][i]});
      const Yuv yuv = yuv_from_rgb({bent(bend, rgb.r), bent(bend, rgb.g), bent(bend, rgb.b)});
      plane[0][i] = yuv.y;
      plane[1][i] = yuv.u;
      plane[2][i] = yuv.v;
    }
    make_levels(tile, sample.channels);
  });
}

bool is_sure(const ToneProfile& profile, const PictureNoise& noise) {
  // Kodak's pictures with even noise show up to 0.2 and 0.1 of it, with a camera's 0.3 to 1.1.
  // Behind a mosaic flat blocks hold more texture for the noise that they show: what was explained
  // by less than 0.3 lost up to 0.17 dB.
  // In grey what rises by 0.77 and more explains 0.34 to 0.82; even noise that seemed to rise, by
  // up to 0.4, lost up to 0.16 dB. The colours of even noise seem to rise by up to 0.35 and explain
  // less than 0.33 of it, on 384 pictures.
  constexpr double kLeastRise = 0.5, kExplainedRise = 0.3;
  constexpr double kLeastOfColours = 0.35, kExplainedByColours = 0.35;
  constexpr double kLeastFall = 0.25, kExplained = 0.15, kExplainedGrey = 0.25,
                   kExplainedMosaic = 0.3;
  // Raw development leaves chroma as noisy as luma (0.7 to 1.1 times), cameras' JPEGs do not (0.3
  // to 0.65).
  constexpr double kLeastChroma = 0.75;
  const double fall = fall_of(profile);
  // Photons counted in linear light, speckle and what was darkened rise; so may texture.
  const bool rises = noise.channels == 1
                         ? fall < -kLeastRise && profile.explained > kExplainedRise
                         : fall < -kLeastOfColours && profile.explained > kExplainedByColours;
  if (fall < kLeastFall && !rises) return false;
  if (noise.channels == 1) return noise.white[0] && profile.explained > kExplainedGrey;
  const float* sigma = noise.sigma[0];
  return profile.explained > (noise.white[0] ? kExplained : kExplainedMosaic) &&
         0.5 * (double{sigma[1]} + double{sigma[2]}) >= kLeastChroma * double{sigma[0]};
}

double most_change(const ToneProfile& profile, int32_t channels) {
  // Grey has no colour to tell: even noise on Set12's 6, whose dark parts are all texture, rose by
  // 1.12 to 1.27.
  constexpr double kMost = 1.5, kMostInGrey = 1.1;
  // A gamma of 2.2 or 2.8 changed it by up to 2.7. In grey even noise, on 36 pictures, rises by
  // 0.92 and explains 0.50 of it, or less than 0.5 and 0.65.
  constexpr double kMostOfRising = 3, kSureRise = 1, kSurelyExplained = 0.6;
  const double rise = -fall_of(profile);
  if (channels != 1) return rise > 0 ? kMostOfRising : kMost;
  return rise > kSureRise && profile.explained > kSurelyExplained ? kMostOfRising : kMostInGrey;
}

}  // namespace grainless
