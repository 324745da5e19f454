// SPDX-License-Identifier: MIT
// A picture in memory as it stood in its file: the engine's interleaved pixels and what else the
// file said about them. No colour conversion happens here, the profile goes along instead; what the
// samples mean says encoding.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/boundary/pixels.h"

namespace grainless::tools {

inline constexpr double kMetresInInch = 0.0254;

struct Resolution {
  double x = 0, y = 0;  // pixels per metre; without a unit: only x / y means something
  bool metric = true;
};

// A text chunk: Latin-1, or UTF-8 (international) with what goes with that.
struct PngText {
  std::string key, text;
  bool international = false;
  std::string language, translated_key;
  bool operator==(const PngText&) const = default;
};

// A chunk of a PNG file that is copied as it is. The name has four letters.
struct PngChunk {
  std::string name;
  std::vector<uint8_t> bytes;
  bool operator==(const PngChunk&) const = default;
};

// A block of bytes that TIFF files hold under a tag; count is in the tag's own unit.
struct TiffBlock {
  uint32_t tag, count;
  std::vector<uint8_t> bytes;
  bool operator==(const TiffBlock&) const = default;
};

// What is carried from input to output as far as the output's format has a place for it.
struct Metadata {
  std::vector<uint8_t> icc_profile;
  std::string icc_name = "ICC profile";
  std::optional<Resolution> resolution;
  int32_t orientation = 0;    // EXIF's 1..8; 0: not said
  std::vector<uint8_t> exif;  // a TIFF structure without the "Exif\0\0" before it
  std::optional<double> png_gamma;
  std::optional<int32_t> png_srgb_intent;
  std::vector<double> png_chromaticities;    // white, red, green, blue: x and y each; or empty
  std::vector<PngChunk> png_colour_codings;  // cICP, and what HDR screens are told beside it
  std::vector<uint8_t> xmp;                  // PNG, TIFF and JPEG
  std::vector<PngText> png_texts;            // without XMP
  std::vector<std::pair<uint32_t, std::string>> tiff_texts;  // tag, text: make, artist, ...
  std::vector<TiffBlock> tiff_blocks;                        // IPTC, Photoshop's resources
  std::vector<TiffBlock> tiff_map_tags;                      // GeoTIFF's place on a map, GDAL's
  std::vector<std::vector<uint8_t>> jpeg_comments;
  double pfm_scale = 1.0;
};

// What a sample beside the colours is.
enum class Extra {
  kAlpha,
  kPremultiplied,  // alpha, by which colours are multiplied (TIFF's associated alpha)
  kUnspecified,    // not said: near infrared, a mask, perhaps alpha
};

struct Image {
  PixelFormat format;
  int32_t width = 0, height = 0;
  Extra extra = Extra::kAlpha;        // of 2 and 4 channels the last one
  std::unique_ptr<uint8_t[]> pixels;  // rows without gaps
  Metadata metadata;
  std::vector<std::string> notes;  // one sentence each: what was odd about the file

  size_t row_bytes() const { return size_t(width) * size_t(format.pixel_bytes()); }
  size_t bytes() const { return row_bytes() * size_t(height); }
  uint8_t* row(int32_t y) { return pixels.get() + row_bytes() * size_t(y); }
  const uint8_t* row(int32_t y) const { return pixels.get() + row_bytes() * size_t(y); }

  ConstImage view() const;
  MutableImage mutable_view();
};

// Throws Error(kBadInput) with one sentence naming `what` when a side is zero or there are more
// than 2^31 pixels.
void check_pixels(int64_t width, int64_t height, const std::string& what);

// Pixels are not set. Throws Error(kBadInput) with one sentence naming `what` when a side is zero,
// there are more than 2^31 pixels, or they don't fit the memory that is free.
Image make_image(PixelFormat format, int64_t width, int64_t height, const std::string& what);

// The same picture with other samples: integers span 0..max, floats 0..1. Towards integers values
// are clipped and rounded to nearest (not a number: 0); between integers and floats and back is
// exact.
Image convert(const Image& image, Component component, const std::string& what);

// Divides colours by alpha, for formats that can't say that they are premultiplied.
void unpremultiply(Image& image);

}  // namespace grainless::tools
