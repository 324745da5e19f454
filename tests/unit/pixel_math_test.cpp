// SPDX-License-Identifier: MIT
#include "engine/boundary/pixel_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace grainless {
namespace {

TEST(PixelMath, EveryHalfRoundTrips) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    const float value = float_from_half(static_cast<uint16_t>(h));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float_from_half(half_from_float(value))));
      continue;
    }
    ASSERT_EQ(half_from_float(value), h) << value;
  }
  EXPECT_EQ(float_from_half(0x3c00), 1.0f);
  EXPECT_EQ(float_from_half(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(half_from_float(65519.0f), 0x7bff);
  EXPECT_EQ(half_from_float(65520.0f), 0x7c00);
}

TEST(PixelMath, EveryIntegerRoundTrips) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    uint16_t wide = static_cast<uint16_t>(i), wide_back = 0;
    store_component(&wide_back, Component::kU16, 0, load_component(&wide, Component::kU16, 0));
    ASSERT_EQ(wide_back, wide);
    if (i > 255) continue;
    uint8_t byte = static_cast<uint8_t>(i), byte_back = 0;
    store_component(&byte_back, Component::kU8, 0, load_component(&byte, Component::kU8, 0));
    ASSERT_EQ(byte_back, byte);
  }
}

TEST(PixelMath, ColourTransformIsOrthonormal) {
  const Rgb p{200.0f, 17.0f, 90.0f};
  const Yuv q = yuv_from_rgb(p);
  const Rgb back = rgb_from_yuv(q);
  EXPECT_NEAR(back.r, p.r, 1e-4);
  EXPECT_NEAR(back.g, p.g, 1e-4);
  EXPECT_NEAR(back.b, p.b, 1e-4);
  EXPECT_NEAR(q.y * q.y + q.u * q.u + q.v * q.v, p.r * p.r + p.g * p.g + p.b * p.b, 0.05);
}

TEST(PixelMath, TransparentAndNonFinitePixelsAreInvalid) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float opaque[4] = {0.1f, 0.2f, 0.3f, 1.0f}, clear[4] = {0.1f, 0.2f, 0.3f, 0.0f};
  const float broken[4] = {0.1f, nan, 0.3f, 1.0f};
  const float infinite[3] = {std::numeric_limits<float>::infinity(), 0, 0};
  EXPECT_TRUE(pixel_is_valid(opaque, {Component::kFloat, 4}));
  EXPECT_FALSE(pixel_is_valid(clear, {Component::kFloat, 4}));
  EXPECT_FALSE(pixel_is_valid(broken, {Component::kFloat, 4}));
  EXPECT_FALSE(pixel_is_valid(infinite, {Component::kFloat, 3}));
  const uint8_t grey_alpha[2] = {7, 0};
  EXPECT_FALSE(pixel_is_valid(grey_alpha, {Component::kU8, 2}));
}

TEST(PixelMath, MatchValuesAreOddMonotoneAndBounded) {
  const MatchCurve curve{127.5f, 4.0f, kMatchKnee, kMatchMost};
  int32_t last = -100000;
  for (float v = -1000; v < 5000; v += 0.25f) {
    const int32_t q = match_value(v, curve);
    EXPECT_GE(q, last);
    EXPECT_EQ(q, -match_value(255.0f - v, curve));
    last = q;
  }
  EXPECT_EQ(match_value(130.0f, curve), 10);
  EXPECT_LE(last, 4 * 512);
  EXPECT_GT(match_value(900.0f, curve), match_value(600.0f, curve));
}

TEST(PixelMath, ReflectionIsSymmetric) {
  const int32_t expected[] = {2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1};
  for (int32_t i = -4; i < 8; ++i) EXPECT_EQ(reflect(i, 3), expected[i + 4]) << i;
  EXPECT_EQ(reflect(-100, 1), 0);
}

}  // namespace
}  // namespace grainless
