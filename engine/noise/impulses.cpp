// SPDX-License-Identifier: MIT
#include "impulses.h"

#include <atomic>

#include "engine/boundary/impulse.h"
#include "engine/plan/impulse_plan.h"
#include "estimate.h"

namespace grainless {
namespace {

constexpr uint8_t kNoPixel = 0xff;

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
  size_t at(int32_t x, int32_t y) const { return static_cast<size_t>(y) * tile_.width + x; }

  const SampleTile& tile_;
  const int32_t channels_;
  std::vector<float> value_[kMaxChannels];
};

// What stands out in a sample: alone, of these in all colours, and with one beside it that is like
// it.
struct Counts {
  std::atomic<int64_t> pixels{0}, alone{0}, in_all{0}, in_pairs{0};
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

void count_impulses(const SampleTile& tile, int32_t channels, const PictureRange& range,
                    Counts& counts) {
  const Colours colours(tile, channels);
  const uint8_t all = channels == 3 ? 7 : 1;
  const std::vector<uint8_t> one = colours.bits(clear_rule(range, 0));
  const std::vector<uint8_t> two = colours.bits(clear_rule(range, 1));
  for (size_t i = 0; i < one.size(); ++i) {
    if (one[i] == kNoPixel) continue;
    ++counts.pixels;
    if (one[i] == 0 && two[i] == 0) continue;
    const auto x = static_cast<int32_t>(i % static_cast<size_t>(tile.width));
    const auto y = static_cast<int32_t>(i / static_cast<size_t>(tile.width));
    if (is_in_white(colours, x, y)) continue;
    ++(one[i] != 0 ? counts.alone : counts.in_pairs);
    counts.in_all += one[i] == all ? 1 : 0;
  }
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

}  // namespace

bool asks_for_impulses(const Params& params) {
  return params.impulse == static_cast<int32_t>(ImpulseWay::kAuto) && params.depth == 0;
}

Impulses find_impulses(const Sample& sample, const PictureRange& range, ThreadPool& pool) {
  // Of 200 clean pictures (tools/dev/harm_pictures.py, Kodak24, Set12) none has more alone than in
  // pairs where 4 or more are alone, but for kodim24 and halftones, which have as many.
  constexpr int64_t kFewest = 8, kPerMillion = 30, kMany = 1000, kOverPairs = 3;
  if (is_graphic(sample)) return Impulses::kNone;
  Counts counts;
  pool.parallel_for(static_cast<int32_t>(sample.tiles.size()), [&](int32_t i, int32_t) {
    count_impulses(sample.tiles[i], sample.channels, range, counts);
  });
  const int64_t alone = counts.alone, millions = 1000000 * alone;
  if (alone < kFewest || millions < kPerMillion * counts.pixels ||
      alone < kOverPairs * counts.in_pairs) {
    return Impulses::kNone;
  }
  // Those of one colour are told from pairs as they are.
  const bool many = 1000000 * counts.in_all >= kMany * counts.pixels;
  return many ? Impulses::kMany : Impulses::kFew;
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
