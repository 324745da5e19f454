// SPDX-License-Identifier: MIT
#include "corner_gain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "finest_band.h"
#include "tone_profile.h"

namespace grainless {
namespace {

constexpr int32_t kCell = 64;  // pixels of the side of what one sigma is measured in
constexpr double kFlattest = 0.25;
constexpr size_t kFewestBlocks = 8, kFewestCells = 24;
constexpr double kLeastSigma = 0.3;  // that rounding to 8 bits leaves room for

// The cells that a gain is seen in: those of the middle, and in each quarter the outer ones.
constexpr double kInner = 0.2, kOuter = 0.4;
constexpr size_t kFewestOfQuarter = 3;

// Of Kodak24 with even noise of 3 and 10 all colours' quarters stay within 0.07 of the middle, as
// logarithms; with corners twice as noisy all show 0.7 to 1.4 times what is found.
constexpr double kLeastGain = 1.25, kLeastGainGrey = 1.4;
constexpr double kLeastShown = 0.6, kMostShown = 1.6, kLeastExplained = 0.2;

struct Cell {
  float square;  // of its distance from the centre, as CornerGain's t
  size_t quarter;
  double log_sigma;
};

std::vector<Cell> tile_cells(const SampleTile& tile, int32_t channel, const GainField& field) {
  std::map<std::pair<int32_t, int32_t>, std::vector<BandBlock>> cells;
  for (BandBlock& block : band_blocks(tile, channel)) {
    const std::pair at{(block.x - tile.x) / kCell, (block.y - tile.y) / kCell};
    cells[at].push_back(std::move(block));
  }
  std::vector<Cell> found;
  for (auto& [at, blocks] : cells) {
    if (blocks.size() < kFewestBlocks) continue;
    const double sigma = flattest_band(blocks, kFlattest, kFewestBlocks).sigma;
    if (sigma <= kLeastSigma) continue;
    const auto x = static_cast<float>(tile.x + at.first * kCell + kCell / 2);
    const auto y = static_cast<float>(tile.y + at.second * kCell + kCell / 2);
    const size_t quarter = (x > field.centre_x ? 1 : 0) + (y > field.centre_y ? 2 : 0);
    found.push_back({square_at(field, x, y), quarter, std::log(sigma)});
  }
  return found;
}

// Of each channel that tells: luma's of grey, the colours' else.
std::vector<std::vector<Cell>> measure_cells(const Sample& sample, const GainField& field,
                                             ThreadPool& pool) {
  std::vector<std::vector<Cell>> channels;
  for (int32_t c = sample.channels == 1 ? 0 : 1; c < sample.channels; ++c) {
    std::vector<std::vector<Cell>> parts(sample.tiles.size());
    pool.parallel_for(static_cast<int32_t>(parts.size()), [&](int32_t i, int32_t) {
      parts[i] = tile_cells(sample.tiles[i], c, field);
    });
    auto& cells = channels.emplace_back();
    for (const auto& part : parts) cells.insert(cells.end(), part.begin(), part.end());
  }
  return channels;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double log_gain(const CornerGain& gain, const Cell& cell) {
  return std::log(double{gain_of(gain, cell.square)});
}

// How far the cells' sigmas are from one that grows by the gain.
double deviation(const std::vector<Cell>& cells, const CornerGain& gain) {
  std::vector<double> levels;
  for (const Cell& cell : cells) levels.push_back(cell.log_sigma - log_gain(gain, cell));
  const double middle = median(levels);
  double sum = 0;
  for (const double level : levels) sum += std::abs(level - middle);
  return sum / static_cast<double>(cells.size());
}

// The same of all channels, from even noise; infinite where too few cells tell.
double unevenness(const std::vector<std::vector<Cell>>& channels) {
  double off = 0;
  for (const auto& cells : channels) {
    if (cells.size() < kFewestCells) return HUGE_VAL;
    off += deviation(cells, {});
  }
  return off;
}

struct Fit {
  CornerGain gain;
  double explained = 0;  // share of the deviations from even noise
};

// The best gain of a grid. Without one, the first.
Fit fit_gain(const std::vector<std::vector<Cell>>& channels) {
  constexpr int32_t kFewest = -20, kMost = 32, kShapes = 4;  // corners of 0.37 to 4.95
  constexpr double kStep = 0.05;
  Fit best;
  double least = HUGE_VAL, even = 0;
  for (int32_t step = kFewest; step <= kMost; ++step) {
    for (int32_t shape = 0; shape <= kShapes; ++shape) {
      const double all = std::expm1(kStep * step), bulge = all * shape / kShapes;
      const CornerGain gain{1, static_cast<float>(all - bulge), static_cast<float>(bulge)};
      double off = 0;
      for (const auto& cells : channels) off += deviation(cells, gain);
      if (step == 0) even = off;
      if (off >= least) continue;
      least = off;
      best.gain = gain;
    }
  }
  best.explained = even > 0 ? 1 - least / even : 0;
  return best;
}

// Whether all quarters of a channel change about as the gain does; one may be too dark, or
// otherwise not tell.
bool shows(const std::vector<Cell>& cells, const CornerGain& gain) {
  constexpr int32_t kFewestQuarters = 3;
  std::vector<double> inner;
  std::array<std::vector<double>, 4> grown, expected;
  for (const Cell& cell : cells) {
    if (cell.square < kInner) inner.push_back(cell.log_sigma - log_gain(gain, cell));
    if (cell.square < kOuter) continue;
    grown[cell.quarter].push_back(cell.log_sigma);
    expected[cell.quarter].push_back(log_gain(gain, cell));
  }
  if (inner.size() < kFewestOfQuarter) return false;
  const double middle = median(inner);
  int32_t told = 0;
  for (size_t q = 0; q < grown.size(); ++q) {
    if (grown[q].size() < kFewestOfQuarter) continue;
    const double shown = (median(grown[q]) - middle) / median(expected[q]);
    if (!(shown > kLeastShown && shown < kMostShown)) return false;
    ++told;
  }
  return told >= kFewestQuarters;
}

// Enabled where the noise clearly changes, and about as much in the quarters of each channel that
// tells: texture that looks like noise is not as regular, and colours hardly have any. In grey,
// which has nothing but luma, it has to be more.
CornerGain found_gain(const std::vector<std::vector<Cell>>& channels) {
  for (const auto& cells : channels) {
    if (cells.size() < kFewestCells) return {};
  }
  const Fit fit = fit_gain(channels);
  const double least = channels.size() == 1 ? kLeastGainGrey : kLeastGain;
  const double corner = std::abs(std::log(double{gain_of(fit.gain, 1)}));
  if (corner < std::log(least) || fit.explained < kLeastExplained) return {};
  const bool all = std::all_of(channels.begin(), channels.end(),
                               [&](const auto& cells) { return shows(cells, fit.gain); });
  return all ? fit.gain : CornerGain{};
}

// What the sample's noise is like where its curve makes it even.
std::vector<std::vector<Cell>> bent_cells(Sample sample, const ToneBend& bend,
                                          const GainField& field, ThreadPool& pool) {
  if (bend.enabled != 0) bend_sample(bend, sample, pool);
  return measure_cells(sample, field, pool);
}

}  // namespace

void take_gain(const GainField& field, Sample& sample, ThreadPool& pool) {
  pool.parallel_for(static_cast<int32_t>(sample.tiles.size()), [&](int32_t t, int32_t) {
    SampleTile& tile = sample.tiles[t];
    for (size_t i = 0; i < tile.state.size(); ++i) {
      const auto at = static_cast<int32_t>(i);
      const float gain = gain_at(field, tile.x + at % tile.width, tile.y + at / tile.width);
      for (int32_t c = 0; c < sample.channels; ++c) tile.plane[0][c][i] /= gain;
    }
    make_levels(tile, sample.channels);
  });
}

NoiseModel estimate_cornered_noise(Sample sample, const Rect& whole, const PictureRange& range,
                                   NoiseKind kind, ThreadPool& pool, const Callbacks& callbacks) {
  const NoiseModel noise = estimate_even_noise(
      sample, range, kind, pool,
      {callbacks.cancel, [&](double fraction) { callbacks.report(0.5 * fraction); }});
  // Noise that is so uneven may look like texture.
  const bool sure = noise.confidence == Confidence::kMeasured;
  if (!sure && noise.confidence != Confidence::kUnsure) return noise;
  if (!range.is_usual() || noise.toned) return noise;
  const GainField none = field_of({}, whole.width, whole.height);
  const auto before = bent_cells(sample, noise.bend, none, pool);
  const CornerGain corners = found_gain(before);
  if (corners.enabled == 0) return noise;
  take_gain(field_of(corners, whole.width, whole.height), sample, pool);
  NoiseModel even = estimate_even_noise(
      sample, range, kind, pool,
      {callbacks.cancel, [&](double fraction) { callbacks.report(0.5 + 0.5 * fraction); }});
  even.corners = corners;
  const auto after = bent_cells(std::move(sample), even.bend, none, pool);
  // Noise of dark tones may look like that of dark corners: a curve that made it as even as the
  // gain does was right. Of simulated cameras' pictures with a curve those with up to 0.51 gained
  // 0.4 to 3.7 dB, those with 0.76 and 0.99 lost 0.5 and 1.5; without one all up to 0.73 gained.
  constexpr double kMostOfBent = 0.6, kMost = 0.85;
  const double most = noise.bend.enabled != 0 ? kMostOfBent : kMost;
  const bool agrees = even.confidence == Confidence::kMeasured &&
                      unevenness(after) < most * unevenness(before) &&
                      (sure ? even.white[0] == noise.white[0] : even.white[0]);
  return agrees ? even : noise;
}

}  // namespace grainless
