// SPDX-License-Identifier: MIT
#include "stack_noise.h"

#include <algorithm>

namespace grainless {

float LayerStrengths::most() const {
  return count == 0 ? 1.0f : *std::max_element(of, of + count);
}

LayerStrengths LayerStrengths::part(int32_t first, int32_t layers) const {
  LayerStrengths some;
  if (count == 0) return some;
  some.count = layers;
  std::copy_n(of + first, layers, some.of);
  return some;
}

}  // namespace grainless
