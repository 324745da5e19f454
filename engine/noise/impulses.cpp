// SPDX-License-Identifier: MIT
#include "impulses.h"

#include <algorithm>
#include <vector>

#include "engine/boundary/impulse.h"
#include "engine/plan/impulse_plan.h"
#include "engine/sentence.h"
#include "graphic.h"

namespace grainless {
namespace {

constexpr uint8_t kNoPixel = 0xff;

// What stands out in a signal: above, or below, what is around it.
enum Mark : uint8_t { kHigh = 1, kLow = 2 };

// How much a pixel exceeds all but one of the 8 adjacent values, and how much it is below them.
struct Excess {
  float above, below;
};

// Of the pixel at row[x]; rows are `width` apart.
Excess excess_at(const float* row, int32_t width, int32_t x) {
  float high = -kFarthest, next_high = -kFarthest, low = kFarthest, next_low = kFarthest;
  const auto take = [&](float value) {
    next_high = std::max(next_high, std::min(high, value));
    high = std::max(high, value);
    next_low = std::min(next_low, std::max(low, value));
    low = std::min(low, value);
  };
  const auto take_three = [&](const float* around) {
    take(around[-1]);
    take(around[0]);
    take(around[1]);
  };
  take_three(row - width + x);
  take_three(row + width + x);
  take(row[x - 1]);
  take(row[x + 1]);
  return {row[x] - next_high, next_low - row[x]};
}

// Marks what exceeds, or is below, all but one of the 8 adjacent values by more than `least`. Plain
// loops over rows, of floats and then of bytes, which compilers make vectors of. The tile's border
// is left.
void mark_outliers(const float* values, int32_t width, int32_t height, float least,
                   uint8_t* marks) {
  std::vector<float> above(static_cast<size_t>(width)), below(above.size());
  for (int32_t y = 1; y + 1 < height; ++y) {
    const float* row = values + static_cast<size_t>(y) * width;
    for (int32_t x = 1; x + 1 < width; ++x) {
      const Excess excess = excess_at(row, width, x);
      above[x] = excess.above;
      below[x] = excess.below;
    }
    uint8_t* mark = marks + static_cast<size_t>(y) * width;
    for (int32_t x = 1; x + 1 < width; ++x) {
      mark[x] =
          static_cast<uint8_t>((above[x] > least ? kHigh : 0) | (below[x] > least ? kLow : 0));
    }
  }
}

// Whether one colour may stand out of its differences to the others: R - G, G - B, B - R. Its own
// one and the one before tell it in opposite directions.
bool may_be_odd(uint8_t own, uint8_t before) {
  return ((own & kHigh) != 0 && (before & kLow) != 0) ||
         ((own & kLow) != 0 && (before & kHigh) != 0);
}

void mark_border(int32_t width, int32_t height, std::vector<uint8_t>& marks) {
  const auto row = static_cast<size_t>(width);
  std::fill_n(marks.begin(), row, uint8_t{1});
  std::fill_n(marks.end() - static_cast<ptrdiff_t>(row), row, uint8_t{1});
  for (size_t y = 0; y < static_cast<size_t>(height); ++y) {
    marks[y * row] = marks[y * row + row - 1] = 1;
  }
}

// A tile's colours, as impulse.h asks for them.
class Colours {
 public:
  Colours(const SampleTile& tile, int32_t channels) : tile_(tile), channels_(channels) {
    const size_t pixels = tile.state.size();
    for (int32_t c = 0; c < channels; ++c) value_[c] = tile.plane[0][c];
    for (size_t i = 0; i < pixels && channels == 3; ++i) {
      const Rgb rgb = rgb_from_yuv({value_[0][i], value_[1][i], value_[2][i]});
      value_[0][i] = rgb.r;
      value_[1][i] = rgb.g;
      value_[2][i] = rgb.b;
    }
  }

  int32_t channels() const { return channels_; }
  bool valid(int32_t x, int32_t y) const {
    return x >= 0 && y >= 0 && x < tile_.width && y < tile_.height &&
           (tile_.state[at(x, y)] & kInvalid) == 0;
  }
  float value(int32_t c, int32_t x, int32_t y) const { return value_[c][at(x, y)]; }

  // Which pixels impulse_bits() may find at all, by a rule without blobs: where the mean of the
  // colours stands out from all but one of its neighbours, or one colour's differences to both
  // others do. A few percent of the time that asking for each pixel takes.
  std::vector<uint8_t> candidates(const ImpulseRule& rule) const {
    const bool whole = std::none_of(tile_.state.begin(), tile_.state.end(),
                                    [](uint8_t state) { return (state & kInvalid) != 0; });
    if (!whole) return std::vector<uint8_t>(tile_.state.size(), 1);
    std::vector<uint8_t> found = marks({0, -1, channels_}, rule.all.least);
    if (channels_ == 3) {
      std::vector<uint8_t> of[3];
      for (int32_t c = 0; c < 3; ++c) of[c] = marks({c, (c + 1) % 3, 3}, rule.one.least);
      for (size_t i = 0; i < found.size(); ++i) {
        const bool odd = may_be_odd(of[0][i], of[2][i]) || may_be_odd(of[1][i], of[0][i]) ||
                         may_be_odd(of[2][i], of[1][i]);
        found[i] = found[i] != 0 || odd ? 1 : 0;
      }
    }
    mark_border(tile_.width, tile_.height, found);
    return found;
  }

  std::vector<uint8_t> bits(const ImpulseRule& rule) const {
    std::vector<uint8_t> found(tile_.state.size(), kNoPixel);
    for (int32_t y = 0; y < tile_.height; ++y) {
      for (int32_t x = 0; x < tile_.width; ++x) {
        if (!valid(x, y)) continue;
        found[at(x, y)] = static_cast<uint8_t>(impulse_bits(*this, x, y, channels_, rule));
      }
    }
    return found;
  }

 private:
  // What stands out in a signal; nothing on the tile's border.
  std::vector<uint8_t> marks(ImpulseSignal signal, float least) const {
    constexpr float kRounding = 0.999f;
    std::vector<float> values(tile_.state.size());
    for (int32_t y = 0; y < tile_.height; ++y) {
      for (int32_t x = 0; x < tile_.width; ++x) values[at(x, y)] = signal_at(*this, signal, x, y);
    }
    std::vector<uint8_t> marks(values.size());
    mark_outliers(values.data(), tile_.width, tile_.height, kRounding * least, marks.data());
    return marks;
  }

  size_t at(int32_t x, int32_t y) const { return static_cast<size_t>(y) * tile_.width + x; }

  const SampleTile& tile_;
  const int32_t channels_;
  std::vector<float> value_[kMaxChannels];
};

// What stands out in a sample: alone, of these in all colours, and with one beside it that is like
// it.
struct Counts {
  int64_t pixels = 0, alone = 0, in_all = 0, in_pairs = 0;
};

// Noise is cut off at white: what is left there of a picture's grain stands alone.
bool is_in_white(const Colours& colours, int32_t x, int32_t y) {
  constexpr float kWhite = 254.0f;
  for (int32_t c = 0; c < colours.channels(); ++c) {
    const ImpulseAround around = impulse_around(colours, {c, -1, 1}, x, y, 1.0f);
    if (around.count > 0 && around.middle(0) >= kWhite) return true;
  }
  return false;
}

// So clear are some of them where there are any.
ImpulseRule clear_rule(const PictureRange& range, int32_t alike) {
  ImpulseRule rule = impulse_rule(ImpulseWay::kWeak, range);
  rule.one.alike = rule.all.alike = alike;
  return rule;
}

Counts count_impulses(const SampleTile& tile, int32_t channels, const PictureRange& range) {
  Counts counts;
  const Colours colours(tile, channels);
  const ImpulseRule alone = clear_rule(range, 0), in_pairs = clear_rule(range, 1);
  const uint32_t all = channels == 3 ? 7 : 1;
  const std::vector<uint8_t> candidates = colours.candidates(in_pairs);
  for (int32_t y = 0; y < tile.height; ++y) {
    for (int32_t x = 0; x < tile.width; ++x) {
      if (!colours.valid(x, y)) continue;
      ++counts.pixels;
      if (candidates[static_cast<size_t>(y) * tile.width + x] == 0) continue;
      const uint32_t one = impulse_bits(colours, x, y, channels, alone);
      const uint32_t two = impulse_bits(colours, x, y, channels, in_pairs);
      if ((one == 0 && two == 0) || is_in_white(colours, x, y)) continue;
      ++(one != 0 ? counts.alone : counts.in_pairs);
      counts.in_all += one == all ? 1 : 0;
    }
  }
  return counts;
}

void mend_tile(SampleTile& tile, int32_t channels, const ImpulseRule& rule) {
  const Colours colours(tile, channels);
  const std::vector<uint8_t> found = colours.bits(rule);
  const auto bits = [&](int32_t x, int32_t y) -> uint32_t {
    return colours.valid(x, y) ? found[static_cast<size_t>(y) * tile.width + x] : kNoPixel;
  };
  for (int32_t y = 0; y < tile.height; ++y) {
    for (int32_t x = 0; x < tile.width; ++x) {
      const size_t at = static_cast<size_t>(y) * tile.width + x;
      if (found[at] == 0 || found[at] == kNoPixel) continue;
      float value[kMaxChannels] = {};
      for (int32_t c = 0; c < channels; ++c) {
        value[c] = (found[at] >> c & 1) != 0
                       ? impulse_replacement(colours, bits, c, x, y, rule.agree)
                       : colours.value(c, x, y);
      }
      const Yuv yuv =
          channels == 3 ? yuv_from_rgb({value[0], value[1], value[2]}) : Yuv{value[0], 0, 0};
      const float plane[kMaxChannels] = {yuv.y, yuv.u, yuv.v};
      for (int32_t c = 0; c < channels; ++c) tile.plane[0][c][at] = plane[c];
      tile.state[at] &= static_cast<uint8_t>(~kClipped);
    }
  }
  make_levels(tile, channels);
}

Impulses find_impulses(const Sample& sample, const PictureRange& range, ThreadPool& pool) {
  // Of 200 clean pictures (tools/dev/harm_pictures.py, Kodak24, Set12) none has more alone than in
  // pairs where 4 or more are alone, but for kodim24 and halftones, which have as many.
  constexpr int64_t kFewest = 8, kPerMillion = 30, kMany = 1000, kOverPairs = 3;
  if (is_graphic(sample)) return Impulses::kNone;
  std::vector<Counts> of_tiles(sample.tiles.size());
  pool.parallel_for(static_cast<int32_t>(sample.tiles.size()), [&](int32_t i, int32_t) {
    of_tiles[i] = count_impulses(sample.tiles[i], sample.channels, range);
  });
  Counts counts;
  for (const Counts& of : of_tiles) {
    counts.pixels += of.pixels;
    counts.alone += of.alone;
    counts.in_all += of.in_all;
    counts.in_pairs += of.in_pairs;
  }
  const int64_t alone = counts.alone, millions = 1000000 * alone;
  if (alone < kFewest || millions < kPerMillion * counts.pixels ||
      alone < kOverPairs * counts.in_pairs) {
    return Impulses::kNone;
  }
  // Those of one colour are told from pairs as they are.
  const bool many = 1000000 * counts.in_all >= kMany * counts.pixels;
  return many ? Impulses::kMany : Impulses::kFew;
}

}  // namespace

std::string impulses_text(Impulses impulses) {
  switch (impulses) {
    case Impulses::kNone:
      break;
    case Impulses::kFew:
      return sentence("a few hot pixels");
    case Impulses::kMany:
      return sentence("many hot pixels");
  }
  return {};
}

bool asks_for_impulses(const Params& params) {
  return params.impulse == static_cast<int32_t>(ImpulseWay::kAuto) && params.depth == 0;
}

Impulses mend_impulses(Sample& sample, const PictureRange& range, ThreadPool& pool) {
  const Impulses found = find_impulses(sample, range, pool);
  if (found == Impulses::kNone) return found;
  const ImpulseRule rule =
      impulse_rule(found == Impulses::kMany ? ImpulseWay::kStrong : ImpulseWay::kNormal, range);
  pool.parallel_for(static_cast<int32_t>(sample.tiles.size()),
                    [&](int32_t i, int32_t) { mend_tile(sample.tiles[i], sample.channels, rule); });
  return found;
}

}  // namespace grainless
