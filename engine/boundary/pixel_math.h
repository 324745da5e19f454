// SPDX-License-Identifier: MIT
// Inline maths that the CPU and the CUDA kernels share: pixel formats, colour transform, match
// values. Backends agree here to the last bit, since matching is exact from here on. Files that
// call these functions are compiled without contraction to fused multiply-add: all of the engine
// with -ffp-contract=off, cuda_exact_sources (cuda/meson.build) with nvcc's -fmad=false. Other CUDA
// files include it for GRAINLESS_HD, reflect() and field_of(), which the host calls.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "corner_gain.h"
#include "pixels.h"
#include "tone_bend.h"

#ifdef __CUDACC__
#define GRAINLESS_HD __host__ __device__ inline
#else
#define GRAINLESS_HD inline
#endif

namespace grainless {

// IEEE half to float and back (round to nearest even), without compiler extensions.
GRAINLESS_HD float float_from_half(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u, bits = half & 1023u;
  uint32_t out;
  if (exponent == 0) {
    const float value = static_cast<float>(bits) * (1.0f / 16777216.0f);  // subnormal: bits * 2^-24
    return sign != 0 ? -value : value;
  }
  out = exponent == 31 ? sign | 0x7f800000u | (bits << 13)
                       : sign | ((exponent + 112u) << 23) | (bits << 13);
  float value;
  memcpy(&value, &out, sizeof value);
  return value;
}

GRAINLESS_HD uint16_t half_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return sign | 0x7e00u;
  if (bits >= 0x477ff000u) return sign | 0x7c00u;  // rounds to infinity
  if (bits < 0x38800000u) {                        // subnormal: to a multiple of 2^-24
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    return sign | static_cast<uint16_t>(rintf(magnitude * 16777216.0f));
  }
  const uint32_t rounded = bits + 0xfffu + ((bits >> 13) & 1u);
  return sign | static_cast<uint16_t>((rounded - 0x38000000u) >> 13);
}

// One component at index i of a pixel, in 8-bit steps (0..255 nominally).
GRAINLESS_HD float load_component(const void* pixel, Component component, int32_t i) {
  switch (component) {
    case Component::kU8:
      return static_cast<float>(static_cast<const uint8_t*>(pixel)[i]);
    case Component::kU16:
      return static_cast<float>(static_cast<const uint16_t*>(pixel)[i]) * (255.0f / 65535.0f);
    case Component::kHalf:
      return float_from_half(static_cast<const uint16_t*>(pixel)[i]) * 255.0f;
    case Component::kFloat:
      break;
  }
  return static_cast<const float*>(pixel)[i] * 255.0f;
}

GRAINLESS_HD float clamp_to(float value, float low, float high) {
  return value < low ? low : value > high ? high : value;
}

inline constexpr float kBendStep = 255.0f / kBendSegments;

// A colour value in 8-bit steps by the curve, and back: the segment's line both ways, so that back
// undoes the way there but for float's rounding.
GRAINLESS_HD float bent(const ToneBend& bend, float value) {
  const float at = value / kBendStep, most = kBendSegments - 1.0f;
  const auto i = static_cast<int32_t>(at > 0 ? at < most ? at : most : 0.0f);  // 0 of a NaN, too
  const float slope = (bend.to[i + 1] - bend.to[i]) / kBendStep;
  return bend.to[i] + (value - static_cast<float>(i) * kBendStep) * slope;
}

GRAINLESS_HD float unbent(const ToneBend& bend, float value) {
  int32_t i = 0;
  for (int32_t half = kBendSegments / 2; half > 0; half /= 2) {
    if (bend.to[i + half] <= value) i += half;
  }
  const float slope = kBendStep / (bend.to[i + 1] - bend.to[i]);
  return static_cast<float>(i) * kBendStep + (value - bend.to[i]) * slope;
}

// A denoised colour value, as it was before its noise was cut off.
GRAINLESS_HD float unclipped(const ClipCurve& curve, float value) {
  if (!(value > 0 && value < kClipSegments * curve.step)) return value;
  const float at = value / curve.step;
  const auto i = static_cast<int32_t>(at);
  return curve.to[i] + (at - static_cast<float>(i)) * (curve.to[i + 1] - curve.to[i]);
}

// Of a result.
GRAINLESS_HD float bent_back(const ToneBend& bend, float value) {
  return unclipped(bend.clip, unbent(bend, value));
}

inline GainField field_of(const CornerGain& gain, int32_t width, int32_t height) {
  const float right = 0.5f * static_cast<float>(width - 1);
  const float down = 0.5f * static_cast<float>(height - 1);
  const float square = right * right + down * down;
  return {gain, right, down, square > 0 ? 1 / square : 0.0f};
}

GRAINLESS_HD float square_at(const GainField& field, float x, float y) {
  const float right = x - field.centre_x, down = y - field.centre_y;
  return (right * right + down * down) * field.per_square;
}

GRAINLESS_HD float gain_of(const CornerGain& gain, float t) {
  return 1.0f + t * (gain.rise + gain.bulge * t);
}

// Of pixel (x, y), 1 where there is none.
GRAINLESS_HD float gain_at(const GainField& field, int32_t x, int32_t y) {
  if (field.gain.enabled == 0) return 1.0f;
  return gain_of(field.gain, square_at(field, static_cast<float>(x), static_cast<float>(y)));
}

// Added before integers are cut off: a half and a little more. Means of two integers, which are
// frequent in lightly filtered pictures, stand exactly between two integers but for the last bits
// of a float, in which backends differ: they are all rounded up. The little is above those bits and
// far under a step.
inline constexpr float kRound8 = 0.5f + 1.0f / 256, kRound16 = 0.5f + 1.0f / 16;

// The way back: integers round to nearest and are clamped, floats are not clamped.
GRAINLESS_HD void store_component(void* pixel, Component component, int32_t i, float value) {
  switch (component) {
    case Component::kU8:
      static_cast<uint8_t*>(pixel)[i] =
          static_cast<uint8_t>(clamp_to(value, 0.0f, 255.0f) + kRound8);
      return;
    case Component::kU16:
      static_cast<uint16_t*>(pixel)[i] =
          static_cast<uint16_t>(clamp_to(value * 257.0f, 0.0f, 65535.0f) + kRound16);
      return;
    case Component::kHalf:
      static_cast<uint16_t*>(pixel)[i] = half_from_float(value * (1.0f / 255.0f));
      return;
    case Component::kFloat:
      static_cast<float*>(pixel)[i] = value * (1.0f / 255.0f);
      return;
  }
}

// Whether a pixel takes part: not fully transparent, and all of its colours within `range`, which
// none that is not finite is. Integers always are.
GRAINLESS_HD bool pixel_is_valid(const void* pixel, PixelFormat format,
                                 ValueRange range = kAnyFinite) {
  if (format.has_alpha()) {
    const float alpha = load_component(pixel, format.component, format.channels - 1);
    if (!(alpha > 0.0f)) return false;
  }
  if (format.component == Component::kU8 || format.component == Component::kU16) return true;
  for (int32_t c = 0; c < format.colours(); ++c) {
    const float value = load_component(pixel, format.component, c);
    if (!(value >= range.low && value <= range.high)) return false;
  }
  return true;
}

// Orthonormal luma/chroma: white noise of standard deviation sigma in R, G and B has the same sigma
// in Y, U and V (quality.md 3.2). Y = (R+G+B)/sqrt 3, U = (R-B)/sqrt 2, V = (R-2G+B)/sqrt 6.
struct Yuv {
  float y, u, v;
};
struct Rgb {
  float r, g, b;
};

GRAINLESS_HD Yuv yuv_from_rgb(Rgb p) {
  return {(p.r + p.g + p.b) * 0.577350269f, (p.r - p.b) * 0.707106781f,
          (p.r - 2.0f * p.g + p.b) * 0.408248290f};
}

GRAINLESS_HD Rgb rgb_from_yuv(Yuv p) {
  const float y = p.y * 0.577350269f, u = p.u * 0.707106781f, v = p.v * 0.408248290f;
  return {y + u + v, y - 2.0f * v, y - u + v};
}

// What a plane's value becomes in a match plane.
GRAINLESS_HD int32_t match_value(float value, const MatchCurve& curve) {
  const float t = value - curve.centre;
  float a = fabsf(t);
  if (a > curve.knee) a = curve.knee + (a - curve.knee) * 0.125f;
  if (!(a < curve.most)) a = curve.most;
  const int32_t q = static_cast<int32_t>(rintf(a * curve.scale));
  return t < 0.0f ? -q : q;
}

// Mirrors a coordinate into 0..size-1 by symmetric reflection (-1 -> 0, size -> size - 1).
GRAINLESS_HD int32_t reflect(int32_t i, int32_t size) {
  const int32_t period = 2 * size;
  i %= period;
  if (i < 0) i += period;
  return i < size ? i : period - 1 - i;
}

}  // namespace grainless
