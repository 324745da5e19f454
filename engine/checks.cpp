// SPDX-License-Identifier: MIT
#include "checks.h"

#include <algorithm>

#include "engine/boundary/status.h"
#include "engine/boundary/volume_plan.h"
#include "engine/methods.h"
#include "sentence.h"

namespace grainless {
namespace {

// Coordinates grown by any halo stay far from the largest int32_t.
constexpr int32_t kMostSide = 1 << 30;

}  // namespace

void check_image(PixelFormat format, int32_t width, int32_t height, const Rect& rect,
                 const void* data) {
  const auto bad = [](const char* text) { throw Error(ErrorCode::kBadInput, text); };
  if (format.channels < 1 || format.channels > 4) bad("pixels need 1 to 4 channels");
  if (width < 1 || height < 1) bad("the image has no pixels");
  if (std::max(width, height) > kMostSide) bad("the image is too large");
  if (rect.empty() || !Rect{0, 0, width, height}.contains(rect))
    bad("the area is not in the image");
  if (data == nullptr) bad("the image has no data");
}

void check_whole(const ConstImage& image) {
  check_image(image.format, image.width, image.height, image.rect, image.data);
  if (image.rect != Rect{0, 0, image.width, image.height}) {
    throw Error(ErrorCode::kInternal, "noise is measured on whole images only");
  }
}

void check_volume_params(const Params& params, int32_t depth) {
  throw_if_failed(validate(params));
  if (method_row(params.method).stack == StackWay::kNone) {
    throw Error(ErrorCode::kBadParameter, sentence("depth takes method bm3d or nlm"));
  }
  if (depth < 1 || depth > kMaxDepth) {
    throw Error(ErrorCode::kBadParameter, sentence("depth takes a number from 1 to 15"));
  }
}

void check_layers(std::span<const ConstImage> layers, std::span<const MutableImage> targets) {
  if (layers.empty() || targets.empty()) {
    throw Error(ErrorCode::kBadInput, sentence("a volume needs layers, and a target for each"));
  }
  const auto fits = [&first = layers.front()](const auto& image) {
    check_image(image.format, image.width, image.height, image.rect, image.data);
    return image.format == first.format && image.width == first.width &&
           image.height == first.height;
  };
  if (!std::all_of(layers.begin(), layers.end(), fits) ||
      !std::all_of(targets.begin(), targets.end(), fits)) {
    throw Error(ErrorCode::kBadInput,
                sentence("the layers of a volume need the same size and format"));
  }
}

}  // namespace grainless
