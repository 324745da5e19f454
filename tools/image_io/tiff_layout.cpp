// SPDX-License-Identifier: MIT
#include "tiff_layout.h"

#include <cstring>
#include <string>

namespace grainless::tools {
namespace {

Component component_of(const TiffHandle& tiff, const TiffLayout& layout) {
  const uint16_t kind = tiff_field<uint16_t>(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT);
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

int32_t colours_of(const TiffHandle& tiff, const TiffLayout& layout) {
  switch (layout.photometric) {
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_MINISWHITE:
    case PHOTOMETRIC_PALETTE:
      return 1;
    case PHOTOMETRIC_RGB:
      return 3;
    case PHOTOMETRIC_YCBCR:
      if (tiff_field<uint16_t>(tiff, TIFFTAG_COMPRESSION, 0) == COMPRESSION_JPEG &&
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

// Entries have 16 bits. Some old files use the lower eight of them alone; Pillow and others use the
// upper eight, and the rest is 0.
uint32_t palette_white(const TiffLayout& layout) {
  uint32_t bits = 0;
  for (const uint16_t* channel : layout.colours) {
    for (int32_t i = 0; i < 1 << layout.bits; ++i) bits |= channel[i];
  }
  return bits <= 0xff ? 0xff : (bits & 0xff) == 0 ? 0xff00 : 0xffff;
}

void read_palette(const TiffHandle& tiff, TiffLayout& layout) {
  uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  if (layout.samples != 1 || layout.bits > 8 ||
      TIFFGetField(tiff.get(), TIFFTAG_COLORMAP, &red, &green, &blue) == 0) {
    tiff.fail("is damaged: it has no usable palette");
  }
  layout.palette = true;
  layout.colours[0] = red, layout.colours[1] = green, layout.colours[2] = blue;
  layout.palette_white = palette_white(layout);
}

uint32_t unpack(const uint8_t* row, int32_t index, uint32_t bits) {
  const uint64_t at = uint64_t(index) * bits;
  return row[at / 8] >> (8 - bits - at % 8) & ((1u << bits) - 1);
}

// libtiff takes one that isn't mentioned for unspecified, too.
Extra extra_of(const TiffHandle& tiff) {
  uint16_t count = 0, *kinds = nullptr;
  const bool found = TIFFGetField(tiff.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds) != 0;
  if (!found || count == 0) return Extra::kUnspecified;
  if (kinds[0] == EXTRASAMPLE_ASSOCALPHA) return Extra::kPremultiplied;
  return kinds[0] == EXTRASAMPLE_UNASSALPHA ? Extra::kAlpha : Extra::kUnspecified;
}

}  // namespace

TiffLayout read_tiff_layout(const TiffHandle& tiff) {
  TiffLayout layout;
  layout.width = tiff_field<uint32_t>(tiff, TIFFTAG_IMAGEWIDTH, 0);
  layout.height = tiff_field<uint32_t>(tiff, TIFFTAG_IMAGELENGTH, 0);
  layout.bits = tiff_field<uint16_t>(tiff, TIFFTAG_BITSPERSAMPLE, 1);
  layout.samples = tiff_field<uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  layout.photometric = tiff_field<uint16_t>(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  layout.planes = layout.samples > 1 &&
                  tiff_field<uint16_t>(tiff, TIFFTAG_PLANARCONFIG, 1) == PLANARCONFIG_SEPARATE;
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
  if (extra == 1) layout.extra = extra_of(tiff);
  return layout;
}

void place_tiff_pixels(const TiffLayout& layout, const uint8_t* from, uint8_t* to, int32_t count,
                       int32_t plane) {
  const PixelFormat format = layout.format;
  const auto step = static_cast<size_t>(format.component_bytes());
  if (layout.palette) {
    for (int32_t i = 0; i < count; ++i) {
      const uint32_t entry = unpack(from, i, layout.bits);
      for (const uint16_t* channel : layout.colours) {
        const uint32_t white = layout.palette_white;
        *to++ = static_cast<uint8_t>((channel[entry] * 255u + white / 2) / white);
      }
    }
  } else if (layout.bits < 8) {
    const uint32_t full = (1u << layout.bits) - 1;
    for (int32_t i = 0; i < count; ++i) {
      to[i] = static_cast<uint8_t>(unpack(from, i, layout.bits) * 255 / full);
    }
  } else if (layout.planes) {
    to += size_t(plane) * step;
    for (int32_t i = 0; i < count; ++i, to += format.pixel_bytes()) {
      std::memcpy(to, from + size_t(i) * step, step);
    }
  } else {
    std::memcpy(to, from, size_t(count) * size_t(format.pixel_bytes()));
  }
}

}  // namespace grainless::tools
