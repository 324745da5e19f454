// SPDX-License-Identifier: MIT
#include "reference_nlm_volume.h"

#include <algorithm>
#include <cmath>

#include "engine/boundary/pixel_math.h"

namespace grainless::test {
namespace {

struct Voxel {
  int32_t x, y, z;
};

int32_t mirrored(int32_t i, int32_t size) {
  while (i < 0 || i >= size) i = i < 0 ? -1 - i : 2 * size - 1 - i;
  return i;
}

float value_at(const std::vector<Planes>& layers, int32_t c, const Voxel& v) {
  const Planes& layer = layers[mirrored(v.z, static_cast<int32_t>(layers.size()))];
  return *layer.at(c, mirrored(v.x, layer.rect().width), mirrored(v.y, layer.rect().height));
}

Voxel sum(const Voxel& a, const Voxel& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}

double distance(const VolumePlan& plan, const std::vector<Planes>& layers, const Voxel& p,
                const Voxel& q) {
  const NlmPlan& nlm = plan.nlm;
  double total = 0;
  for (int32_t c = 0; c < layers[0].channels(); ++c) {
    const auto match = [&](const Voxel& v) {
      return match_value(value_at(layers, c, v), nlm.match[c]);
    };
    for (int32_t i = 0; i < nlm.patch * nlm.patch * plan.layers; ++i) {
      const Voxel k{i % nlm.patch - nlm.patch / 2, i / nlm.patch % nlm.patch - nlm.patch / 2,
                    i / (nlm.patch * nlm.patch) - plan.layers / 2};
      const double d = match(sum(p, k)) - match(sum(q, k));
      total += d * d;
    }
  }
  return total;
}

float filtered(const VolumePlan& plan, const std::vector<Planes>& layers, int32_t c,
               const Voxel& p) {
  const NlmPlan& nlm = plan.nlm;
  const NlmWeight& curve = c == 0 || nlm.joint != 0 ? nlm.luma : nlm.chroma;
  const double own = value_at(layers, c, p);
  if (curve.enabled == 0) return static_cast<float>(own);
  double weights = 0, values = 0, largest = 0;
  for (int32_t dz = -plan.depth; dz <= plan.depth; ++dz) {
    if (p.z + dz < 0 || p.z + dz >= static_cast<int32_t>(layers.size())) continue;
    for (int32_t dy = -nlm.radius; dy <= nlm.radius; ++dy) {
      for (int32_t dx = -nlm.radius; dx <= nlm.radius; ++dx) {
        if (dx == 0 && dy == 0 && dz == 0) continue;
        const Voxel q = sum(p, {dx, dy, dz});
        const double apart = distance(plan, layers, p, q) * curve.gain - curve.noise;
        const double t = std::max(apart, 0.0) * curve.decay;
        const double w = t > kNlmCutoff ? 0 : std::exp(-t);
        weights += w;
        values += w * value_at(layers, c, q);
        largest = std::max(largest, w);
      }
    }
  }
  const double centre = nlm.centre.own + nlm.centre.of_largest * largest;
  const double total = weights + centre;
  return static_cast<float>(total > 0 ? (values + centre * own) / total : own);
}

}  // namespace

std::vector<Planes> reference_nlm_volume(const VolumePlan& plan,
                                         const std::vector<Planes>& layers) {
  std::vector<Planes> results;
  for (int32_t z = 0; z < static_cast<int32_t>(layers.size()); ++z) {
    results.emplace_back(layers[z].channels(), layers[z].rect());
    for (int32_t c = 0; c < layers[z].channels(); ++c) {
      for (int32_t y = 0; y < layers[z].rect().height; ++y) {
        for (int32_t x = 0; x < layers[z].rect().width; ++x) {
          *results[z].at(c, x, y) = filtered(plan, layers, c, {x, y, z});
        }
      }
    }
  }
  return results;
}

}  // namespace grainless::test
