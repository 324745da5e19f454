// SPDX-License-Identifier: MIT
#include "tiff_rows.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace grainless::tools {
namespace {

constexpr uint64_t kLargestBlock = uint64_t{1} << 30;  // bytes
constexpr uint64_t kLongStrip = 16 << 20;              // bytes; longer ones are taken row by row

// Bytes that the page's compression can make of one, about. Blocks may share their bytes, so that
// even plain ones make more than one of one.
uint64_t most_of_a_byte(const TiffHandle& tiff) {
  constexpr uint64_t kRuns = 64, kDeflate = 1032, kLzw = 1400, kOthers = 1 << 16;
  switch (tiff_field<uint16_t>(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE)) {
    case COMPRESSION_NONE:
    case COMPRESSION_PACKBITS:
      return kRuns;
    case COMPRESSION_ADOBE_DEFLATE:
    case COMPRESSION_DEFLATE:
      return kDeflate;
    case COMPRESSION_LZW:
      return kLzw;
    default:
      return kOthers;
  }
}

bool is_coded_by_rows(uint16_t compression) {
  constexpr uint16_t kKnown[] = {COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE, COMPRESSION_LZW,
                                 COMPRESSION_PACKBITS,      COMPRESSION_LZMA,    COMPRESSION_ZSTD};
  return std::find(std::begin(kKnown), std::end(kKnown), compression) != std::end(kKnown);
}

template <typename Integer>
void invert(PixelFormat format, uint8_t* pixels, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {  // grey comes first, alpha after it
    Integer value;
    std::memcpy(&value, pixels, sizeof value);
    value = static_cast<Integer>(~value);
    std::memcpy(pixels, &value, sizeof value);
    pixels += format.pixel_bytes();
  }
}

}  // namespace

TiffRows::TiffRows(const TiffHandle& tiff, const InputFile& file, const CancelToken* cancel)
    : tiff_(tiff), cancel_(cancel), layout_(read_tiff_layout(tiff)) {
  const auto senseless = [&] { tiff.fail("is damaged: its blocks make no sense"); };
  check_pixels(layout_.width, layout_.height, file.path());
  const bool whole_values =
      layout_.format.component == Component::kU8 || layout_.format.component == Component::kU16;
  if (layout_.photometric == PHOTOMETRIC_MINISWHITE && !whole_values) {
    tiff.fail("stores inverted floating point samples, which is not supported");
  }
  const uint64_t ratio = most_of_a_byte(tiff);
  check_worth(file, uint64_t{layout_.height} * ((uint64_t{layout_.width} * layout_.bits + 7) / 8),
              ratio);
  if (TIFFIsTiled(tiff.get()) != 0) {
    tile_width_ = tiff_field<uint32_t>(tiff, TIFFTAG_TILEWIDTH, 0);
    block_rows_ = tiff_field<uint32_t>(tiff, TIFFTAG_TILELENGTH, 0);
    block_bytes_ = TIFFTileSize64(tiff.get());
    blocks_ = Blocks::kTiles;
    if (tile_width_ == 0 || block_rows_ == 0) senseless();
    // A tile is decoded as a whole, however little of it is in the picture.
    check_worth(file, block_bytes_, ratio);
  } else {
    const auto rows = tiff_field<uint32_t>(tiff, TIFFTAG_ROWSPERSTRIP, UINT32_MAX);
    strip_rows_ = std::min(rows, layout_.height);
    block_bytes_ = uint64_t{strip_rows_} * TIFFScanlineSize64(tiff.get());
    block_rows_ = strip_rows_;
    blocks_ = choose_blocks();
    if (blocks_ == Blocks::kPlainRows || blocks_ == Blocks::kCodedRows) {
      block_rows_ = 1;
      block_bytes_ = TIFFScanlineSize64(tiff.get());
    }
  }
  const uint64_t most = std::max(kLargestBlock, uint64_t{layout_.height} * picture_row_bytes());
  if (block_rows_ == 0 || block_bytes_ == 0 || block_bytes_ > most) senseless();
}

TiffRows::Blocks TiffRows::choose_blocks() const {
  const auto compression = tiff_field<uint16_t>(tiff_, TIFFTAG_COMPRESSION, COMPRESSION_NONE);
  const auto order = tiff_field<uint16_t>(tiff_, TIFFTAG_FILLORDER, FILLORDER_MSB2LSB);
  if (block_bytes_ <= kLongStrip) return Blocks::kStrips;
  if (compression == COMPRESSION_NONE && order == FILLORDER_MSB2LSB) return Blocks::kPlainRows;
  // Of several planes libtiff would begin a strip anew at every row.
  return is_coded_by_rows(compression) && !layout_.planes ? Blocks::kCodedRows : Blocks::kStrips;
}

uint64_t TiffRows::picture_row_bytes() const {
  return uint64_t{layout_.width} * static_cast<uint64_t>(layout_.format.pixel_bytes());
}

uint64_t TiffRows::memory() const {
  uint64_t coded = 0;  // libtiff reads strips before it decodes them
  if (blocks_ == Blocks::kCodedRows) {
    for (uint32_t i = 0; i < TIFFNumberOfStrips(tiff_.get()); ++i) {
      coded = std::max(coded, TIFFGetStrileByteCount(tiff_.get(), i));
    }
  }
  return block_bytes_ + block_rows_ * picture_row_bytes() + coded;
}

void TiffRows::read(int32_t first, int32_t count, uint8_t* to) {
  const auto rows = static_cast<int32_t>(std::min(block_rows_, layout_.height));
  const uint64_t row_bytes = picture_row_bytes();
  const int64_t end = int64_t{first} + count;
  for (int64_t y = first; y < end;) {
    const int64_t begin = y / rows * rows;
    const auto held = static_cast<int32_t>(std::min<int64_t>(rows, layout_.height - begin));
    const int64_t taken = std::min(end, begin + held) - y;
    uint8_t* place = to + static_cast<uint64_t>(y - first) * row_bytes;
    if (taken == held) {
      decode(static_cast<int32_t>(begin), held, place);
    } else {
      if (kept_ == nullptr) kept_.reset(new uint8_t[static_cast<uint64_t>(rows) * row_bytes]);
      if (kept_from_ != begin) {
        kept_from_ = -1;
        decode(static_cast<int32_t>(begin), held, kept_.get());
        kept_from_ = begin;
      }
      std::memcpy(place, kept_.get() + static_cast<uint64_t>(y - begin) * row_bytes,
                  static_cast<uint64_t>(taken) * row_bytes);
    }
    y += taken;
  }
}

// A row of blocks.
void TiffRows::decode(int32_t first, int32_t count, uint8_t* to) {
  throw_if_cancelled(cancel_);
  // Zeros: of damaged fax data libtiff decodes less than it says, and the rest would be whatever
  // memory held before.
  if (block_ == nullptr) block_ = std::make_unique<uint8_t[]>(block_bytes_);
  const int32_t planes = layout_.planes ? layout_.samples : 1;
  const auto y = static_cast<uint32_t>(first), rows = static_cast<uint32_t>(count);
  for (int32_t plane = 0; plane < planes; ++plane) {
    if (blocks_ == Blocks::kTiles) {
      decode_tiles(y, rows, plane, to);
    } else if (blocks_ == Blocks::kStrips) {
      decode_strip(y, rows, plane, to);
    } else {
      decode_rows(y, rows, plane, to);
    }
  }
  if (layout_.photometric != PHOTOMETRIC_MINISWHITE) return;
  const int64_t pixels = int64_t{count} * layout_.width;
  if (layout_.format.component == Component::kU8) {
    invert<uint8_t>(layout_.format, to, pixels);
  } else {
    invert<uint16_t>(layout_.format, to, pixels);
  }
}

// libtiff takes a block of which the file doesn't say where it is from the file's beginning.
void TiffRows::check_place(uint32_t block) const {
  constexpr uint64_t kHeader = 8;
  if (TIFFGetStrileOffset(tiff_.get(), block) < kHeader) {
    tiff_.fail("is damaged: it does not say where its pixels are");
  }
}

void TiffRows::decode_strip(uint32_t y, uint32_t rows, int32_t plane, uint8_t* to) {
  const auto row_bytes = static_cast<uint64_t>(TIFFScanlineSize64(tiff_.get()));
  const auto wanted = static_cast<tmsize_t>(rows * row_bytes);
  const uint32_t strip = TIFFComputeStrip(tiff_.get(), y, static_cast<uint16_t>(plane));
  check_place(strip);
  if (TIFFReadEncodedStrip(tiff_.get(), strip, block_.get(), wanted) != wanted) {
    tiff_.fail("is damaged or truncated");
  }
  for (uint32_t r = 0; r < rows; ++r, to += picture_row_bytes()) {
    place_tiff_pixels(layout_, block_.get() + r * row_bytes, to,
                      static_cast<int32_t>(layout_.width), plane);
  }
}

void TiffRows::decode_tiles(uint32_t y, uint32_t rows, int32_t plane, uint8_t* to) {
  const auto row_bytes = static_cast<uint64_t>(TIFFTileRowSize64(tiff_.get()));
  const auto wanted = static_cast<tmsize_t>(block_bytes_);
  for (uint64_t x = 0; x < layout_.width; x += tile_width_) {
    const uint32_t tile =
        TIFFComputeTile(tiff_.get(), static_cast<uint32_t>(x), y, 0, static_cast<uint16_t>(plane));
    check_place(tile);
    if (TIFFReadEncodedTile(tiff_.get(), tile, block_.get(), wanted) != wanted) {
      tiff_.fail("is damaged or truncated");
    }
    const auto columns = static_cast<int32_t>(std::min<uint64_t>(tile_width_, layout_.width - x));
    uint8_t* place = to + x * static_cast<uint64_t>(layout_.format.pixel_bytes());
    for (uint32_t r = 0; r < rows; ++r, place += picture_row_bytes()) {
      place_tiff_pixels(layout_, block_.get() + r * row_bytes, place, columns, plane);
    }
  }
}

void TiffRows::decode_rows(uint32_t y, uint32_t rows, int32_t plane, uint8_t* to) {
  for (uint32_t r = 0; r < rows; ++r, to += picture_row_bytes()) {
    check_place(TIFFComputeStrip(tiff_.get(), y + r, static_cast<uint16_t>(plane)));
    if (blocks_ == Blocks::kPlainRows) {
      take_plain_row(y + r, plane);
    } else {
      take_coded_row(y + r);
    }
    place_tiff_pixels(layout_, block_.get(), to, static_cast<int32_t>(layout_.width), plane);
  }
}

// libtiff goes back to a strip's first row, and from there row by row.
void TiffRows::take_coded_row(uint32_t y) {
  const uint32_t begin = y / strip_rows_ * strip_rows_;
  if (y < next_coded_ || begin > next_coded_) next_coded_ = begin;
  while (next_coded_ <= y) {
    if (TIFFReadScanline(tiff_.get(), block_.get(), next_coded_, 0) < 0) {
      tiff_.fail("is damaged or truncated");
    }
    ++next_coded_;
  }
}

void TiffRows::take_plain_row(uint32_t y, int32_t plane) {
  const uint32_t strip = TIFFComputeStrip(tiff_.get(), y, static_cast<uint16_t>(plane));
  const uint64_t at = TIFFGetStrileOffset(tiff_.get(), strip) + y % strip_rows_ * block_bytes_;
  uint8_t* to = block_.get();
  for (uint64_t done = 0; done < block_bytes_;) {
    const ssize_t got = pread(TIFFFileno(tiff_.get()), to + done, block_bytes_ - done,
                              static_cast<off_t>(at + done));
    if (got <= 0) tiff_.fail("is damaged or truncated");
    done += static_cast<uint64_t>(got);
  }
  if (TIFFIsByteSwapped(tiff_.get()) == 0) return;
  if (layout_.bits == 16) {
    TIFFSwabArrayOfShort(reinterpret_cast<uint16_t*>(to), static_cast<tmsize_t>(block_bytes_ / 2));
  } else if (layout_.bits == 32) {
    TIFFSwabArrayOfLong(reinterpret_cast<uint32_t*>(to), static_cast<tmsize_t>(block_bytes_ / 4));
  }
}

}  // namespace grainless::tools
