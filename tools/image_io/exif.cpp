// SPDX-License-Identifier: MIT
#include "exif.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace grainless::tools {
namespace {

constexpr uint32_t kOrientationTag = 0x0112;
constexpr size_t kHeaderBytes = 8, kBigHeaderBytes = 16;
constexpr uint16_t kCameraTag = 0x8769, kPlaceTag = 0x8825, kInteroperabilityTag = 0xa005;
constexpr uint16_t kShort = 3, kLong = 4, kDirectory = 13, kLong8 = 16, kDirectory8 = 18;
constexpr size_t kMostEntries = 1000, kLargestEntry = 4 << 20;

// Orientation, caption, make, model, software, date, artist, copyright.
constexpr uint16_t kPictureTags[] = {0x0112, 0x010e, 0x010f, 0x0110,
                                     0x0131, 0x0132, 0x013b, 0x8298};

bool is_of_picture(uint32_t tag) {
  return std::find(std::begin(kPictureTags), std::end(kPictureTags), tag) != std::end(kPictureTags);
}

ExifEntry orientation_entry(int32_t orientation) {
  return {kOrientationTag, kShort, 1, {static_cast<uint8_t>(orientation), 0}};
}

// Bytes of a type's value, and of the numbers that it is made of; 0: unknown.
struct TypeSize {
  size_t value, number;
};

TypeSize size_of(uint16_t type) {
  constexpr TypeSize kSizes[] = {{0, 0}, {1, 1}, {1, 1}, {2, 2}, {4, 4}, {8, 4}, {1, 1},
                                 {1, 1}, {2, 2}, {4, 4}, {8, 4}, {4, 4}, {8, 8}};
  if (type == kLong8 || type == kDirectory8) return {8, 8};
  return type < std::size(kSizes) ? kSizes[type] : TypeSize{0, 0};
}

uint64_t number(std::span<const uint8_t> bytes, bool big_endian) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    value = value << 8 | bytes[big_endian ? i : bytes.size() - 1 - i];
  }
  return value;
}

// Bytes of a directory's parts: how many entries, an entry, its count, its value or offset.
struct Widths {
  size_t entries, entry, number;
};
constexpr Widths kClassic = {2, 12, 4}, kBig = {8, 20, 8};

class Parser {
 public:
  Parser(const ReadAt& read, uint64_t size) : read_(read), left_(2 * size) {}

  std::vector<ExifEntry> first_directory() {
    std::array<uint8_t, kHeaderBytes> header{};
    if (!read_(0, header) || header[0] != header[1]) return {};
    if (header[0] != 'M' && header[0] != 'I') return {};
    big_ = header[0] == 'M';
    const std::span<const uint8_t> bytes(header);
    const uint64_t version = number(bytes.subspan(2, 2), big_);
    if (version == 42) return directory(number(bytes.subspan(4, 4), big_));
    std::array<uint8_t, kBigHeaderBytes> whole{};
    if (version != 43 || !read_(0, whole)) return {};
    widths_ = kBig;
    return directory(number(std::span<const uint8_t>(whole).subspan(8), big_));
  }

  Exif parse() {
    Exif exif;
    for (ExifEntry& entry : first_directory()) {
      if (entry.tag == kCameraTag && exif.camera.empty()) exif.camera = directory(pointer(entry));
      if (entry.tag == kPlaceTag && exif.place.empty()) exif.place = directory(pointer(entry));
      if (is_of_picture(entry.tag)) exif.picture.push_back(std::move(entry));
    }
    std::erase_if(exif.camera, [](const ExifEntry& e) { return e.tag == kInteroperabilityTag; });
    // Of pointers alone: what is carried goes into classic files, too.
    for (auto* part : {&exif.picture, &exif.camera, &exif.place}) {
      std::erase_if(*part, [](const ExifEntry& e) { return e.type >= kLong8; });
    }
    return exif;
  }

 private:
  bool spend(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  std::vector<ExifEntry> directory(uint64_t at) {
    constexpr uint64_t kFarthest = uint64_t{1} << 62;
    std::vector<ExifEntry> entries;
    std::array<uint8_t, kBig.entry> bytes{};
    const std::span<uint8_t> count(bytes.data(), widths_.entries), raw(bytes.data(), widths_.entry);
    if (at < kHeaderBytes || at > kFarthest || !read_(at, count)) return entries;
    const size_t wanted = std::min<uint64_t>(number(count, big_), kMostEntries);
    for (size_t i = 0; i < wanted; ++i) {
      ExifEntry entry{};
      if (!spend(raw.size()) || !read_(at + widths_.entries + i * raw.size(), raw)) break;
      if (take(raw, entry)) entries.push_back(std::move(entry));
    }
    return entries;
  }

  bool take(std::span<const uint8_t> raw, ExifEntry& entry) {
    entry.tag = static_cast<uint16_t>(number(raw.first(2), big_));
    entry.type = static_cast<uint16_t>(number(raw.subspan(2, 2), big_));
    if (entry.type == kDirectory) entry.type = kLong;  // a pointer by another name
    const uint64_t count = number(raw.subspan(4, widths_.number), big_);
    const std::span<const uint8_t> field = raw.last(widths_.number);
    const TypeSize size = size_of(entry.type);
    if (size.value == 0 || count == 0 || count > kLargestEntry / size.value) return false;
    entry.count = static_cast<uint32_t>(count);
    const bool elsewhere = entry.count * size.value > field.size();
    if (elsewhere && !spend(entry.count * size.value)) return false;
    entry.bytes.assign(field.begin(), field.end());
    entry.bytes.resize(entry.count * size.value);
    if (elsewhere && !read_(number(field, big_), entry.bytes)) return false;
    for (size_t i = 0; big_ && i < entry.bytes.size(); i += size.number) {
      const auto begin = entry.bytes.begin() + static_cast<ptrdiff_t>(i);
      std::reverse(begin, begin + static_cast<ptrdiff_t>(size.number));
    }
    return true;
  }

  static uint64_t pointer(const ExifEntry& entry) {
    const bool known = entry.type == kLong || entry.type == kLong8 || entry.type == kDirectory8;
    return known && entry.count == 1 ? number(entry.bytes, false) : 0;
  }

  const ReadAt& read_;
  uint64_t left_;  // bytes that may still be taken
  bool big_ = false;
  Widths widths_ = kClassic;
};

ReadAt reader_of(std::span<const uint8_t> structure) {
  return [structure](uint64_t offset, std::span<uint8_t> bytes) {
    if (offset > structure.size() || structure.size() - offset < bytes.size()) return false;
    std::memcpy(bytes.data(), structure.data() + offset, bytes.size());
    return true;
  };
}

// Of the first value of a RATIONAL; 0 for what is none.
double quotient(const ExifEntry& entry) {
  constexpr uint16_t kRational = 5;
  if (entry.type != kRational) return 0;
  const std::span<const uint8_t> bytes(entry.bytes);
  const auto divisor = static_cast<double>(number(bytes.subspan(4, 4), false));
  return divisor > 0 ? static_cast<double>(number(bytes.first(4), false)) / divisor : 0;
}

void append(std::vector<uint8_t>& to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

}  // namespace

Exif parse_exif(const ReadAt& read, uint64_t size) {
  return Parser(read, size).parse();
}

Exif parse_exif(std::span<const uint8_t> structure) {
  return parse_exif(reader_of(structure), structure.size());
}

std::vector<uint8_t> exif_directory(std::span<const ExifEntry> entries, uint64_t offset,
                                    TiffKind kind) {
  const Widths& widths = kind == TiffKind::kBig ? kBig : kClassic;
  std::vector<ExifEntry> sorted(entries.begin(), entries.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.tag < b.tag; });
  std::vector<uint8_t> table, values;
  const uint64_t begin = offset + widths.entries + sorted.size() * widths.entry + widths.number;
  append(table, sorted.size(), widths.entries);
  for (const ExifEntry& entry : sorted) {
    append(table, entry.tag, 2);
    append(table, entry.type, 2);
    append(table, entry.count, widths.number);
    std::vector<uint8_t> bytes = entry.bytes;
    bytes.resize(std::max(widths.number, (bytes.size() + 1) / 2 * 2));
    if (bytes.size() > widths.number) {
      append(table, begin + values.size(), widths.number);
      values.insert(values.end(), bytes.begin(), bytes.end());
    } else {
      table.insert(table.end(), bytes.begin(), bytes.end());
    }
  }
  append(table, 0, widths.number);  // no next directory
  table.insert(table.end(), values.begin(), values.end());
  return table;
}

std::vector<uint8_t> exif_structure(const Exif& exif) {
  std::vector<ExifEntry> picture = exif.picture;
  if (!exif.camera.empty()) picture.push_back({kCameraTag, kLong, 1, {0, 0, 0, 0}});
  if (!exif.place.empty()) picture.push_back({kPlaceTag, kLong, 1, {0, 0, 0, 0}});
  // The pointers' values change no length: one pass finds the places, the other sets them.
  std::vector<uint8_t> first, camera, place;
  for (int pass = 0; pass < 2; ++pass) {
    first = exif_directory(picture, kHeaderBytes);
    const auto camera_at = static_cast<uint32_t>(kHeaderBytes + first.size());
    camera = exif_directory(exif.camera, camera_at);
    const auto place_at = static_cast<uint32_t>(camera_at + camera.size());
    place = exif_directory(exif.place, place_at);
    for (ExifEntry& entry : picture) {
      if (entry.tag != kCameraTag && entry.tag != kPlaceTag) continue;
      entry.bytes.clear();
      append(entry.bytes, entry.tag == kCameraTag ? camera_at : place_at, 4);
    }
  }
  std::vector<uint8_t> structure = {'I', 'I', 42, 0, kHeaderBytes, 0, 0, 0};
  for (const auto* part : {&first, &camera, &place}) {
    structure.insert(structure.end(), part->begin(), part->end());
  }
  return structure;
}

int32_t exif_orientation(std::span<const uint8_t> exif) {
  if (exif.size() < kHeaderBytes || exif[0] != exif[1]) return 0;
  if (exif[0] != 'M' && exif[0] != 'I') return 0;
  const bool big = exif[0] == 'M';
  const size_t directory = number(exif.subspan(4, 4), big);
  if (directory > exif.size() || exif.size() - directory < 2) return 0;
  const size_t entries = number(exif.subspan(directory, 2), big);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = directory + kClassic.entries + i * kClassic.entry;
    if (at + kClassic.entry > exif.size()) return 0;
    if (number(exif.subspan(at, 2), big) != kOrientationTag) continue;
    const uint64_t value = number(exif.subspan(at + 8, 2), big);
    return value >= 1 && value <= 8 ? static_cast<int32_t>(value) : 0;
  }
  return 0;
}

std::vector<uint8_t> exif_with_orientation(int32_t orientation) {
  Exif exif;
  exif.picture = {orientation_entry(orientation)};
  return exif_structure(exif);
}

std::vector<uint8_t> exif_to_write(const Metadata& metadata) {
  constexpr uint16_t kAscii = 2;
  if (!metadata.exif.empty()) return metadata.exif;
  Exif exif;
  for (const auto& [tag, text] : metadata.tiff_texts) {
    if (!is_of_picture(tag)) continue;
    std::vector<uint8_t> bytes(text.begin(), text.end());
    bytes.push_back(0);
    const auto count = static_cast<uint32_t>(bytes.size());
    exif.picture.push_back({static_cast<uint16_t>(tag), kAscii, count, std::move(bytes)});
  }
  if (metadata.orientation > 1) exif.picture.push_back(orientation_entry(metadata.orientation));
  return exif.empty() ? std::vector<uint8_t>() : exif_structure(exif);
}

std::optional<Resolution> exif_resolution(std::span<const uint8_t> exif) {
  constexpr uint16_t kXTag = 0x011a, kYTag = 0x011b, kUnitTag = 0x0128;
  constexpr uint64_t kNoUnit = 1, kInch = 2, kCentimetre = 3;
  double x = 0, y = 0;
  uint64_t unit = kInch;
  const ReadAt read = reader_of(exif);
  for (const ExifEntry& entry : Parser(read, exif.size()).first_directory()) {
    if (entry.tag == kXTag) x = quotient(entry);
    if (entry.tag == kYTag) y = quotient(entry);
    if (entry.tag == kUnitTag && entry.type == kShort) {
      unit = number(std::span<const uint8_t>(entry.bytes).first(2), false);
    }
  }
  if (!(x > 0 && y > 0)) return std::nullopt;
  const double scale = unit == kInch ? 1 / kMetresInInch : unit == kCentimetre ? 100.0 : 1.0;
  return Resolution{x * scale, y * scale, unit != kNoUnit};
}

}  // namespace grainless::tools
