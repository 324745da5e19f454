// SPDX-License-Identifier: MIT
#include "layer_survey.h"

#include <algorithm>
#include <cstring>

namespace grainless {
namespace {

constexpr int32_t kRows = 128;  // measured at once: a row of chunks

}  // namespace

Rect LayerSurvey::band() const {
  const int32_t above = std::max(0, passed_ - Survey::kMargin);
  const int32_t below = std::min(height_, passed_ + kRows + Survey::kMargin);
  return {0, above, width_, std::max(0, below - above)};
}

bool LayerSurvey::go_on(LoadedLayer& layer, int64_t end) {
  if (!survey_) survey_.emplace(format_, width_, height_);
  while (!done()) {
    const Rect next = band();
    if (!layer.load(next, end)) return false;
    const Rect rows{0, passed_, width_, std::min(kRows, height_ - passed_)};
    const std::shared_ptr<const PixelBuffer> pixels = layer.part(next);
    survey_->add(pixels->image(), rows.y, rows.bottom());
    keep_middle(*pixels, rows);
    passed_ = rows.bottom();
  }
  return true;
}

void LayerSurvey::keep_middle(const PixelBuffer& band, const Rect& rows) {
  if (!middle_) {
    const auto most = static_cast<int32_t>(std::max<int64_t>(kRows, kMostInDetail / width_));
    const int32_t count = std::min(height_, most);
    middle_.emplace(format_, width_, height_, Rect{0, (height_ - count) / 2, width_, count});
  }
  const Rect part = intersect(rows, middle_->rect());
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    std::memcpy(middle_->at(0, y), band.at(0, y), static_cast<size_t>(band.row_bytes()));
  }
}

}  // namespace grainless
