// SPDX-License-Identifier: MIT
#include "drawn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>

#include "engine/boundary/pixel_math.h"
#include "engine/methods.h"

namespace grainless::fuzz {
namespace {

// Numbers near the ends of a range, its middle, and of any order of magnitude.
double drawn_number(FuzzedDataProvider& bytes, const ParamSpec& spec) {
  if (bytes.ConsumeBool()) return bytes.ConsumeFloatingPointInRange(spec.minimum, spec.maximum);
  const double tiny = std::pow(10.0, bytes.ConsumeFloatingPointInRange(-30.0, 2.0));
  return std::clamp(tiny, spec.minimum, spec.maximum);
}

void draw(FuzzedDataProvider& bytes, const ParamSpec& spec, Params& params) {
  const auto whole = [&](double low, double high) {
    return bytes.ConsumeIntegralInRange(static_cast<int32_t>(low), static_cast<int32_t>(high));
  };
  switch (spec.type) {
    case ParamType::kChoice:
      params.*std::get<int32_t Params::*>(spec.member) = whole(0, double(spec.choices.size()) - 1);
      return;
    case ParamType::kBool:
      params.*std::get<bool Params::*>(spec.member) = bytes.ConsumeBool();
      return;
    case ParamType::kInt:
      params.*std::get<int32_t Params::*>(spec.member) = whole(spec.minimum, spec.maximum);
      return;
    case ParamType::kDouble:
      params.*std::get<double Params::*>(spec.member) = drawn_number(bytes, spec);
      return;
    case ParamType::kString:
      return;
  }
}

// The numbers nearby that go together.
void make_valid(Params& params) {
  if (params.search != 0) params.search = std::max(3, params.search | 1);
  if (params.patch == 1) params.patch = 2;
  while ((params.group & (params.group - 1)) != 0) params.group &= params.group - 1;
  if (params.patch != 0) params.step = std::min(params.step, params.patch);
  if (method_row(params.method).stack == StackWay::kNone) params.depth = 0;
}

float sample(const uint8_t* at, Component component) {
  uint16_t half = 0;
  float value = 0;
  if (component == Component::kHalf) {
    std::memcpy(&half, at, sizeof half);
    return float_from_half(half);
  }
  if (component == Component::kFloat) std::memcpy(&value, at, sizeof value);
  return value;  // integers are always finite
}

enum class Filling { kBytes, kConstant, kNoise, kLast };

}  // namespace

Params drawn_params(FuzzedDataProvider& bytes, const std::string& device) {
  Params params;
  uint32_t drawn = bytes.ConsumeIntegral<uint32_t>();  // the others keep their default
  for (const ParamSpec& spec : param_specs()) {
    if ((drawn & 1) != 0) draw(bytes, spec, params);
    drawn >>= 1;
  }
  params.device = device;
  make_valid(params);
  const Status status = validate(params);
  expect(status.ok(), "drawn out of range: " + status.message());
  return params;
}

tools::Image drawn_picture(FuzzedDataProvider& bytes, int32_t most_side) {
  const PixelFormat format{static_cast<Component>(bytes.ConsumeIntegralInRange(0, 3)),
                           bytes.ConsumeIntegralInRange(1, 4)};
  const int32_t width = bytes.ConsumeIntegralInRange(1, most_side);
  const int32_t height = bytes.ConsumeIntegralInRange(1, most_side);
  tools::Image image = tools::make_image(format, width, height, "drawn");
  const int last = static_cast<int>(Filling::kLast) - 1;
  const auto filling = static_cast<Filling>(bytes.ConsumeIntegralInRange(0, last));
  std::minstd_rand random(bytes.ConsumeIntegral<uint16_t>());
  const std::vector<uint8_t> given = bytes.ConsumeRemainingBytes<uint8_t>();
  const size_t period = filling == Filling::kConstant ? size_t(format.pixel_bytes())
                                                      : std::max<size_t>(given.size(), 1);
  for (size_t i = 0; i < image.bytes(); ++i) {
    const size_t at = i % period;
    image.pixels[i] = at < given.size() ? given[at] : uint8_t{0x3f};
    if (filling == Filling::kNoise) image.pixels[i] ^= static_cast<uint8_t>(random() >> 8 & 7);
  }
  return image;
}

std::string text_of(const Params& params, const tools::Image& image) {
  std::string text;
  for (const ParamSpec& spec : param_specs()) {
    const std::string value = param_text(params, spec);
    if (value != param_text(Params{}, spec)) text += spec.key + ("=" + value) + " ";
  }
  const PixelFormat format = image.format;
  const char* const names[] = {"8 bit", "16 bit", "half", "float"};
  text += names[static_cast<int>(format.component)];
  text += ", " + std::to_string(format.channels) + " channels, " + std::to_string(image.width) +
          "x" + std::to_string(image.height);
  if (format.component != Component::kHalf && format.component != Component::kFloat) return text;
  const auto step = static_cast<size_t>(format.component_bytes());
  float low = 0, high = 0;
  for (size_t i = 0; i < image.bytes() / step; ++i) {
    const float value = sample(image.pixels.get() + i * step, format.component);
    if (!std::isfinite(value)) continue;
    low = std::min(low, value), high = std::max(high, value);
  }
  std::array<char, 64> span{};
  std::snprintf(span.data(), span.size(), " from %g to %g", double{low}, double{high});
  return text + span.data();
}

void expect_sound(const tools::Image& before, const tools::Image& after) {
  const PixelFormat format = before.format;
  const auto step = static_cast<size_t>(format.component_bytes());
  const auto channels = static_cast<size_t>(format.channels);
  for (size_t i = 0; i < before.bytes() / step; ++i) {
    const uint8_t* from = before.pixels.get() + i * step;
    const uint8_t* to = after.pixels.get() + i * step;
    const bool finite = std::isfinite(sample(from, format.component));
    const bool alpha = format.has_alpha() && i % channels == channels - 1;
    if (finite && !alpha) expect(std::isfinite(sample(to, format.component)), "not finite");
    if (!finite || alpha) expect(std::memcmp(from, to, step) == 0, "not left as it was");
  }
}

}  // namespace grainless::fuzz
