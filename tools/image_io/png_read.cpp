// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <span>
#include <string_view>

#include "engine/boundary/status.h"
#include "exif.h"
#include "png_file.h"
#include "png_handle.h"
#include "png_text.h"

namespace grainless::tools {
namespace {

constexpr png_alloc_size_t kLargestChunk = 64 << 20;
constexpr uint64_t kMostDeflated = 1032;  // bytes that Deflate can make of one

// Chunks that say nothing that is kept; of each kind the first five bytes count.
constexpr char kIgnored[] = "bKGD\0hIST\0oFFs\0pCAL\0sBIT\0sCAL\0sPLT\0tIME";
constexpr char kTexts[] = "iTXt\0tEXt\0zTXt";
// Older versions of libpng don't know the first; mDCV and cLLI had small last letters once.
constexpr char kColourCodings[] = "cICP\0mDCV\0mDCv\0cLLI\0cLLi";
constexpr char kAnimation[] = "acTL";

// What libpng doesn't look into itself.
struct OwnChunks {
  explicit OwnChunks(uint64_t file_bytes) : texts(file_bytes) {}

  PngTextReader texts;
  std::vector<PngChunk> colour_codings;
  uint32_t frames = 1;
};

template <size_t kBytes>
void keep(png_structp png, int how, const char (&names)[kBytes]) {
  png_set_keep_unknown_chunks(png, how, reinterpret_cast<png_const_bytep>(names), kBytes / 5);
}

template <size_t kBytes>
bool is_among(const char (&names)[kBytes], std::string_view name) {
  return std::string_view(names, kBytes).find(name) != std::string_view::npos;
}

int on_chunk(png_structp png, png_unknown_chunkp chunk) noexcept {
  constexpr png_byte kAncillary = 0x20;
  constexpr int kHandled = 1, kUnknown = 0, kFailed = -1;
  constexpr size_t kLongestCoding = 64;  // bytes; the longest one has 24
  if ((chunk->name[0] & kAncillary) == 0) return kUnknown;
  auto* own = static_cast<OwnChunks*>(png_get_user_chunk_ptr(png));
  const std::string_view name(reinterpret_cast<const char*>(chunk->name), 4);
  const std::span<const uint8_t> content(chunk->data, chunk->size);
  if (name == kAnimation && content.size() >= 4) own->frames = png_get_uint_32(content.data());
  if (!is_among(kColourCodings, name)) {
    own->texts.take(name, content);
    return kHandled;
  }
  std::vector<PngChunk>& codings = own->colour_codings;
  const bool known = std::any_of(codings.begin(), codings.end(),
                                 [&](const PngChunk& coding) { return coding.name == name; });
  try {
    if (!known && content.size() <= kLongestCoding) {
      codings.push_back({std::string(name), {content.begin(), content.end()}});
    }
    return kHandled;
  } catch (const std::bad_alloc&) {
    return kFailed;
  }
}

void start_reading(PngHandle& reader, FILE* stream, OwnChunks& own) {
  reader.guarded([&] {
    const png_structp png = reader.png();
    png_init_io(png, stream);
    png_set_user_limits(png, kMostPngSide, kMostPngSide);
    png_set_chunk_malloc_max(png, kLargestChunk);
    png_set_option(png, PNG_SKIP_sRGB_CHECK_PROFILE, PNG_OPTION_ON);
    png_set_read_user_chunk_fn(png, &own, on_chunk);
    keep(png, PNG_HANDLE_CHUNK_NEVER, kIgnored);
    keep(png, PNG_HANDLE_CHUNK_ALWAYS, kTexts);
    keep(png, PNG_HANDLE_CHUNK_ALWAYS, kColourCodings);
    keep(png, PNG_HANDLE_CHUNK_ALWAYS, kAnimation);
    png_read_info(png, reader.info());
  });
}

// Before libpng takes memory for rows of that width.
void check_size(const PngHandle& reader, const InputFile& file) {
  const uint64_t width = png_get_image_width(reader.png(), reader.info());
  const uint64_t height = png_get_image_height(reader.png(), reader.info());
  const uint64_t bits = uint64_t{png_get_bit_depth(reader.png(), reader.info())} *
                        png_get_channels(reader.png(), reader.info());
  check_pixels(int64_t(width), int64_t(height), file.path());
  check_worth(file, height * ((width * bits + 7) / 8), kMostDeflated);
}

void choose_layout(PngHandle& reader) {
  reader.guarded([&] {
    const png_structp png = reader.png();
    png_set_expand(png);
    if (std::endian::native == std::endian::little) png_set_swap(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, reader.info());
  });
}

void read_pixels(PngHandle& reader, Image& image, const CancelToken* cancel) {
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
  throw_if_cancelled(cancel);
}

void read_colour(PngHandle& reader, Metadata& metadata) {
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

void read_metadata(PngHandle& reader, OwnChunks& own, Metadata& metadata) {
  const png_structp png = reader.png();
  const png_infop info = reader.info();
  read_colour(reader, metadata);
  metadata.png_colour_codings = std::move(own.colour_codings);
  png_uint_32 x = 0, y = 0, bytes = 0;
  int unit = 0;
  if (png_get_pHYs(png, info, &x, &y, &unit) != 0 && x != 0 && y != 0) {
    metadata.resolution = Resolution{double(x), double(y), unit == PNG_RESOLUTION_METER};
  }
  png_bytep exif = nullptr;
  if (png_get_eXIf_1(png, info, &bytes, &exif) != 0) metadata.exif.assign(exif, exif + bytes);
  metadata.orientation = exif_orientation(metadata.exif);
  if (!metadata.resolution) metadata.resolution = exif_resolution(metadata.exif);
  for (PngText& text : own.texts.texts()) {
    if (text.key == kPngXmpKey) {
      metadata.xmp.assign(text.text.begin(), text.text.end());
    } else {
      metadata.png_texts.push_back(std::move(text));
    }
  }
  if (!own.texts.complete())
    reader.notes().add("texts that are damaged or too large were left out");
}

}  // namespace

Image read_png(const InputFile& file, const CancelToken* cancel) {
  NoteList notes(file.path());
  PngHandle reader(file.path(), PngHandle::Use::kRead, notes);
  OwnChunks own(file.size());
  start_reading(reader, file.stream(), own);
  if (own.frames > 1) {
    fail_file(file.path(), "is an animation of " + std::to_string(own.frames) +
                               " pictures: take it apart first");
  }
  check_size(reader, file);
  choose_layout(reader);
  const png_structp png = reader.png();
  const png_infop info = reader.info();
  const bool deep = png_get_bit_depth(png, info) == 16;
  const PixelFormat format{deep ? Component::kU16 : Component::kU8, png_get_channels(png, info)};
  Image image = make_image(format, png_get_image_width(png, info), png_get_image_height(png, info),
                           file.path());
  if (png_get_rowbytes(png, info) != image.row_bytes()) fail_file(file.path(), "is damaged");
  read_pixels(reader, image, cancel);
  read_metadata(reader, own, image.metadata);
  image.notes = notes.take();
  return image;
}

}  // namespace grainless::tools
