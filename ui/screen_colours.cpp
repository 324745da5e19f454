// SPDX-License-Identifier: MIT
#include "screen_colours.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace grainless::ui {
namespace {

constexpr int kColours = 4;      // red, green, blue, alpha
constexpr size_t kAtOnce = 512;  // pixels

uint8_t channel(uint32_t pixel, int shift) {
  return static_cast<uint8_t>(pixel >> shift);
}

uint8_t divided(uint32_t value, uint32_t alpha) {
  return static_cast<uint8_t>(std::min(255u, (value * 255 + alpha / 2) / alpha));
}

uint32_t multiplied(uint32_t value, uint32_t alpha) {
  return (value * alpha + 127) / 255;
}

// Pixels of a Bitmap, as values of one or three colours and alpha. The colour of what can't be seen
// is black.
void take_apart(const uint32_t* pixels, size_t count, int channels, uint8_t* values) {
  for (size_t i = 0; i < count; ++i, values += channels) {
    const uint32_t alpha = pixels[i] >> 24;
    for (int c = 0; c < channels - 1; ++c) {
      const uint8_t value = channel(pixels[i], 16 - 8 * c);
      values[c] = alpha == 255 || alpha == 0 ? value : divided(value, alpha);
    }
    values[channels - 1] = static_cast<uint8_t>(alpha);
  }
}

void put_together(const uint8_t* values, size_t count, uint32_t* pixels) {
  for (size_t i = 0; i < count; ++i, values += kColours) {
    const uint32_t alpha = values[3];
    uint32_t pixel = alpha << 24;
    for (int c = 0; c < kColours - 1; ++c) {
      pixel |= (alpha == 255 ? values[c] : multiplied(values[c], alpha)) << (16 - 8 * c);
    }
    pixels[i] = pixel;
  }
}

bool same(GimpColorProfile* a, GimpColorProfile* b) {
  return a == b || (a != nullptr && b != nullptr && gimp_color_profile_is_equal(a, b));
}

bool same(const PictureColours& a, const PictureColours& b) {
  if (!a.config || !b.config) return a.config == b.config;
  return gimp_config_is_equal_to(GIMP_CONFIG(a.config.get()), GIMP_CONFIG(b.config.get())) &&
         same(a.profile.get(), b.profile.get()) && same(a.proof.get(), b.proof.get()) &&
         a.proof_intent == b.proof_intent && a.proof_bpc == b.proof_bpc && a.kept == b.kept &&
         a.meant == b.meant;
}

// Colours of all kinds, for a look at what becomes of them.
std::vector<uint32_t> samples() {
  constexpr uint32_t kStep = 17;
  std::vector<uint32_t> pixels;
  for (uint32_t grey = 0; grey < 256; ++grey) pixels.push_back(0xff000000u | grey * 0x010101u);
  for (uint32_t red = 0; red < 256; red += kStep) {
    for (uint32_t green = 0; green < 256; green += kStep) {
      for (uint32_t blue = 0; blue < 256; blue += kStep) {
        pixels.push_back(0xff000000u | red << 16 | green << 8 | blue);
      }
    }
  }
  return pixels;
}

}  // namespace

bool ScreenColours::update(GtkWidget* widget, const PictureColours& colours) {
  // libgimp keeps a transform for each config as long as the program runs.
  const bool before = same(colours_, colours);
  if (!before) colours_ = colours;
  Transform transform = transform_for(widget);
  if (before && transform == transform_) return false;
  transform_ = std::move(transform);
  const bool changed = std::exchange(changes_, colours_.config && changes_something());
  if (!changed && !changes_) return false;
  ++version_;
  return true;
}

ScreenColours::Transform ScreenColours::transform_for(GtkWidget* widget) const {
  if (!colours_.config) return {};
  const auto intent = static_cast<GimpColorRenderingIntent>(colours_.proof_intent);
  return Transform(gimp_widget_get_color_transform(
      widget, colours_.config.get(), colours_.profile.get(), colours_.meant,
      babl_format("R'G'B'A u8"), colours_.proof.get(), intent, colours_.proof_bpc ? TRUE : FALSE));
}

// Of a grey picture, whose pixels have three equal channels, the greys are looked at.
bool ScreenColours::changes_something() const {
  std::vector<uint32_t> before = samples();
  if (babl_format_get_n_components(colours_.kept) < kColours) before.resize(256);
  std::vector<uint32_t> after(before.size());
  convert(before.data(), after.data(), before.size());
  return before != after;
}

void ScreenColours::transform(const uint8_t* from, uint8_t* to, size_t count) const {
  const Babl* screen = babl_format("R'G'B'A u8");
  if (colours_.meant == colours_.kept) {
    gimp_color_transform_process_pixels(transform_.get(), colours_.kept, from, screen, to, count);
    return;
  }
  std::array<float, kAtOnce * kColours> values;
  babl_process(babl_fish(colours_.kept, colours_.meant), from, values.data(),
               static_cast<long>(count));
  gimp_color_transform_process_pixels(transform_.get(), colours_.meant, values.data(), screen, to,
                                      count);
}

// Without a transform, since the colours are not managed or the picture has the monitor's, they are
// sRGB to GIMP's canvas.
void ScreenColours::convert(const uint32_t* from, uint32_t* to, size_t count) const {
  const int channels = babl_format_get_n_components(colours_.kept);
  const Babl* plain = transform_ ? nullptr : babl_fish(colours_.kept, babl_format("cairo-ARGB32"));
  std::array<uint8_t, kAtOnce * kColours> values, shown;
  for (size_t i = 0; i < count; i += kAtOnce) {
    const size_t part = std::min(kAtOnce, count - i);
    take_apart(from + i, part, channels, values.data());
    if (plain != nullptr) {
      babl_process(plain, values.data(), to + i, static_cast<long>(part));
      continue;
    }
    transform(values.data(), shown.data(), part);
    put_together(shown.data(), part, to + i);
  }
}

}  // namespace grainless::ui
