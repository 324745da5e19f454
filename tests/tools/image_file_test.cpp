// SPDX-License-Identifier: MIT
#include "tools/image_io/image_file.h"

#include "tool_testing.h"

namespace grainless::tools {
namespace {

struct Case {
  const char* extension;
  PixelFormat format;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.extension << " component " << int(c.format.component) << " channels "
       << c.format.channels;
}

std::vector<Case> exact_cases() {
  std::vector<Case> cases;
  for (const Component component : {Component::kU8, Component::kU16}) {
    for (int32_t channels = 1; channels <= 4; ++channels) {
      cases.push_back({"pam", {component, channels}});
      if (GRAINLESS_HAVE_PNG) cases.push_back({"png", {component, channels}});
      if (GRAINLESS_HAVE_TIFF) cases.push_back({"tif", {component, channels}});
    }
    cases.push_back({"pgm", {component, 1}});
    cases.push_back({"ppm", {component, 3}});
    cases.push_back({"pnm", {component, 3}});
  }
  cases.push_back({"pfm", {Component::kFloat, 1}});
  cases.push_back({"pfm", {Component::kFloat, 3}});
  for (const Component component : {Component::kHalf, Component::kFloat}) {
    for (int32_t channels = 1; GRAINLESS_HAVE_TIFF && channels <= 4; ++channels) {
      cases.push_back({"TIFF", {component, channels}});
    }
  }
  return cases;
}

class RoundTrip : public testing::TestWithParam<Case> {};

TEST_P(RoundTrip, KeepsEveryBit) {
  const Folder folder;
  for (const auto& [width, height] : {std::pair{1, 1}, {7, 5}, {300, 230}}) {
    const std::string path = folder.file(std::string("image.") + GetParam().extension);
    const Image image = random_image(GetParam().format, width, height);
    const auto notes = write_image(path, random_image(GetParam().format, width, height));
    EXPECT_TRUE(notes.empty());
    EXPECT_TRUE(same_pixels(read_image(path), image)) << width << " x " << height;
  }
  EXPECT_EQ(folder.entries(), 1u);
}

INSTANTIATE_TEST_SUITE_P(ImageFile, RoundTrip, testing::ValuesIn(exact_cases()));

TEST(ImageFile, SixteenBitsSurviveFloat) {
  Image image = make_image({Component::kU16, 1}, 256, 256, "test");
  for (int32_t i = 0; i < 65536; ++i) {
    const uint16_t value = static_cast<uint16_t>(i);
    std::memcpy(image.pixels.get() + 2 * i, &value, 2);
  }
  const Image real = convert(image, Component::kFloat, "test");
  EXPECT_TRUE(same_pixels(convert(real, Component::kU16, "test"), image));
}

TEST(ImageFile, FloatsAreClippedAndRoundedIntoIntegers) {
  Image image = make_image({Component::kFloat, 1}, 6, 1, "test");
  const float values[] = {-1.0f, 0.0f, 0.5f, 1.0f, 7.0f, std::nanf("")};
  std::memcpy(image.pixels.get(), values, sizeof values);
  const Image bytes = convert(image, Component::kU8, "test");
  const std::vector<uint8_t> got(bytes.pixels.get(), bytes.pixels.get() + 6);
  EXPECT_EQ(got, (std::vector<uint8_t>{0, 0, 128, 255, 255, 0}));
}

TEST(ImageFile, PfmOfEitherByteOrder) {
  const Folder folder;
  const std::string header_little = "Pf\n1 2\n-1.0\n", header_big = "Pf\n1 2\n1.0\n";
  std::vector<uint8_t> little(header_little.begin(), header_little.end());
  std::vector<uint8_t> big(header_big.begin(), header_big.end());
  little.insert(little.end(), {0, 0, 0, 0x3f, 0, 0, 0x80, 0x3f});  // 0.5 below, then 1.0 above
  big.insert(big.end(), {0x3f, 0, 0, 0, 0x3f, 0x80, 0, 0});
  write_bytes(folder.file("little.pfm"), little);
  write_bytes(folder.file("big.pfm"), big);
  const float expected[] = {1.0f, 0.5f};
  for (const char* name : {"little.pfm", "big.pfm"}) {
    const Image image = read_image(folder.file(name));
    ASSERT_EQ(image.bytes(), sizeof expected);
    EXPECT_EQ(std::memcmp(image.pixels.get(), expected, sizeof expected), 0) << name;
  }
}

TEST(ImageFile, OfAStreamOfPicturesNoneIsTakenForAll) {
  const Folder folder;
  const std::string pgm = "P5 1 1 255\nA", pfm = std::string("Pf\n1 1\n-1.0\n\0\0\x80\x3f", 16);
  for (const std::string& one : {pgm, pfm}) {
    write_text(folder.file("a.pnm"), one + "\n");
    EXPECT_EQ(read_image(folder.file("a.pnm")).width, 1);
    write_text(folder.file("a.pnm"), one + one);
    EXPECT_NE(refusal([&] { read_image(folder.file("a.pnm")); }).find("more than one picture"),
              std::string::npos);
  }
}

TEST(ImageFile, PlainPnmWithCommentsAndOddMaxval) {
  const Folder folder;
  write_text(folder.file("a.pgm"), "P2 # grey\n# two by two\n2 2\n10\n0 5 # half\n10 1\n");
  const Image grey = read_image(folder.file("a.pgm"));
  EXPECT_EQ(grey.format, (PixelFormat{Component::kU8, 1}));
  const std::vector<uint8_t> got(grey.pixels.get(), grey.pixels.get() + 4);
  EXPECT_EQ(got, (std::vector<uint8_t>{0, 128, 255, 26}));

  write_text(folder.file("b.ppm"), "P3\n1 1\n1023\n0 1023 512\n");
  const Image colour = read_image(folder.file("b.ppm"));
  EXPECT_EQ(colour.format, (PixelFormat{Component::kU16, 3}));
  uint16_t samples[3];
  std::memcpy(samples, colour.pixels.get(), sizeof samples);
  EXPECT_EQ(samples[0], 0);
  EXPECT_EQ(samples[1], 65535);
  EXPECT_EQ(samples[2], 32800);  // 512 / 1023 of 65535
}

TEST(ImageFile, RawPnmHasItsMostSignificantByteFirst) {
  const Folder folder;
  for (const auto& [maxval, expected] :
       {std::pair{"65535", 258}, {"65534", 258}, {"1000", 16908}}) {
    write_text(folder.file("a.pgm"), std::string("P5 1 1 ") + maxval + "\n\1\2");
    const Image image = read_image(folder.file("a.pgm"));
    ASSERT_EQ(image.format, (PixelFormat{Component::kU16, 1}));
    uint16_t sample = 0;
    std::memcpy(&sample, image.pixels.get(), sizeof sample);
    EXPECT_EQ(sample, expected) << maxval;
  }
  write_text(folder.file("b.pgm"), "P5 2 1 255\n\1\2");
  const Image image = read_image(folder.file("b.pgm"));
  EXPECT_EQ(image.pixels[0], 1);
  EXPECT_EQ(image.pixels[1], 2);
}

TEST(ImageFile, AHeaderWithLinesOfWindowsIsNoSample) {
  const Folder folder;
  const auto first = [&](const std::string& content) {
    write_text(folder.file("a.pgm"), content);
    return read_image(folder.file("a.pgm")).pixels[0];
  };
  EXPECT_EQ(first("P5\r\n3 1\r\n255\r\nabc"), 'a');
  EXPECT_EQ(first("P5\n3 1\n255\r\nbc"), '\n');   // the one blank is a return
  EXPECT_EQ(first("P5\n3 1\n255\n\nbcd"), '\n');  // and what follows is no matter
  EXPECT_EQ(first("P5\n3 1\n255\r\nbcde"), '\n');
  write_text(folder.file("a.pfm"), std::string("Pf\r\n1 1\r\n-1.0\r\n\0\0\x80\x3f", 19));
  const Image image = read_image(folder.file("a.pfm"));
  float value = 0;
  std::memcpy(&value, image.pixels.get(), sizeof value);
  EXPECT_EQ(value, 1.0f);
}

TEST(ImageFile, InputsAreKnownByContent) {
  const Folder folder;
  write_image(folder.file("a.ppm"), random_image({Component::kU8, 3}, 3, 2));
  std::filesystem::rename(folder.file("a.ppm"), folder.file("a.png"));
  EXPECT_TRUE(
      same_pixels(read_image(folder.file("a.png")), random_image({Component::kU8, 3}, 3, 2)));
}

TEST(ImageFile, RefusesWhatWouldBeLost) {
  const PixelFormat rgba{Component::kU8, 4}, rgb{Component::kU8, 3}, grey{Component::kU8, 1};
  EXPECT_NE(refusal([&] { component_for(FileKind::kPpm, rgba, "x.ppm"); }).find("transparency"),
            std::string::npos);
  EXPECT_NE(refusal([&] { component_for(FileKind::kPfm, rgba, "x.pfm"); }).find("transparency"),
            std::string::npos);
  EXPECT_NE(refusal([&] { component_for(FileKind::kPgm, rgb, "x.pgm"); }).find("colour"),
            std::string::npos);
  EXPECT_NE(refusal([&] { component_for(FileKind::kPpm, grey, "x.ppm"); }).find("grey"),
            std::string::npos);
  EXPECT_EQ(component_for(FileKind::kPng, {Component::kHalf, 4}, "x.png"), Component::kU16);
  EXPECT_EQ(component_for(FileKind::kTiff, {Component::kHalf, 4}, "x.tif"), Component::kHalf);
}

TEST(ImageFile, SaysWhatTheFormatCanNotHold) {
  Image image = random_image({Component::kFloat, 3}, 2, 2);
  image.metadata.icc_profile = {1, 2, 3};
  EXPECT_TRUE(losses(FileKind::kTiff, image, "x.tif").empty());
  EXPECT_EQ(losses(FileKind::kPng, image, "x.png").size(), 1u);  // floats
  EXPECT_EQ(losses(FileKind::kPpm, image, "x.ppm").size(), 2u);  // floats, profile
}

TEST(ImageFile, RefusesAbsurdHeadersBeforeTakingMemory) {
  const Folder folder;
  const auto message = [&](const std::string& text) {
    write_text(folder.file("x.pgm"), text);
    return refusal([&] { read_image(folder.file("x.pgm")); });
  };
  EXPECT_NE(message("P5 0 5 255\n").find("no pixel"), std::string::npos);
  EXPECT_NE(message("P5 -4 5 255\n").find("no pixel"), std::string::npos);
  EXPECT_NE(message("P5 65536 65536 255\n").find("2^31"), std::string::npos);
  EXPECT_NE(message("P5 99999999999 1 255\n").find("2^31"), std::string::npos);
  EXPECT_NE(message("P5 99999999999999999999 1 255\n").find("damaged"), std::string::npos);
  EXPECT_NE(message("P5 20000 20000 255\nabc").find("truncated"), std::string::npos);
  EXPECT_NE(message("P5 2 2 0\nabcd").find("damaged"), std::string::npos);
  EXPECT_NE(message("P5 2 2 65536\nabcdabcd").find("damaged"), std::string::npos);
  EXPECT_NE(message("P2 2 2 9\n1 2 3 10\n").find("damaged"), std::string::npos);
  EXPECT_NE(message("P2 2 2 9\n1 2 x 1\n").find("damaged"), std::string::npos);
  EXPECT_NE(message("P4 2 2\nab").find("bitmap"), std::string::npos);
  EXPECT_NE(message("Pf 2 2 0\nabcdabcdabcdabcd").find("scale"), std::string::npos);
  EXPECT_NE(message("P5 1 1 255\naP5 1 1 255\na").find("more than one"), std::string::npos);
  EXPECT_NE(message("GIF89a").find("none of"), std::string::npos);
  EXPECT_NE(message("").find("empty"), std::string::npos);
}

TEST(ImageFile, RefusesWhatIsNoFile) {
  const Folder folder;
  EXPECT_NE(refusal([&] { read_image(folder.file("gone.png")); }).find("No such file"),
            std::string::npos);
  EXPECT_NE(refusal([&] { read_image(folder.path().string()); }).find("folder"), std::string::npos);
  EXPECT_NE(refusal([&] { read_image(test::kDevice); }).find("regular"), std::string::npos);
  EXPECT_NE(refusal([&] { kind_of_output("x.webp"); }).find("extension"), std::string::npos);
}

// A file cut anywhere is refused with a sentence, or was whole already but for bytes that no pixel
// needs; it never crashes and never gives other pixels.
TEST_P(RoundTrip, CutAnywhereIsRefused) {
  const Folder folder;
  const std::string whole = folder.file(std::string("whole.") + GetParam().extension);
  const Image image = random_image(GetParam().format, 9, 6);
  write_image(whole, random_image(GetParam().format, 9, 6));
  const std::vector<uint8_t> bytes = file_bytes(whole);
  const std::string cut = folder.file("cut");
  size_t refused = 0;
  for (size_t length = 0; length < bytes.size(); ++length) {
    write_bytes(cut, {bytes.begin(), bytes.begin() + ptrdiff_t(length)});
    try {
      EXPECT_TRUE(same_pixels(read_image(cut), image)) << "cut at " << length;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      ++refused;
    }
  }
  EXPECT_GE(refused, bytes.size() - 16);
}

// Damage anywhere ends in a picture or a sentence.
TEST_P(RoundTrip, DamageAnywhereIsSurvived) {
  const Folder folder;
  const std::string path = folder.file(std::string("image.") + GetParam().extension);
  write_image(path, random_image(GetParam().format, 9, 6));
  const std::vector<uint8_t> bytes = file_bytes(path);
  std::mt19937 random(7);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::vector<uint8_t> damaged = bytes;
    damaged[at] = static_cast<uint8_t>(random());
    write_bytes(path, damaged);
    try {
      EXPECT_GT(read_image(path).bytes(), 0u);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput) << error.what();
    }
  }
}

}  // namespace
}  // namespace grainless::tools
