// SPDX-License-Identifier: MIT
// libpng leaves its functions by longjmp on errors. guarded() catches the jump in its own frame;
// what runs inside holds nothing with a destructor, so that the jump skips none.
#include "png_file.h"

#include <png.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "engine/status.h"
#include "exif.h"

namespace grainless::tools {
namespace {

constexpr png_uint_32 kMostSide = 0x7fffffff;
constexpr png_alloc_size_t kLargestChunk = 64 << 20;
constexpr char kXmpKey[] = "XML:com.adobe.xmp";
constexpr size_t kPlainText = 1024;  // longer ones are compressed

// The longjmp target and messages of one libpng object.
class Png {
 public:
  Png(const std::string& path, bool read) : path_(path), read_(read) {
    png_ = read ? png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning)
                : png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      destroy();
      throw Error(ErrorCode::kInternal, "libpng could not be started");
    }
  }
  ~Png() { destroy(); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;

  png_structp png() const { return png_; }
  png_infop info() const { return info_; }
  std::vector<std::string>& notes() { return notes_; }

  template <typename Body>
  void guarded(const Body& body) {
    if (setjmp(png_jmpbuf(png_)) != 0) {
      fail_file(path_, std::string(read_ ? "is damaged: " : "can't be written: ") + error_);
    }
    body();
  }

 private:
  [[noreturn]] static void on_error(png_structp png, png_const_charp text) {
    Png* self = static_cast<Png*>(png_get_error_ptr(png));
    std::snprintf(self->error_, sizeof self->error_, "%s", text);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp png, png_const_charp text) {
    Png* self = static_cast<Png*>(png_get_error_ptr(png));
    self->notes_.push_back("'" + self->path_ + "': " + text);
  }
  void destroy() {
    if (read_) {
      png_destroy_read_struct(&png_, &info_, nullptr);
    } else {
      png_destroy_write_struct(&png_, &info_);
    }
  }

  std::string path_;
  bool read_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char error_[256] = "";
  std::vector<std::string> notes_;
};

void start_reading(Png& reader, FILE* stream) {
  reader.guarded([&] {
    const png_structp png = reader.png();
    png_init_io(png, stream);
    png_set_user_limits(png, kMostSide, kMostSide);
    png_set_chunk_malloc_max(png, kLargestChunk);
    png_set_option(png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
    png_read_info(png, reader.info());
    png_set_expand(png);
    if (std::endian::native == std::endian::little) png_set_swap(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, reader.info());
  });
}

void read_pixels(Png& reader, Image& image, const CancelToken* cancel) {
  reader.guarded([&] {
    const bool interlaced =
        png_get_interlace_type(reader.png(), reader.info()) != PNG_INTERLACE_NONE;
    const int32_t passes = interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1;
    for (int32_t pass = 0; pass < passes; ++pass) {
      for (int32_t y = 0; y < image.height; ++y) {
        if (cancel != nullptr && cancel->cancelled()) return;
        png_read_row(reader.png(), image.row(y), nullptr);
      }
    }
    png_read_end(reader.png(), reader.info());
  });
  stop_if_cancelled(cancel);
}

void read_colour(Png& reader, Metadata& metadata) {
  const png_structp png = reader.png();
  const png_infop info = reader.info();
  png_charp name = nullptr;
  png_bytep profile = nullptr;
  png_uint_32 bytes = 0;
  int compression = 0, intent = 0;
  if (png_get_iCCP(png, info, &name, &compression, &profile, &bytes) != 0) {
    metadata.icc_profile.assign(profile, profile + bytes);
    metadata.icc_name = name;
  }
  if (png_get_sRGB(png, info, &intent) != 0) metadata.png_srgb_intent = intent;
  double gamma = 0;
  if (png_get_gAMA(png, info, &gamma) != 0) metadata.png_gamma = gamma;
  double c[8];
  if (png_get_cHRM(png, info, &c[0], &c[1], &c[2], &c[3], &c[4], &c[5], &c[6], &c[7]) != 0) {
    metadata.png_chromaticities.assign(c, c + 8);
  }
}

std::string string_or_empty(const char* text, size_t bytes) {
  return text != nullptr ? std::string(text, bytes) : std::string();
}

std::string string_or_empty(const char* text) {
  return text != nullptr ? text : "";
}

void read_texts(Png& reader, Metadata& metadata) {
  png_textp texts = nullptr;
  const int count = png_get_text(reader.png(), reader.info(), &texts, nullptr);
  for (int i = 0; i < count; ++i) {
    const png_text& from = texts[i];
    const bool international = from.compression >= PNG_ITXT_COMPRESSION_NONE;
    const size_t bytes = international ? from.itxt_length : from.text_length;
    PngText text{from.key, string_or_empty(from.text, bytes), international, {}, {}};
    if (international) {
      text.language = string_or_empty(from.lang);
      text.translated_key = string_or_empty(from.lang_key);
    }
    if (text.key == kXmpKey) {
      metadata.xmp.assign(text.text.begin(), text.text.end());
    } else {
      metadata.png_texts.push_back(std::move(text));
    }
  }
}

void read_metadata(Png& reader, Metadata& metadata) {
  const png_structp png = reader.png();
  const png_infop info = reader.info();
  read_colour(reader, metadata);
  png_uint_32 x = 0, y = 0, bytes = 0;
  int unit = 0;
  if (png_get_pHYs(png, info, &x, &y, &unit) != 0 && x != 0 && y != 0) {
    metadata.resolution = Resolution{double(x), double(y), unit == PNG_RESOLUTION_METER};
  }
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png, info, &bytes, &exif) != 0) metadata.exif.assign(exif, exif + bytes);
  metadata.orientation = exif_orientation(metadata.exif);
  read_texts(reader, metadata);
}

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

// What every ICC profile has (ICC.1, 7.2: its size, and a signature). Some libpng versions leave
// out a profile without it, others refuse the whole picture.
bool usable_profile(const std::vector<uint8_t>& profile) {
  constexpr size_t kHeader = 132;
  if (profile.size() < kHeader || big_endian(profile.data()) != profile.size()) return false;
  const bool padded = profile.size() % 4 == 0 || profile[8] <= 3;  // required from version 4 on
  return padded && std::memcmp(profile.data() + 36, "acsp", 4) == 0;
}

void set_colour(Png& writer, const Metadata& metadata) {
  const png_structp png = writer.png();
  const png_infop info = writer.info();
  const bool profile = usable_profile(metadata.icc_profile);
  if (!profile && !metadata.icc_profile.empty()) {
    writer.notes().push_back("the colour profile is damaged and was left out");
  }
  if (profile) {  // goes before the other three chunks wherever both stand
    png_set_iCCP(png, info, metadata.icc_name.c_str(), PNG_COMPRESSION_TYPE_BASE,
                 metadata.icc_profile.data(), png_uint_32(metadata.icc_profile.size()));
    return;
  }
  if (metadata.png_srgb_intent) png_set_sRGB(png, info, *metadata.png_srgb_intent);
  if (metadata.png_gamma) png_set_gAMA(png, info, *metadata.png_gamma);
  if (metadata.png_chromaticities.size() == 8) {
    const double* c = metadata.png_chromaticities.data();
    png_set_cHRM(png, info, c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]);
  }
}

png_uint_32 physical(double value) {
  return png_uint_32(std::clamp(value + 0.5, 1.0, double(kMostSide)));
}

std::vector<PngText> texts_of(const Metadata& metadata) {
  std::vector<PngText> texts = metadata.png_texts;
  if (!metadata.xmp.empty()) {
    texts.push_back({kXmpKey, std::string(metadata.xmp.begin(), metadata.xmp.end()), true, {}, {}});
  }
  return texts;
}

// libpng's own table of `texts`, which it points into.
std::vector<png_text> text_table(std::vector<PngText>& texts) {
  std::vector<png_text> table;
  for (PngText& text : texts) {
    png_text entry{};
    const bool plain = text.text.size() < kPlainText;
    entry.key = text.key.data();
    entry.text = text.text.data();
    if (text.international) {
      entry.compression = plain ? PNG_ITXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_zTXt;
      entry.lang = text.language.data();
      entry.lang_key = text.translated_key.data();
      entry.itxt_length = text.text.size();
    } else {
      entry.compression = plain ? PNG_TEXT_COMPRESSION_NONE : PNG_TEXT_COMPRESSION_zTXt;
      entry.text_length = text.text.size();
    }
    table.push_back(entry);
  }
  return table;
}

void set_metadata(Png& writer, const Metadata& metadata, const std::vector<uint8_t>& exif) {
  const png_structp png = writer.png();
  const png_infop info = writer.info();
  set_colour(writer, metadata);
  if (metadata.resolution) {
    const Resolution& resolution = *metadata.resolution;
    // Without a unit only the ratio counts: scaled, so that rounding does not spoil it.
    const double scale = resolution.metric || resolution.x >= 1000 ? 1.0 : 1000.0;
    const bool whole = resolution.x == double(png_uint_32(resolution.x)) &&
                       resolution.y == double(png_uint_32(resolution.y));
    png_set_pHYs(png, info, physical(resolution.x * (whole ? 1.0 : scale)),
                 physical(resolution.y * (whole ? 1.0 : scale)),
                 resolution.metric ? PNG_RESOLUTION_METER : PNG_RESOLUTION_UNKNOWN);
  }
  if (!exif.empty()) {
    png_set_eXIf_1(png, info, png_uint_32(exif.size()), const_cast<png_bytep>(exif.data()));
  }
}

int colour_type(PixelFormat format) {
  const int colour = format.colours() == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY;
  return format.has_alpha() ? colour | PNG_COLOR_MASK_ALPHA : colour;
}

}  // namespace

Image read_png(const InputFile& file, const CancelToken* cancel) {
  Png reader(file.path(), true);
  start_reading(reader, file.stream());
  const png_structp png = reader.png();
  const png_infop info = reader.info();
  const bool deep = png_get_bit_depth(png, info) == 16;
  const PixelFormat format{deep ? Component::kU16 : Component::kU8, png_get_channels(png, info)};
  Image image = make_image(format, png_get_image_width(png, info), png_get_image_height(png, info),
                           file.path());
  if (png_get_rowbytes(png, info) != image.row_bytes()) fail_file(file.path(), "is damaged");
  read_pixels(reader, image, cancel);
  read_metadata(reader, image.metadata);
  image.notes = std::move(reader.notes());
  return image;
}

std::vector<std::string> write_png(OutputFile& file, const Image& image,
                                   const CancelToken* cancel) {
  Png writer(file.path(), false);
  const Metadata& metadata = image.metadata;
  const std::vector<uint8_t> exif = metadata.exif.empty() && metadata.orientation > 1
                                        ? exif_with_orientation(metadata.orientation)
                                        : metadata.exif;
  std::vector<PngText> texts = texts_of(metadata);
  const std::vector<png_text> table = text_table(texts);
  writer.guarded([&] {
    const png_structp png = writer.png();
    png_init_io(png, file.stream());
    png_set_user_limits(png, kMostSide, kMostSide);
    png_set_benign_errors(png, 1);
    png_set_option(png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
    png_set_IHDR(png, writer.info(), png_uint_32(image.width), png_uint_32(image.height),
                 8 * image.format.component_bytes(), colour_type(image.format), PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    // Photographs repeat nothing but runs. 16 megapixels RGB: 0.44 s and 23.2 MB; libpng's own
    // choice, which searches for more, 5.1 s and 23.7 MB.
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_AVG);
    png_set_compression_strategy(png, Z_RLE);
    set_metadata(writer, metadata, exif);
    png_set_text(png, writer.info(), table.data(), static_cast<int>(table.size()));
    png_write_info(png, writer.info());
    if (std::endian::native == std::endian::little) png_set_swap(png);
    for (int32_t y = 0; y < image.height; ++y) {
      if (cancel != nullptr && cancel->cancelled()) return;
      png_write_row(png, image.row(y));
    }
    png_write_end(png, writer.info());
  });
  stop_if_cancelled(cancel);
  return std::move(writer.notes());
}

}  // namespace grainless::tools
