// SPDX-License-Identifier: MIT
#include "engine/cpu/frame/bend_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "tests/support/instruction_sets.h"

namespace grainless {
namespace {

ToneBend random_bend(std::mt19937& random) {
  std::uniform_real_distribution<float> length(0.05f, 3.0f);
  ToneBend bend;
  bend.enabled = 1;
  for (int32_t i = 0; i < kBendSegments; ++i) bend.to[i + 1] = bend.to[i] + length(random);
  for (float& to : bend.to) to *= 255 / bend.to[kBendSegments];
  return bend;
}

ClipCurve random_clip(std::mt19937& random) {
  std::uniform_real_distribution<float> length(0.0f, 2.0f);
  ClipCurve clip;
  clip.step = length(random) + 0.1f;
  for (int32_t i = 0; i <= kClipSegments; ++i) {
    clip.to[i] = (i > 0 ? clip.to[i - 1] : -3) + length(random);
  }
  return clip;
}

// Inside and outside of the curves, at their corners and next to them; and what is no number.
std::vector<float> values_of(const ToneBend& bend, std::mt19937& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values{std::numeric_limits<float>::quiet_NaN(), -kInfinity, kInfinity, -0.0f};
  const auto add = [&](float value) {
    for (const float to : {-kInfinity, kInfinity}) values.push_back(std::nextafter(value, to));
    values.push_back(value);
  };
  for (int32_t i = 0; i <= kBendSegments; ++i) {
    add(static_cast<float>(i) * kBendStep);
    add(bend.to[i]);
    add(static_cast<float>(i) * bend.clip.step);
  }
  std::uniform_real_distribution<float> any(-300, 600);
  for (int32_t i = 0; i < 200; ++i) values.push_back(any(random));
  return values;
}

using Row = void (*)(const BendPieces& pieces, float* values, int32_t count);
using One = float (*)(const ToneBend& bend, float value);

void expect_the_same(const ToneBend& bend, const std::vector<float>& values, Row row, One one) {
  const BendPieces pieces(bend);
  for (const size_t count : {values.size(), size_t{1}, size_t{7}, size_t{0}}) {
    std::vector<float> changed = values;
    row(pieces, changed.data(), static_cast<int32_t>(count));
    for (size_t i = 0; i < values.size(); ++i) {
      const float expected = i < count ? one(bend, values[i]) : values[i];
      const bool same = std::memcmp(&expected, &changed[i], sizeof expected) == 0;
      EXPECT_TRUE(same || (std::isnan(expected) && std::isnan(changed[i])))
          << values[i] << " becomes " << changed[i] << ", not " << expected;
    }
  }
}

TEST(BendRows, AreTheSameBitsAsValueByValue) {
  test::for_instruction_sets([] {
    std::mt19937 random(1);
    for (int32_t i = 0; i < 20; ++i) {
      ToneBend bend = random_bend(random);
      if (i % 2 != 0) bend.clip = random_clip(random);
      const std::vector<float> values = values_of(bend, random);
      expect_the_same(bend, values, bend_row, bent);
      expect_the_same(bend, values, bend_row_back, bent_back);
    }
  });
}

}  // namespace
}  // namespace grainless
