// SPDX-License-Identifier: MIT
// A picture that passes by in bands is measured as the whole one is.
#include "engine/noise/survey.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "engine/denoise.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

NoiseModel measure_in_bands(Engine& engine, const Params& params, const ConstImage& image,
                            int32_t rows) {
  Survey survey(image.format, image.width, image.height);
  for (int32_t y = 0; y < image.height; y += rows) {
    const int32_t end = std::min(y + rows, image.height);
    const int32_t top = std::max(y - Survey::kMargin, 0);
    const int32_t bottom = std::min(end + Survey::kMargin, image.height);
    // No more memory than the band, so that a sanitizer sees what reaches beyond.
    std::vector<uint8_t> pixels(size_t(bottom - top) * size_t(image.row_bytes));
    std::memcpy(pixels.data(), pixel_at(image, 0, top), pixels.size());
    ConstImage band = image;
    band.rect = {0, top, image.width, bottom - top};
    band.data = pixels.data();
    survey.add(band, y, end);
  }
  NoiseModel noise;
  EXPECT_TRUE(engine.noise_for(params, survey, {}, noise, nullptr).ok());
  return noise;
}

void expect_same(const NoiseModel& a, const NoiseModel& b) {
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_EQ(a.levels, b.levels);
  EXPECT_EQ(std::memcmp(a.sigma, b.sigma, sizeof a.sigma), 0);
  EXPECT_EQ(std::memcmp(a.strength, b.strength, sizeof a.strength), 0);
  EXPECT_EQ(std::memcmp(a.white, b.white, sizeof a.white), 0);
  EXPECT_EQ(std::memcmp(&a.bend, &b.bend, sizeof a.bend), 0);
  EXPECT_EQ(a.confidence, b.confidence);
  EXPECT_EQ(a.impulses, b.impulses);
  EXPECT_EQ(a.range.low, b.range.low);
  EXPECT_EQ(a.range.middle, b.range.middle);
  EXPECT_EQ(a.range.high, b.range.high);
}

void expect_same_in_bands(const TestImage& picture) {
  Engine engine({"", 2});
  for (const bool automatic : {true, false}) {
    Params params;
    params.auto_sigma = automatic;
    NoiseModel whole;
    ASSERT_TRUE(engine.noise_for(params, picture.view(), {}, whole, nullptr).ok());
    for (const int32_t rows : {7, 130}) {
      expect_same(measure_in_bands(engine, params, picture.view(), rows), whole);
    }
  }
}

TEST(Survey, IsTheWholePictures) {
  for (const Component component :
       {Component::kU8, Component::kU16, Component::kHalf, Component::kFloat}) {
    for (const int32_t channels : {1, 4}) {
      expect_same_in_bands(test::noisy_picture({component, channels}, 700, 530, 12.0f));
    }
  }
}

// What stands beside the parts that are looked at may be anything.
TEST(Survey, OnlyThePartsLookedAtCount) {
  Engine engine({"", 2});
  for (const PixelFormat format :
       {PixelFormat{Component::kU8, 3}, PixelFormat{Component::kU16, 1},
        PixelFormat{Component::kU8, 4}, PixelFormat{Component::kFloat, 3}}) {
    const TestImage picture = test::noisy_picture(format, 2011, 1203, 12.0f);
    const std::vector<Rect> parts = Engine::looked_at(format, picture.width, picture.height);
    for (const bool automatic : {true, false}) {
      Params params;
      params.auto_sigma = automatic;
      ASSERT_FALSE(parts.empty());
      TestImage alone = picture;
      std::fill(alone.bytes.begin(), alone.bytes.end(), uint8_t{0xff});
      int64_t area = 0;
      for (const Rect& part : parts) {
        copy_pixels(picture.view(part), alone.target(part));
        area += part.area();
      }
      const bool has_range = format.has_alpha() || format.component == Component::kFloat;
      EXPECT_EQ(area == int64_t{2011} * 1203, has_range);
      NoiseModel whole, seen;
      ASSERT_TRUE(engine.noise_for(params, picture.view(), {}, whole, nullptr).ok());
      ASSERT_TRUE(engine.noise_for(params, alone.view(), {}, seen, nullptr).ok());
      expect_same(seen, whole);
    }
  }
}

TEST(Survey, FindsTheSameImpulses) {
  TestImage picture = test::noisy_picture({Component::kU8, 3}, 700, 530, 8.0f);
  for (int32_t i = 0; i < 900; ++i) picture.set(i * 71 % 700, i * 37 % 530, i % 3, 255);
  Engine engine({"", 2});
  NoiseModel noise;
  ASSERT_TRUE(engine.noise_for({}, picture.view(), {}, noise, nullptr).ok());
  EXPECT_EQ(noise.impulses, Impulses::kFew);
  expect_same_in_bands(picture);
}

TEST(Survey, OfSmallAndNarrowPictures) {
  for (const auto& [width, height] : {std::pair{1, 1}, {2, 900}, {900, 3}, {30, 31}, {128, 128}}) {
    for (const Component component : {Component::kU8, Component::kFloat}) {
      expect_same_in_bands(test::noisy_picture({component, 3}, width, height, 12.0f));
    }
  }
}

// Values far beyond white, singly and all over, so that the range depends on neighbours.
TEST(Survey, BandsMeasureUnusualRangesAsTheWholeDoes) {
  for (const float share : {0.001f, 0.3f, 1.0f}) {
    TestImage picture = test::noisy_picture({Component::kFloat, 1}, 1100, 900, 12.0f);
    std::mt19937 random(3);
    const MutableImage image = picture.target();
    for (int32_t y = 0; y < 900; ++y) {
      for (int32_t x = 0; x < 1100; ++x) {
        auto* value = static_cast<float*>(pixel_at(image, x, y));
        if (float(random() % 10000) < share * 10000) *value = *value * 40 + 3;
        if (random() % 5000 == 0) *value = NAN;
      }
    }
    expect_same_in_bands(picture);
  }
}

}  // namespace
}  // namespace grainless
