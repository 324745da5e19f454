// SPDX-License-Identifier: MIT
#include "time_left.h"

#include <cmath>

namespace grainless::ui {
namespace {

constexpr double kEnoughElapsed = 2, kEnoughDone = 0.05, kLeastLeft = 1;

}  // namespace

std::optional<int> time_left(double elapsed, double fraction) {
  if (elapsed < kEnoughElapsed || fraction < kEnoughDone) return std::nullopt;
  const double left = elapsed / fraction * (1 - fraction);
  if (left < kLeastLeft) return std::nullopt;
  return static_cast<int>(std::lround(left));
}

}  // namespace grainless::ui
