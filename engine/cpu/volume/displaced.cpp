// SPDX-License-Identifier: MIT
#include "displaced.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace grainless {
namespace {

constexpr int32_t kTaps = 8, kBefore = kTaps / 2 - 1, kParts = 8;

using Taps = std::array<float, kTaps>;

double sinc(double x) {
  return x == 0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

// Lanczos of four lobes, of every eighth of a pixel.
std::array<Taps, kParts> all_taps() {
  std::array<Taps, kParts> taps;
  for (int32_t part = 0; part < kParts; ++part) {
    double weight[kTaps], sum = 0;
    for (int32_t i = 0; i < kTaps; ++i) {
      const double at = i - kBefore - static_cast<double>(part) / kParts;
      weight[i] = std::abs(at) < kTaps / 2 ? sinc(at) * sinc(2 * at / kTaps) : 0;
      sum += weight[i];
    }
    for (int32_t i = 0; i < kTaps; ++i) {
      taps[static_cast<size_t>(part)][static_cast<size_t>(i)] = static_cast<float>(weight[i] / sum);
    }
  }
  return taps;
}

// Along one axis: whole pixels, and eighths of one.
struct Step {
  int32_t whole, part;
};

Step step_of(float offset) {
  const float whole = std::floor(offset);
  return {static_cast<int32_t>(whole), static_cast<int32_t>(kParts * (offset - whole))};
}

constexpr int32_t kWide = kMotionBlock + kTaps - 1;
using Block = float[kWide][kWide];

// The pixels that a block is made of.
void gather(const Planes& layer, int32_t c, const Rect& from, Block& pixels) {
  const Rect& all = layer.rect();
  for (int32_t j = 0; j < from.height; ++j) {
    const float* row = layer.at(c, all.x, std::clamp(from.y + j, all.y, all.bottom() - 1)) - all.x;
    if (from.x >= all.x && from.right() <= all.right()) {
      std::copy_n(row + from.x, from.width, pixels[j]);
      continue;
    }
    for (int32_t i = 0; i < from.width; ++i) {
      pixels[j][i] = row[std::clamp(from.x + i, all.x, all.right() - 1)];
    }
  }
}

// out[i] = sum of the taps times what is `step` apart from in[i] on.
void weigh_line(const Taps& taps, const float* in, ptrdiff_t step, int32_t count, float* out) {
  float sum[kMotionBlock] = {};
  for (int32_t k = 0; k < kTaps; ++k) {
    const float weight = taps[static_cast<size_t>(k)];
    const float* from = in + k * step;
    for (int32_t i = 0; i < count; ++i) sum[i] += weight * from[i];
  }
  std::copy_n(sum, count, out);
}

void displace_block(const Planes& layer, const Offset& offset, const Rect& to, Planes& moved) {
  static const std::array<Taps, kParts> all = all_taps();
  const Step right = step_of(offset.right), down = step_of(offset.down);
  const Taps& across = all[static_cast<size_t>(right.part)];
  const Taps& along = all[static_cast<size_t>(down.part)];
  const Rect from{to.x + right.whole - kBefore, to.y + down.whole - kBefore, to.width + kTaps - 1,
                  to.height + kTaps - 1};
  Block pixels, lines;
  for (int32_t c = 0; c < layer.channels(); ++c) {
    gather(layer, c, from, pixels);
    for (int32_t j = 0; j < from.height; ++j) {
      if (right.part == 0) {
        std::copy_n(&pixels[j][kBefore], to.width, lines[j]);
      } else {
        weigh_line(across, pixels[j], 1, to.width, lines[j]);
      }
    }
    for (int32_t j = 0; j < to.height; ++j) {
      float* out = moved.at(c, to.x, to.y + j);
      if (down.part == 0) {
        std::copy_n(lines[j + kBefore], to.width, out);
      } else {
        weigh_line(along, lines[j], kWide, to.width, out);
      }
    }
  }
}

}  // namespace

Rect displaced_source(const MotionField& field, const Rect& rect, const Rect& layer) {
  Rect all;
  for_blocks(field, rect, [&](const Offset& offset, const Rect& block) {
    const Rect under = expand(pixels_under(offset, block), kTaps / 2);
    // Beyond the layer its border is repeated.
    const int32_t x = std::clamp(under.x, 0, layer.width - 1);
    const int32_t y = std::clamp(under.y, 0, layer.height - 1);
    const Rect held{x, y, std::clamp(under.right(), x + 1, std::max(x + 1, layer.width)) - x,
                    std::clamp(under.bottom(), y + 1, std::max(y + 1, layer.height)) - y};
    all = all.empty() ? held : bounds(all, held);
  });
  return all;
}

Planes displaced(const Planes& layer, const MotionField& field, const Rect& rect) {
  Planes moved(layer.channels(), rect);
  for_blocks(field, rect, [&](const Offset& offset, const Rect& block) {
    displace_block(layer, offset, block, moved);
  });
  return moved;
}

Rect pixels_under(const Offset& offset, const Rect& pixels) {
  const Step right = step_of(offset.right), down = step_of(offset.down);
  return {pixels.x + right.whole, pixels.y + down.whole, pixels.width + (right.part == 0 ? 0 : 1),
          pixels.height + (down.part == 0 ? 0 : 1)};
}

}  // namespace grainless
