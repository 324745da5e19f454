// SPDX-License-Identifier: MIT
// Pixels for the dialog's screen: what babl would make of them, whichever way is taken.
#include "plugin/preview_conversion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace grainless {
namespace {

class BablRuns : public testing::Environment {
 public:
  void SetUp() override {
    // As the plug-in has babl choose (plugin/main.cpp).
    setenv("BABL_PATH_LENGTH", "1", 1);
    setenv("BABL_TOLERANCE", "0", 1);
    babl_init();
  }
  void TearDown() override { babl_exit(); }
};
const testing::Environment* const kBabl = testing::AddGlobalTestEnvironment(new BablRuns);

class PreviewConversions : public testing::TestWithParam<const char*> {};

uint32_t multiplied(uint32_t value, uint32_t alpha) {
  return (value * alpha + 127) / 255;
}

std::vector<uint32_t> by_babl(const Encoding& encoding, const Babl* format, const void* pixels,
                              int32_t count) {
  const int channels = babl_format_get_n_components(encoding.preview);
  std::vector<uint8_t> values(static_cast<size_t>(count) * channels);
  babl_process(babl_fish(format, encoding.preview), pixels, values.data(), count);
  std::vector<uint32_t> preview;
  for (int32_t i = 0; i < count; ++i) {
    const uint8_t* value = values.data() + static_cast<size_t>(i) * channels;
    const uint32_t alpha = value[channels - 1];
    uint32_t packed = alpha << 8;
    for (int c = 0; c < 3; ++c) {
      packed = (packed | multiplied(value[channels > 2 ? c : 0], alpha)) << (c < 2 ? 8 : 0);
    }
    preview.push_back(packed);
  }
  return preview;
}

// Values of any bits but floats, which lie between 0 and 1 and a little beyond.
std::vector<uint8_t> random_pixels(const Babl* format, int32_t count) {
  std::mt19937 random(7);
  const size_t bytes = static_cast<size_t>(count) * babl_format_get_bytes_per_pixel(format);
  std::vector<uint8_t> pixels(bytes);
  if (babl_format_get_type(format, 0) != babl_type("float")) {
    for (uint8_t& byte : pixels) byte = static_cast<uint8_t>(random());
    return pixels;
  }
  std::uniform_real_distribution<float> values(-0.1f, 1.1f);
  auto* floats = reinterpret_cast<float*>(pixels.data());
  std::generate_n(floats, bytes / sizeof(float), [&] { return values(random); });
  return pixels;
}

TEST_P(PreviewConversions, GiveWhatBablGives) {
  constexpr int32_t kCount = 50000;
  const Babl* native = babl_format(GetParam());
  const Encoding encoding = encoding_for(native);
  for (const Babl* format : {native, encoding.engine}) {
    const std::vector<uint8_t> pixels = random_pixels(format, kCount);
    std::vector<uint32_t> preview(kCount);
    PreviewConversion(encoding, format).convert(pixels.data(), preview.data(), kCount);
    const std::vector<uint32_t> expected = by_babl(encoding, format, pixels.data(), kCount);
    for (int32_t i = 0; i < kCount; ++i) ASSERT_EQ(preview[i], expected[i]) << "pixel " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, PreviewConversions,
    testing::Values("R'G'B' u8", "R'G'B'A u8", "Y' u8", "Y'A u8", "RGB u8", "YA u8", "R'G'B' u16",
                    "R'G'B'A u16", "Y' u16", "Y'A u16", "RGB u16", "RGBA u16", "Y u16", "YA u16",
                    "R'G'B' float", "RGBA float", "Y half"),
    [](const auto& info) {
      std::string name = info.param;
      std::erase_if(name, [](char c) { return c == '\''; });
      std::replace(name.begin(), name.end(), ' ', '_');
      return name + (std::string(info.param).find('\'') != std::string::npos ? "" : "_linear");
    });

// 16-bit values are looked up, so each of them once, in every channel.
TEST(PreviewConversionTables, KnowEachValueOf16Bits) {
  const Encoding encoding = encoding_for(babl_format("R'G'B'A u16"));
  constexpr int32_t kCount = 1 << 16;
  std::vector<uint16_t> pixels;
  for (int32_t i = 0; i < kCount; ++i) {
    for (const int32_t value : {i, kCount - 1 - i, i * 7, kCount - 1}) {
      pixels.push_back(static_cast<uint16_t>(value));
    }
  }
  std::vector<uint32_t> preview(kCount);
  PreviewConversion(encoding, encoding.native).convert(pixels.data(), preview.data(), kCount);
  EXPECT_EQ(preview, by_babl(encoding, encoding.native, pixels.data(), kCount));
}

}  // namespace
}  // namespace grainless
