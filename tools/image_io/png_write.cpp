// SPDX-License-Identifier: MIT
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include "engine/boundary/status.h"
#include "exif.h"
#include "png_file.h"
#include "png_handle.h"
#include "png_text.h"

namespace grainless::tools {
namespace {

constexpr size_t kPlainText = 1024;  // longer ones are compressed

// What every ICC profile has (ICC.1, 7.2: its size, and a signature). Some libpng versions leave
// out a profile without it, others refuse the whole picture.
bool usable_profile(const std::vector<uint8_t>& profile) {
  constexpr size_t kHeader = 132;
  if (profile.size() < kHeader || png_get_uint_32(profile.data()) != profile.size()) return false;
  const bool padded = profile.size() % 4 == 0 || profile[8] <= 3;  // required from version 4 on
  return padded && std::memcmp(profile.data() + 36, "acsp", 4) == 0;
}

void set_colour_codings(PngHandle& writer, const std::vector<PngChunk>& codings) {
  const png_structp png = writer.png();
  for (const PngChunk& coding : codings) {
    png_unknown_chunk chunk{};
    std::memcpy(chunk.name, coding.name.c_str(), sizeof chunk.name);
    chunk.data = const_cast<png_bytep>(coding.bytes.data());  // copied; the member lacks its const
    chunk.size = coding.bytes.size();
    chunk.location = PNG_HAVE_IHDR;
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_ALWAYS, chunk.name, 1);
    png_set_unknown_chunks(png, writer.info(), &chunk, 1);
  }
}

void set_colour(PngHandle& writer, const Metadata& metadata) {
  const png_structp png = writer.png();
  const png_infop info = writer.info();
  const bool profile = usable_profile(metadata.icc_profile);
  if (!profile && !metadata.icc_profile.empty()) {
    writer.notes().add("the colour profile is damaged and was left out");
  }
  if (profile) {  // goes before the other three chunks wherever both stand
    const bool named = is_writable_key(metadata.icc_name);
    png_set_iCCP(png, info, named ? metadata.icc_name.c_str() : "ICC profile",
                 PNG_COMPRESSION_TYPE_BASE, metadata.icc_profile.data(),
                 png_uint_32(metadata.icc_profile.size()));
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
  return png_uint_32(std::clamp(value + 0.5, 1.0, double(kMostPngSide)));
}

// Those that libpng writes.
std::vector<PngText> texts_of(PngHandle& writer, const Metadata& metadata) {
  std::vector<PngText> texts = metadata.png_texts;
  if (std::erase_if(texts, [](const PngText& text) { return !is_writable_key(text.key); }) > 0) {
    writer.notes().add("texts without a name were left out");
  }
  if (!metadata.xmp.empty()) {
    texts.push_back(
        {kPngXmpKey, std::string(metadata.xmp.begin(), metadata.xmp.end()), true, {}, {}});
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

void set_metadata(PngHandle& writer, const Metadata& metadata, const std::vector<uint8_t>& exif) {
  const png_structp png = writer.png();
  const png_infop info = writer.info();
  set_colour_codings(writer, metadata.png_colour_codings);
  set_colour(writer, metadata);
  if (metadata.resolution) {
    const Resolution& resolution = *metadata.resolution;
    // Without a unit only the ratio counts: scaled, so that rounding does not spoil it.
    const double scale = resolution.metric || resolution.x >= 1000 ? 1.0 : 1000.0;
    const bool whole =
        resolution.x == std::trunc(resolution.x) && resolution.y == std::trunc(resolution.y);
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

// libpng's own function says "Write Error", whatever it was.
void put(png_structp png, png_bytep data, size_t bytes) {
  FILE* stream = static_cast<FILE*>(png_get_io_ptr(png));
  if (std::fwrite(data, 1, bytes, stream) != bytes) png_error(png, std::strerror(errno));
}

void write_head(PngHandle& writer, FILE* stream, const Image& image, const Metadata& metadata) {
  const std::vector<uint8_t> exif = exif_to_write(metadata);
  std::vector<PngText> texts = texts_of(writer, metadata);
  const std::vector<png_text> table = text_table(texts);
  writer.guarded([&] {
    const png_structp png = writer.png();
    png_set_write_fn(png, stream, put, nullptr);
    png_set_user_limits(png, kMostPngSide, kMostPngSide);
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
  });
}

class PngPictureWriter final : public RowWriter {
 public:
  PngPictureWriter(OutputFile& file, const Image& picture, const CancelToken* cancel)
      : notes_(file.path()), cancel_(cancel), row_bytes_(picture.row_bytes()) {
    open(file);
    try {
      write_head(*writer_, file.stream(), picture, picture.metadata);
    } catch (const Error&) {
      // What goes with the picture never costs the picture.
      if (std::ferror(file.stream()) != 0) throw;
      notes_.add("what goes with the picture can't be written (" + std::string(writer_->error()) +
                 ") and was left out");
      file.restart();
      open(file);
      write_head(*writer_, file.stream(), picture, {});
    }
  }

  void write(const uint8_t* rows, int32_t count) override {
    writer_->guarded([&] {
      for (int32_t y = 0; y < count; ++y) {
        if (cancel_ != nullptr && cancel_->cancelled()) return;
        png_write_row(writer_->png(), rows + static_cast<size_t>(y) * row_bytes_);
      }
    });
    throw_if_cancelled(cancel_);
  }

  std::vector<std::string> finish() override {
    writer_->guarded([&] { png_write_end(writer_->png(), writer_->info()); });
    return notes_.take();
  }

 private:
  void open(OutputFile& file) {
    writer_ = std::make_unique<PngHandle>(file.path(), PngHandle::Use::kWrite, notes_);
  }

  NoteList notes_;
  const CancelToken* cancel_;
  size_t row_bytes_;
  std::unique_ptr<PngHandle> writer_;
};

}  // namespace

std::unique_ptr<RowWriter> write_png_rows(OutputFile& file, const Image& picture,
                                          const CancelToken* cancel) {
  return std::make_unique<PngPictureWriter>(file, picture, cancel);
}

std::vector<std::string> write_png(OutputFile& file, const Image& image,
                                   const CancelToken* cancel) {
  PngPictureWriter writer(file, image, cancel);
  writer.write(image.pixels.get(), image.height);
  return writer.finish();
}

}  // namespace grainless::tools
