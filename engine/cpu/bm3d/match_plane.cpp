// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>

#include "engine/boundary/pixel_math.h"
#include "match.h"

namespace grainless {
namespace {

ptrdiff_t margin_of(const Bm3dStage& stage) {
  return stage.radius;
}

ptrdiff_t stride_of(const Rect& rect, const Bm3dStage& stage) {
  return padded_row<int32_t>(rect.width + 2 * margin_of(stage) + Candidates::kMaxLanes);
}

int32_t low_half(uint32_t pair) {
  return static_cast<int16_t>(pair & 0xffffu);
}

}  // namespace

MatchPlane::MatchPlane(const Rect& rect, const Bm3dStage& stage)
    : rect_(rect),
      patch_(stage.patch),
      curve_(stage.match),
      margin_(margin_of(stage)),
      stride_(stride_of(rect, stage)),
      pairs_(static_cast<size_t>(stride_) * rect.height),
      energies_(static_cast<size_t>(stride_) * rect.height) {}

uint64_t MatchPlane::bytes(const Rect& rect, const Bm3dStage& stage) {
  return static_cast<uint64_t>(stride_of(rect, stage)) * rect.height * 2 * sizeof(int32_t);
}

void MatchPlane::fill_pairs(const Planes& source, int32_t y0, int32_t y1) {
  for (int32_t y = y0; y < y1; ++y) {
    uint32_t* row = pairs_.data() + (y - rect_.y) * stride_;
    std::fill(row, row + stride_, 0u);
    row += margin_;
    for (int32_t half = 0; half < 2 && y + half < rect_.bottom(); ++half) {
      const float* values = source.at(0, rect_.x, y + half);
      for (int32_t x = 0; x < rect_.width; ++x) {
        const int32_t q = match_value(values[x], curve_);
        row[x] |= static_cast<uint32_t>(static_cast<uint16_t>(q)) << (16 * half);
      }
    }
  }
}

void MatchPlane::fill_energies(int32_t y0, int32_t y1) {
  std::vector<int32_t> columns(rect_.width);
  for (int32_t y = y0; y < y1; ++y) {
    int32_t* row = energies_.data() + (y - rect_.y) * stride_;
    std::fill(row, row + stride_, kNoPatch);
    if (y + patch_ > rect_.bottom() || patch_ > rect_.width) continue;
    std::fill(columns.begin(), columns.end(), 0);
    for (int32_t i = 0; i < patch_; ++i) {
      const uint32_t* values = pair(rect_.x, y + i);
      for (int32_t x = 0; x < rect_.width; ++x) {
        columns[x] += low_half(values[x]) * low_half(values[x]);
      }
    }
    int32_t sum = 0;
    for (int32_t x = 0; x < patch_ - 1; ++x) sum += columns[x];
    for (int32_t x = 0; x + patch_ <= rect_.width; ++x) {
      sum += columns[x + patch_ - 1];
      row[margin_ + x] = sum;
      sum -= columns[x];
    }
  }
}

}  // namespace grainless
