// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include <jpeglib.h>

#include "tool_testing.h"
#include "tools/image_io/exif.h"
#include "tools/image_io/image_file.h"

namespace grainless::tools {
namespace {

// Smooth, so that little is lost.
Image gradient(int32_t channels, int32_t width = 67, int32_t height = 45) {
  Image image = make_image({Component::kU8, channels}, width, height, "gradient");
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      for (int32_t c = 0; c < channels; ++c) {
        image.row(y)[x * channels + c] = static_cast<uint8_t>(40 + 2 * x + y * (c + 1) / 2);
      }
    }
  }
  return image;
}

double rms(const Image& a, const Image& b) {
  EXPECT_EQ(a.format, b.format);
  EXPECT_EQ(a.bytes(), b.bytes());
  double sum = 0;
  for (size_t i = 0; i < a.bytes(); ++i) sum += std::pow(a.pixels[i] - b.pixels[i], 2);
  return std::sqrt(sum / static_cast<double>(a.bytes()));
}

std::vector<uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

const TiffBlock* block_of(const Metadata& metadata, uint32_t tag) {
  for (const TiffBlock& block : metadata.tiff_blocks) {
    if (block.tag == tag) return &block;
  }
  return nullptr;
}

// A file that write_image() would not write.
void write_pixel(const std::string& path, int channels, J_COLOR_SPACE space, bool progressive) {
  FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  jpeg_error_mgr errors;
  jpeg_compress_struct jpeg{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  jpeg_stdio_dest(&jpeg, file);
  jpeg.image_width = jpeg.image_height = 1;
  jpeg.input_components = channels;
  jpeg.in_color_space = space;
  jpeg_set_defaults(&jpeg);
  if (progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  JSAMPLE pixel[4] = {1, 2, 3, 4};
  JSAMPROW row = pixel;
  jpeg_write_scanlines(&jpeg, &row, 1);
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::fclose(file);
}

void cut_file(const std::string& path, double share) {
  std::filesystem::resize_file(
      path, static_cast<uintmax_t>(share * static_cast<double>(std::filesystem::file_size(path))));
}

TEST(Jpeg, PicturesLoseLessThanAStep) {
  const Folder folder;
  for (int32_t channels : {1, 3}) {
    const Image image = gradient(channels);
    EXPECT_TRUE(write_image(folder.file("a.jpg"), gradient(channels)).empty());
    EXPECT_LT(rms(read_image(folder.file("a.jpg")), image), 1.0) << channels;
  }
}

// Colour at half the resolution would lose more.
TEST(Jpeg, ColourIsAtFullResolution) {
  const Folder folder;
  Image image = make_image({Component::kU8, 3}, 64, 64, "stripes");
  for (size_t i = 0; i < image.bytes(); ++i) image.pixels[i] = i / 3 % 2 == i % 3 / 2 ? 200 : 60;
  Image copy = make_image(image.format, 64, 64, "copy");
  std::copy_n(image.pixels.get(), image.bytes(), copy.pixels.get());
  write_image(folder.file("a.jpeg"), std::move(copy));
  EXPECT_LT(rms(read_image(folder.file("a.jpeg")), image), 8);
}

TEST(Jpeg, WhatGoesWithAPictureIsKept) {
  const Folder folder;
  Image image = gradient(3);
  image.metadata.icc_profile.assign(100000, 7);  // takes two markers
  image.metadata.exif = exif_with_orientation(6);
  image.metadata.xmp = bytes_of("<x:xmpmeta/>");
  image.metadata.resolution = Resolution{300 / 0.0254, 150 / 0.0254, true};
  image.metadata.tiff_blocks.push_back({34377, 5, bytes_of("8BIM!")});
  const Metadata before = image.metadata;
  EXPECT_TRUE(write_image(folder.file("a.jpg"), std::move(image)).empty());
  const Image read = read_image(folder.file("a.jpg"));
  const Metadata& after = read.metadata;
  EXPECT_TRUE(read.notes.empty());
  EXPECT_EQ(after.icc_profile, before.icc_profile);
  EXPECT_EQ(after.exif, before.exif);
  EXPECT_EQ(after.orientation, 6);
  EXPECT_EQ(after.xmp, before.xmp);
  EXPECT_EQ(after.tiff_blocks, before.tiff_blocks);
  ASSERT_TRUE(after.resolution.has_value());
  EXPECT_NEAR(after.resolution->x, before.resolution->x, 1e-6);
  EXPECT_NEAR(after.resolution->y, before.resolution->y, 1e-6);
}

TEST(Jpeg, CommentsGoFromJpegToJpeg) {
  const Folder folder;
  Image image = gradient(1);
  image.metadata.jpeg_comments = {bytes_of("my caption"), bytes_of("and more")};
  EXPECT_TRUE(losses(FileKind::kJpeg, image, "a.jpg").empty());
  EXPECT_EQ(losses(FileKind::kPng, image, "a.png").size(), 1u);
  const auto before = image.metadata.jpeg_comments;
  EXPECT_TRUE(write_image(folder.file("a.jpg"), std::move(image)).empty());
  EXPECT_EQ(read_image(folder.file("a.jpg")).metadata.jpeg_comments, before);
}

// As in MPF and Ultra HDR files, and those of phones that take a video along.
TEST(Jpeg, WhatFollowsThePictureIsSaidToBeLeftOut) {
  const Folder folder;
  const std::string path = folder.file("a.jpg");
  write_image(path, gradient(1));
  const std::vector<uint8_t> alone = file_bytes(path);
  const auto notes_with = [&](size_t padding, const std::vector<uint8_t>& more) {
    std::vector<uint8_t> bytes = alone;
    bytes.resize(bytes.size() + padding);
    bytes.insert(bytes.end(), more.begin(), more.end());
    write_bytes(path, bytes);
    return read_image(path).notes;
  };
  EXPECT_TRUE(notes_with(20000, {}).empty());
  EXPECT_TRUE(notes_with(0, {'\r', '\n'}).empty());
  for (const size_t padding : {0, 1, 20000}) {
    const std::vector<std::string> notes = notes_with(padding, alone);
    ASSERT_EQ(notes.size(), 1u) << padding;
    EXPECT_NE(notes[0].find("gain map"), std::string::npos) << notes[0];
  }
}

TEST(Jpeg, IptcOfATiffFileGetsItsResource) {
  const Folder folder;
  Image image = gradient(1);
  image.metadata.tiff_blocks.push_back({33723, 5, bytes_of("\x1c\x02xyz")});
  image.metadata.orientation = 8;
  EXPECT_TRUE(losses(FileKind::kJpeg, image, "a.jpg").empty());
  write_image(folder.file("a.jpg"), std::move(image));
  const Image read = read_image(folder.file("a.jpg"));
  const TiffBlock* block = block_of(read.metadata, 34377);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->bytes, bytes_of(std::string("8BIM\4\4\0\0\0\0\0\5\x1c\2xyz\0", 18)));
  EXPECT_EQ(read.metadata.orientation, 8);
}

// exiftool leaves a digest of the records there, Photoshop more.
TEST(Jpeg, IptcJoinsPhotoshopsOtherResources) {
  const Folder folder;
  const std::string digest("8BIM\4\x25\3odd\0\0\0\3abc\0", 18), records("\x1c\x02xyz");
  const std::string resource("8BIM\4\4\0\0\0\0\0\5\x1c\2xyz\0", 18);
  const auto kept = [&](const std::string& photoshop) {
    Image image = gradient(1);
    image.metadata.tiff_blocks = {{33723, 5, bytes_of(records)}, {34377, 1, bytes_of(photoshop)}};
    EXPECT_TRUE(write_image(folder.file("a.jpg"), std::move(image)).empty());
    const Image read = read_image(folder.file("a.jpg"));
    const TiffBlock* block = block_of(read.metadata, 34377);
    return block == nullptr ? "" : std::string(block->bytes.begin(), block->bytes.end());
  };
  EXPECT_EQ(kept(digest), digest + resource);
  const std::string own("8BIM\4\4\0\0\0\0\0\2ab", 14);
  EXPECT_EQ(kept(digest + own), digest + own);
  EXPECT_EQ(kept("no resource"), std::string("no resource\0", 12) + resource);
  // Each marker holds 64 KiB.
  const std::string large =
      "8BIM\4\x26" + std::string(4, '\0') + "\xff\xdc" + std::string(65500, 'x');
  EXPECT_EQ(kept(large), large + resource);
}

Exif camera_data(size_t makers_notes) {
  const auto count = static_cast<uint32_t>(makers_notes);
  return {{{0x010f, 2, 6, {'M', 'a', 'k', 'e', 'r', 0}}, {0x0112, 3, 1, {6, 0}}},
          {{0x8827, 3, 1, {0x80, 0x0c}}, {0x927c, 7, count, std::vector<uint8_t>(makers_notes)}},
          {}};
}

TEST(Jpeg, LargeCameraDataGoesWithoutTheMakersNotes) {
  const Folder folder;
  Image image = gradient(1);
  image.metadata.exif = exif_structure(camera_data(70000));
  image.metadata.orientation = 6;
  const std::vector<std::string> notes = write_image(folder.file("a.jpg"), std::move(image));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("maker"), std::string::npos) << notes[0];
  const Metadata kept = read_image(folder.file("a.jpg")).metadata;
  Exif expected = camera_data(70000);
  expected.camera.pop_back();
  EXPECT_EQ(kept.exif, exif_structure(expected));
  EXPECT_EQ(kept.orientation, 6);
}

TEST(Jpeg, ThePictureStandsUprightWithoutItsCameraData) {
  const Folder folder;
  Image image = gradient(1);
  image.metadata.exif.assign(70000, 1);
  image.metadata.orientation = 8;
  EXPECT_EQ(write_image(folder.file("a.jpg"), std::move(image)).size(), 1u);
  EXPECT_EQ(read_image(folder.file("a.jpg")).metadata.exif, exif_with_orientation(8));
}

TEST(Jpeg, ResolutionOfTheCameraDataWhereThereIsNoOther) {
  const Folder folder;
  Image image = gradient(1);
  image.metadata.exif = exif_structure(
      {{{0x011a, 5, 1, {88, 2, 0, 0, 2, 0, 0, 0}}, {0x011b, 5, 1, {44, 1, 0, 0, 2, 0, 0, 0}}},
       {},
       {}});
  Image other = gradient(1);
  other.metadata.exif = image.metadata.exif;
  other.metadata.resolution = Resolution{72 / 0.0254, 72 / 0.0254, true};
  write_image(folder.file("a.jpg"), std::move(image));
  const std::optional<Resolution> read = read_image(folder.file("a.jpg")).metadata.resolution;
  ASSERT_TRUE(read.has_value());
  EXPECT_NEAR(read->x, 300 / 0.0254, 1e-6);
  EXPECT_NEAR(read->y, 150 / 0.0254, 1e-6);
  EXPECT_TRUE(read->metric);
  write_image(folder.file("b.jpg"), std::move(other));
  EXPECT_NEAR(read_image(folder.file("b.jpg")).metadata.resolution.value().x, 72 / 0.0254, 1e-6);
}

TEST(Jpeg, WhatHasNoPlaceIsSaid) {
  const Folder folder;
  Image image = gradient(3);
  image.metadata.exif.assign(70000, 1);
  const std::vector<std::string> notes = write_image(folder.file("a.jpg"), std::move(image));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("EXIF"), std::string::npos);
  EXPECT_LT(rms(read_image(folder.file("a.jpg")), gradient(3)), 1.0);

  const Image deep = make_image({Component::kU16, 3}, 2, 2, "deep");
  ASSERT_EQ(losses(FileKind::kJpeg, deep, "a.jpg").size(), 1u);
  EXPECT_NE(losses(FileKind::kJpeg, deep, "a.jpg")[0].find("8-bit"), std::string::npos);
  EXPECT_EQ(component_for(FileKind::kJpeg, deep.format, "a.jpg"), Component::kU8);
  const PixelFormat rgba{Component::kU8, 4};
  EXPECT_NE(refusal([&] { component_for(FileKind::kJpeg, rgba, "x.jpg"); }).find("transparency"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              write_image(folder.file("b.jpg"), make_image({Component::kU8, 1}, 70000, 1, "b"));
            }).find("can't hold sides"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder.file("b.jpg")));
}

TEST(Jpeg, DamagedFilesAreRefused) {
  const Folder folder;
  write_image(folder.file("a.jpg"), gradient(3, 300, 200));
  cut_file(folder.file("a.jpg"), 0.7);
  EXPECT_NE(refusal([&] { read_image(folder.file("a.jpg")); }).find("truncated"),
            std::string::npos);
  write_text(folder.file("b.jpg"), "\xff\xd8\xff and nothing that makes sense");
  EXPECT_NE(refusal([&] { read_image(folder.file("b.jpg")); }).find("can't be read"),
            std::string::npos);
}

// Read, or refused with a sentence: never a crash, never for ever.
void read_or_refuse(const std::string& path) {
  try {
    read_image(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput) << error.what();
  }
}

TEST(Jpeg, DamageAnywhereIsSurvived) {
  const Folder folder;
  Image image = gradient(3, 40, 30);
  image.metadata.icc_profile.assign(300, 7);
  image.metadata.exif = exif_with_orientation(3);
  write_image(folder.file("a.jpg"), std::move(image));
  const std::vector<uint8_t> whole = file_bytes(folder.file("a.jpg"));
  for (size_t at = 3; at < whole.size(); at += 5) {
    std::vector<uint8_t> damaged = whole;
    damaged[at] ^= static_cast<uint8_t>(1 + at % 255);
    write_bytes(folder.file("b.jpg"), damaged);
    read_or_refuse(folder.file("b.jpg"));
    damaged.resize(at);
    write_bytes(folder.file("b.jpg"), damaged);
    EXPECT_FALSE(refusal([&] { read_image(folder.file("b.jpg")); }).empty()) << at;
  }
}

// The last scan of a progressive grey picture again and again, a few bytes each time.
TEST(Jpeg, ScansWithoutEndAreRefused) {
  const Folder folder;
  const std::string path = folder.file("scans.jpg");
  write_pixel(path, 1, JCS_GRAYSCALE, true);
  std::vector<uint8_t> bytes = file_bytes(path);
  constexpr uint8_t kScan[] = {0xff, 0xda}, kEnd[] = {0xff, 0xd9};
  const auto scan = std::find_end(bytes.begin(), bytes.end(), std::begin(kScan), std::end(kScan));
  const auto end = std::find_end(scan, bytes.end(), std::begin(kEnd), std::end(kEnd));
  const std::vector<uint8_t> again(scan, end);
  EXPECT_NO_THROW(read_image(path));
  bytes.resize(static_cast<size_t>(end - bytes.begin()));
  for (int i = 0; i < 500; ++i) bytes.insert(bytes.end(), again.begin(), again.end());
  bytes.insert(bytes.end(), std::begin(kEnd), std::end(kEnd));
  write_bytes(path, bytes);
  EXPECT_NE(refusal([&] { read_image(path); }).find("more than 500 scans"), std::string::npos);
}

TEST(Jpeg, CmykIsRefused) {
  const Folder folder;
  write_pixel(folder.file("a.jpg"), 4, JCS_CMYK, false);
  EXPECT_NE(refusal([&] { read_image(folder.file("a.jpg")); }).find("CMYK"), std::string::npos);
}

}  // namespace
}  // namespace grainless::tools
