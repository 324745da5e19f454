// SPDX-License-Identifier: MIT
// JPEG through libjpeg. Its errors come by longjmp: what stands between setjmp and a call of it has
// no destructors to run.
#include "jpeg_file.h"

#include <algorithm>
#include <cerrno>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

#include <jpeglib.h>

#include <jerror.h>

#include "engine/boundary/status.h"
#include "exif.h"
#include "notes.h"

namespace grainless::tools {
namespace {

constexpr int kQuality = 95;
constexpr size_t kLargestMarker = 65533;                         // bytes of content
constexpr size_t kLargestProfile = 255 * (kLargestMarker - 14);  // in as many numbered markers
constexpr int kExifMarker = JPEG_APP0 + 1, kIccMarker = JPEG_APP0 + 2,
              kPhotoshopMarker = JPEG_APP0 + 13;
constexpr uint32_t kPhotoshopTag = 34377, kIptcTag = 33723;  // TIFF's tags of the same blocks
// Pixels that can be made of a byte: Huffman codes have a bit at least for 8 x 8 of them,
// arithmetic ones less.
constexpr uint64_t kMostHuffman = 512, kMostArithmetic = 1 << 16;

using namespace std::string_view_literals;
constexpr std::string_view kExif = "Exif\0\0"sv, kXmp = "http://ns.adobe.com/xap/1.0/\0"sv,
                           kMoreXmp = "http://ns.adobe.com/xmp/extension/\0"sv,
                           kPhotoshop = "Photoshop 3.0\0"sv;

// The longjmp target and messages of one libjpeg object.
struct Trouble {
  jpeg_error_mgr manager;  // first: libjpeg knows its address
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX] = "";
  char warning[JMSG_LENGTH_MAX] = "";  // the first one
  bool ended = false;                  // the file, before the picture
  const CancelToken* cancel = nullptr;

  Trouble() {
    jpeg_std_error(&manager);
    manager.error_exit = [](j_common_ptr object) {
      Trouble& self = of(object);
      self.manager.format_message(object, self.text);
      // libjpeg only guesses at the reason.
      const std::string_view disk = std::strerror(errno);
      if (self.manager.msg_code == JERR_FILE_WRITE) {
        self.text[disk.copy(self.text, sizeof self.text - 1)] = '\0';
      }
      std::longjmp(self.jump, 1);
    };
    manager.emit_message = [](j_common_ptr object, int level) {
      Trouble& self = of(object);
      if (level >= 0) return;
      ++self.manager.num_warnings;
      if (self.manager.msg_code == JWRN_JPEG_EOF) self.ended = true;
      if (self.warning[0] == '\0') self.manager.format_message(object, self.warning);
    };
    manager.output_message = [](j_common_ptr) {};
  }

  static Trouble& of(j_common_ptr object) { return *reinterpret_cast<Trouble*>(object->err); }
};

template <typename Body>
void guarded(Trouble& trouble, const std::string& path, const char* doing, const Body& body) {
  if (setjmp(trouble.jump) != 0) {
    throw_if_cancelled(trouble.cancel);
    fail_file(path, std::string(doing) + trouble.text);
  }
  body();
}

void create(jpeg_decompress_struct& jpeg) {
  jpeg_create_decompress(&jpeg);
}
void create(jpeg_compress_struct& jpeg) {
  jpeg_create_compress(&jpeg);
}

// A libjpeg object with its messages caught.
template <typename Object>
struct Handle {
  Trouble trouble;
  Object jpeg{};
  Handle(const std::string& path, const char* doing) {
    jpeg.err = &trouble.manager;
    guarded(trouble, path, doing, [&] { create(jpeg); });  // fails with another library's version
  }
  ~Handle() { jpeg_destroy(reinterpret_cast<j_common_ptr>(&jpeg)); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
};
using Reader = Handle<jpeg_decompress_struct>;
using Writer = Handle<jpeg_compress_struct>;

// A progressive picture has about ten scans. Each goes over all of it, be it of a few bytes.
constexpr int kMostScans = 500;

void watch_scans(j_common_ptr object) {
  Trouble& trouble = Trouble::of(object);
  const bool cancelled = trouble.cancel != nullptr && trouble.cancel->cancelled();
  const int scans = reinterpret_cast<j_decompress_ptr>(object)->input_scan_number;
  if (!cancelled && scans <= kMostScans) return;
  std::snprintf(trouble.text, sizeof trouble.text, "it has more than %d scans", kMostScans);
  std::longjmp(trouble.jump, 1);
}

constexpr char kReading[] = "can't be read: ", kWriting[] = "can't be written: ";

void read_header(Reader& reader, const InputFile& file) {
  jpeg_decompress_struct& jpeg = reader.jpeg;
  guarded(reader.trouble, file.path(), kReading, [&] {
    jpeg_stdio_src(&jpeg, file.stream());
    for (int marker : {kExifMarker, kIccMarker, kPhotoshopMarker, JPEG_COM}) {
      jpeg_save_markers(&jpeg, marker, 0xFFFF);
    }
    jpeg_read_header(&jpeg, TRUE);
  });
  const bool grey = jpeg.num_components == 1;
  if (jpeg.num_components == 4) fail_file(file.path(), "is in CMYK colours");
  if (!grey && jpeg.num_components != 3) {
    fail_file(file.path(), "has " + std::to_string(jpeg.num_components) + " colours");
  }
  jpeg.out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
}

// Padding is none.
int64_t content_of(std::span<const uint8_t> bytes) {
  return std::count_if(bytes.begin(), bytes.end(),
                       [](uint8_t byte) { return byte != 0 && byte != 0xff; });
}

// Whether a picture or the like stands behind the picture's end, from what libjpeg has not used of
// its buffer: more than the end of a line that some program has put there.
bool is_followed(const jpeg_source_mgr& source, FILE* stream) {
  constexpr int64_t kLeast = 64;
  int64_t content = content_of({source.next_input_byte, source.bytes_in_buffer});
  uint8_t bytes[4096];
  size_t got = 0;
  while (content < kLeast && (got = std::fread(bytes, 1, sizeof bytes, stream)) > 0) {
    content += content_of({bytes, got});
  }
  return content >= kLeast;
}

void read_pixels(Reader& reader, const InputFile& file, Image& image, const CancelToken* cancel) {
  jpeg_progress_mgr progress{};  // asked while scans are read, before the first row
  progress.progress_monitor = watch_scans;
  reader.jpeg.progress = &progress;
  reader.trouble.cancel = cancel;
  guarded(reader.trouble, file.path(), kReading, [&] {
    jpeg_start_decompress(&reader.jpeg);
    for (int32_t y = 0; y < image.height; ++y) {
      // Of a file that has ended libjpeg makes up the rest.
      if (reader.trouble.ended || (cancel != nullptr && cancel->cancelled())) return;
      JSAMPROW row = image.row(y);
      jpeg_read_scanlines(&reader.jpeg, &row, 1);
    }
    jpeg_finish_decompress(&reader.jpeg);
  });
  throw_if_cancelled(cancel);
  if (reader.trouble.ended) fail_file(file.path(), "is truncated");
  if (reader.trouble.warning[0] != '\0') {
    image.notes.push_back("'" + file.path() + "': " + reader.trouble.warning);
  }
  if (is_followed(*reader.jpeg.src, file.stream())) {
    image.notes.push_back("'" + file.path() +
                          "': what follows the picture is left out (an HDR gain map, further "
                          "pictures, a video)");
  }
}

bool starts(std::span<const uint8_t> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

void append(std::vector<uint8_t>& to, std::span<const uint8_t> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void read_markers(const jpeg_decompress_struct& jpeg, const std::string& path, Image& image) {
  Metadata& metadata = image.metadata;
  std::vector<uint8_t> photoshop;
  NoteList notes(path);
  for (const jpeg_marker_struct* m = jpeg.marker_list; m != nullptr; m = m->next) {
    const std::span<const uint8_t> bytes(m->data, m->data_length);
    if (m->marker == kExifMarker && starts(bytes, kExif) && metadata.exif.empty()) {
      append(metadata.exif, bytes.subspan(kExif.size()));
    } else if (m->marker == kExifMarker && starts(bytes, kXmp) && metadata.xmp.empty()) {
      append(metadata.xmp, bytes.subspan(kXmp.size()));
    } else if (m->marker == kExifMarker && starts(bytes, kMoreXmp)) {
      notes.add("the long part of its description (XMP) is left out");
    } else if (m->marker == kPhotoshopMarker && starts(bytes, kPhotoshop)) {
      append(photoshop, bytes.subspan(kPhotoshop.size()));
    } else if (m->marker == JPEG_COM && !bytes.empty()) {
      metadata.jpeg_comments.emplace_back(bytes.begin(), bytes.end());
    }
  }
  image.notes = notes.take();
  if (photoshop.empty()) return;
  const auto count = static_cast<uint32_t>(photoshop.size());
  metadata.tiff_blocks.push_back({kPhotoshopTag, count, std::move(photoshop)});
}

void read_profile(Reader& reader, const std::string& path, Metadata& metadata) {
  JOCTET* profile = nullptr;
  unsigned int bytes = 0;
  bool found = false;
  guarded(reader.trouble, path, kReading,
          [&] { found = jpeg_read_icc_profile(&reader.jpeg, &profile, &bytes) != 0; });
  if (!found) return;
  metadata.icc_profile.assign(profile, profile + bytes);
  std::free(profile);
}

void read_resolution(const jpeg_decompress_struct& jpeg, Metadata& metadata) {
  constexpr int kInch = 1, kCentimetre = 2;
  const double x = jpeg.X_density, y = jpeg.Y_density;
  if (jpeg.saw_JFIF_marker == 0 || x == 0 || y == 0) return;
  if (jpeg.density_unit == kInch) {
    metadata.resolution = Resolution{x / kMetresInInch, y / kMetresInInch, true};
  } else if (jpeg.density_unit == kCentimetre) {
    metadata.resolution = Resolution{x * 100, y * 100, true};
  } else if (x != y) {
    metadata.resolution = Resolution{x, y, false};
  }
}

void set_layout(jpeg_compress_struct& jpeg, const Image& image) {
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = image.format.channels;
  jpeg.in_color_space = image.format.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, kQuality, TRUE);
  jpeg.optimize_coding = TRUE;
  for (int i = 0; i < jpeg.num_components; ++i) {
    jpeg.comp_info[i].h_samp_factor = jpeg.comp_info[i].v_samp_factor = 1;
  }
}

void set_resolution(jpeg_compress_struct& jpeg, const Metadata& metadata) {
  if (!metadata.resolution) return;
  const auto& [x, y, metric] = *metadata.resolution;
  // Without a unit only the ratio counts.
  const double scale = metric ? kMetresInInch : 1000 / std::max(x, y);
  const auto density = [&](double value) {
    return static_cast<UINT16>(std::clamp(value * scale + 0.5, 1.0, 65535.0));
  };
  jpeg.density_unit = metric ? 1 : 0;
  jpeg.X_density = density(x);
  jpeg.Y_density = density(y);
}

// IPTC's records as Photoshop's resource 0x0404, the only place that JPEG files have for them.
std::vector<uint8_t> iptc_resource(const std::vector<uint8_t>& records) {
  std::vector<uint8_t> resource = {'8', 'B', 'I', 'M', 4, 4, 0, 0};
  for (int shift : {24, 16, 8, 0})
    resource.push_back(static_cast<uint8_t>(records.size() >> shift));
  append(resource, records);
  if (records.size() % 2 != 0) resource.push_back(0);
  return resource;
}

uint64_t big_endian(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (const uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

// Whether Photoshop's resources have IPTC's records among them. Each is a signature, a number, a
// name of a byte for its length, the length of its content, and that; both are padded to even.
bool holds_iptc(std::span<const uint8_t> resources) {
  constexpr size_t kName = 6, kLength = 4;
  constexpr uint64_t kIptcResource = 0x0404;
  while (resources.size() > kName && starts(resources, "8BIM")) {
    if (big_endian(resources.subspan(4, 2)) == kIptcResource) return true;
    const size_t content = kName + (resources[kName] + 2u) / 2 * 2 + kLength;
    if (content > resources.size()) return false;
    const uint64_t bytes = big_endian(resources.subspan(content - kLength, kLength));
    const uint64_t next = content + (bytes + 1) / 2 * 2;
    if (next > resources.size()) return false;
    resources = resources.subspan(static_cast<size_t>(next));
  }
  return false;
}

struct Marker {
  int number;
  std::vector<uint8_t> bytes;
};

bool fits(std::string_view head, std::span<const uint8_t> bytes) {
  return head.size() + bytes.size() <= kLargestMarker;
}

// A maker's own notes are most of large camera data, and no program but the maker's needs them.
std::vector<uint8_t> without_makers_notes(std::span<const uint8_t> structure) {
  constexpr uint16_t kMakersNotes = 0x927c;
  Exif exif = parse_exif(structure);
  std::erase_if(exif.camera, [](const ExifEntry& entry) { return entry.tag == kMakersNotes; });
  return exif.empty() ? std::vector<uint8_t>() : exif_structure(exif);
}

std::vector<uint8_t> upright(const Metadata& metadata) {
  return metadata.orientation > 1 ? exif_with_orientation(metadata.orientation)
                                  : std::vector<uint8_t>();
}

// As much as a marker holds of it; in any case which way up the picture is.
std::vector<uint8_t> exif_for_marker(const Metadata& metadata, NoteList& notes) {
  std::vector<uint8_t> exif = exif_to_write(metadata);
  if (fits(kExif, exif)) return exif;
  std::vector<uint8_t> rest = without_makers_notes(exif);
  if (!rest.empty() && fits(kExif, rest)) {
    notes.add(
        "of the camera data (EXIF) only the main part has a place, without the maker's notes");
    return rest;
  }
  notes.add("the camera data (EXIF) has no place and was left out");
  return upright(metadata);
}

// A TIFF file may have IPTC's records in a tag of their own and a digest of them in Photoshop's. In
// one marker where it holds both, as more programs read them.
std::vector<std::vector<uint8_t>> resources_of(const Metadata& metadata) {
  std::vector<uint8_t> resources, iptc;
  for (const TiffBlock& block : metadata.tiff_blocks) {
    if (block.tag == kPhotoshopTag) resources = block.bytes;
    if (block.tag == kIptcTag) iptc = iptc_resource(block.bytes);
  }
  if (iptc.empty() || holds_iptc(resources)) return {resources};
  if (resources.size() % 2 != 0) resources.push_back(0);  // the last one's padding
  std::vector<uint8_t> both = resources;
  append(both, iptc);
  if (fits(kPhotoshop, both)) return {both};
  return {resources, iptc};
}

// What goes into the file beside the picture; `notes` gets what has no place.
std::vector<Marker> markers_of(const Metadata& metadata, NoteList& notes) {
  std::vector<Marker> markers;
  const auto add = [&](int number, std::string_view head, std::span<const uint8_t> bytes,
                       const char* what) {
    if (bytes.empty()) return;
    if (!fits(head, bytes)) return notes.add(std::string(what) + " has no place and was left out");
    Marker marker{number, {head.begin(), head.end()}};
    append(marker.bytes, bytes);
    markers.push_back(std::move(marker));
  };
  add(kExifMarker, kExif, exif_for_marker(metadata, notes), "the camera data (EXIF)");
  add(kExifMarker, kXmp, metadata.xmp, "the description (XMP)");
  for (const auto& resources : resources_of(metadata)) {
    add(kPhotoshopMarker, kPhotoshop, resources, "the description (IPTC)");
  }
  for (const auto& comment : metadata.jpeg_comments) add(JPEG_COM, "", comment, "the comment");
  return markers;
}

}  // namespace

Image read_jpeg(const InputFile& file, const CancelToken* cancel) {
  Reader reader(file.path(), kReading);
  read_header(reader, file);
  const PixelFormat format{Component::kU8, reader.jpeg.num_components};
  check_pixels(reader.jpeg.image_width, reader.jpeg.image_height, file.path());
  check_worth(file, uint64_t{reader.jpeg.image_width} * reader.jpeg.image_height,
              reader.jpeg.arith_code != 0 ? kMostArithmetic : kMostHuffman);
  Image image = make_image(format, reader.jpeg.image_width, reader.jpeg.image_height, file.path());
  read_markers(reader.jpeg, file.path(), image);
  read_profile(reader, file.path(), image.metadata);
  read_resolution(reader.jpeg, image.metadata);
  if (!image.metadata.resolution) image.metadata.resolution = exif_resolution(image.metadata.exif);
  image.metadata.orientation = exif_orientation(image.metadata.exif);
  read_pixels(reader, file, image, cancel);
  return image;
}

std::vector<std::string> write_jpeg(OutputFile& file, const Image& image,
                                    const CancelToken* cancel) {
  NoteList notes(file.path());
  const Metadata& metadata = image.metadata;
  const std::vector<Marker> markers = markers_of(metadata, notes);
  const bool profile = !metadata.icc_profile.empty();
  const bool holds_profile = metadata.icc_profile.size() <= kLargestProfile;
  if (profile && !holds_profile) notes.add("the colour profile has no place and was left out");
  Writer writer(file.path(), kWriting);
  jpeg_compress_struct& jpeg = writer.jpeg;
  guarded(writer.trouble, file.path(), kWriting, [&] {
    jpeg_stdio_dest(&jpeg, file.stream());
    set_layout(jpeg, image);
    set_resolution(jpeg, metadata);
    jpeg_start_compress(&jpeg, TRUE);
    for (const Marker& marker : markers) {
      jpeg_write_marker(&jpeg, marker.number, marker.bytes.data(),
                        static_cast<unsigned int>(marker.bytes.size()));
    }
    if (profile && holds_profile) {
      jpeg_write_icc_profile(&jpeg, metadata.icc_profile.data(),
                             static_cast<unsigned int>(metadata.icc_profile.size()));
    }
    for (int32_t y = 0; y < image.height; ++y) {
      if (cancel != nullptr && cancel->cancelled()) return;
      JSAMPROW row = const_cast<JSAMPROW>(image.row(y));  // the parameter lacks its const
      jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
  });
  return notes.take();
}

}  // namespace grainless::tools
