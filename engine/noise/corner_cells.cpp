// SPDX-License-Identifier: MIT
#include "corner_cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "engine/boundary/pixel_math.h"
#include "finest_band.h"
#include "motion.h"
#include "tone_profile.h"

namespace grainless {
namespace {

constexpr int32_t kCell = 64;  // pixels of the side of what one sigma is measured in
constexpr double kFlattest = 0.25;
constexpr size_t kFewestBlocks = 8, kFewestCells = 24, kFewestOfTone = 12;
constexpr double kLeastCellSigma = 0.3;  // that rounding to 8 bits leaves room for

// The cells that a gain is seen in: those of the middle, and in each quarter the outer ones.
constexpr double kInner = 0.2, kOuter = 0.4;
constexpr size_t kFewestOfQuarter = 3;

// Of Kodak24 with even noise of 3 and 10 all colours' quarters stay within 0.07 of the middle, as
// logarithms; with corners twice as noisy all show 0.7 to 1.4 times what is found.
constexpr double kLeastGain = 1.25, kLeastGainOfLuma = 1.4;
constexpr double kLeastShown = 0.6, kMostShown = 1.6, kLeastExplained = 0.2;

double log_gain(const CornerGain& gain, float square) {
  return std::log(double{gain_of(gain, square)});
}

}  // namespace

CornerCells::CornerCells(const Sample& sample, const ToneBend& bend, const GainWay& way,
                         int32_t width, int32_t height, ThreadPool& pool)
    : way_(way), field_(field_of({}, width, height)) {
  Sample bent;
  if (bend.enabled != 0) {
    bent = sample;
    bend_sample(bend, bent, pool);
  }
  const Sample& even = bend.enabled != 0 ? bent : sample;
  const bool luma = way.witness == Witness::kLuma;
  for (int32_t c = luma ? 0 : 1; c < (luma ? 1 : even.channels); ++c) {
    channels_.push_back(measure(even, c, pool));
  }
}

CornerCells::Channel CornerCells::measure(const Sample& sample, int32_t channel,
                                          ThreadPool& pool) const {
  std::vector<Channel> parts(sample.tiles.size());
  pool.parallel_for(static_cast<int32_t>(parts.size()),
                    [&](int32_t i, int32_t) { parts[i] = tile_cells(sample.tiles[i], channel); });
  Channel cells;
  for (const Channel& part : parts) cells.insert(cells.end(), part.begin(), part.end());
  std::stable_sort(cells.begin(), cells.end(),
                   [](const Cell& a, const Cell& b) { return a.brightness < b.brightness; });
  return cells;
}

CornerCells::Channel CornerCells::tile_cells(const SampleTile& tile, int32_t channel) const {
  std::map<std::pair<int32_t, int32_t>, std::vector<BandBlock>> squares;
  for (BandBlock& block : band_blocks(tile, channel, way_.clipped_share)) {
    const std::pair at{(block.x - tile.x) / kCell, (block.y - tile.y) / kCell};
    squares[at].push_back(std::move(block));
  }
  Channel found;
  for (auto& [at, blocks] : squares) {
    if (blocks.size() < kFewestBlocks) continue;
    const BandNoise noise = flattest_band(blocks, kFlattest, kFewestBlocks);
    if (noise.sigma <= kLeastCellSigma) continue;
    const auto x = static_cast<float>(tile.x + at.first * kCell + kCell / 2);
    const auto y = static_cast<float>(tile.y + at.second * kCell + kCell / 2);
    const size_t quarter = (x > field_.centre_x ? 1 : 0) + (y > field_.centre_y ? 2 : 0);
    found.push_back({square_at(field_, x, y), quarter, noise.brightness, std::log(noise.sigma)});
  }
  return found;
}

// The logarithm of the middle's sigma in each cell's shade: what the cells that are about as bright
// show of it on the average.
std::vector<double> CornerCells::middle_sigmas(const Channel& cells, const CornerGain& gain) const {
  const size_t count = cells.size();
  const size_t tones = std::clamp(count / kFewestOfTone, size_t{1}, way_.tones);
  std::vector<double> middle(count), levels;
  for (size_t tone = 0; tone < tones; ++tone) {
    const size_t first = tone * count / tones, last = (tone + 1) * count / tones;
    levels.clear();
    for (size_t i = first; i < last; ++i) {
      levels.push_back(cells[i].log_sigma - log_gain(gain, cells[i].square));
    }
    const double shade = median(levels);
    for (size_t i = first; i < last; ++i) middle[i] = shade;
  }
  return middle;
}

// How far the cells' sigmas are from what their shades and the gain make of them.
double CornerCells::deviation(const Channel& cells, const CornerGain& gain) const {
  const std::vector<double> middle = middle_sigmas(cells, gain);
  double sum = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    sum += std::abs(cells[i].log_sigma - log_gain(gain, cells[i].square) - middle[i]);
  }
  return sum / static_cast<double>(cells.size());
}

bool CornerCells::tells() const {
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const Channel& cells) { return cells.size() >= kFewestCells; });
}

double CornerCells::unevenness() const {
  if (!tells()) return HUGE_VAL;
  double off = 0;
  for (const Channel& cells : channels_) off += deviation(cells, {});
  return off;
}

// The best gain of a grid. Without one, the first.
CornerCells::Fit CornerCells::fit_gain() const {
  constexpr int32_t kFewest = -20, kShapes = 4;  // corners of 0.37
  constexpr double kStep = 0.05;
  const auto most = static_cast<int32_t>(std::log(way_.most) / kStep);
  Fit best;
  double least = HUGE_VAL, even = 0;
  for (int32_t step = kFewest; step <= most; ++step) {
    for (int32_t shape = 0; shape <= kShapes; ++shape) {
      const double all = std::expm1(kStep * step), bulge = all * shape / kShapes;
      const CornerGain gain{1, static_cast<float>(all - bulge), static_cast<float>(bulge)};
      double off = 0;
      for (const Channel& cells : channels_) off += deviation(cells, gain);
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
bool CornerCells::shows(const Channel& cells, const CornerGain& gain) const {
  constexpr int32_t kFewestQuarters = 3;
  const std::vector<double> sigmas = middle_sigmas(cells, gain);
  std::vector<double> inner;
  std::array<std::vector<double>, 4> grown, expected;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const double more = cell.log_sigma - sigmas[i], grows = log_gain(gain, cell.square);
    if (cell.square < kInner) inner.push_back(more - grows);
    if (cell.square < kOuter) continue;
    grown[cell.quarter].push_back(more);
    expected[cell.quarter].push_back(grows);
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

CornerGain CornerCells::gain() const {
  if (!tells()) return {};
  const Fit fit = fit_gain();
  const double least = way_.witness == Witness::kLuma ? kLeastGainOfLuma : kLeastGain;
  const double corner = std::abs(std::log(double{gain_of(fit.gain, 1)}));
  if (corner < std::log(least) || fit.explained < kLeastExplained) return {};
  const bool all = std::all_of(channels_.begin(), channels_.end(),
                               [&](const Channel& cells) { return shows(cells, fit.gain); });
  if (!all) return {};
  if (corner < 0.95 * std::log(way_.most)) return fit.gain;
  const auto share = static_cast<float>((way_.instead - 1) / (way_.most - 1));
  return {1, fit.gain.rise * share, fit.gain.bulge * share};
}

}  // namespace grainless
