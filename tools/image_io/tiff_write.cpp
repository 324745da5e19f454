// SPDX-License-Identifier: MIT
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "exif.h"
#include "tiff_file.h"
#include "tiff_handle.h"

namespace grainless::tools {
namespace {

// 16 megapixels RGB, 8 and 16 bits: 0.41 s and 27.0 MB, 0.99 s and 82.1 MB; at level 6, which is
// zlib's own choice, 1.25 s and 26.3 MB, 1.19 s and 82.9 MB.
constexpr int kDeflateLevel = 1;
constexpr size_t kStripBytes = 256 << 10;
constexpr size_t kClassicLimit = 3900000000u;  // classic TIFF counts bytes in 32 bits

template <typename... Values>
void set(const TiffHandle& tiff, uint32_t tag, Values... values) {
  if (TIFFSetField(tiff.get(), tag, values...) == 0) tiff.fail("can't be written");
}

// What goes with the picture never costs the picture.
template <typename... Values>
void try_to_set(TiffHandle& tiff, const char* what, uint32_t tag, Values... values) {
  if (TIFFSetField(tiff.get(), tag, values...) != 0) return;
  tiff.notes().add(std::string(what) + " can't be written (" + tiff.error() + ") and was left out");
  tiff.forget_error();
}

uint16_t extra_sample(Extra extra) {
  if (extra == Extra::kPremultiplied) return EXTRASAMPLE_ASSOCALPHA;
  return extra == Extra::kAlpha ? EXTRASAMPLE_UNASSALPHA : EXTRASAMPLE_UNSPECIFIED;
}

void set_layout(const TiffHandle& tiff, const Image& image) {
  const bool integer =
      image.format.component == Component::kU8 || image.format.component == Component::kU16;
  set(tiff, TIFFTAG_IMAGEWIDTH, uint32_t(image.width));
  set(tiff, TIFFTAG_IMAGELENGTH, uint32_t(image.height));
  set(tiff, TIFFTAG_BITSPERSAMPLE, 8 * image.format.component_bytes());
  set(tiff, TIFFTAG_SAMPLESPERPIXEL, image.format.channels);
  set(tiff, TIFFTAG_SAMPLEFORMAT, integer ? SAMPLEFORMAT_UINT : SAMPLEFORMAT_IEEEFP);
  set(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  set(tiff, TIFFTAG_PHOTOMETRIC,
      image.format.colours() == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  if (image.format.has_alpha()) {
    const uint16_t kind = extra_sample(image.extra);
    set(tiff, TIFFTAG_EXTRASAMPLES, 1, &kind);
  }
  if (TIFFIsCODECConfigured(COMPRESSION_ADOBE_DEFLATE) != 0) {
    set(tiff, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    set(tiff, TIFFTAG_PREDICTOR, integer ? PREDICTOR_HORIZONTAL : PREDICTOR_FLOATINGPOINT);
    set(tiff, TIFFTAG_ZIPQUALITY, kDeflateLevel);
  }
}

void set_map_tags(TiffHandle& tiff, const Metadata& metadata) {
  if (metadata.tiff_map_tags.empty()) return;
  std::vector<TIFFFieldInfo> fields;
  for (const auto& [tag, type, name] : kMapTags) {
    fields.push_back({tag, TIFF_VARIABLE2, TIFF_VARIABLE2, type, FIELD_CUSTOM, 1, 1,
                      const_cast<char*>(name)});  // the member lacks its const
  }
  // Libtiff forgets them with each page.
  TIFFMergeFieldInfo(tiff.get(), fields.data(), static_cast<uint32_t>(fields.size()));
  for (const TiffBlock& block : metadata.tiff_map_tags) {
    try_to_set(tiff, "the place on a map (GeoTIFF)", block.tag, block.count, block.bytes.data());
  }
}

// Make, model and the like of a PNG's camera data, where TIFF files have them.
void set_texts_of_exif(TiffHandle& tiff, const Metadata& metadata) {
  constexpr uint16_t kAscii = 2;
  if (!metadata.tiff_texts.empty()) return;
  for (const ExifEntry& entry : parse_exif(metadata.exif).picture) {
    const bool text =
        std::find(std::begin(kTiffTexts), std::end(kTiffTexts), entry.tag) != std::end(kTiffTexts);
    if (!text || entry.type != kAscii) continue;
    try_to_set(tiff, "a text", entry.tag,
               std::string(entry.bytes.begin(), entry.bytes.end()).c_str());
  }
}

// At the file's end, before the page's own directory, which goes there next and points at it.
void write_directory(const TiffHandle& tiff, uint32_t tag, std::span<const ExifEntry> entries,
                     TiffKind kind) {
  if (entries.empty()) return;
  const int descriptor = TIFFFileno(tiff.get());
  const off_t end = lseek(descriptor, 0, SEEK_END);
  const uint64_t at = (static_cast<uint64_t>(end) + 1) / 2 * 2;
  const std::vector<uint8_t> bytes = exif_directory(entries, at, kind);
  size_t done = 0;
  while (end >= 0 && done < bytes.size()) {
    const ssize_t put =
        pwrite(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(at + done));
    if (put <= 0) break;
    done += static_cast<size_t>(put);
  }
  if (done < bytes.size()) fail_errno(tiff.path(), "written");
  set(tiff, tag, at);
}

void write_exif(TiffHandle& tiff, const Metadata& metadata, TiffKind kind) {
  if (metadata.exif.empty()) return;
  const Exif exif = parse_exif(metadata.exif);
  if (exif.empty()) tiff.notes().add("the camera data (EXIF) is damaged and was left out");
  write_directory(tiff, TIFFTAG_EXIFIFD, exif.camera, kind);
  write_directory(tiff, TIFFTAG_GPSIFD, exif.place, kind);
}

void set_metadata(TiffHandle& tiff, const Metadata& metadata) {
  if (metadata.resolution) {
    const Resolution& resolution = *metadata.resolution;
    const double scale = resolution.metric ? kMetresInInch : 1.0;
    try_to_set(tiff, "the resolution", TIFFTAG_XRESOLUTION, resolution.x * scale);
    try_to_set(tiff, "the resolution", TIFFTAG_YRESOLUTION, resolution.y * scale);
    set(tiff, TIFFTAG_RESOLUTIONUNIT, resolution.metric ? RESUNIT_INCH : RESUNIT_NONE);
  }
  if (metadata.orientation > 0) set(tiff, TIFFTAG_ORIENTATION, metadata.orientation);
  if (!metadata.icc_profile.empty()) {
    try_to_set(tiff, "the colour profile", TIFFTAG_ICCPROFILE,
               uint32_t(metadata.icc_profile.size()), metadata.icc_profile.data());
  }
  if (!metadata.xmp.empty()) {
    try_to_set(tiff, "the description (XMP)", TIFFTAG_XMLPACKET, uint32_t(metadata.xmp.size()),
               metadata.xmp.data());
  }
  for (const auto& [tag, text] : metadata.tiff_texts) {
    try_to_set(tiff, "a text", tag, text.c_str());
  }
  set_texts_of_exif(tiff, metadata);
  for (const TiffBlock& block : metadata.tiff_blocks) {
    try_to_set(tiff, "the description (IPTC)", block.tag, block.count, block.bytes.data());
  }
  set_map_tags(tiff, metadata);
}

// Strips are written as soon as they are full.
class PageWriter {
 public:
  PageWriter(TiffHandle& tiff, const Image& picture, TiffKind kind, const CancelToken* cancel)
      : tiff_(tiff), picture_(picture), kind_(kind), cancel_(cancel) {
    set_layout(tiff, picture);
    set_metadata(tiff, picture.metadata);
    const auto in_strip = std::clamp<size_t>(kStripBytes / picture.row_bytes(), 1,
                                             static_cast<size_t>(picture.height));
    in_strip_ = static_cast<int32_t>(in_strip);
    set(tiff, TIFFTAG_ROWSPERSTRIP, static_cast<uint32_t>(in_strip_));
  }

  void write(const uint8_t* rows, int32_t count) {
    const size_t row_bytes = picture_.row_bytes();
    while (count > 0) {
      const int32_t wanted = std::min(in_strip_, picture_.height - first_);
      const int32_t taken = std::min(count, wanted - held_);
      if (taken == wanted) {
        put(rows, wanted);
      } else {
        begun_.resize(row_bytes * static_cast<size_t>(in_strip_));
        std::memcpy(begun_.data() + row_bytes * static_cast<size_t>(held_), rows,
                    row_bytes * static_cast<size_t>(taken));
        held_ += taken;
        if (held_ == wanted) put(begun_.data(), wanted);
      }
      rows += row_bytes * static_cast<size_t>(taken);
      count -= taken;
    }
  }

  void finish() { write_exif(tiff_, picture_.metadata, kind_); }

 private:
  void put(const uint8_t* rows, int32_t count) {
    throw_if_cancelled(cancel_);
    const auto bytes = static_cast<tmsize_t>(picture_.row_bytes()) * count;
    // libtiff encodes strips from a copy of its own; the parameter lacks its const.
    if (TIFFWriteEncodedStrip(tiff_.get(), strip_++, const_cast<uint8_t*>(rows), bytes) < 0) {
      tiff_.fail("can't be written");
    }
    first_ += count;
    held_ = 0;
  }

  TiffHandle& tiff_;
  const Image& picture_;
  TiffKind kind_;
  const CancelToken* cancel_;
  int32_t in_strip_ = 0;
  int32_t first_ = 0, held_ = 0;  // rows: that are written, and of the strip that is begun
  uint32_t strip_ = 0;
  std::vector<uint8_t> begun_;
};

TiffKind kind_for(size_t bytes) {
  return bytes > kClassicLimit ? TiffKind::kBig : TiffKind::kClassic;
}

// Little-endian on every machine: the camera's directories are.
const char* mode_for(size_t bytes) {
  return kind_for(bytes) == TiffKind::kBig ? "wl8" : "wl";
}

class TiffPictureWriter final : public RowWriter {
 public:
  TiffPictureWriter(OutputFile& file, const Image& picture, const CancelToken* cancel)
      : tiff_(file.path(), fileno(file.stream()), mode_for(picture.bytes())),
        page_(tiff_, picture, kind_for(picture.bytes()), cancel) {}

  void write(const uint8_t* rows, int32_t count) override { page_.write(rows, count); }

  std::vector<std::string> finish() override {
    page_.finish();
    if (TIFFFlush(tiff_.get()) == 0) tiff_.fail("can't be written");
    return tiff_.notes().take();
  }

 private:
  TiffHandle tiff_;
  PageWriter page_;
};

}  // namespace

std::unique_ptr<RowWriter> write_tiff_rows(OutputFile& file, const Image& picture,
                                           const CancelToken* cancel) {
  return std::make_unique<TiffPictureWriter>(file, picture, cancel);
}

std::vector<std::string> write_tiff(OutputFile& file, const Image& image,
                                    const CancelToken* cancel) {
  return write_tiff_pages(file, {&image, 1}, cancel);
}

std::vector<std::string> write_tiff_pages(OutputFile& file, std::span<const Image> pages,
                                          const CancelToken* cancel) {
  size_t bytes = 0;
  for (const Image& page : pages) bytes += page.bytes();
  TiffHandle tiff(file.path(), fileno(file.stream()), mode_for(bytes));
  for (size_t i = 0; i < pages.size(); ++i) {
    if (i > 0 && TIFFWriteDirectory(tiff.get()) == 0) tiff.fail("can't be written");
    PageWriter page(tiff, pages[i], kind_for(bytes), cancel);
    page.write(pages[i].pixels.get(), pages[i].height);
    page.finish();
  }
  if (TIFFFlush(tiff.get()) == 0) tiff.fail("can't be written");
  return tiff.notes().take();
}

}  // namespace grainless::tools
