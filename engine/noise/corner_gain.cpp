// SPDX-License-Identifier: MIT
#include "corner_gain.h"

#include <array>
#include <optional>

#include "corner_cells.h"
#include "engine/boundary/pixel_math.h"

namespace grainless {
namespace {

// A way to find the gain, and the share of the unevenness that may be left over it. Noise of dark
// tones may look like that of dark corners: where a curve stands for it less may be left.
struct TriedWay {
  GainWay way;
  double most_left, most_left_of_bent;
};

// Without shades: of simulated cameras' pictures with a curve those with up to 0.51 left gained 0.4
// to 3.7 dB, those with 0.76 and 0.99 lost 0.5 and 1.5; without one all up to 0.73 gained. With
// shades, of 300 developed photographs those with a curve up to 0.7, and those without up to 0.78.
constexpr TriedWay kColours{{Witness::kColours, 1, 0.02, 5, 5}, 0.85, 0.6};
constexpr TriedWay kColoursOfShades{{Witness::kColours, 8, 0.1, 5, 5}, 0.78, 0.7};
constexpr TriedWay kLuma{{Witness::kLuma, 1, 0.02, 5, 5}, 0.85, 0.6};
constexpr TriedWay kLumaOfShades{{Witness::kLuma, 8, 0.1, 5, 5}, 0.78, 0.7};
// Noise reduction and JPEG leave next to nothing in the finest band of where there was little: a
// gain that seems to be large need not be.
constexpr TriedWay kLumaOfCoarse{{Witness::kLuma, 8, 0.1, 3, 2}, 0.78, 0.7};

std::array<TriedWay, 2> ways_for(const PictureNoise& noise) {
  const bool grey = noise.channels == 1;
  const bool coarse = noise.confidence == Confidence::kMeasured && !noise.white[0];
  if (coarse) return {kLumaOfCoarse, grey ? kLuma : kColours};
  if (grey) return {kLuma, kLumaOfShades};
  return {kColours, kColoursOfShades};
}

// What is known of a picture in whose corners noise may differ.
struct Cornered {
  const Sample& sample;
  const Rect& whole;
  const PictureRange& range;
  NoiseKind kind;
  const PictureNoise& noise;  // as if it were the same everywhere
};

// Whether the noise is that of a picture with a gain that is found: then `even` is it.
bool estimate_over_gain(const Cornered& picture, const TriedWay& tried, ThreadPool& pool,
                        const Callbacks& callbacks, PictureNoise& even) {
  const auto& [sample, whole, range, kind, noise] = picture;
  const CornerCells before(sample, noise.bend, tried.way, whole.width, whole.height, pool);
  const CornerGain corners = before.gain();
  if (corners.enabled == 0) return false;
  Sample flat = sample;
  take_gain(field_of(corners, whole.width, whole.height), flat, pool);
  even = estimate_even_noise(flat, range, kind, pool, callbacks);
  even.corners = corners;
  const CornerCells after(flat, even.bend, tried.way, whole.width, whole.height, pool);
  const bool bent = noise.bend.enabled != 0, sure = noise.confidence == Confidence::kMeasured;
  // Shades stand for a curve of white noise, too: one that is gone over the gain was right.
  if (bent && noise.white[0] && even.bend.enabled == 0 && tried.way.tones > 1) return false;
  // Over all of the picture there is about as much of it as was found. Of 420 developed photographs
  // two kept less, 0.58 and 0.78, and lost 1.6 and 0.6 dB.
  constexpr double kLeastKept = 0.8;
  constexpr float kMeanSquare = 1.0f / 3;
  const double kept = double{even.sigma[0][0]} * gain_of(corners, kMeanSquare) / noise.sigma[0][0];
  if (sure && kept < kLeastKept) return false;
  const double left = bent ? tried.most_left_of_bent : tried.most_left;
  return even.confidence == Confidence::kMeasured &&
         after.unevenness() < left * before.unevenness() &&
         (sure ? even.white[0] == noise.white[0] : even.white[0]);
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

PictureNoise estimate_cornered_noise(const Sample& sample, const Rect& whole,
                                     const PictureRange& range, NoiseKind kind, ThreadPool& pool,
                                     const Callbacks& callbacks) {
  const std::optional<Toning> toning = find_toning(sample);
  if (toning && toning->is_neutral()) {
    return as_toned(
        estimate_cornered_noise(grey_sample(sample), whole, range, kind, pool, callbacks), *toning);
  }
  const PictureNoise noise = estimate_even_noise(
      sample, range, kind, pool,
      {callbacks.cancel, [&](double fraction) { callbacks.report(0.5 * fraction); }});
  // Noise that is so uneven may look like texture.
  const bool may_be =
      noise.confidence == Confidence::kMeasured || noise.confidence == Confidence::kUnsure;
  if (!may_be || !range.is_usual() || noise.toned) return noise;
  const Cornered picture{sample, whole, range, kind, noise};
  double done = 0.5;
  for (const TriedWay& tried : ways_for(noise)) {
    const Callbacks part{callbacks.cancel,
                         [&](double fraction) { callbacks.report(done + 0.25 * fraction); }};
    PictureNoise even;
    if (estimate_over_gain(picture, tried, pool, part, even)) return even;
    done += 0.25;
  }
  return noise;
}

}  // namespace grainless
