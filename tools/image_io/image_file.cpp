// SPDX-License-Identifier: MIT
#include "image_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>

#include "engine/boundary/status.h"
#include "exif.h"
#include "files.h"
#include "pnm_file.h"
#if GRAINLESS_HAVE_JPEG
#include "jpeg_file.h"
#endif
#if GRAINLESS_HAVE_PNG
#include "png_file.h"
#endif
#if GRAINLESS_HAVE_TIFF
#include "tiff_file.h"
#endif

namespace grainless::tools {
namespace {

struct Extension {
  const char* text;
  FileKind kind;
};

constexpr Extension kExtensions[] = {{".png", FileKind::kPng},   {".tif", FileKind::kTiff},
                                     {".tiff", FileKind::kTiff}, {".pgm", FileKind::kPgm},
                                     {".ppm", FileKind::kPpm},   {".pnm", FileKind::kPnm},
                                     {".pam", FileKind::kPam},   {".pfm", FileKind::kPfm},
                                     {".jpg", FileKind::kJpeg},  {".jpeg", FileKind::kJpeg}};

bool built_in(FileKind kind) {
  if (kind == FileKind::kPng) return GRAINLESS_HAVE_PNG;
  if (kind == FileKind::kTiff) return GRAINLESS_HAVE_TIFF;
  if (kind == FileKind::kJpeg) return GRAINLESS_HAVE_JPEG;
  return true;
}

// "PNG, TIFF, JPEG, PGM, PPM, PAM, PFM", as far as this build has them.
std::string supported_kinds() {
  return std::string(GRAINLESS_HAVE_PNG ? "PNG, " : "") + (GRAINLESS_HAVE_TIFF ? "TIFF, " : "") +
         (GRAINLESS_HAVE_JPEG ? "JPEG, " : "") + "PGM, PPM, PAM, PFM";
}

void check_built_in(FileKind kind, const std::string& path) {
  if (built_in(kind)) return;
  const char* name = kind == FileKind::kPng ? "PNG" : kind == FileKind::kTiff ? "TIFF" : "JPEG";
  fail_file(path, std::string("is a ") + name +
                      " file, and this build of grainless has no library for it; it knows " +
                      supported_kinds());
}

enum class Magic { kPng, kTiff, kJpeg, kPnm, kPfm };

Magic magic_of(const InputFile& file) {
  std::array<unsigned char, 8> head{};
  const size_t got = std::fread(head.data(), 1, head.size(), file.stream());
  std::rewind(file.stream());
  const auto starts = [&](const char* text, size_t bytes) {
    return got >= bytes && std::memcmp(head.data(), text, bytes) == 0;
  };
  if (starts("\x89PNG\r\n\x1a\n", 8)) return Magic::kPng;
  if (starts("II*\0", 4) || starts("MM\0*", 4) || starts("II+\0", 4) || starts("MM\0+", 4)) {
    return Magic::kTiff;
  }
  if (starts("\xff\xd8\xff", 3)) return Magic::kJpeg;
  for (const char* magic : {"P2", "P3", "P5", "P6", "P7"}) {
    if (starts(magic, 2)) return Magic::kPnm;
  }
  if (starts("PF", 2) || starts("Pf", 2)) return Magic::kPfm;
  if (starts("P1", 2) || starts("P4", 2)) {
    fail_file(file.path(), "is a black-and-white bitmap, which holds no noise to measure");
  }
  fail_file(file.path(), "is none of " + supported_kinds());
}

Image read_known(const InputFile& file, Magic magic, const CancelToken* cancel) {
  switch (magic) {
    case Magic::kPng:
      check_built_in(FileKind::kPng, file.path());
#if GRAINLESS_HAVE_PNG
      return read_png(file, cancel);
#endif
      break;
    case Magic::kTiff:
      check_built_in(FileKind::kTiff, file.path());
#if GRAINLESS_HAVE_TIFF
      return read_tiff(file, cancel);
#endif
      break;
    case Magic::kJpeg:
      check_built_in(FileKind::kJpeg, file.path());
#if GRAINLESS_HAVE_JPEG
      return read_jpeg(file, cancel);
#endif
      break;
    case Magic::kPnm:
      return read_pnm(file, cancel);
    case Magic::kPfm:
      return read_pfm(file, cancel);
  }
  throw Error(ErrorCode::kInternal, "a kind of file without a reader");
}

std::vector<std::string> write_known(OutputFile& file, FileKind kind, const Image& image,
                                     const CancelToken* cancel) {
  switch (kind) {
    case FileKind::kPng:
#if GRAINLESS_HAVE_PNG
      return write_png(file, image, cancel);
#endif
      break;
    case FileKind::kTiff:
#if GRAINLESS_HAVE_TIFF
      return write_tiff(file, image, cancel);
#endif
      break;
    case FileKind::kJpeg:
#if GRAINLESS_HAVE_JPEG
      return write_jpeg(file, image, cancel);
#endif
      break;
    case FileKind::kPam:
      write_pam(file, image, cancel);
      return {};
    case FileKind::kPfm:
      write_pfm(file, image, cancel);
      return {};
    case FileKind::kPgm:
    case FileKind::kPpm:
    case FileKind::kPnm:
      write_pnm(file, image, cancel);
      return {};
  }
  throw Error(ErrorCode::kInternal, "a kind of file without a writer");
}

bool is_integer(Component component) {
  return component == Component::kU8 || component == Component::kU16;
}

// Whether the camera data of a PNG or JPEG file has all of a TIFF file's texts.
bool exif_holds_texts(const Metadata& metadata) {
  if (metadata.tiff_texts.empty()) return true;
  const std::vector<ExifEntry> held = parse_exif(exif_to_write(metadata)).picture;
  return std::all_of(metadata.tiff_texts.begin(), metadata.tiff_texts.end(), [&](const auto& text) {
    return std::any_of(held.begin(), held.end(),
                       [&](const ExifEntry& entry) { return entry.tag == text.first; });
  });
}

}  // namespace

FileKind kind_of_output(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Extension& known : kExtensions) {
    if (extension != known.text) continue;
    check_built_in(known.kind, path);
    return known.kind;
  }
  fail_file(path,
            "has no known extension: outputs are .png, .tif, .jpg, .pgm, .ppm, .pnm, .pam or .pfm");
}

Image read_image(const std::string& path, const CancelToken* cancel) {
  const InputFile file(path);
  return read_known(file, magic_of(file), cancel);
}

std::vector<Image> read_layers(const std::string& path, const CancelToken* cancel) {
  const InputFile file(path);
  const Magic magic = magic_of(file);
#if GRAINLESS_HAVE_TIFF
  if (magic == Magic::kTiff) return read_tiff_pages(file, cancel);
#endif
  std::vector<Image> layers;
  layers.push_back(read_known(file, magic, cancel));
  return layers;
}

std::unique_ptr<RowReader> read_rows(const std::string& path,
                                     [[maybe_unused]] const CancelToken* cancel) {
  [[maybe_unused]] const Magic magic = magic_of(InputFile(path));
#if GRAINLESS_HAVE_TIFF
  if (magic == Magic::kTiff) return read_tiff_rows(path, cancel);
#endif
  return nullptr;
}

bool can_write_rows(FileKind kind, const Image& picture) {
  const bool premultiplied = picture.extra == Extra::kPremultiplied;
  if (kind == FileKind::kPng) return is_integer(picture.format.component) && !premultiplied;
  return kind == FileKind::kTiff;
}

std::unique_ptr<RowWriter> write_rows([[maybe_unused]] OutputFile& file,
                                      [[maybe_unused]] FileKind kind,
                                      [[maybe_unused]] const Image& picture,
                                      [[maybe_unused]] const CancelToken* cancel) {
#if GRAINLESS_HAVE_PNG
  if (kind == FileKind::kPng) return write_png_rows(file, picture, cancel);
#endif
#if GRAINLESS_HAVE_TIFF
  if (kind == FileKind::kTiff) return write_tiff_rows(file, picture, cancel);
#endif
  throw Error(ErrorCode::kInternal, "a kind of file that is not written row by row");
}

std::vector<std::string> write_layers(const std::string& path,
                                      [[maybe_unused]] std::span<const Image> layers,
                                      [[maybe_unused]] const CancelToken* cancel) {
  if (kind_of_output(path) != FileKind::kTiff) {
    fail_file(path, "can't hold the layers of a volume: use .tif");
  }
  std::vector<std::string> notes;
#if GRAINLESS_HAVE_TIFF
  OutputFile file(path);
  notes = write_tiff_pages(file, layers, cancel);
  throw_if_cancelled(cancel);
  file.commit();
#endif
  return notes;
}

Component component_for(FileKind kind, PixelFormat format, const std::string& path) {
  const bool pnm = kind == FileKind::kPgm || kind == FileKind::kPpm || kind == FileKind::kPnm;
  const bool jpeg = kind == FileKind::kJpeg;
  if (format.has_alpha() && (pnm || jpeg || kind == FileKind::kPfm)) {
    fail_file(path, "can't hold transparency: use .png, .tif or .pam");
  }
  if (kind == FileKind::kPgm && format.colours() == 3)
    fail_file(path, "can't hold colour: use .ppm");
  if (kind == FileKind::kPpm && format.colours() == 1) fail_file(path, "can't hold grey: use .pgm");
  if (jpeg) return Component::kU8;
  if (kind == FileKind::kPfm) return Component::kFloat;
  if (kind == FileKind::kTiff || is_integer(format.component)) return format.component;
  return Component::kU16;
}

void check_size(FileKind kind, const Image& image, const std::string& path) {
  constexpr int32_t kMostOfJpeg = 65500;  // libjpeg's bound
  if (kind == FileKind::kJpeg && std::max(image.width, image.height) > kMostOfJpeg) {
    fail_file(path, "can't hold sides of more than " + std::to_string(kMostOfJpeg) +
                        " pixels: use .png or .tif");
  }
}

std::vector<std::string> losses(FileKind kind, const Image& image, const std::string& path) {
  std::vector<std::string> lost;
  const auto add = [&](const std::string& what) { lost.push_back("'" + path + "' " + what); };
  const Metadata& metadata = image.metadata;
  const bool png = kind == FileKind::kPng, tiff = kind == FileKind::kTiff;
  const bool jpeg = kind == FileKind::kJpeg, plain = !png && !tiff && !jpeg;
  const Component component = image.format.component;
  if (jpeg && component != Component::kU8) {
    add("holds 8-bit integers: finer steps are rounded");
  } else if (!is_integer(component) && is_integer(component_for(kind, image.format, path))) {
    add("holds 16-bit integers: floating point values are clipped to 0..1 and rounded");
  }
  if (!metadata.icc_profile.empty() && plain) add("can't hold the colour profile");
  if (image.format.has_alpha() && image.extra == Extra::kUnspecified && !tiff) {
    add("takes for transparency the sample beside the colours of which the input doesn't say what "
        "it is");
  }
  const bool only_gamma = metadata.icc_profile.empty() && !metadata.png_srgb_intent;
  if (metadata.png_gamma && only_gamma && !png) add("can't hold the PNG file's gamma");
  const bool only_coding = metadata.icc_profile.empty() && !metadata.png_colour_codings.empty();
  if (only_coding && !png) add("can't hold the PNG file's coding of colours (cICP)");
  if (metadata.orientation > 1 && plain) add("can't say which way up the picture is");
  if (!metadata.exif.empty() && plain) add("does not keep the camera data (EXIF)");
  if (!metadata.xmp.empty() && plain) add("does not keep the description (XMP)");
  const bool texts = plain ? !metadata.tiff_texts.empty() : !exif_holds_texts(metadata);
  const bool blocks = !metadata.tiff_blocks.empty();
  if (!tiff && (texts || (blocks && !jpeg))) {
    add("does not keep the descriptions (captions, IPTC) of the input");
  }
  if (!metadata.tiff_map_tags.empty() && !tiff) add("does not keep the place on a map (GeoTIFF)");
  if (!metadata.png_texts.empty() && !png) add("does not keep the texts of the PNG file");
  if (!metadata.jpeg_comments.empty() && !jpeg) add("does not keep the JPEG file's comment");
  return lost;
}

bool leave_out_structure(Metadata& metadata) {
  constexpr uint32_t kCaptionTag = 270;  // TIFF's ImageDescription
  const auto tells = [](const std::pair<uint32_t, std::string>& text) {
    const std::string& caption = text.second;
    const auto holds = [&](const char* part) { return caption.find(part) != std::string::npos; };
    return text.first == kCaptionTag &&
           ((caption.starts_with("{\"") && holds("\"shape\": [")) ||
            (caption.starts_with("<?xml") && holds("<OME ")) || caption.starts_with("ImageJ="));
  };
  return std::erase_if(metadata.tiff_texts, tells) > 0;
}

std::vector<std::string> write_image(const std::string& path, Image image,
                                     const CancelToken* cancel) {
  const FileKind kind = kind_of_output(path);
  const Component component = component_for(kind, image.format, path);
  check_size(kind, image, path);
  if (kind != FileKind::kTiff) unpremultiply(image);
  if (component != image.format.component) image = convert(image, component, path);
  OutputFile file(path);
  std::vector<std::string> notes = write_known(file, kind, image, cancel);
  throw_if_cancelled(cancel);
  file.commit();
  return notes;
}

}  // namespace grainless::tools
