// SPDX-License-Identifier: MIT
#include "graphic.h"

#include <algorithm>
#include <array>
#include <vector>

#include "neutral.h"

namespace grainless {
namespace {

using Colour = std::array<float, kMaxChannels>;

Colour colour_at(const SampleTile& tile, int32_t channels, size_t i) {
  Colour colour{};
  for (int32_t c = 0; c < channels; ++c) colour[c] = tile.plane[0][c][i];
  return colour;
}

// Whether a pixel shows if anything is drawn: clipped ones repeat in photographs, too.
bool counts(uint8_t state) {
  return (state & (kInvalid | kClipped)) == 0;
}

struct Repeats {
  int64_t counted = 0, repeated = 0;

  void add(uint8_t state) {
    if (!counts(state)) return;
    ++counted;
    repeated += (state & kRepeated) != 0 ? 1 : 0;
  }
};

constexpr int32_t kSquare = 32;  // pixels; those at a tile's right and bottom may be smaller

template <typename Body>
void for_square(const SampleTile& tile, int32_t left, int32_t top, const Body& body) {
  for (int32_t y = top; y < std::min(top + kSquare, tile.height); ++y) {
    for (int32_t x = left; x < std::min(left + kSquare, tile.width); ++x) {
      body(static_cast<size_t>(y) * tile.width + x);
    }
  }
}

// Noise repeats grey by chance: a fifth of it at a sigma of 5 steps.
bool is_photographic(const Repeats& square) {
  constexpr double kMostRepeated = 0.3;
  constexpr int64_t kLeastCounted = kSquare * kSquare / 2;
  return square.counted >= kLeastCounted &&
         static_cast<double>(square.repeated) < kMostRepeated * static_cast<double>(square.counted);
}

// The colour that most of them are, where one is (Boyer and Moore's vote).
Colour common_colour(const std::vector<Colour>& colours) {
  Colour candidate{};
  int64_t votes = 0;
  for (const Colour& colour : colours) {
    if (votes == 0) candidate = colour;
    votes += colour == candidate ? 1 : -1;
  }
  return candidate;
}

// The squares of a photograph, and what repeats elsewhere.
struct Squares {
  explicit Squares(const Sample& sample) {
    for (const SampleTile& tile : sample.tiles) {
      for (int32_t y = 0; y < tile.height; y += kSquare) {
        for (int32_t x = 0; x < tile.width; x += kSquare) add(tile, sample.channels, x, y);
      }
    }
  }

  int64_t counted = 0, photograph = 0;  // pixels
  std::vector<Colour> repeated;

 private:
  void add(const SampleTile& tile, int32_t channels, int32_t left, int32_t top) {
    Repeats square;
    for_square(tile, left, top, [&](size_t i) { square.add(tile.state[i]); });
    counted += square.counted;
    if (is_photographic(square)) {
      photograph += square.counted;
      return;
    }
    for_square(tile, left, top, [&](size_t i) {
      if (!counts(tile.state[i]) || (tile.state[i] & kRepeated) == 0) return;
      repeated.push_back(colour_at(tile, channels, i));
    });
  }
};

// Flat graphics, gradients and pictures enlarged by whole numbers repeat their pixels; noise of a
// level or more does not.
bool looks_drawn(const Sample& sample) {
  Repeats all;
  for (const SampleTile& tile : sample.tiles) {
    for (const uint8_t state : tile.state) all.add(state);
  }
  return 10 * all.repeated >= 7 * all.counted && !is_mounted(sample);
}

// As palettes and dithers have: a photograph has thousands of colours, and its greys follow on one
// another.
bool has_few_colours(const Sample& sample) {
  constexpr size_t kGreys = 16, kSpacedGreys = 40, kColours = 256;
  constexpr double kSpace = 6;  // steps from grey to grey, on average
  const bool neutral = is_neutral(sample), grey = neutral || sample.channels == 1;
  const size_t most = grey ? kSpacedGreys : kColours;
  std::vector<Colour> seen;
  for (const SampleTile& tile : sample.tiles) {
    for (size_t i = 0; i < tile.state.size(); ++i) {
      if ((tile.state[i] & kInvalid) != 0) continue;
      const Colour colour = colour_at(tile, sample.channels, i);
      const auto place = std::lower_bound(seen.begin(), seen.end(), colour);
      if (place != seen.end() && *place == colour) continue;
      if (seen.size() == most) return false;
      seen.insert(place, colour);
    }
  }
  if (!grey || seen.size() <= kGreys) return true;
  const double range = (seen.back()[0] - seen.front()[0]) / (neutral ? kLumaOfGrey : 1.0f);
  return range >= kSpace * static_cast<double>(seen.size() - 1);
}

}  // namespace

bool is_mounted(const Sample& sample) {
  constexpr double kLeastPhotograph = 0.1, kLeastOfMount = 0.95;
  const Squares squares(sample);
  const auto photograph = static_cast<double>(squares.photograph);
  if (photograph <= kLeastPhotograph * static_cast<double>(squares.counted)) return false;
  const std::vector<Colour>& repeated = squares.repeated;
  const auto mount = std::count(repeated.begin(), repeated.end(), common_colour(repeated));
  return static_cast<double>(mount) >= kLeastOfMount * static_cast<double>(repeated.size());
}

bool is_graphic(const Sample& sample) {
  return looks_drawn(sample) || has_few_colours(sample);
}

}  // namespace grainless
