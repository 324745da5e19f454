// SPDX-License-Identifier: MIT

#include <unistd.h>

#include <cstring>
#include <span>

#include "engine/boundary/status.h"
#include "exif.h"
#include "tiff_file.h"
#include "tiff_handle.h"
#include "tiff_rows.h"

namespace grainless::tools {
namespace {

void read_resolution(const TiffHandle& tiff, Metadata& metadata) {
  const float x = tiff_field<float>(tiff, TIFFTAG_XRESOLUTION, 0);
  const float y = tiff_field<float>(tiff, TIFFTAG_YRESOLUTION, 0);
  if (!(x > 0 && y > 0)) return;
  const uint16_t unit = tiff_field<uint16_t>(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH);
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

// As numbers of this machine. libtiff knows the tags by what the file says of their type.
void read_map_tags(const TiffHandle& tiff, Metadata& metadata) {
  for (const auto& [tag, type, name] : kMapTags) {
    uint32_t count = 0;
    const uint8_t* data = nullptr;
    const TIFFField* field = TIFFFindField(tiff.get(), tag, TIFF_ANY);
    if (field == nullptr || TIFFFieldDataType(field) != type) continue;
    if (TIFFGetField(tiff.get(), tag, &count, &data) == 0 || count == 0) continue;
    const auto unit = static_cast<size_t>(TIFFDataWidth(type));
    metadata.tiff_map_tags.push_back({tag, count, {data, data + count * unit}});
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
  read_map_tags(tiff, metadata);
  read_exif(tiff, file_bytes, metadata);
}

// Smaller copies of the picture don't count as pages.
bool is_page(const TiffHandle& tiff) {
  return (tiff_field<uint32_t>(tiff, TIFFTAG_SUBFILETYPE, 0) & FILETYPE_REDUCEDIMAGE) == 0;
}

// False behind the last page. Of a page that can't be read libtiff only tells its reason.
bool go_to_next_page(TiffHandle& tiff) {
  tiff.forget_error();
  return TIFFReadDirectory(tiff.get()) != 0;
}

// Camera raw files keep a small copy where others have the picture.
void refuse_copy_alone(const TiffHandle& tiff) {
  uint16_t count = 0;
  const uint64_t* places = nullptr;
  if (is_page(tiff) || TIFFGetField(tiff.get(), TIFFTAG_SUBIFD, &count, &places) == 0) return;
  fail_file(tiff.path(),
            "holds only a small copy as a page, as camera raw files do: develop it first");
}

// Leaves the handle at the picture: smaller copies may stand before it. Where there are only
// copies, the first one counts.
void go_to_only_page(TiffHandle& tiff) {
  int32_t pages = 0;
  tdir_t first = 0;
  do {
    if (is_page(tiff) && pages++ == 0) first = TIFFCurrentDirectory(tiff.get());
  } while (go_to_next_page(tiff));
  if (pages > 1) {
    fail_file(tiff.path(),
              "has " + std::to_string(pages) + " pages: --depth denoises them as one volume");
  }
  if (!tiff.error().empty()) {
    tiff.notes().add("what follows the picture can't be read (" + tiff.error() + ")");
    tiff.forget_error();
  }
  if (TIFFSetDirectory(tiff.get(), first) == 0) tiff.fail("is damaged");
  refuse_copy_alone(tiff);
}

// All but the pixels.
Image describe_page(TiffHandle& tiff, const TiffLayout& layout, uint64_t file_bytes) {
  Image image;
  image.format = layout.format;
  image.width = static_cast<int32_t>(layout.width);
  image.height = static_cast<int32_t>(layout.height);
  image.extra = layout.extra;
  read_metadata(tiff, file_bytes, image.metadata);
  return image;
}

// The handle's current page.
Image read_page(TiffHandle& tiff, const InputFile& file, const CancelToken* cancel) {
  TiffRows rows(tiff, file, cancel);
  Image pixels =
      make_image(rows.layout().format, rows.layout().width, rows.layout().height, tiff.path());
  rows.read(0, pixels.height, pixels.pixels.get());
  Image image = describe_page(tiff, rows.layout(), file.size());
  image.pixels = std::move(pixels.pixels);
  image.notes = tiff.notes().take();
  return image;
}

class TiffPicture final : public RowReader {
 public:
  TiffPicture(const std::string& path, const CancelToken* cancel)
      : file_(path),
        tiff_(path, fileno(file_.stream()), "rm"),
        rows_((go_to_only_page(tiff_), tiff_), file_, cancel) {
    picture_ = describe_page(tiff_, rows_.layout(), file_.size());
    picture_.notes = tiff_.notes().take();
  }

  const Image& picture() const override { return picture_; }
  uint64_t memory() const override { return rows_.memory(); }
  void read(int32_t first, int32_t count, uint8_t* to) override { rows_.read(first, count, to); }
  std::vector<std::string> take_notes() override { return tiff_.notes().take(); }

 private:
  InputFile file_;
  TiffHandle tiff_;
  TiffRows rows_;
  Image picture_;
};

}  // namespace

Image read_tiff(const InputFile& file, const CancelToken* cancel) {
  TiffHandle tiff(file.path(), fileno(file.stream()), "rm");
  go_to_only_page(tiff);
  return read_page(tiff, file, cancel);
}

std::vector<Image> read_tiff_pages(const InputFile& file, const CancelToken* cancel) {
  TiffHandle tiff(file.path(), fileno(file.stream()), "rm");
  std::vector<Image> pages;
  do {
    if (is_page(tiff)) pages.push_back(read_page(tiff, file, cancel));
  } while (go_to_next_page(tiff));
  if (!tiff.error().empty()) {
    tiff.fail("is damaged: only " + std::to_string(pages.size()) + " of its pages can be read");
  }
  if (pages.empty()) fail_file(tiff.path(), "holds only small copies of pictures");
  return pages;
}

std::unique_ptr<RowReader> read_tiff_rows(const std::string& path, const CancelToken* cancel) {
  return std::make_unique<TiffPicture>(path, cancel);
}

}  // namespace grainless::tools
