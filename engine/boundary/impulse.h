// SPDX-License-Identifier: MIT
// Impulses: values of single pixels that belong neither to the picture nor to its noise, as hot and
// dead photosites, faulty transfers and dust leave them. They are found against what lies round
// them and replaced before anything else looks at the picture, alike on every backend.
//
// A signal is the mean of the colours, or the difference of two. Differences hardly see the
// picture's texture, and an impulse of one colour shows in both that the colour is in. At a pixel a
// signal stands out when it exceeds all of the 8 adjacent values, but for `alike` of them, by more
// than  least + times * s  and by more than kImpulseShare of its own height. s is the deviation
// that the middle half of the 24 values within kImpulseReach tells of: noise and texture. Then
//   one colour is an impulse where both of its differences stand out in one direction (or the two
//     others are, where they stand out by themselves, and it doesn't),
//   all colours are where their mean stands out,
//   one colour of a blob is, as demosaicing makes of a hot photosite, where both of its differences
//     stand out from the 16 values at the distance of 2, but for kBlobAlike of them, and nothing
//     at the distance of 3 is half as far out: lines and edges go on there.
// A star or glint of two pixels has a neighbour like itself in all colours, and stays.
#pragma once

#include <cstdint>

#include "impulse_rule.h"
#include "pixel_math.h"
#include "plan.h"

namespace grainless {

inline constexpr int32_t kImpulseReach = 2;                // of the deviation
inline constexpr int32_t kImpulseRing = 3;                 // the farthest that is looked at
inline constexpr int32_t kImpulseFill = 3;                 // where a replacement is taken from
inline constexpr int32_t kBlobAlike = 5, kBlobPixels = 8;  // of 3 x 3 pixels, seen from a corner
inline constexpr int32_t kImpulseAround = 24, kImpulseFewest = 8;
// Of a signal's height above the middle of its surroundings: what it has over its neighbours.
inline constexpr float kImpulseShare = 0.65f;
// Of one colour's height: the others have less, where it is an impulse.
inline constexpr float kOthersShare = 0.5f;
inline constexpr float kFarthest = 3.4e38f;
static_assert(kImpulseRing + kImpulseFill <= kFillRadius, "Plan::halo has room for both");

// The difference of two colours, or with less < 0 that colour itself, or the mean of 3.
struct ImpulseSignal {
  int32_t colour, less, colours;
};

template <typename Source>
GRAINLESS_HD float signal_at(const Source& source, ImpulseSignal signal, int32_t x, int32_t y) {
  if (signal.less >= 0) return source.value(signal.colour, x, y) - source.value(signal.less, x, y);
  if (signal.colours == 1) return source.value(signal.colour, x, y);
  return (source.value(0, x, y) + source.value(1, x, y) + source.value(2, x, y)) * (1.0f / 3.0f);
}

// The signal's values within kImpulseReach, ascending in the direction of `sign`.
struct ImpulseAround {
  float value[kImpulseAround];
  int32_t count;

  constexpr float middle(int32_t left_out) const { return value[(count - left_out) / 2]; }
  // Of the middle half of all but the last left_out.
  constexpr float deviation(int32_t left_out) const {
    const int32_t kept = count - left_out;
    return (value[3 * kept / 4] - value[kept / 4]) * 0.7413f;
  }
};

template <typename Source>
GRAINLESS_HD ImpulseAround impulse_around(const Source& source, ImpulseSignal signal, int32_t x,
                                          int32_t y, float sign) {
  ImpulseAround around;
  around.count = 0;
  for (int32_t dy = -kImpulseReach; dy <= kImpulseReach; ++dy) {
    for (int32_t dx = -kImpulseReach; dx <= kImpulseReach; ++dx) {
      if ((dx == 0 && dy == 0) || !source.valid(x + dx, y + dy)) continue;
      const float value = sign * signal_at(source, signal, x + dx, y + dy);
      int32_t at = around.count++;
      for (; at > 0 && around.value[at - 1] > value; --at) around.value[at] = around.value[at - 1];
      around.value[at] = value;
    }
  }
  return around;
}

// The direction in which the signal stands out at (x, y), 1 or -1; 0: it doesn't.
template <typename Source>
GRAINLESS_HD int32_t stands_out(const Source& source, ImpulseSignal signal, int32_t x, int32_t y,
                                ImpulseLimit limit) {
  float high[2] = {-kFarthest, -kFarthest}, low[2] = {kFarthest, kFarthest};
  int32_t count = 0;
  for (int32_t dy = -1; dy <= 1; ++dy) {
    for (int32_t dx = -1; dx <= 1; ++dx) {
      if ((dx == 0 && dy == 0) || !source.valid(x + dx, y + dy)) continue;
      const float value = signal_at(source, signal, x + dx, y + dy);
      high[1] = value > high[0] ? high[0] : value > high[1] ? value : high[1];
      high[0] = value > high[0] ? value : high[0];
      low[1] = value < low[0] ? low[0] : value < low[1] ? value : low[1];
      low[0] = value < low[0] ? value : low[0];
      ++count;
    }
  }
  const float own = signal_at(source, signal, x, y);
  const float above = own - high[limit.alike], below = low[limit.alike] - own;
  const float excess = above > below ? above : below;
  // Corners of a picture have 3 neighbours, of which one may be alike.
  if (count < 3 || !(excess > limit.least)) return 0;
  const float sign = above > below ? 1.0f : -1.0f;
  const ImpulseAround around = impulse_around(source, signal, x, y, sign);
  if (around.count < kImpulseFewest) return 0;
  if (!(excess > limit.least + limit.times * around.deviation(limit.alike))) return 0;
  if (!(excess > kImpulseShare * (sign * own - around.middle(limit.alike)))) return 0;
  return above > below ? 1 : -1;
}

// i = 0..8 distance - 1: the pixels of a square ring, clockwise.
GRAINLESS_HD void ring_pixel(int32_t i, int32_t distance, int32_t& x, int32_t& y) {
  const int32_t side = i / (2 * distance), along = i % (2 * distance) - distance;
  x += side == 0 ? along : side == 1 ? distance : side == 2 ? -along : -distance;
  y += side == 0 ? -distance : side == 1 ? along : side == 2 ? distance : -along;
}

// How many pixels of that ring have more than `value` in the direction of `sign`, up to `most`.
template <typename Source>
GRAINLESS_HD int32_t count_in_ring(const Source& source, ImpulseSignal signal, int32_t x, int32_t y,
                                   int32_t distance, float value, float sign, int32_t most) {
  int32_t count = 0;
  for (int32_t i = 0; i < 8 * distance && count < most; ++i) {
    int32_t rx = x, ry = y;
    ring_pixel(i, distance, rx, ry);
    if (!source.valid(rx, ry)) continue;
    count += sign * signal_at(source, signal, rx, ry) > value ? 1 : 0;
  }
  return count;
}

// The same for a pixel of a blob.
template <typename Source>
GRAINLESS_HD int32_t blob_stands_out(const Source& source, ImpulseSignal signal, int32_t x,
                                     int32_t y, ImpulseLimit limit) {
  const float own = signal_at(source, signal, x, y);
  for (int32_t direction = 1; direction >= -1; direction -= 2) {
    const auto sign = static_cast<float>(direction);
    const float least = sign * own - limit.least;
    if (count_in_ring(source, signal, x, y, 2, least, sign, kBlobAlike + 1) > kBlobAlike) continue;
    const ImpulseAround around = impulse_around(source, signal, x, y, sign);
    if (around.count < 2 * kBlobPixels) return 0;
    const float out = limit.times * around.deviation(kBlobPixels);
    if (count_in_ring(source, signal, x, y, 2, least - out, sign, kBlobAlike + 1) > kBlobAlike) {
      continue;
    }
    const float half = 0.5f * (sign * own + around.middle(kBlobPixels));
    if (count_in_ring(source, signal, x, y, kImpulseRing, half, sign, 1) == 0) return direction;
  }
  return 0;
}

// Whether that colour exceeds what lies round it by itself, in spite of texture.
template <typename Source>
GRAINLESS_HD int32_t colour_stands_out(const Source& source, int32_t colour, int32_t x, int32_t y,
                                       ImpulseLimit limit) {
  limit.times *= 0.4f;
  return stands_out(source, {colour, -1, 1}, x, y, limit);
}

// The colour whose differences to both others stand out in one direction; -1: none. out(c, d) tells
// the direction of c - d, for c < d.
template <typename StandsOut>
GRAINLESS_HD int32_t odd_colour(const StandsOut& out) {
  const int32_t rg = out(0, 1), rb = out(0, 2);
  if (rg != 0 && rg == rb) return 0;
  if (rg == 0 && rb == 0) return -1;
  const int32_t gb = out(1, 2);
  if (rg != 0 && gb == -rg) return 1;
  return rb != 0 && gb == rb ? 2 : -1;
}

// The direction in which a colour is more than `least` beyond all that is adjacent; 0: in none.
template <typename Source>
GRAINLESS_HD int32_t peaks(const Source& source, int32_t colour, int32_t x, int32_t y,
                           float least) {
  const float own = source.value(colour, x, y);
  float above = kFarthest, below = kFarthest;
  for (int32_t i = 0; i < 8; ++i) {
    int32_t rx = x, ry = y;
    ring_pixel(i, 1, rx, ry);
    if (!source.valid(rx, ry)) continue;
    const float over = own - source.value(colour, rx, ry);
    above = over < above ? over : above;
    below = -over < below ? -over : below;
  }
  return above > least ? 1 : below > least ? -1 : 0;
}

// How far a colour is from the middle of its surroundings.
template <typename Source>
GRAINLESS_HD float colour_distance(const Source& source, int32_t colour, int32_t x, int32_t y) {
  const ImpulseAround around = impulse_around(source, {colour, -1, 1}, x, y, 1.0f);
  return fabsf(source.value(colour, x, y) - around.middle(0));
}

// Whether the other colours hardly take part, as they do in tinted stars and lamps.
template <typename Source>
GRAINLESS_HD bool is_its_own(const Source& source, int32_t colour, int32_t x, int32_t y) {
  const float most = kOthersShare * colour_distance(source, colour, x, y);
  return colour_distance(source, (colour + 1) % 3, x, y) < most &&
         colour_distance(source, (colour + 2) % 3, x, y) < most;
}

// Bits of the colours that are impulses at (x, y), a valid pixel. source.valid(x, y): whether that
// is a valid pixel of the image; source.value(c, x, y): its colour c, in 8-bit steps.
template <typename Source>
GRAINLESS_HD uint32_t impulse_bits(const Source& source, int32_t x, int32_t y, int32_t colours,
                                   const ImpulseRule& rule) {
  constexpr uint32_t kAll = 7;
  if (colours == 3) {
    const int32_t odd = odd_colour(
        [&](int32_t c, int32_t d) { return stands_out(source, {c, d, 3}, x, y, rule.one); });
    if (odd >= 0) {
      const int32_t next = colour_stands_out(source, (odd + 1) % 3, x, y, rule.one);
      const bool others = next != 0 &&
                          next == colour_stands_out(source, (odd + 2) % 3, x, y, rule.one) &&
                          colour_stands_out(source, odd, x, y, rule.one) != next;
      if (others) return kAll & ~(1u << odd);
      const int32_t peak = peaks(source, (odd + 1) % 3, x, y, rule.one.least);
      const bool tinted = peak != 0 && peak == peaks(source, (odd + 2) % 3, x, y, rule.one.least);
      if (!tinted) return 1u << odd;
    }
    if (rule.blob.times > 0) {
      const int32_t blob = odd_colour([&](int32_t c, int32_t d) {
        return blob_stands_out(source, {c, d, 3}, x, y, rule.blob);
      });
      if (blob >= 0 && is_its_own(source, blob, x, y)) return 1u << blob;
    }
  }
  return stands_out(source, {0, -1, colours}, x, y, rule.all) != 0 ? (colours == 3 ? kAll : 1u) : 0;
}

// What takes the place of colour c at (x, y): of the four pairs of opposite neighbours the mean,
// those that agree counting more; else the mean of the nearest ring with any. bits(x, y): the
// impulse_bits() of a pixel, or those of all colours where it isn't valid. Without any neighbour
// the value stays.
template <typename Source, typename Bits>
GRAINLESS_HD float impulse_replacement(const Source& source, const Bits& bits, int32_t c, int32_t x,
                                       int32_t y, float agree) {
  constexpr float kPart = 1.0f / 64;  // no sum of so many finite values is infinite
  float sum = 0.0f, weights = 0.0f;
  for (int32_t i = 0; i < 4; ++i) {
    int32_t ax = 0, ay = 0;
    ring_pixel(i, 1, ax, ay);
    if ((bits(x + ax, y + ay) >> c & 1u) != 0 || (bits(x - ax, y - ay) >> c & 1u) != 0) continue;
    const float a = source.value(c, x + ax, y + ay), b = source.value(c, x - ax, y - ay);
    const float apart = (a - b) / agree;
    const float weight = (ax != 0 && ay != 0 ? 0.5f : 1.0f) / (1.0f + apart * apart);
    sum += weight * (0.5f * a + 0.5f * b);
    weights += weight;
  }
  for (int32_t distance = 1; distance <= kImpulseFill && weights == 0.0f; ++distance) {
    for (int32_t i = 0; i < 8 * distance; ++i) {
      int32_t rx = x, ry = y;
      ring_pixel(i, distance, rx, ry);
      if ((bits(rx, ry) >> c & 1u) != 0) continue;
      sum += source.value(c, rx, ry) * kPart;
      weights += kPart;
    }
  }
  return weights > 0.0f ? sum / weights : source.value(c, x, y);
}

}  // namespace grainless
