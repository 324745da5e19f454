// SPDX-License-Identifier: MIT
#include <png.h>
#include <zlib.h>

#include "tool_testing.h"
#include "tools/image_io/exif.h"
#include "tools/image_io/image_file.h"

namespace grainless::tools {
namespace {

struct PngLayout {
  int type, bits, interlace;
};

// Writes with libpng itself; `prepare` sets further chunks.
template <typename Prepare>
void write_raw_png(const std::string& path, PngLayout layout, uint32_t width,
                   std::vector<std::vector<uint8_t>> rows, const Prepare& prepare) {
  FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, width, png_uint_32(rows.size()), layout.bits, layout.type,
               layout.interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  prepare(png, info);
  std::vector<png_bytep> pointers;
  for (auto& row : rows) pointers.push_back(row.data());
  png_set_rows(png, info, pointers.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

std::vector<uint8_t> pixels_of(const Image& image) {
  return {image.pixels.get(), image.pixels.get() + image.bytes()};
}

TEST(Png, PaletteBecomesColour) {
  const Folder folder;
  const png_color colours[] = {{255, 0, 0}, {0, 255, 0}, {1, 2, 3}};
  write_raw_png(folder.file("a.png"), {PNG_COLOR_TYPE_PALETTE, 2, PNG_INTERLACE_NONE}, 4,
                {{0b00011001}},
                [&](png_structp png, png_infop info) { png_set_PLTE(png, info, colours, 3); });
  const Image image = read_image(folder.file("a.png"));
  EXPECT_EQ(image.format, (PixelFormat{Component::kU8, 3}));
  EXPECT_EQ(pixels_of(image), (std::vector<uint8_t>{255, 0, 0, 0, 255, 0, 1, 2, 3, 0, 255, 0}));
}

TEST(Png, TransparentPaletteGetsAlpha) {
  const Folder folder;
  const png_color colours[] = {{255, 0, 0}, {0, 255, 0}};
  const uint8_t alpha[] = {7};
  write_raw_png(folder.file("a.png"), {PNG_COLOR_TYPE_PALETTE, 1, PNG_INTERLACE_NONE}, 2,
                {{0b01000000}}, [&](png_structp png, png_infop info) {
                  png_set_PLTE(png, info, colours, 2);
                  png_set_tRNS(png, info, alpha, 1, nullptr);
                });
  const Image image = read_image(folder.file("a.png"));
  EXPECT_EQ(pixels_of(image), (std::vector<uint8_t>{255, 0, 0, 7, 0, 255, 0, 255}));
}

TEST(Png, FewBitsSpanTheWholeRange) {
  const Folder folder;
  write_raw_png(folder.file("a.png"), {PNG_COLOR_TYPE_GRAY, 2, PNG_INTERLACE_NONE}, 4,
                {{0b00011011}}, [](png_structp, png_infop) {});
  EXPECT_EQ(pixels_of(read_image(folder.file("a.png"))), (std::vector<uint8_t>{0, 85, 170, 255}));
}

TEST(Png, InterlacedReadsTheSame) {
  const Folder folder;
  std::vector<std::vector<uint8_t>> rows;
  std::vector<uint8_t> expected;
  for (int y = 0; y < 11; ++y) {
    rows.emplace_back();
    for (int x = 0; x < 13; ++x) rows.back().push_back(static_cast<uint8_t>(17 * y + 3 * x));
    expected.insert(expected.end(), rows.back().begin(), rows.back().end());
  }
  write_raw_png(folder.file("a.png"), {PNG_COLOR_TYPE_GRAY, 8, PNG_INTERLACE_ADAM7}, 13, rows,
                [](png_structp, png_infop) {});
  EXPECT_EQ(pixels_of(read_image(folder.file("a.png"))), expected);
}

TEST(Png, SixteenBitsAreBigEndianInTheFile) {
  const Folder folder;
  write_raw_png(folder.file("a.png"), {PNG_COLOR_TYPE_GRAY, 16, PNG_INTERLACE_NONE}, 1,
                {{0x12, 0x34}}, [](png_structp, png_infop) {});
  const Image image = read_image(folder.file("a.png"));
  uint16_t value;
  std::memcpy(&value, image.pixels.get(), 2);
  EXPECT_EQ(value, 0x1234);
}

TEST(Png, MetadataGoesThrough) {
  const Folder folder;
  Image image = random_image({Component::kU8, 3}, 4, 4);
  image.metadata.resolution = Resolution{11811, 5906, true};
  image.metadata.exif = exif_with_orientation(6);
  image.metadata.png_srgb_intent = 1;
  EXPECT_TRUE(write_image(folder.file("a.png"), std::move(image)).empty());
  write_image(folder.file("b.png"), read_image(folder.file("a.png")));
  const Metadata kept = read_image(folder.file("b.png")).metadata;
  ASSERT_TRUE(kept.resolution.has_value());
  EXPECT_EQ(kept.resolution->x, 11811);
  EXPECT_EQ(kept.resolution->y, 5906);
  EXPECT_TRUE(kept.resolution->metric);
  EXPECT_EQ(kept.exif, exif_with_orientation(6));
  EXPECT_EQ(kept.orientation, 6);
  EXPECT_EQ(kept.png_srgb_intent, 1);
}

TEST(Png, ResolutionOfTheCameraDataWhereThereIsNoOther) {
  const Folder folder;
  const auto read = [&](std::vector<uint8_t> exif) {
    Image image = random_image({Component::kU8, 1}, 3, 3);
    image.metadata.exif = std::move(exif);
    write_image(folder.file("a.png"), std::move(image));
    return read_image(folder.file("a.png")).metadata.resolution;
  };
  // 118.5 a centimetre, and the other way round without a unit: only the ratio counts.
  const std::vector<uint8_t> begin = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 3};
  std::vector<uint8_t> exif = begin;
  for (const uint8_t tag : {uint8_t{0x1a}, uint8_t{0x1b}}) {
    exif.insert(exif.end(), {1, tag, 0, 5, 0, 0, 0, 1, 0, 0, 0, 50});
  }
  exif.insert(exif.end(), {1, 0x28, 0, 3, 0, 0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0});
  exif.insert(exif.end(), {0, 0, 0, 237, 0, 0, 0, 2});
  const std::optional<Resolution> metric = read(exif);
  ASSERT_TRUE(metric.has_value());
  EXPECT_DOUBLE_EQ(metric->x, 11850);
  EXPECT_DOUBLE_EQ(metric->y, 11850);
  EXPECT_TRUE(metric->metric);
  exif[begin.size() + 24 + 9] = 1;
  EXPECT_FALSE(read(exif).value().metric);
  exif.back() = 0;  // a division by it
  EXPECT_FALSE(read(exif).has_value());
}

TEST(Png, TextsGoThrough) {
  const Folder folder;
  const std::string author = "J\xf6rg", caption = "\xe5\x86\x99\xe7\x9c\x9f";
  const std::string xmp = "<x:xmpmeta xmlns:x='adobe:ns:meta/'/>";
  const std::vector<PngText> texts = {{"Author", author, false, {}, {}},
                                      {"Comment", std::string(3000, 'c'), false, {}, {}},
                                      {"Title", caption, true, "ja", caption},
                                      {"Description", std::string(3000, 'd'), true, {}, {}}};
  Image image = random_image({Component::kU8, 3}, 4, 4);
  image.metadata.png_texts = texts;
  image.metadata.xmp.assign(xmp.begin(), xmp.end());
  EXPECT_TRUE(losses(FileKind::kPng, image, "x.png").empty());
  EXPECT_EQ(losses(FileKind::kTiff, image, "x.tif").size(), 1u);  // texts
  EXPECT_EQ(losses(FileKind::kPpm, image, "x.ppm").size(), 2u);   // texts, XMP
  EXPECT_TRUE(write_image(folder.file("a.png"), std::move(image)).empty());
  Image kept = read_image(folder.file("a.png"));
  EXPECT_TRUE(kept.notes.empty());
  EXPECT_EQ(kept.metadata.png_texts, texts);
  EXPECT_EQ(std::string(kept.metadata.xmp.begin(), kept.metadata.xmp.end()), xmp);
}

TEST(Png, GammaAndPrimariesGoThrough) {
  const Folder folder;
  Image image = random_image({Component::kU8, 3}, 4, 4);
  image.metadata.png_gamma = 0.5;
  image.metadata.png_chromaticities = {0.3127, 0.329, 0.64, 0.33, 0.21, 0.71, 0.15, 0.06};
  const std::vector<double> primaries = image.metadata.png_chromaticities;
  write_image(folder.file("a.png"), std::move(image));
  const Metadata kept = read_image(folder.file("a.png")).metadata;
  EXPECT_NEAR(kept.png_gamma.value(), 0.5, 1e-5);
  ASSERT_EQ(kept.png_chromaticities.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(kept.png_chromaticities[i], primaries[i], 1e-4);
}

// Right behind the head of `path`, where colours are described and animations announced.
void insert_chunk(const std::string& path, const std::string& name,
                  const std::vector<uint8_t>& content) {
  constexpr ptrdiff_t kHead = 8 + 25;  // signature, IHDR
  std::vector<uint8_t> chunk(name.begin(), name.end());
  chunk.insert(chunk.end(), content.begin(), content.end());
  const auto put = [&](ptrdiff_t at, uint32_t value) {
    for (const int shift : {0, 8, 16, 24}) {
      chunk.insert(chunk.begin() + at, static_cast<uint8_t>(value >> shift));
    }
  };
  const auto sum = crc32(0, chunk.data(), static_cast<uInt>(chunk.size()));
  put(std::ssize(chunk), static_cast<uint32_t>(sum));
  put(0, static_cast<uint32_t>(content.size()));
  std::vector<uint8_t> bytes = file_bytes(path);
  bytes.insert(bytes.begin() + kHead, chunk.begin(), chunk.end());
  write_bytes(path, bytes);
}

// Without it a picture of HDR looks pale everywhere.
TEST(Png, CodingOfColoursGoesThrough) {
  const Folder folder;
  const Image image = random_image({Component::kU16, 3}, 4, 4);
  write_image(folder.file("a.png"), random_image({Component::kU16, 3}, 4, 4));
  const std::vector<uint8_t> coding = {9, 16, 0, 1}, light = {0, 1, 2, 3, 4, 5, 6, 7};
  insert_chunk(folder.file("a.png"), "cLLI", light);
  insert_chunk(folder.file("a.png"), "cICP", {1, 13, 0, 1});  // none but the first counts
  insert_chunk(folder.file("a.png"), "cICP", coding);
  Image read = read_image(folder.file("a.png"));
  EXPECT_TRUE(losses(FileKind::kPng, read, "x.png").empty());
  EXPECT_EQ(losses(FileKind::kTiff, read, "x.tif").size(), 1u);
  EXPECT_TRUE(write_image(folder.file("b.png"), std::move(read)).empty());
  const Image kept = read_image(folder.file("b.png"));
  EXPECT_TRUE(same_pixels(kept, image));
  const std::vector<PngChunk> expected = {{"cICP", coding}, {"cLLI", light}};
  EXPECT_EQ(kept.metadata.png_colour_codings, expected);
}

TEST(Png, AnimationsAreRefused) {
  const Folder folder;
  write_image(folder.file("a.png"), random_image({Component::kU8, 3}, 4, 4));
  insert_chunk(folder.file("a.png"), "acTL", {0, 0, 0, 1, 0, 0, 0, 0});
  EXPECT_TRUE(read_image(folder.file("a.png")).notes.empty());  // of one picture: none
  write_image(folder.file("b.png"), random_image({Component::kU8, 3}, 4, 4));
  insert_chunk(folder.file("b.png"), "acTL", {0, 0, 0, 3, 0, 0, 0, 0});
  EXPECT_NE(refusal([&] { read_image(folder.file("b.png")); }).find("animation of 3"),
            std::string::npos);
}

TEST(Png, OrientationOfATiffBecomesExif) {
  const Folder folder;
  Image image = random_image({Component::kU8, 3}, 4, 4);
  image.metadata.orientation = 8;
  write_image(folder.file("a.png"), std::move(image));
  EXPECT_EQ(read_image(folder.file("a.png")).metadata.orientation, 8);
}

TEST(Png, PremultipliedColoursAreDivided) {
  const Folder folder;
  Image image = make_image({Component::kU8, 4}, 2, 1, "test");
  const uint8_t pixels[] = {64, 32, 0, 128, 9, 9, 9, 0};
  std::memcpy(image.pixels.get(), pixels, sizeof pixels);
  image.extra = Extra::kPremultiplied;
  write_image(folder.file("a.png"), std::move(image));
  EXPECT_EQ(pixels_of(read_image(folder.file("a.png"))),
            (std::vector<uint8_t>{128, 64, 0, 128, 9, 9, 9, 0}));
}

TEST(Png, UnusableProfileIsLeftOutAndSaid) {
  const Folder folder;
  Image image = random_image({Component::kU8, 3}, 4, 4);
  image.metadata.icc_profile.assign(200, 1);
  EXPECT_FALSE(write_image(folder.file("a.png"), std::move(image)).empty());
  EXPECT_TRUE(
      same_pixels(read_image(folder.file("a.png")), random_image({Component::kU8, 3}, 4, 4)));
}

TEST(Exif, OrientationOfEitherByteOrder) {
  for (int32_t orientation = 1; orientation <= 8; ++orientation) {
    EXPECT_EQ(exif_orientation(exif_with_orientation(orientation)), orientation);
  }
  const std::vector<uint8_t> big = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0,
                                    3,   0,   0, 0,  1, 0, 3, 0, 0, 0, 0,    0,    0};
  EXPECT_EQ(exif_orientation(big), 3);
  for (size_t length = 0; length < 22; ++length) {
    EXPECT_EQ(exif_orientation(std::span(big).first(length)), 0) << length;
  }
}

TEST(Exif, EitherByteOrderSaysTheSame) {
  const std::vector<uint8_t> big = {
      'M',  'M',  0, 42, 0, 0, 0, 8,                 // the first directory at 8
      0,    2,                                       // two entries
      0x01, 0x12, 0, 3,  0, 0, 0, 1, 0, 3, 0, 0,     // orientation 3
      0x87, 0x69, 0, 4,  0, 0, 0, 1, 0, 0, 0, 38,    // the camera's directory at 38
      0,    0,    0, 0,                              //
      0,    1,                                       // one entry
      0x82, 0x9a, 0, 5,  0, 0, 0, 1, 0, 0, 0, 56,    // exposure time, at 56
      0,    0,    0, 0,  0, 0, 0, 1, 0, 0, 0, 100};  // 1/100
  const Exif exif = parse_exif(big);
  const ExifEntry orientation{0x0112, 3, 1, {3, 0}};
  const ExifEntry exposure{0x829a, 5, 1, {1, 0, 0, 0, 100, 0, 0, 0}};
  ASSERT_EQ(exif.picture, std::vector<ExifEntry>{orientation});
  ASSERT_EQ(exif.camera, std::vector<ExifEntry>{exposure});
  EXPECT_EQ(exif_orientation(exif_structure(exif)), 3);
  EXPECT_EQ(parse_exif(exif_structure(exif)).camera, exif.camera);
  for (size_t length = 0; length < big.size(); ++length) {
    parse_exif(std::span(big).first(length));  // sanitizers look on
    EXPECT_TRUE(parse_exif(std::span(big).first(length)).camera.empty()) << length;
  }
}

}  // namespace
}  // namespace grainless::tools
