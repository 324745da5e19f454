// SPDX-License-Identifier: MIT
#include <cmath>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/status.h"
#include "metrics.h"

namespace grainless::tools {
namespace {

std::string shape(const ConstImage& image) {
  return std::to_string(image.width) + " x " + std::to_string(image.height) +
         (image.format.colours() == 3 ? " colour" : " grey");
}

}  // namespace

void check_comparable(const ConstImage& a, const ConstImage& b, const std::string& a_name,
                      const std::string& b_name) {
  if (a.width == b.width && a.height == b.height && a.format.colours() == b.format.colours()) {
    return;
  }
  throw Error(ErrorCode::kBadInput, "'" + a_name + "' (" + shape(a) + ") and '" + b_name + "' (" +
                                        shape(b) + ") can't be compared");
}

std::optional<double> psnr(const ConstImage& a, const ConstImage& b) {
  double sum = 0;
  for (int32_t y = 0; y < a.height; ++y) {
    double row = 0;  // summed apart, so that large pictures lose no digits
    for (int32_t x = 0; x < a.width; ++x) {
      for (int32_t c = 0; c < a.format.colours(); ++c) {
        const double difference = double(load_component(pixel_at(a, x, y), a.format.component, c)) -
                                  load_component(pixel_at(b, x, y), b.format.component, c);
        row += difference * difference;
      }
    }
    sum += row;
  }
  const double mse = sum / (double(a.width) * a.height * a.format.colours());
  if (!std::isfinite(mse) || mse == 0) return std::nullopt;
  return 10 * std::log10(255.0 * 255.0 / mse);
}

}  // namespace grainless::tools
