// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "engine/boundary/status.h"
#include "exif.h"
#include "tiff_file.h"
#include "tiff_handle.h"

namespace grainless::tools {
namespace {

constexpr uint64_t kLargestBlock = uint64_t{1} << 30;  // bytes of a tile

template <typename Value>
Value field(const TiffHandle& tiff, uint32_t tag, Value otherwise) {
  Value value{};
  return TIFFGetFieldDefaulted(tiff.get(), tag, &value) != 0 ? value : otherwise;
}

struct Layout {
  uint32_t width = 0, height = 0;
  uint16_t bits = 0, samples = 0, photometric = 0;
  bool planes = false, palette = false, premultiplied = false;
  PixelFormat format;               // of the picture made of it
  const uint16_t* colours[3] = {};  // the palette's channels
  bool deep_palette = false;        // its entries are 16-bit, not 8-bit as some old files have them
};

Component component_of(const TiffHandle& tiff, const Layout& layout) {
  const uint16_t kind = field<uint16_t>(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
  const bool integer = kind == SAMPLEFORMAT_UINT || kind == SAMPLEFORMAT_VOID;
  const bool narrow = layout.bits == 1 || layout.bits == 2 || layout.bits == 4;
  if (integer && (layout.bits == 8 || (narrow && layout.samples == 1))) return Component::kU8;
  if (integer && layout.bits == 16) return Component::kU16;
  if (kind == SAMPLEFORMAT_IEEEFP && layout.bits == 16) return Component::kHalf;
  if (kind == SAMPLEFORMAT_IEEEFP && layout.bits == 32) return Component::kFloat;
  tiff.fail("stores samples of " + std::to_string(layout.bits) + " bits " +
            (kind == SAMPLEFORMAT_IEEEFP ? "(floating point)"
             : integer                   ? "(integer)"
                                         : "(signed or complex)") +
            ", which is not supported");
}

std::string colours_named(uint16_t photometric) {
  switch (photometric) {
    case PHOTOMETRIC_SEPARATED:
      return "CMYK";
    case PHOTOMETRIC_YCBCR:
      return "YCbCr";
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
      return "Lab";
    case PHOTOMETRIC_CFA:
      return "raw sensor";
    default:
      return "unknown (photometric interpretation " + std::to_string(photometric) + ")";
  }
}

int32_t colours_of(const TiffHandle& tiff, const Layout& layout) {
  switch (layout.photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_PALETTE:
      return 1;
    case PHOTOMETRIC_RGB:
      return 3;
    case PHOTOMETRIC_YCBCR:
      if (field<uint16_t>(tiff, TIFFTAG_COMPRESSION, 0) == COMPRESSION_JPEG &&
          TIFFSetField(tiff.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB) != 0) {
        return 3;
      }
      break;
    default:
      break;
  }
  tiff.fail("holds " + colours_named(layout.photometric) +
            " colours; only grey, RGB and palette are supported: convert it first");
}

void read_palette(const TiffHandle& tiff, Layout& layout) {
  uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  if (layout.samples != 1 || layout.bits > 8 ||
      TIFFGetField(tiff.get(), TIFFTAG_COLORMAP, &red, &green, &blue) == 0) {
    tiff.fail("is damaged: it has no usable palette");
  }
  layout.palette = true;
  layout.colours[0] = red, layout.colours[1] = green, layout.colours[2] = blue;
  for (const uint16_t* channel : layout.colours) {
    const auto above_8_bits = [](uint16_t value) { return value > 255; };
    layout.deep_palette |= std::any_of(channel, channel + (1 << layout.bits), above_8_bits);
  }
}

Layout read_layout(const TiffHandle& tiff) {
  Layout layout;
  layout.width = field<uint32_t>(tiff, TIFFTAG_IMAGEWIDTH, 0);
  layout.height = field<uint32_t>(tiff, TIFFTAG_IMAGELENGTH, 0);
  layout.bits = field<uint16_t>(tiff, TIFFTAG_BITSPERSAMPLE, 1);
  layout.samples = field<uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  layout.photometric = field<uint16_t>(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  layout.planes =
      layout.samples > 1 && field<uint16_t>(tiff, TIFFTAG_PLANARCONFIG, 1) == PLANARCONFIG_SEPARATE;
  const int32_t colours = colours_of(tiff, layout);
  const int32_t extra = layout.samples - colours;
  if (extra < 0 || extra > 1) {
    tiff.fail("has " + std::to_string(layout.samples) +
              " samples a pixel; colour and one alpha channel are supported");
  }
  layout.format = {component_of(tiff, layout), layout.samples};
  if (layout.photometric == PHOTOMETRIC_PALETTE) {
    read_palette(tiff, layout);
    layout.format.channels = 3;
  }
  uint16_t count = 0, *kinds = nullptr;
  layout.premultiplied = extra == 1 &&
                         TIFFGetField(tiff.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) != 0 &&
                         count > 0 && kinds[0] == EXTRASAMPLE_ASSOCALPHA;
  return layout;
}

uint32_t unpack(const uint8_t* row, int32_t index, uint32_t bits) {
  const uint64_t at = uint64_t(index) * bits;
  return row[at / 8] >> (8 - bits - at % 8) & ((1u << bits) - 1);
}

// Puts `count` pixels of one decoded row (of one plane, where there are planes) at (x, y).
void place(const Layout& layout, Image& image, const uint8_t* from, int32_t x, int32_t y,
           int32_t count, int32_t plane) {
  uint8_t* to = image.row(y) + ptrdiff_t{x} * image.format.pixel_bytes();
  const size_t step = size_t(image.format.component_bytes());
  if (layout.palette) {
    for (int32_t i = 0; i < count; ++i) {
      const uint32_t entry = unpack(from, i, layout.bits);
      for (const uint16_t* channel : layout.colours) {
        *to++ = static_cast<uint8_t>(layout.deep_palette ? (channel[entry] + 128) / 257
                                                         : channel[entry]);
      }
    }
  } else if (layout.bits < 8) {
    const uint32_t full = (1u << layout.bits) - 1;
    for (int32_t i = 0; i < count; ++i) {
      to[i] = static_cast<uint8_t>(unpack(from, i, layout.bits) * 255 / full);
    }
  } else if (layout.planes) {
    to += size_t(plane) * step;
    for (int32_t i = 0; i < count; ++i, to += image.format.pixel_bytes()) {
      std::memcpy(to, from + size_t(i) * step, step);
    }
  } else {
    std::memcpy(to, from, size_t(count) * size_t(image.format.pixel_bytes()));
  }
}

// libtiff takes a block of which the file doesn't say where it is from the file's beginning.
void check_place(const TiffHandle& tiff, uint32_t block) {
  constexpr uint64_t kHeader = 8;
  if (TIFFGetStrileOffset(tiff.get(), block) < kHeader) {
    tiff.fail("is damaged: it does not say where its pixels are");
  }
}

std::unique_ptr<uint8_t[]> block_buffer(const TiffHandle& tiff, uint64_t bytes, uint64_t most) {
  if (bytes == 0 || bytes > most) tiff.fail("is damaged: its blocks make no sense");
  // Zeros: of damaged fax data libtiff decodes less than it says, and the rest would be whatever
  // memory held before.
  return std::make_unique<uint8_t[]>(bytes);
}

void read_strips(const TiffHandle& tiff, const Layout& layout, Image& image,
                 const CancelToken* cancel) {
  const uint32_t in_strip =
      std::min(field<uint32_t>(tiff, TIFFTAG_ROWSPERSTRIP, UINT32_MAX), layout.height);
  const uint64_t row_bytes = TIFFScanlineSize64(tiff.get());
  if (in_strip == 0) tiff.fail("is damaged: its blocks make no sense");
  const auto buffer =
      block_buffer(tiff, row_bytes * in_strip, std::max<uint64_t>(image.bytes(), kLargestBlock));
  const int32_t planes = layout.planes ? layout.samples : 1;
  for (int32_t plane = 0; plane < planes; ++plane) {
    for (uint32_t y = 0; y < layout.height; y += in_strip) {
      stop_if_cancelled(cancel);
      const uint32_t rows = std::min(in_strip, layout.height - y);
      const auto wanted = tmsize_t(rows * row_bytes);
      const uint32_t strip = TIFFComputeStrip(tiff.get(), y, uint16_t(plane));
      check_place(tiff, strip);
      if (TIFFReadEncodedStrip(tiff.get(), strip, buffer.get(), wanted) != wanted) {
        tiff.fail("is damaged or truncated");
      }
      for (uint32_t r = 0; r < rows; ++r) {
        place(layout, image, buffer.get() + r * row_bytes, 0, int32_t(y + r), image.width, plane);
      }
    }
  }
}

struct Tiles {
  uint32_t width, height;
  uint64_t row_bytes, bytes;
};

void read_tile(const TiffHandle& tiff, const Layout& layout, const Tiles& tiles, uint32_t x,
               uint32_t y, int32_t plane, uint8_t* buffer, Image& image) {
  const uint32_t index = TIFFComputeTile(tiff.get(), x, y, 0, uint16_t(plane));
  const auto wanted = tmsize_t(tiles.bytes);
  check_place(tiff, index);
  if (TIFFReadEncodedTile(tiff.get(), index, buffer, wanted) != wanted) {
    tiff.fail("is damaged or truncated");
  }
  const uint32_t rows = std::min(tiles.height, layout.height - y);
  const uint32_t columns = std::min(tiles.width, layout.width - x);
  for (uint32_t r = 0; r < rows; ++r) {
    place(layout, image, buffer + r * tiles.row_bytes, int32_t(x), int32_t(y + r), int32_t(columns),
          plane);
  }
}

void read_tiles(const TiffHandle& tiff, const Layout& layout, Image& image,
                const CancelToken* cancel) {
  const Tiles tiles{field<uint32_t>(tiff, TIFFTAG_TILEWIDTH, 0),
                    field<uint32_t>(tiff, TIFFTAG_TILELENGTH, 0), TIFFTileRowSize64(tiff.get()),
                    TIFFTileSize64(tiff.get())};
  if (tiles.width == 0 || tiles.height == 0) tiff.fail("is damaged: its blocks make no sense");
  const auto buffer = block_buffer(tiff, tiles.bytes, kLargestBlock);
  const int32_t planes = layout.planes ? layout.samples : 1;
  for (int32_t plane = 0; plane < planes; ++plane) {
    for (uint64_t y = 0; y < layout.height; y += tiles.height) {
      stop_if_cancelled(cancel);
      for (uint64_t x = 0; x < layout.width; x += tiles.width) {
        read_tile(tiff, layout, tiles, uint32_t(x), uint32_t(y), plane, buffer.get(), image);
      }
    }
  }
}

template <typename Integer>
void invert_samples(Image& image) {
  const size_t step = size_t(image.format.pixel_bytes());
  for (size_t at = 0; at < image.bytes(); at += step) {  // grey comes first, alpha after it
    Integer value;
    std::memcpy(&value, image.pixels.get() + at, sizeof value);
    value = static_cast<Integer>(~value);
    std::memcpy(image.pixels.get() + at, &value, sizeof value);
  }
}

void white_is_zero_to_black(const TiffHandle& tiff, Image& image) {
  if (image.format.component == Component::kU8) return invert_samples<uint8_t>(image);
  if (image.format.component == Component::kU16) return invert_samples<uint16_t>(image);
  tiff.fail("stores inverted floating point samples, which is not supported");
}

void read_resolution(const TiffHandle& tiff, Metadata& metadata) {
  const float x = field<float>(tiff, TIFFTAG_XRESOLUTION, 0);
  const float y = field<float>(tiff, TIFFTAG_YRESOLUTION, 0);
  if (!(x > 0 && y > 0)) return;
  const uint16_t unit = field<uint16_t>(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
  const double scale = unit == RESUNIT_INCH         ? 1 / kMetresInInch
                       : unit == RESUNIT_CENTIMETER ? 100.0
                                                    : 1.0;
  metadata.resolution = Resolution{x * scale, y * scale, unit != RESUNIT_NONE};
}

void read_blocks(const TiffHandle& tiff, Metadata& metadata) {
  for (const uint32_t tag : kTiffBlocks) {
    uint32_t count = 0;
    const uint8_t* data = nullptr;
    const TIFFField* field = TIFFFindField(tiff.get(), tag, TIFF_ANY);
    if (field == nullptr || TIFFGetField(tiff.get(), tag, &count, &data) == 0) continue;
    const auto unit = static_cast<size_t>(TIFFDataWidth(TIFFFieldDataType(field)));
    std::vector<uint8_t> bytes(data, data + count * unit);
    // IPTC says that it were 32-bit numbers, and libtiff has turned them round.
    if (unit == 4 && TIFFIsByteSwapped(tiff.get()) != 0) {
      TIFFSwabArrayOfLong(reinterpret_cast<uint32_t*>(bytes.data()), count);
    }
    metadata.tiff_blocks.push_back({tag, count, std::move(bytes)});
  }
}

bool read_at(int descriptor, uint64_t offset, std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got <= 0) return false;
    offset += static_cast<uint64_t>(got);
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
  return true;
}

// The first page's: those after it are slices or frames of the same volume.
void read_exif(TiffHandle& tiff, uint64_t file_bytes, Metadata& metadata) {
  uint64_t at = 0;
  const bool has_camera = TIFFGetField(tiff.get(), TIFFTAG_EXIFIFD, &at) != 0;
  const bool has_place = TIFFGetField(tiff.get(), TIFFTAG_GPSIFD, &at) != 0;
  if (!has_camera && !has_place) return;
  const int descriptor = TIFFFileno(tiff.get());
  const ReadAt read = [&](uint64_t offset, std::span<uint8_t> bytes) {
    return read_at(descriptor, offset, bytes);
  };
  const Exif exif = parse_exif(read, file_bytes);
  if (has_camera == exif.camera.empty() || has_place == exif.place.empty()) {
    tiff.notes().add("its camera data (EXIF) can't be read in full");
  }
  if (!exif.camera.empty() || !exif.place.empty()) metadata.exif = exif_structure(exif);
}

void read_metadata(TiffHandle& tiff, uint64_t file_bytes, Metadata& metadata) {
  read_resolution(tiff, metadata);
  uint16_t orientation = 0;
  if (TIFFGetField(tiff.get(), TIFFTAG_ORIENTATION, &orientation) != 0 && orientation <= 8) {
    metadata.orientation = orientation;
  }
  uint32_t bytes = 0;
  const uint8_t* block = nullptr;
  if (TIFFGetField(tiff.get(), TIFFTAG_ICCPROFILE, &bytes, &block) != 0) {
    metadata.icc_profile.assign(block, block + bytes);
  }
  if (TIFFGetField(tiff.get(), TIFFTAG_XMLPACKET, &bytes, &block) != 0) {
    metadata.xmp.assign(block, block + bytes);
  }
  for (const uint32_t tag : kTiffTexts) {
    const char* text = nullptr;
    if (TIFFGetField(tiff.get(), tag, &text) != 0) metadata.tiff_texts.emplace_back(tag, text);
  }
  read_blocks(tiff, metadata);
  read_exif(tiff, file_bytes, metadata);
}

// Smaller copies of the picture don't count as pages.
bool is_page(const TiffHandle& tiff) {
  return (field<uint32_t>(tiff, TIFFTAG_SUBFILETYPE, 0) & FILETYPE_REDUCEDIMAGE) == 0;
}

// Leaves the handle at the first page.
void refuse_several_pages(const TiffHandle& tiff) {
  int32_t pages = 0;
  do {
    if (is_page(tiff)) ++pages;
  } while (TIFFReadDirectory(tiff.get()) != 0);
  if (pages > 1) {
    fail_file(tiff.path(),
              "has " + std::to_string(pages) + " pages: --depth denoises them as one volume");
  }
  if (TIFFSetDirectory(tiff.get(), 0) == 0) tiff.fail("is damaged");
}

// Bytes that the page's compression can make of one, about. Blocks may share their bytes, so that
// even plain ones make more than one of one.
uint64_t most_of_a_byte(const TiffHandle& tiff) {
  constexpr uint64_t kRuns = 64, kDeflate = 1032, kLzw = 1400, kOthers = 1 << 16;
  switch (field<uint16_t>(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE)) {
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

// The handle's current page.
Image read_page(TiffHandle& tiff, const InputFile& file, const CancelToken* cancel) {
  const Layout layout = read_layout(tiff);
  check_pixels(layout.width, layout.height, file.path());
  check_worth(file, uint64_t{layout.height} * ((uint64_t{layout.width} * layout.bits + 7) / 8),
              most_of_a_byte(tiff));
  Image image = make_image(layout.format, layout.width, layout.height, tiff.path());
  image.premultiplied = layout.premultiplied;
  if (TIFFIsTiled(tiff.get()) != 0) {
    read_tiles(tiff, layout, image, cancel);
  } else {
    read_strips(tiff, layout, image, cancel);
  }
  if (layout.photometric == PHOTOMETRIC_MINISWHITE) white_is_zero_to_black(tiff, image);
  read_metadata(tiff, file.size(), image.metadata);
  image.notes = tiff.notes().take();
  return image;
}

}  // namespace

Image read_tiff(const InputFile& file, const CancelToken* cancel) {
  TiffHandle tiff(file.path(), fileno(file.stream()), "rm");
  refuse_several_pages(tiff);
  return read_page(tiff, file, cancel);
}

std::vector<Image> read_tiff_pages(const InputFile& file, const CancelToken* cancel) {
  TiffHandle tiff(file.path(), fileno(file.stream()), "rm");
  std::vector<Image> pages;
  do {
    if (is_page(tiff)) pages.push_back(read_page(tiff, file, cancel));
  } while (TIFFReadDirectory(tiff.get()) != 0);
  if (pages.empty()) tiff.fail("is damaged");
  return pages;
}

}  // namespace grainless::tools
