// SPDX-License-Identifier: MIT
#include <tiffio.h>

#include <algorithm>
#include <functional>
#include <initializer_list>

#include "tool_testing.h"
#include "tools/image_io/encoding.h"
#include "tools/image_io/exif.h"
#include "tools/image_io/image_file.h"

namespace grainless::tools {
namespace {

using Tags = std::initializer_list<uint16_t>;

struct TiffLayout {
  uint16_t bits = 8, samples = 3, photometric = PHOTOMETRIC_RGB;
  uint16_t planar = PLANARCONFIG_CONTIG, compression = COMPRESSION_NONE, tile = 0;
  const char* mode = "w";
};

void describe(TIFF* tiff, const TiffLayout& layout, int32_t width, int32_t height) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, layout.bits);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, layout.samples);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, layout.photometric);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, layout.planar);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, layout.compression);
  if (layout.tile != 0) {
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, layout.tile);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, layout.tile);
  } else {
    TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 4);
  }
}

// Puts image's samples into a file of any layout, sample by sample.
void write_samples(TIFF* tiff, const TiffLayout& layout, const Image& image) {
  const size_t step = size_t(image.format.component_bytes());
  const bool planes = layout.planar == PLANARCONFIG_SEPARATE;
  const int32_t channels = image.format.channels;
  const auto block = [&](int32_t x0, int32_t y0, int32_t w, int32_t h, int32_t plane) {
    std::vector<uint8_t> bytes;
    for (int32_t y = y0; y < y0 + h; ++y) {
      for (int32_t x = x0; x < x0 + w; ++x) {
        for (int32_t c = planes ? plane : 0; c < (planes ? plane + 1 : channels); ++c) {
          const bool inside = x < image.width && y < image.height;
          const size_t at = size_t(x * channels + c) * step;
          for (size_t b = 0; b < step; ++b) bytes.push_back(inside ? image.row(y)[at + b] : 0xee);
        }
      }
    }
    return bytes;
  };
  for (int32_t plane = 0; plane < (planes ? channels : 1); ++plane) {
    const uint16_t p = uint16_t(plane);
    if (layout.tile != 0) {
      for (int32_t y = 0; y < image.height; y += layout.tile) {
        for (int32_t x = 0; x < image.width; x += layout.tile) {
          auto bytes = block(x, y, layout.tile, layout.tile, plane);
          TIFFWriteEncodedTile(tiff, TIFFComputeTile(tiff, uint32_t(x), uint32_t(y), 0, p),
                               bytes.data(), tmsize_t(bytes.size()));
        }
      }
    } else {
      for (int32_t y = 0; y < image.height; y += 4) {
        auto bytes = block(0, y, image.width, std::min(4, image.height - y), plane);
        TIFFWriteEncodedStrip(tiff, TIFFComputeStrip(tiff, uint32_t(y), p), bytes.data(),
                              tmsize_t(bytes.size()));
      }
    }
  }
}

void write_tiff_as(const std::string& path, const TiffLayout& layout, const Image& image,
                   const std::function<void(TIFF*)>& prepare = {}) {
  TIFF* tiff = TIFFOpen(path.c_str(), layout.mode);
  ASSERT_NE(tiff, nullptr);
  describe(tiff, layout, image.width, image.height);
  if (prepare) prepare(tiff);
  write_samples(tiff, layout, image);
  TIFFClose(tiff);
}

// Read by rows, in bands of several heights and from anywhere, the picture is the same.
void expect_rows(const std::string& path, const Image& image) {
  const auto reader = read_rows(path);
  ASSERT_NE(reader, nullptr);
  ASSERT_EQ(reader->picture().format, image.format);
  ASSERT_EQ(reader->picture().width, image.width);
  ASSERT_EQ(reader->picture().height, image.height);
  const auto expect = [&](int32_t first, int32_t count) {
    std::vector<uint8_t> rows(size_t(count) * image.row_bytes());
    reader->read(first, count, rows.data());
    EXPECT_EQ(std::memcmp(rows.data(), image.row(first), rows.size()), 0) << first << ' ' << count;
  };
  for (const int32_t count : {1, 3, 8, image.height}) {
    for (int32_t y = 0; y < image.height; y += count) {
      expect(y, std::min(count, image.height - y));
    }
  }
  expect(image.height / 2, 1);
  expect(image.height / 3, image.height / 2);
}

TEST(Tiff, LongStripsAreTakenRowByRow) {
  constexpr int32_t kSide = 3000;  // above 16 MiB a strip
  const Folder folder;
  for (const char* mode : {"wl", "wb"}) {
    for (const uint16_t compression :
         Tags{COMPRESSION_NONE, COMPRESSION_ADOBE_DEFLATE, COMPRESSION_LZW}) {
      Image image = random_image({Component::kU16, 1}, kSide, kSide);
      std::memset(image.row(100), 77, 2000 * image.row_bytes());  // quick to compress
      TIFF* tiff = TIFFOpen(folder.file("a.tif").c_str(), mode);
      ASSERT_NE(tiff, nullptr);
      describe(tiff, {16, 1, PHOTOMETRIC_MINISBLACK, PLANARCONFIG_CONTIG, compression}, kSide,
               kSide);
      TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 2900);
      if (compression != COMPRESSION_NONE) TIFFSetField(tiff, TIFFTAG_PREDICTOR, 2);
      for (const auto& [strip, rows] : {std::pair{0, 2900}, {1, 100}}) {
        std::vector<uint8_t> bytes(image.row(strip * 2900), image.row(strip * 2900 + rows));
        ASSERT_GT(
            TIFFWriteEncodedStrip(tiff, uint32_t(strip), bytes.data(), tmsize_t(bytes.size())), 0);
      }
      TIFFClose(tiff);
      EXPECT_TRUE(same_pixels(read_image(folder.file("a.tif")), image)) << mode << compression;
      const auto reader = read_rows(folder.file("a.tif"));
      EXPECT_LT(reader->memory(), 14u << 20);  // what is compressed is read as a whole
      std::vector<uint8_t> rows(700 * image.row_bytes());
      for (const int32_t first : {0, 700, 2300, 10}) {
        reader->read(first, 700, rows.data());
        EXPECT_EQ(std::memcmp(rows.data(), image.row(first), rows.size()), 0) << first;
      }
    }
  }
}

TEST(Tiff, WrittenInBandsTheFileIsTheSame) {
  const Folder folder;
  for (const Component component : {Component::kU8, Component::kFloat}) {
    Image image = random_image({component, 4}, 700, 431);
    image.metadata.xmp = {'<', 'x', '>'};
    image.metadata.resolution = Resolution{3000, 3000, true};
    Image header;
    header.format = image.format;
    header.width = image.width;
    header.height = image.height;
    header.metadata = image.metadata;
    for (const int32_t count : {1, 50, 93, 431}) {
      OutputFile file(folder.file("bands.tif"));
      const auto writer = write_rows(file, FileKind::kTiff, header);
      for (int32_t y = 0; y < image.height; y += count) {
        writer->write(image.row(y), std::min(count, image.height - y));
      }
      EXPECT_TRUE(writer->finish().empty());
      file.commit();
      Image whole = random_image({component, 4}, 700, 431);
      whole.metadata = image.metadata;
      write_image(folder.file("whole.tif"), std::move(whole));
      EXPECT_EQ(file_bytes(folder.file("bands.tif")), file_bytes(folder.file("whole.tif")))
          << count;
    }
  }
}

TEST(Tiff, EveryArrangementReadsTheSame) {
  const Folder folder;
  for (const char* mode : {"wl", "wb", "w8"}) {
    for (const uint16_t planar : Tags{PLANARCONFIG_CONTIG, PLANARCONFIG_SEPARATE}) {
      for (const uint16_t tile : Tags{0, 16}) {
        for (const uint16_t compression : Tags{COMPRESSION_NONE, COMPRESSION_LZW}) {
          for (const Component component : {Component::kU8, Component::kU16}) {
            const Image image = random_image({component, 3}, 37, 21);
            const uint16_t bits = component == Component::kU8 ? 8 : 16;
            write_tiff_as(folder.file("a.tif"),
                          {bits, 3, PHOTOMETRIC_RGB, planar, compression, tile, mode}, image);
            EXPECT_TRUE(same_pixels(read_image(folder.file("a.tif")), image))
                << mode << ' ' << planar << ' ' << tile << ' ' << compression << ' ' << bits;
            expect_rows(folder.file("a.tif"), image);
          }
        }
      }
    }
  }
}

TEST(Tiff, WhiteIsZeroIsTurnedRound) {
  const Folder folder;
  const Image image = random_image({Component::kU16, 1}, 9, 5);
  write_tiff_as(folder.file("a.tif"), {16, 1, PHOTOMETRIC_MINISWHITE}, image);
  const Image got = read_image(folder.file("a.tif"));
  for (size_t i = 0; i < image.bytes(); ++i) ASSERT_EQ(got.pixels[i], 255 - image.pixels[i]);
  expect_rows(folder.file("a.tif"), got);
}

TEST(Tiff, PalettesAndFewBitsAreExpanded) {
  const Folder folder;
  Image packed = make_image({Component::kU8, 1}, 1, 1, "test");  // four 2-bit samples in a byte
  packed.pixels[0] = 0b00011011;
  uint16_t red[4] = {0, 65535, 257, 514}, green[4] = {1, 2, 3, 4}, blue[4] = {0, 0, 0, 32896};
  const auto four_columns = [&](TIFF* tiff) {
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 4);
    TIFFSetField(tiff, TIFFTAG_COLORMAP, red, green, blue);
  };
  write_tiff_as(folder.file("a.tif"), {2, 1, PHOTOMETRIC_PALETTE}, packed, four_columns);
  const Image palette = read_image(folder.file("a.tif"));
  EXPECT_EQ(palette.format, (PixelFormat{Component::kU8, 3}));
  const std::vector<uint8_t> got(palette.pixels.get(), palette.pixels.get() + palette.bytes());
  EXPECT_EQ(got, (std::vector<uint8_t>{0, 0, 0, 255, 0, 0, 1, 0, 0, 2, 0, 128}));

  write_tiff_as(folder.file("b.tif"), {2, 1, PHOTOMETRIC_MINISBLACK}, packed,
                [](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 4); });
  const Image grey = read_image(folder.file("b.tif"));
  const std::vector<uint8_t> levels(grey.pixels.get(), grey.pixels.get() + grey.bytes());
  EXPECT_EQ(levels, (std::vector<uint8_t>{0, 85, 170, 255}));
}

// As Pillow writes them.
TEST(Tiff, WhiteOfAPaletteWithEmptyLowBytesIsWhite) {
  const Folder folder;
  Image row = make_image({Component::kU8, 1}, 256, 1, "test");
  uint16_t levels[256];
  for (int32_t i = 0; i < 256; ++i) {
    row.pixels[i] = static_cast<uint8_t>(i);
    levels[i] = static_cast<uint16_t>(i << 8);
  }
  write_tiff_as(folder.file("a.tif"), {8, 1, PHOTOMETRIC_PALETTE}, row,
                [&](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_COLORMAP, levels, levels, levels); });
  const Image image = read_image(folder.file("a.tif"));
  for (int32_t i = 0; i < 256; ++i) ASSERT_EQ(image.pixels[3 * i], i);
}

TEST(Tiff, AssociatedAlphaStaysAssociated) {
  const Folder folder;
  Image image = random_image({Component::kU8, 4}, 5, 5);
  image.extra = Extra::kPremultiplied;
  write_image(folder.file("a.tif"), std::move(image));
  const Image got = read_image(folder.file("a.tif"));
  EXPECT_EQ(got.extra, Extra::kPremultiplied);
  EXPECT_TRUE(same_pixels(got, random_image({Component::kU8, 4}, 5, 5)));
}

// What the engine gets of it: colours as they would be with straight alpha.
TEST(Tiff, AssociatedAlphaIsDividedOut) {
  const Folder folder;
  Image image = make_image({Component::kU8, 4}, 2, 1, "test");
  const uint8_t pixels[] = {32, 64, 128, 128, 9, 8, 7, 0};
  std::memcpy(image.pixels.get(), pixels, sizeof pixels);
  image.extra = Extra::kPremultiplied;
  write_image(folder.file("a.tif"), std::move(image));
  ThreadPool pool(1);
  const Image got = read_perceptual(folder.file("a.tif"), pool);
  ASSERT_EQ(got.format, (PixelFormat{Component::kFloat, 4}));
  std::vector<float> values(8);
  std::memcpy(values.data(), got.pixels.get(), got.bytes());
  const float expected[] = {0.25f, 0.5f, 1, 128 / 255.0f, 9 / 255.0f, 8 / 255.0f, 7 / 255.0f, 0};
  for (size_t i = 0; i < values.size(); ++i) EXPECT_FLOAT_EQ(values[i], expected[i]) << i;
}

uint16_t extra_sample_of(const std::string& path) {
  uint16_t count = 0, *kinds = nullptr;
  TIFF* tiff = TIFFOpen(path.c_str(), "r");
  const bool found = TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &count, &kinds) != 0 && count == 1;
  const uint16_t kind = found ? kinds[0] : uint16_t{99};
  TIFFClose(tiff);
  return kind;
}

TEST(Tiff, WhatTheExtraSampleIsGoesThrough) {
  const Folder folder;
  for (const uint16_t kind :
       Tags{EXTRASAMPLE_UNSPECIFIED, EXTRASAMPLE_ASSOCALPHA, EXTRASAMPLE_UNASSALPHA}) {
    for (const uint16_t samples : Tags{2, 4}) {
      const TiffLayout layout{8, samples,
                              uint16_t(samples == 2 ? PHOTOMETRIC_MINISBLACK : PHOTOMETRIC_RGB)};
      const Image image = random_image({Component::kU8, samples}, 7, 5);
      write_tiff_as(folder.file("a.tif"), layout, image,
                    [&](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &kind); });
      write_image(folder.file("b.tif"), read_image(folder.file("a.tif")));
      EXPECT_EQ(extra_sample_of(folder.file("b.tif")), kind) << samples;
      EXPECT_TRUE(same_pixels(read_image(folder.file("b.tif")), image));
    }
  }
}

// Beyond the colours there may be near infrared, a mask, anything.
TEST(Tiff, AnUnspecifiedSampleHidesNothing) {
  const Folder folder;
  Image image = make_image({Component::kU8, 2}, 1, 1, "test");
  image.pixels[0] = 51;
  image.pixels[1] = 0;
  const uint16_t kind = EXTRASAMPLE_UNSPECIFIED;
  write_tiff_as(folder.file("a.tif"), {8, 2, PHOTOMETRIC_MINISBLACK}, image,
                [&](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &kind); });
  ThreadPool pool(1);
  const Image got = read_perceptual(folder.file("a.tif"), pool);
  ASSERT_EQ(got.format, (PixelFormat{Component::kFloat, 2}));
  float values[2];
  std::memcpy(values, got.pixels.get(), sizeof values);
  EXPECT_FLOAT_EQ(values[0], 0.2f);
  EXPECT_EQ(values[1], 1.0f);
  EXPECT_EQ(losses(FileKind::kPng, read_image(folder.file("a.tif")), "a.png").size(), 1u);
  EXPECT_TRUE(losses(FileKind::kTiff, read_image(folder.file("a.tif")), "a.tif").empty());
}

TEST(Tiff, MetadataGoesThrough) {
  const Folder folder;
  Image image = random_image({Component::kU16, 3}, 4, 4);
  image.metadata.icc_profile = {9, 8, 7, 6};
  image.metadata.xmp = {'<', 'x', '>'};
  image.metadata.orientation = 6;
  image.metadata.resolution = Resolution{300 / 0.0254, 150 / 0.0254, true};
  image.metadata.tiff_texts = {
      {TIFFTAG_PAGENAME, "slice 1"}, {TIFFTAG_MAKE, "Maker"}, {TIFFTAG_COPYRIGHT, "someone"}};
  const auto texts = image.metadata.tiff_texts;
  EXPECT_TRUE(write_image(folder.file("a.tif"), std::move(image)).empty());
  const Metadata kept = read_image(folder.file("a.tif")).metadata;
  EXPECT_EQ(kept.icc_profile, (std::vector<uint8_t>{9, 8, 7, 6}));
  EXPECT_EQ(kept.xmp, (std::vector<uint8_t>{'<', 'x', '>'}));
  EXPECT_EQ(kept.orientation, 6);
  EXPECT_NEAR(kept.resolution.value().x, 300 / 0.0254, 0.1);
  EXPECT_NEAR(kept.resolution.value().y, 150 / 0.0254, 0.1);
  EXPECT_EQ(kept.tiff_texts, texts);
}

// In EXIF, which has places for them; a note tells of the others.
TEST(Tiff, TextsGoIntoOtherFormats) {
  const Folder folder;
  const auto picture = [&](std::vector<std::pair<uint32_t, std::string>> texts) {
    Image image = random_image({Component::kU8, 3}, 4, 4);
    image.metadata.tiff_texts = std::move(texts);
    image.metadata.orientation = 6;
    write_image(folder.file("a.tif"), std::move(image));
    return read_image(folder.file("a.tif"));
  };
  for (const char* name : {"a.png", "a.jpg"}) {
    const FileKind kind = kind_of_output(name);
    EXPECT_TRUE(losses(kind, picture({{TIFFTAG_ARTIST, "Eva"}}), name).empty());
    EXPECT_EQ(losses(kind, picture({{TIFFTAG_PAGENAME, "one"}}), name).size(), 1u);
    write_image(folder.file(name), picture({{TIFFTAG_COPYRIGHT, "(c)"}, {TIFFTAG_ARTIST, "Eva"}}));
    const Metadata kept = read_image(folder.file(name)).metadata;
    EXPECT_EQ(kept.orientation, 6);
    const std::vector<ExifEntry> expected = {{0x0112, 3, 1, {6, 0}},
                                             {TIFFTAG_ARTIST, 2, 4, {'E', 'v', 'a', 0}},
                                             {TIFFTAG_COPYRIGHT, 2, 4, {'(', 'c', ')', 0}}};
    EXPECT_EQ(parse_exif(kept.exif).picture, expected) << name;
  }
  EXPECT_EQ(losses(FileKind::kPpm, picture({{TIFFTAG_ARTIST, "Eva"}}), "a.ppm").size(), 2u);
}

constexpr int kNone = -1;

// Two pages, the larger one first; one of them may say that it is the other's small copy.
void write_pages(const std::string& path, int thumbnail, int32_t first = 8, int32_t second = 4) {
  TIFF* tiff = TIFFOpen(path.c_str(), "w");
  ASSERT_NE(tiff, nullptr);
  for (int page = 0; page < 2; ++page) {
    const int32_t side = page == 0 ? first : second;
    const Image image = random_image({Component::kU8, 3}, side, side);
    describe(tiff, {}, image.width, image.height);
    if (page == thumbnail) TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
    write_samples(tiff, {}, image);
    TIFFWriteDirectory(tiff);
  }
  TIFFClose(tiff);
}

TEST(Tiff, BlocksOfOtherProgramsGoThrough) {
  const Folder folder;
  const std::string iptc(
      "\x1c\x02\x50\x00\x03"
      "Eva",
      8),
      photoshop("8BIM\x04\x04", 7);
  const auto prepare = [&](TIFF* tiff) {
    std::vector<uint32_t> words(2);
    std::memcpy(words.data(), iptc.data(), 8);
    // Older libtiffs take the bytes for numbers.
    const TIFFField* field = TIFFFindField(tiff, TIFFTAG_RICHTIFFIPTC, TIFF_ANY);
    const uint32_t unit = static_cast<uint32_t>(TIFFDataWidth(TIFFFieldDataType(field)));
    if (unit == 4 && TIFFIsByteSwapped(tiff) != 0) TIFFSwabArrayOfLong(words.data(), 2);
    TIFFSetField(tiff, TIFFTAG_RICHTIFFIPTC, 8 / unit, words.data());
    TIFFSetField(tiff, TIFFTAG_PHOTOSHOP, 7u, photoshop.data());
  };
  for (const char* mode : {"wl", "wb"}) {
    TiffLayout layout;
    layout.mode = mode;
    write_tiff_as(folder.file("a.tif"), layout, random_image({Component::kU8, 3}, 4, 4), prepare);
    Image image = read_image(folder.file("a.tif"));
    EXPECT_EQ(losses(FileKind::kPng, image, "x.png").size(), 1u);
    write_image(folder.file("b.tif"), std::move(image));
    const std::vector<TiffBlock> blocks = read_image(folder.file("b.tif")).metadata.tiff_blocks;
    ASSERT_EQ(blocks.size(), 2u);
    EXPECT_EQ(std::string(blocks[0].bytes.begin(), blocks[0].bytes.end()), iptc) << mode;
    EXPECT_EQ(std::string(blocks[1].bytes.begin(), blocks[1].bytes.end()), photoshop) << mode;
  }
}

// A GeoTIFF's pixels lie somewhere on Earth; GDAL says which value means none.
TEST(Tiff, ThePlaceOnAMapGoesThrough) {
  const Folder folder;
  const std::vector<double> scale = {0.5, 0.5, 0}, tie = {0, 0, 0, 440720.25, 3751320, 0};
  const std::vector<uint16_t> keys = {1, 1, 0, 1, 1024, 0, 1, 1};
  const std::string nodata("-9999", 6);
  const auto prepare = [&](TIFF* tiff) {
    const auto field = [](uint32_t tag, TIFFDataType type, const char* name) {
      return TIFFFieldInfo{tag, TIFF_VARIABLE2,         TIFF_VARIABLE2, type, FIELD_CUSTOM, 1,
                           1,   const_cast<char*>(name)};
    };
    const TIFFFieldInfo fields[] = {field(33550, TIFF_DOUBLE, "a"), field(33922, TIFF_DOUBLE, "b"),
                                    field(34735, TIFF_SHORT, "c"), field(42113, TIFF_ASCII, "d"),
                                    field(34264, TIFF_LONG, "e")};
    TIFFMergeFieldInfo(tiff, fields, 5);
    TIFFSetField(tiff, 33550, 3u, scale.data());
    TIFFSetField(tiff, 33922, 6u, tie.data());
    TIFFSetField(tiff, 34735, 8u, keys.data());
    TIFFSetField(tiff, 42113, 6u, nodata.data());
    const uint32_t wrong[] = {1, 2};  // a transformation is made of floating point numbers
    TIFFSetField(tiff, 34264, 2u, wrong);
  };
  const auto bytes_of = [](const auto& values) {
    const auto* data = reinterpret_cast<const uint8_t*>(values.data());
    return std::vector<uint8_t>(data, data + values.size() * sizeof values[0]);
  };
  const std::vector<TiffBlock> expected = {{33550, 3, bytes_of(scale)},
                                           {33922, 6, bytes_of(tie)},
                                           {34735, 8, bytes_of(keys)},
                                           {42113, 6, bytes_of(nodata)}};
  for (const char* mode : {"wl", "wb"}) {
    TiffLayout layout;
    layout.mode = mode;
    write_tiff_as(folder.file("a.tif"), layout, random_image({Component::kU8, 3}, 4, 4), prepare);
    std::vector<Image> pages;
    for (int i = 0; i < 2; ++i) pages.push_back(read_image(folder.file("a.tif")));
    EXPECT_EQ(losses(FileKind::kPng, pages[0], "x.png").size(), 1u);
    EXPECT_TRUE(losses(FileKind::kTiff, pages[0], "x.tif").empty());
    EXPECT_TRUE(write_layers(folder.file("b.tif"), pages).empty());
    for (const Image& page : read_layers(folder.file("b.tif"))) {
      EXPECT_EQ(page.metadata.tiff_map_tags, expected) << mode;
    }
  }
}

TEST(Tiff, CameraDataGoesThrough) {
  const Folder folder;
  const Exif exif{{{0x010f, 2, 6, {'M', 'a', 'k', 'e', 'r', 0}}, {0x0112, 3, 1, {6, 0}}},
                  {{0x829a, 5, 1, {1, 0, 0, 0, 100, 0, 0, 0}},
                   {0x8827, 3, 1, {0x80, 0x0c}},
                   {0x927c, 7, 7, {'o', 'w', 'n', ' ', 1, 2, 3}}},
                  {{0x0001, 2, 2, {'N', 0}}}};
  Image image = random_image({Component::kU8, 3}, 5, 3);
  image.metadata.exif = exif_structure(exif);
  image.metadata.orientation = 6;
  EXPECT_TRUE(losses(FileKind::kTiff, image, "x.tif").empty());
  EXPECT_TRUE(write_image(folder.file("a.tif"), std::move(image)).empty());
  Image kept = read_image(folder.file("a.tif"));
  EXPECT_TRUE(kept.notes.empty());
  EXPECT_TRUE(same_pixels(kept, random_image({Component::kU8, 3}, 5, 3)));
  EXPECT_EQ(kept.metadata.exif, exif_structure(exif));
  ASSERT_EQ(kept.metadata.tiff_texts.size(), 1u);
  EXPECT_EQ(kept.metadata.tiff_texts[0].second, "Maker");
  write_image(folder.file("b.png"), std::move(kept));  // and from there into a PNG
  EXPECT_EQ(read_image(folder.file("b.png")).metadata.exif, exif_structure(exif));
  // libtiff reads what was written beside it.
  TIFF* tiff = TIFFOpen(folder.file("a.tif").c_str(), "r");
  ASSERT_NE(tiff, nullptr);
  toff_t at = 0;
  ASSERT_EQ(TIFFGetField(tiff, TIFFTAG_EXIFIFD, &at), 1);
  ASSERT_EQ(TIFFReadEXIFDirectory(tiff, at), 1);
  float seconds = 0;
  EXPECT_EQ(TIFFGetField(tiff, EXIFTAG_EXPOSURETIME, &seconds), 1);
  EXPECT_FLOAT_EQ(seconds, 0.01f);
  TIFFClose(tiff);
}

TEST(Tiff, CameraDataOfBigTiffIsRead) {
  Exif exif;
  exif.camera = {{0x829a, 5, 1, {1, 0, 0, 0, 250, 0, 0, 0}},             // exposure: fits the entry
                 {0x927c, 7, 11, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}};  // a maker's note: does not
  exif.place = {{0x0000, 1, 4, {2, 3, 0, 0}}};
  std::vector<uint8_t> file = {'I', 'I', 43, 0, 8, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0};
  std::vector<ExifEntry> first = {{0x8769, 16, 1, std::vector<uint8_t>(8)},
                                  {0x8825, 18, 1, std::vector<uint8_t>(8)}};
  const size_t camera = 16 + exif_directory(first, 16, TiffKind::kBig).size();
  const auto camera_bytes = exif_directory(exif.camera, camera, TiffKind::kBig);
  const size_t place = camera + camera_bytes.size();
  first[0].bytes[0] = static_cast<uint8_t>(camera);
  first[1].bytes[0] = static_cast<uint8_t>(place);
  ASSERT_LT(place, 256u);
  for (const auto& part : {exif_directory(first, 16, TiffKind::kBig), camera_bytes,
                           exif_directory(exif.place, place, TiffKind::kBig)}) {
    file.insert(file.end(), part.begin(), part.end());
  }
  const Exif got = parse_exif(file);
  EXPECT_EQ(got.camera, exif.camera);
  EXPECT_EQ(got.place, exif.place);
  for (size_t length = 0; length < camera; ++length) {  // sanitizers look on
    EXPECT_TRUE(parse_exif(std::span(file).first(length)).camera.empty()) << length;
  }
}

TEST(Tiff, ALibraryWarningIsSaidOnce) {
  const Folder folder;
  write_tiff_as(folder.file("a.tif"), {}, random_image({Component::kU8, 3}, 4, 4),
                [](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_RESOLUTIONUNIT, RESUNIT_INCH); });
  std::vector<uint8_t> bytes = file_bytes(folder.file("a.tif"));
  const std::vector<uint8_t> entry = {0x28, 0x01, 3, 0, 1, 0, 0, 0};  // the unit: one SHORT
  const auto found = std::search(bytes.begin(), bytes.end(), entry.begin(), entry.end());
  ASSERT_NE(found, bytes.end());
  found[2] = 2;  // now text
  write_bytes(folder.file("a.tif"), bytes);
  EXPECT_EQ(read_image(folder.file("a.tif")).notes.size(), 1u);
}

TEST(Tiff, SeveralPagesAreRefusedButThumbnailsAreNot) {
  const Folder folder;
  write_pages(folder.file("a.tif"), kNone);
  EXPECT_NE(refusal([&] { read_image(folder.file("a.tif")); }).find("2 pages"), std::string::npos);
  write_pages(folder.file("b.tif"), 1);
  EXPECT_TRUE(
      same_pixels(read_image(folder.file("b.tif")), random_image({Component::kU8, 3}, 8, 8)));
}

TEST(Tiff, TheCopyBeforeThePictureIsNotThePicture) {
  const Folder folder;
  write_pages(folder.file("a.tif"), 0, 4, 8);
  const Image image = random_image({Component::kU8, 3}, 8, 8);
  EXPECT_TRUE(same_pixels(read_image(folder.file("a.tif")), image));
  expect_rows(folder.file("a.tif"), image);
  EXPECT_EQ(read_layers(folder.file("a.tif")).size(), 1u);
}

TEST(Tiff, CopiesOfRawFilesAreNotThePicture) {
  const Folder folder;
  const Image copy = random_image({Component::kU8, 3}, 4, 4);
  TIFF* tiff = TIFFOpen(folder.file("a.tif").c_str(), "w");
  ASSERT_NE(tiff, nullptr);
  describe(tiff, {}, copy.width, copy.height);
  TIFFSetField(tiff, TIFFTAG_SUBFILETYPE, FILETYPE_REDUCEDIMAGE);
  const uint64_t place = 0;
  TIFFSetField(tiff, TIFFTAG_SUBIFD, 1, &place);
  write_samples(tiff, {}, copy);
  TIFFWriteDirectory(tiff);
  const Image image = random_image({Component::kU8, 3}, 8, 8);
  describe(tiff, {}, image.width, image.height);
  write_samples(tiff, {}, image);
  TIFFClose(tiff);
  EXPECT_NE(refusal([&] { read_image(folder.file("a.tif")); }).find("raw files"),
            std::string::npos);
  EXPECT_NE(refusal([&] { read_layers(folder.file("a.tif")); }).find("only small copies"),
            std::string::npos);
}

// The offset of the second page's directory stands behind the first page's entries.
void lose_second_page(const std::string& path) {
  std::vector<uint8_t> bytes = file_bytes(path);
  const auto at = [&](size_t place, size_t count) {
    size_t value = 0;
    for (size_t i = count; i-- > 0;) value = value << 8 | bytes[place + i];
    return value;
  };
  const size_t directory = at(4, 4);
  const size_t link = directory + 2 + 12 * at(directory, 2);
  ASSERT_NE(at(link, 4), 0u);
  for (size_t i = 0; i < 4; ++i) bytes[link + i] = i == 3 ? 0x7f : 0xf0;
  write_bytes(path, bytes);
}

TEST(Tiff, LostPagesAreMissed) {
  const Folder folder;
  write_pages(folder.file("a.tif"), kNone);
  lose_second_page(folder.file("a.tif"));
  const Image first = read_image(folder.file("a.tif"));
  EXPECT_TRUE(same_pixels(first, random_image({Component::kU8, 3}, 8, 8)));
  EXPECT_EQ(first.notes.size(), 1u);
  EXPECT_NE(refusal([&] { read_layers(folder.file("a.tif")); }).find("only 1 of its pages"),
            std::string::npos);
}

TEST(Tiff, LayersArePagesAndComeBack) {
  const Folder folder;
  for (const PixelFormat format :
       {PixelFormat{Component::kU8, 3}, PixelFormat{Component::kFloat, 1},
        PixelFormat{Component::kU16, 2}}) {
    std::vector<Image> layers;
    for (uint32_t z = 0; z < 5; ++z) layers.push_back(random_image(format, 23, 17, z));
    EXPECT_TRUE(write_layers(folder.file("a.tif"), layers).empty());
    const std::vector<Image> kept = read_layers(folder.file("a.tif"));
    ASSERT_EQ(kept.size(), layers.size());
    for (size_t z = 0; z < kept.size(); ++z) EXPECT_TRUE(same_pixels(kept[z], layers[z])) << z;
  }
  write_pages(folder.file("b.tif"), 1);
  EXPECT_EQ(read_layers(folder.file("b.tif")).size(), 1u);
  EXPECT_NE(refusal([&] { write_layers(folder.file("a.png"), {}); }).find(".tif"),
            std::string::npos);
}

TEST(Tiff, UnsupportedKindsAreNamed) {
  const Folder folder;
  const auto message = [&](const TiffLayout& layout, PixelFormat format, uint16_t sample_format) {
    write_tiff_as(folder.file("a.tif"), layout, random_image(format, 4, 4),
                  [&](TIFF* tiff) { TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, sample_format); });
    return refusal([&] { read_image(folder.file("a.tif")); });
  };
  EXPECT_NE(message({32, 1, PHOTOMETRIC_MINISBLACK}, {Component::kFloat, 1}, SAMPLEFORMAT_UINT)
                .find("32 bits (integer)"),
            std::string::npos);
  EXPECT_NE(message({16, 1, PHOTOMETRIC_MINISBLACK}, {Component::kU16, 1}, SAMPLEFORMAT_INT)
                .find("signed"),
            std::string::npos);
  EXPECT_NE(message({8, 4, PHOTOMETRIC_SEPARATED}, {Component::kU8, 4}, SAMPLEFORMAT_UINT)
                .find("holds CMYK colours"),
            std::string::npos);
  EXPECT_NE(message({8, 3, PHOTOMETRIC_MINISBLACK}, {Component::kU8, 3}, SAMPLEFORMAT_UINT)
                .find("3 samples"),
            std::string::npos);
}

TEST(Tiff, AbsurdDimensionsAreRefused) {
  const Folder folder;
  write_tiff_as(folder.file("a.tif"), {}, random_image({Component::kU8, 3}, 4, 4), [](TIFF* tiff) {
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 70000);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 70000);
  });
  EXPECT_NE(refusal([&] { read_image(folder.file("a.tif")); }).find("2^31"), std::string::npos);
}

}  // namespace
}  // namespace grainless::tools
