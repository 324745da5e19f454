// SPDX-License-Identifier: MIT
// A picture that passes in bands has the bits of one that is denoised at once.
#include "tools/cli/band_denoiser.h"

#include <cmath>

#include "tool_testing.h"

namespace grainless::tools {
namespace {

Image without_pixels(const Image& image) {
  Image header;
  header.format = image.format;
  header.width = image.width;
  header.height = image.height;
  header.extra = image.extra;
  return header;
}

class MemoryReader final : public RowReader {
 public:
  explicit MemoryReader(const Image& image) : image_(image), picture_(without_pixels(image)) {}
  const Image& picture() const override { return picture_; }
  uint64_t memory() const override { return 0; }
  void read(int32_t first, int32_t count, uint8_t* to) override {
    ASSERT_TRUE(first >= 0 && first + count <= image_.height);
    std::memcpy(to, image_.row(first), size_t(count) * image_.row_bytes());
    rows += count;
  }
  std::vector<std::string> take_notes() override { return {}; }
  int64_t rows = 0;  // that were read

 private:
  const Image& image_;
  Image picture_;
};

class MemoryWriter final : public RowWriter {
 public:
  explicit MemoryWriter(Image& image) : image_(image) {}
  void write(const uint8_t* rows, int32_t count) override {
    ASSERT_LE(written_ + count, image_.height);
    std::memcpy(image_.row(written_), rows, size_t(count) * image_.row_bytes());
    written_ += count;
  }
  std::vector<std::string> finish() override {
    EXPECT_EQ(written_, image_.height);
    return {};
  }

 private:
  Image& image_;
  int32_t written_ = 0;
};

// Soft shapes and noise; floats with a few that are not finite.
Image noisy_image(PixelFormat format, int32_t width, int32_t height) {
  Image image = make_image(format, width, height, "test");
  std::mt19937 random(7);
  std::normal_distribution<float> noise(0, 10);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      uint8_t* pixel = image.row(y) + ptrdiff_t{x} * format.pixel_bytes();
      for (int32_t c = 0; c < format.channels; ++c) {
        const float value = 120 + 60 * std::sin(float(x) / 9) * std::cos(float(y) / 13) +
                            10 * float(c) + noise(random);
        const bool bad = format.component == Component::kFloat && random() % 3000 == 0;
        store_component(pixel, format.component, c,
                        c == 3 ? float(x % 256)
                        : bad  ? NAN
                               : std::clamp(value, 0.0f, 255.0f));
      }
    }
  }
  return image;
}

struct Whole {
  Image result;
  NoiseModel noise;
  Report report;
};

Whole denoise_at_once(Engine& engine, const Params& params, const Image& image,
                      const Encoding& encoding, ThreadPool& pool) {
  Whole whole;
  Image source;
  if (!encoding.is_perceptual()) source = encoding.decode(image, pool, "test");
  const Image& from = encoding.is_perceptual() ? image : source;
  whole.result = make_image(from.format, from.width, from.height, "test");
  throw_if_failed(engine.noise_for(params, from.view(), {}, whole.noise, nullptr));
  throw_if_failed(engine.denoise(params, whole.noise, from.view(), whole.result.mutable_view(), {},
                                 whole.report));
  if (!encoding.is_perceptual()) {
    whole.result = encoding.encode(whole.result, image.format.component, image.extra,
                                   Encoding::Kept{&image, &source}, pool, "test");
  }
  return whole;
}

void expect_same(const Params& params, const Image& image, const Encoding& encoding,
                 const std::vector<int32_t>& heights) {
  ThreadPool pool(2);
  Engine engine({"", 2});
  const Whole whole = denoise_at_once(engine, params, image, encoding, pool);
  ASSERT_TRUE(whole.report.changed);
  for (const int32_t rows : heights) {
    MemoryReader reader(image);
    Image result = make_image(image.format, image.width, image.height, "test");
    MemoryWriter writer(result);
    BandDenoiser bands(engine, params, reader, encoding, pool, {1 << 20, rows});
    double seconds = 0;
    const NoiseModel noise = bands.measure({}, seconds);
    EXPECT_EQ(std::memcmp(noise.sigma, whole.noise.sigma, sizeof noise.sigma), 0);
    Report report;
    double last = 0;
    const Callbacks callbacks{nullptr, [&](double fraction) {
                                EXPECT_GE(fraction, last);
                                last = fraction;
                              }};
    bands.run(noise, writer, callbacks, report);
    writer.finish();
    EXPECT_TRUE(same_pixels(result, whole.result)) << rows << " rows";
    EXPECT_EQ(last, 1.0);
    EXPECT_EQ(report.changed, whole.report.changed);
    EXPECT_EQ(report.device, whole.report.device);
    EXPECT_EQ(report.replaced_pixels, whole.report.replaced_pixels);
    EXPECT_LE(reader.rows, 2 * image.height + 1);  // the second pass reads every row once
  }
}

Params params_of(Method method) {
  Params params;
  params.method = static_cast<int32_t>(method);
  params.quality = static_cast<int32_t>(Quality::kFast);
  params.search = 9;
  return params;
}

TEST(BandDenoiser, BandsHaveTheWholesBitsInAllFormats) {
  for (const Component component :
       {Component::kU8, Component::kU16, Component::kHalf, Component::kFloat}) {
    for (const int32_t channels : {1, 4}) {
      expect_same(params_of(Method::kNlm), noisy_image({component, channels}, 150, 170), {},
                  {33, 0});
    }
  }
}

TEST(BandDenoiser, BandsHaveTheWholesBitsByAllMethodsAndScales) {
  for (const Method method : {Method::kBm3d, Method::kNlm, Method::kSwNlm}) {
    Params params = params_of(method);
    params.scales = 3;
    params.auto_sigma = false;
    params.sigma = 10;
    expect_same(params, noisy_image({Component::kU8, 3}, 70, 500), {}, {40, 177, 900});
  }
}

TEST(BandDenoiser, SamplesThatAreNotPerceptual) {
  const Encoding encoding({ToneCurve(), ToneCurve::power(1.8), ToneCurve::power(2.2)});
  for (const Component component : {Component::kU8, Component::kU16, Component::kFloat}) {
    for (const int32_t channels : {3, 4}) {
      Image image = noisy_image({component, channels}, 110, 140);
      if (channels == 4) image.extra = Extra::kPremultiplied;
      expect_same(params_of(Method::kNlm), image, encoding, {41});
    }
  }
}

TEST(BandDenoiser, NothingToDoKeepsEveryBit) {
  ThreadPool pool(2);
  Engine engine({"", 2});
  Params params = params_of(Method::kNlm);
  params.strength = 0;
  const Image image = noisy_image({Component::kU16, 1}, 300, 90);
  const Encoding linear({ToneCurve()});
  for (const Encoding& encoding : {Encoding(), linear}) {
    MemoryReader reader(image);
    Image result = make_image(image.format, image.width, image.height, "test");
    MemoryWriter writer(result);
    BandDenoiser bands(engine, params, reader, encoding, pool, {1 << 20, 20});
    double seconds = 0;
    Report report;
    bands.run(bands.measure({}, seconds), writer, {}, report);
    EXPECT_FALSE(report.changed);
    EXPECT_FALSE(report.note.empty());
    EXPECT_TRUE(same_pixels(result, image));
  }
}

TEST(BandDenoiser, WritingThatFailsEndsIt) {
  class Full final : public RowWriter {
   public:
    void write(const uint8_t*, int32_t) override { throw Error(ErrorCode::kBadInput, "full"); }
    std::vector<std::string> finish() override { return {}; }
  } writer;
  ThreadPool pool(1);
  Engine engine({"", 1});
  const Params params = params_of(Method::kNlm);
  const Image image = noisy_image({Component::kU8, 1}, 60, 300);
  MemoryReader reader(image);
  const Encoding encoding;
  BandDenoiser bands(engine, params, reader, encoding, pool, {1 << 20, 50});
  double seconds = 0;
  Report report;
  const NoiseModel noise = bands.measure({}, seconds);
  EXPECT_THROW(bands.run(noise, writer, {}, report), Error);
}

}  // namespace
}  // namespace grainless::tools
