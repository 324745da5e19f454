// SPDX-License-Identifier: MIT
#include "image.h"

#include <limits>
#include <new>

#include "engine/boundary/status.h"
#include "engine/platform/system.h"
#include "sample.h"

namespace grainless::tools {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 31;

[[noreturn]] void refuse(const std::string& what, int64_t width, int64_t height,
                         const std::string& why) {
  throw Error(ErrorCode::kBadInput, "'" + what + "' of " + std::to_string(width) + " x " +
                                        std::to_string(height) + " pixels " + why);
}

}  // namespace

ConstImage Image::view() const {
  return {format, width, height, {0, 0, width, height}, pixels.get(), ptrdiff_t(row_bytes())};
}

MutableImage Image::mutable_view() {
  return {format, width, height, {0, 0, width, height}, pixels.get(), ptrdiff_t(row_bytes())};
}

void check_pixels(int64_t width, int64_t height, const std::string& what) {
  constexpr int64_t kMostSide = std::numeric_limits<int32_t>::max();
  if (width <= 0 || height <= 0) refuse(what, width, height, "holds no pixel");
  if (width > kMostSide || height > kMostSide || width > kMostPixels / height) {
    refuse(what, width, height, "is larger than 2^31 pixels");
  }
}

Image make_image(PixelFormat format, int64_t width, int64_t height, const std::string& what) {
  check_pixels(width, height, what);
  const uint64_t bytes = uint64_t(width) * uint64_t(height) * uint64_t(format.pixel_bytes());
  if (bytes > available_memory()) refuse(what, width, height, "does not fit the free memory");
  Image image;
  image.format = format;
  image.width = static_cast<int32_t>(width);
  image.height = static_cast<int32_t>(height);
  image.pixels.reset(new (std::nothrow) uint8_t[bytes]);
  if (image.pixels == nullptr) refuse(what, width, height, "does not fit the free memory");
  return image;
}

Image convert(const Image& image, Component component, const std::string& what) {
  const PixelFormat format{component, image.format.channels};
  Image result = make_image(format, image.width, image.height, what);
  result.extra = image.extra;
  result.metadata = image.metadata;
  const size_t step = size_t(image.format.component_bytes());
  const size_t result_step = size_t(format.component_bytes());
  const size_t count = image.bytes() / step;
  for (size_t i = 0; i < count; ++i) {
    store_sample(result.pixels.get() + i * result_step, component,
                 load_sample(image.pixels.get() + i * step, image.format.component));
  }
  return result;
}

void unpremultiply(Image& image) {
  if (image.extra != Extra::kPremultiplied) return;
  image.extra = Extra::kAlpha;
  const Component component = image.format.component;
  const size_t step = size_t(image.format.component_bytes());
  const size_t pixel_step = size_t(image.format.pixel_bytes());
  const size_t colours = size_t(image.format.colours());
  uint8_t* pixel = image.pixels.get();
  for (size_t i = 0; i < image.bytes() / pixel_step; ++i, pixel += pixel_step) {
    const double alpha = load_sample(pixel + colours * step, component);
    if (!(alpha > 0)) continue;
    for (size_t c = 0; c < colours; ++c) {
      store_sample(pixel + c * step, component, load_sample(pixel + c * step, component) / alpha);
    }
  }
}

}  // namespace grainless::tools
