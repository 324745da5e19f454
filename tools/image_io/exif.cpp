// SPDX-License-Identifier: MIT
#include "exif.h"

#include <cstddef>

namespace grainless::tools {
namespace {

constexpr uint32_t kOrientationTag = 0x0112;
constexpr size_t kHeaderBytes = 8, kEntryBytes = 12;

uint32_t number(std::span<const uint8_t> bytes, bool big_endian) {
  uint32_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    value = value << 8 | bytes[big_endian ? i : bytes.size() - 1 - i];
  }
  return value;
}

}  // namespace

int32_t exif_orientation(std::span<const uint8_t> exif) {
  if (exif.size() < kHeaderBytes || exif[0] != exif[1]) return 0;
  if (exif[0] != 'M' && exif[0] != 'I') return 0;
  const bool big = exif[0] == 'M';
  const size_t directory = number(exif.subspan(4, 4), big);
  if (directory > exif.size() || exif.size() - directory < 2) return 0;
  const size_t entries = number(exif.subspan(directory, 2), big);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = directory + 2 + i * kEntryBytes;
    if (at + kEntryBytes > exif.size()) return 0;
    if (number(exif.subspan(at, 2), big) != kOrientationTag) continue;
    const uint32_t value = number(exif.subspan(at + 8, 2), big);
    return value >= 1 && value <= 8 ? static_cast<int32_t>(value) : 0;
  }
  return 0;
}

std::vector<uint8_t> exif_with_orientation(int32_t orientation) {
  // Little-endian header, a directory of one entry (tag, type SHORT, count 1, value), no next one.
  return {'I',
          'I',
          42,
          0,
          8,
          0,
          0,
          0,
          1,
          0,
          0x12,
          0x01,
          3,
          0,
          1,
          0,
          0,
          0,
          static_cast<uint8_t>(orientation),
          0,
          0,
          0,
          0,
          0,
          0,
          0};
}

}  // namespace grainless::tools
