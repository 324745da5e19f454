// SPDX-License-Identifier: MIT
// Camera data: directories of entries, in a PNG's chunk as in a TIFF file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "image.h"

namespace grainless::tools {

// 1..8, or 0 when the block (a TIFF structure) is damaged or does not say.
int32_t exif_orientation(std::span<const uint8_t> exif);

// For files that state it nowhere else.
std::optional<Resolution> exif_resolution(std::span<const uint8_t> exif);

std::vector<uint8_t> exif_with_orientation(int32_t orientation);

// The camera data for a PNG or JPEG file: the picture's own or, without any, what a TIFF file says
// of who took it and which way up it is. Empty where there is nothing to say.
std::vector<uint8_t> exif_to_write(const Metadata& metadata);

struct ExifEntry {
  uint16_t tag, type;          // type: TIFF 6.0, page 15
  uint32_t count;              // values
  std::vector<uint8_t> bytes;  // of the values, the lowest first
  bool operator==(const ExifEntry&) const = default;
};

struct Exif {
  // What says who took the picture with what and when; the camera's directory; its place (GPS).
  std::vector<ExifEntry> picture, camera, place;
  bool empty() const { return picture.empty() && camera.empty() && place.empty(); }
};

// Fills `bytes` from a TIFF structure; false where it ends before.
using ReadAt = std::function<bool(uint64_t offset, std::span<uint8_t> bytes)>;

// What a structure of either byte order, BigTIFF or not, has of it; entries that are damaged are
// left out. Entries may share their bytes, but all together don't make more than twice the `size`
// bytes of the file: what goes beyond is left out, too. A maker's own notes are copied as they are:
// what they say of offsets is no longer true.
Exif parse_exif(const ReadAt& read, uint64_t size);
Exif parse_exif(std::span<const uint8_t> structure);

// The structure of a PNG's eXIf chunk, little-endian.
std::vector<uint8_t> exif_structure(const Exif& exif);

// A directory for the place `offset` in a little-endian TIFF file, or a BigTIFF one.
enum class TiffKind { kClassic, kBig };
std::vector<uint8_t> exif_directory(std::span<const ExifEntry> entries, uint64_t offset,
                                    TiffKind kind = TiffKind::kClassic);

}  // namespace grainless::tools
