// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "engine/cpu/volume/nlm_volume.h"
#include "engine/denoise.h"
#include "engine/plan/make_volume_plan.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/reference_nlm_volume.h"
#include "tests/support/search_volume.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

constexpr float kSigma = 20;

Params volume_params(int32_t search, int32_t patch) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.search = search;
  params.patch = patch;
  params.auto_sigma = false;
  params.sigma = kSigma;
  return params;
}

std::vector<Planes> volume(int32_t channels, int32_t width, int32_t height, int32_t depth,
                           float sigma = kSigma) {
  std::mt19937 random(5);
  std::normal_distribution<float> noise;
  std::vector<Planes> layers;
  for (int32_t z = 0; z < depth; ++z) {
    layers.emplace_back(channels, Rect{0, 0, width, height});
    for (int32_t i = 0; i < channels * width * height; ++i) {
      const int32_t x = i % width, y = i / width % height, c = i / (width * height);
      const float edge = (x / 9 + y / 7 + z / 5) % 2 == 0 ? 0.0f : 60.0f;
      const float clean = 80.0f + edge - 40.0f * static_cast<float>(c);
      *layers.back().at(c, x, y) = clean + sigma * noise(random);
    }
  }
  return layers;
}

// The layers first .. first + count - 1.
std::vector<Planes> filtered(const VolumePlan& plan, const std::vector<Planes>& layers,
                             int32_t first, int32_t count, int32_t threads) {
  ThreadPool pool(threads);
  const Callbacks callbacks;
  NlmVolumeJob job{&plan, {}, first, {}, &pool, &callbacks};
  std::vector<Planes> results;
  for (int32_t z = 0; z < count; ++z) results.emplace_back(layers[0].channels(), layers[0].rect());
  for (Planes& result : results) job.targets.push_back(&result);
  for (const Planes& layer : layers) job.sources.push_back(&layer);
  run_nlm_volume(job);
  return results;
}

std::vector<Planes> filtered(const VolumePlan& plan, const std::vector<Planes>& layers) {
  return filtered(plan, layers, 0, static_cast<int32_t>(layers.size()), 1);
}

template <typename Visit>
void for_samples(const Planes& a, const Planes& b, const Visit& visit) {
  for (int32_t c = 0; c < a.channels(); ++c) {
    for (int32_t y = 0; y < a.rect().height; ++y) {
      for (int32_t x = 0; x < a.rect().width; ++x) visit(*a.at(c, x, y), *b.at(c, x, y));
    }
  }
}

bool same_bits(const Planes& a, const Planes& b) {
  bool same = true;
  for_samples(a, b, [&same](float p, float q) { same &= std::memcmp(&p, &q, sizeof p) == 0; });
  return same;
}

struct TwinCase {
  int32_t channels, width, height, layers, depth, search, patch;
  Centre centre;
  double luma, chroma;
  WeightRule weights = WeightRule::kLessNoise;
};

class NlmVolumeTwin : public testing::TestWithParam<TwinCase> {};

TEST_P(NlmVolumeTwin, AgreesWithPlainDouble) {
  const TwinCase& test = GetParam();
  Params params = volume_params(test.search, test.patch);
  params.centre = static_cast<int32_t>(test.centre);
  params.luma = test.luma;
  params.chroma = test.chroma;
  params.weights = static_cast<int32_t>(test.weights);
  const VolumePlan plan =
      make_volume_plan(params, test.depth, test.channels, white_noise(test.channels, kSigma));
  const std::vector<Planes> layers = volume(test.channels, test.width, test.height, test.layers);
  const std::vector<Planes> results = filtered(plan, layers);
  const std::vector<Planes> expected = test::reference_nlm_volume(plan, layers);
  for (size_t z = 0; z < results.size(); ++z) {
    double worst = 0;
    for_samples(results[z], expected[z], [&worst](double p, double q) {
      const double d = std::abs(p - q);
      worst = d <= worst ? worst : d;  // keeps a NaN, too
    });
    EXPECT_LT(worst, 1e-3) << "layer " << z;
  }
}

constexpr TwinCase kTwinCases[] = {
    {1, 1, 1, 1, 1, 3, 2, Centre::kMax, 100, 100},
    {1, 3, 2, 2, 15, 5, 5, Centre::kMax, 100, 100},
    {1, 15, 13, 4, 1, 5, 3, Centre::kMax, 100, 100},
    {1, 13, 17, 5, 2, 5, 4, Centre::kOne, 100, 100},
    {1, 12, 9, 6, 3, 7, 5, Centre::kZero, 100, 100},
    {3, 11, 9, 4, 2, 5, 3, Centre::kMax, 100, 100},
    {3, 9, 9, 3, 1, 5, 3, Centre::kMax, 60, 150},
    {3, 9, 8, 3, 1, 3, 2, Centre::kMax, 0, 100},
    {1, 15, 13, 5, 2, 5, 3, Centre::kMax, 100, 100, WeightRule::kClassic},
    {3, 9, 9, 4, 1, 5, 5, Centre::kZero, 80, 120, WeightRule::kClassic},
};
INSTANTIATE_TEST_SUITE_P(Cases, NlmVolumeTwin, testing::ValuesIn(kTwinCases));

TEST(NlmVolume, AnySlabAndThreadsGiveTheBitsOfTheWhole) {
  const VolumePlan plan = make_volume_plan(volume_params(7, 3), 2, 1, white_noise(1, kSigma));
  const std::vector<Planes> layers = volume(1, 150, 45, 11);
  const std::vector<Planes> whole = filtered(plan, layers);
  for (const auto& [first, count] : {std::pair{0, 1}, {10, 1}, {3, 5}, {4, 7}}) {
    const std::vector<Planes> slab = filtered(plan, layers, first, count, 3);
    for (int32_t z = 0; z < count; ++z) EXPECT_TRUE(same_bits(slab[z], whole[first + z])) << z;
  }
}

TEST(NlmVolume, InstructionSetsDoNotMatter) {
  const VolumePlan plan = make_volume_plan(volume_params(5, 3), 1, 3, white_noise(3, kSigma));
  const std::vector<Planes> layers = volume(3, 41, 23, 4);
  const std::vector<Planes> best = filtered(plan, layers);
  test::for_instruction_sets([&] {
    const std::vector<Planes> now = filtered(plan, layers);
    for (size_t z = 0; z < now.size(); ++z) EXPECT_TRUE(same_bits(now[z], best[z]));
  });
}

std::vector<ConstImage> views(const std::vector<TestImage>& images) {
  std::vector<ConstImage> all;
  for (const TestImage& image : images) all.push_back(image.view());
  return all;
}

std::vector<MutableImage> targets(std::vector<TestImage>& images) {
  std::vector<MutableImage> all;
  for (TestImage& image : images) all.push_back(image.target());
  return all;
}

std::vector<TestImage> burst(PixelFormat format, int32_t frames, float sigma) {
  std::vector<TestImage> images;
  for (int32_t i = 0; i < frames; ++i) {
    images.push_back(test::noisy_picture(format, 96, 80, sigma, 10 + i));
  }
  return images;
}

// Eight frames of a scene that stands still: the mean of all would gain 9 dB.
TEST(Volume, ABurstGainsMoreThanItsFramesAlone) {
  Engine engine({"", 2});
  const PixelFormat format{Component::kU8, 3};
  const TestImage clean = test::noisy_picture(format, 96, 80, 0);
  const std::vector<TestImage> noisy = burst(format, 8, kSigma);
  std::vector<TestImage> results = noisy;
  Params params = volume_params(5, 3);
  Report report;
  const Status status =
      test::search_volume(engine, params, 7, views(noisy), targets(results), {}, report);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.changed);
  EXPECT_EQ(report.device, "cpu");
  params.search = 0;
  TestImage alone = noisy[3];
  const NoiseModel noise = white_noise(3, kSigma);
  Report ignored;
  ASSERT_TRUE(engine.denoise(params, noise, noisy[3].view(), alone.target(), {}, ignored).ok());
  for (const TestImage& result : results) {
    EXPECT_GT(test::psnr(result, clean), test::psnr(noisy[3], clean) + 8);
    EXPECT_GT(test::psnr(result, clean), test::psnr(alone, clean) + 1.5);
  }
}

// The layers that there are not would only repeat the noise of those that there are.
TEST(Volume, MoreDepthThanLayersChangesNothing) {
  Engine engine({"", 2});
  const std::vector<TestImage> noisy = burst({Component::kU8, 3}, 4, kSigma);
  std::vector<TestImage> enough = noisy, more = noisy;
  Params params = volume_params(5, 3);
  Report report;
  ASSERT_TRUE(
      test::search_volume(engine, params, 3, views(noisy), targets(enough), {}, report).ok());
  ASSERT_TRUE(
      test::search_volume(engine, params, 15, views(noisy), targets(more), {}, report).ok());
  for (size_t z = 0; z < noisy.size(); ++z) EXPECT_EQ(more[z].bytes, enough[z].bytes) << z;
}

TEST(Volume, SlabsAndThreadsDoNotShow) {
  const PixelFormat format{Component::kFloat, 1};
  const std::vector<TestImage> noisy = burst(format, 35, kSigma);  // three slabs
  const Params params = volume_params(3, 3);
  std::vector<TestImage> one = noisy, other = noisy, part(noisy.begin() + 10, noisy.begin() + 23);
  Report report;
  Engine single({"", 1}), several({"", 3});
  ASSERT_TRUE(test::search_volume(single, params, 2, views(noisy), targets(one), {}, report).ok());
  ASSERT_TRUE(
      test::search_volume(several, params, 2, views(noisy), targets(other), {}, report).ok());
  for (size_t z = 0; z < one.size(); ++z) EXPECT_EQ(one[z].bytes, other[z].bytes) << z;
  const std::vector<TestImage> cut = part;
  ASSERT_TRUE(test::search_volume(single, params, 2, views(cut), targets(part), {}, report).ok());
  for (size_t z = 3; z + 3 < part.size(); ++z) EXPECT_EQ(part[z].bytes, one[10 + z].bytes) << z;
}

// A noisy picture of which a quarter is transparent.
TestImage with_holes(PixelFormat format, int32_t width, int32_t height, uint32_t seed) {
  TestImage image = test::noisy_picture(format, width, height, kSigma, seed);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      if ((x / 5 + y / 3 + seed) % 4 != 0) continue;
      auto* pixel = static_cast<uint8_t*>(pixel_at(image.target(), x, y));
      std::memset(pixel + (format.channels - 1) * format.component_bytes(), 0,
                  format.component_bytes());
    }
  }
  return image;
}

// What is needed of each layer, as an image of its own.
std::vector<uint8_t> cut_out(const ConstImage& image, const Rect& rect) {
  std::vector<uint8_t> bytes(rect.area() * image.format.pixel_bytes());
  copy_pixels(image, {image.format, image.width, image.height, rect, bytes.data(),
                      ptrdiff_t{rect.width} * image.format.pixel_bytes()});
  return bytes;
}

struct PartCase {
  PixelFormat format;
  int32_t width, height, count, depth, search, patch;
};

class VolumePartTest : public testing::TestWithParam<PartCase> {
 protected:
  void SetUp() override {
    const PartCase& test = GetParam();
    for (int32_t z = 0; z < test.count; ++z) {
      const uint32_t seed = 3 + z;
      layers_.push_back(
          test.format.has_alpha()
              ? with_holes(test.format, test.width, test.height, seed)
              : test::noisy_picture(test.format, test.width, test.height, kSigma, seed));
    }
    params_ = volume_params(test.search, test.patch);
    params_.detail = 20;
    noise_ = test::noise_of_unlike_layers(params_, views(layers_));
    whole_ = layers_;
    ASSERT_TRUE(test::search_volume(engine_, params_, test.depth, views(layers_), targets(whole_),
                                    {}, report_)
                    .ok());
    ASSERT_TRUE(report_.changed);
  }

  // The box from no more than volume_source() of it, compared with the whole one's pixels.
  void check(const VolumeBox& box) {
    const PartCase& test = GetParam();
    const PixelFormat format = test.format;
    VolumeBox needed;
    ASSERT_TRUE(engine_
                    .volume_source(params_, test.depth, noise_,
                                   {format, test.width, test.height, test.count}, box, needed)
                    .ok());
    EXPECT_EQ(needed.rect.x % kVolumeCut, 0);
    EXPECT_EQ(needed.rect.y % kVolumeCut, 0);
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<ConstImage> sources;
    for (int32_t z = needed.first; z < needed.first + needed.layers; ++z) {
      bytes.push_back(cut_out(layers_[z].view(), needed.rect));
      sources.push_back({format, test.width, test.height, needed.rect, bytes.back().data(),
                         ptrdiff_t{needed.rect.width} * format.pixel_bytes()});
    }
    const ptrdiff_t row = ptrdiff_t{box.rect.width} * format.pixel_bytes();
    std::vector<std::vector<uint8_t>> results(box.layers);
    std::vector<MutableImage> into;
    for (auto& result : results) {
      result.assign(row * box.rect.height, 0x5a);
      into.push_back({format, test.width, test.height, box.rect, result.data(), row});
    }
    const Status status = engine_.denoise_volume_part(
        params_, test.depth, noise_,
        {{test.count, needed.first, sources}, {test.count, box.first, into}}, {}, report_);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int32_t z = 0; z < box.layers; ++z) {
      EXPECT_EQ(results[z], cut_out(whole_[box.first + z].view(), box.rect))
          << "layer " << box.first + z << " at " << box.rect.x << ", " << box.rect.y;
    }
  }

  Engine engine_{{"", 3}};
  Params params_;
  NoiseModel noise_;
  Report report_;
  std::vector<TestImage> layers_, whole_;
};

TEST_P(VolumePartTest, HasTheBitsOfTheWhole) {
  const auto& [format, width, height, count, depth, search, patch] = GetParam();
  const Rect middle{width / 3, height / 3, std::max(1, width / 4), std::max(1, height / 4)};
  for (const int32_t z : {0, count / 2, count - 1}) {
    check({middle, z, 1});
    check({{0, 0, std::min(width, 7), std::min(height, 5)}, z, 1});
    check({{width - 1, height - 1, 1, 1}, z, 1});
    check({{0, height / 2, width, 1}, z, 1});
    check({{0, 0, width, height}, z, 1});
  }
  check({middle, 0, count});
  check({middle, count / 3, count - count / 3});
}

constexpr PartCase kPartCases[] = {
    {{Component::kU8, 1}, 150, 90, 9, 1, 5, 3}, {{Component::kU8, 3}, 70, 140, 5, 2, 7, 0},
    {{Component::kU16, 4}, 60, 50, 8, 1, 5, 4}, {{Component::kFloat, 2}, 64, 40, 7, 3, 9, 5},
    {{Component::kU8, 2}, 3, 2, 3, 15, 11, 7},  {{Component::kFloat, 3}, 40, 33, 40, 2, 3, 2},
};
INSTANTIATE_TEST_SUITE_P(Cases, VolumePartTest, testing::ValuesIn(kPartCases));

TEST(Volume, ThePartsOfNoChangeAreTheOriginals) {
  Engine engine({"", 1});
  const std::vector<TestImage> noisy = burst({Component::kU8, 3}, 3, kSigma);
  std::vector<TestImage> result(noisy.begin() + 1, noisy.begin() + 2);
  std::fill(result[0].bytes.begin(), result[0].bytes.end(), 0);
  Params params = volume_params(5, 3);
  params.strength = 0;
  Report report;
  const std::vector<ConstImage> sources = views(noisy);
  const std::vector<MutableImage> into = targets(result);
  ASSERT_TRUE(engine
                  .denoise_volume_part(params, 1, white_noise(3, kSigma),
                                       {{3, 0, sources}, {3, 1, into}}, {}, report)
                  .ok());
  EXPECT_FALSE(report.changed);
  EXPECT_FALSE(report.note.empty());
  EXPECT_EQ(result[0].bytes, noisy[1].bytes);
}

TEST(Volume, PartsThatDoNotFitAreRefused) {
  Engine engine({"", 1});
  const std::vector<TestImage> noisy = burst({Component::kU8, 1}, 6, kSigma);
  std::vector<TestImage> results = noisy;
  const std::vector<ConstImage> sources = views(noisy);
  const std::vector<MutableImage> into = targets(results);
  const Params params = volume_params(5, 3);
  const auto code = [&](const VolumePart<ConstImage>& source,
                        const VolumePart<MutableImage>& target) {
    Report report;
    return engine
        .denoise_volume_part(params, 1, white_noise(1, kSigma), {source, target}, {}, report)
        .code();
  };
  const std::span all(sources);
  const std::span one = std::span(into).first(1);
  EXPECT_EQ(code({6, 1, all.subspan(1, 5)}, {6, 3, one}), ErrorCode::kOk);
  EXPECT_EQ(code({6, 2, all.subspan(2, 4)}, {6, 3, one}), ErrorCode::kInternal) << "reaches to 1";
  EXPECT_EQ(code({6, 0, all.first(5)}, {6, 3, one}), ErrorCode::kInternal) << "reaches to 5";
  EXPECT_EQ(code({6, 0, all}, {6, 6, one}), ErrorCode::kInternal);
  EXPECT_EQ(code({6, 0, all}, {6, -1, one}), ErrorCode::kInternal);
  EXPECT_EQ(code({6, 0, all}, {5, 0, one}), ErrorCode::kInternal);
  EXPECT_EQ(code({6, 0, all}, {6, 0, {}}), ErrorCode::kBadInput);
  std::vector<ConstImage> narrow = sources;
  for (ConstImage& image : narrow) image.rect.width = 40;
  EXPECT_EQ(code({6, 0, narrow}, {6, 3, one}), ErrorCode::kInternal);
}

TEST(Volume, MeasuredLayersAloneGiveTheSameNoise) {
  const PixelFormat format{Component::kU8, 3};
  EXPECT_EQ(measured_layers({format, 64, 64, 3}), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(measured_layers({format, 6000, 4000, 28}).size(), 28u);
  EXPECT_EQ(measured_layers({format, 6000, 4000, 30}).size(), 9u) << "too much to hold";
  EXPECT_EQ(measured_layers({format, 64, 64, 31}).size(), 31u);
  const std::vector<int32_t> chosen = measured_layers({format, 64, 64, 32});
  EXPECT_EQ(chosen.size(), 9u);
  EXPECT_GT(chosen.front(), 0);
  EXPECT_LT(chosen.back(), 31);
  Engine engine({"", 2});
  const std::vector<TestImage> noisy = burst(format, 32, 12);
  Params params = volume_params(5, 3);
  params.auto_sigma = true;
  NoiseModel all, some;
  const std::vector<ConstImage> layers = views(noisy);
  std::vector<ConstImage> alone;
  for (const int32_t z : chosen) alone.push_back(layers[z]);
  ASSERT_TRUE(engine.volume_noise(params, layers, {}, all, nullptr).ok());
  ASSERT_TRUE(engine.volume_noise(params, 32, alone, {}, some, nullptr).ok());
  EXPECT_NEAR(all.sigma[0][0], 12, 4);
  for (int32_t c = 0; c < 3; ++c) EXPECT_EQ(all.sigma[0][c], some.sigma[0][c]);
}

TEST(Volume, SigmaIsMeasuredOnTheLayers) {
  Engine engine({"", 2});
  const std::vector<TestImage> noisy = burst({Component::kFloat, 1}, 4, 10);
  std::vector<TestImage> results = noisy;
  Params params = volume_params(5, 3);
  params.auto_sigma = true;
  Report report;
  ASSERT_TRUE(engine.denoise_volume(params, 1, views(noisy), targets(results), {}, report).ok());
  EXPECT_NEAR(report.noise.sigma[0][0], 10, 2.5);
}

TEST(Volume, BadRequestsAreRefused) {
  Engine engine({"", 1});
  const std::vector<TestImage> noisy = burst({Component::kU8, 1}, 2, 10);
  std::vector<TestImage> results = noisy;
  Report report;
  Params params = volume_params(5, 3);
  const auto code = [&](int32_t depth, std::span<const ConstImage> layers) {
    return engine.denoise_volume(params, depth, layers, targets(results), {}, report).code();
  };
  const std::vector<ConstImage> layers = views(noisy);
  EXPECT_EQ(code(0, layers), ErrorCode::kBadParameter);
  EXPECT_EQ(code(16, layers), ErrorCode::kBadParameter);
  EXPECT_EQ(code(1, std::span(layers).first(1)), ErrorCode::kBadInput);
  const TestImage other({Component::kU8, 1}, 97, 80);
  EXPECT_EQ(code(1, std::vector<ConstImage>{layers[0], other.view()}), ErrorCode::kBadInput);
  params.method = static_cast<int32_t>(Method::kSwNlm);
  EXPECT_EQ(code(1, layers), ErrorCode::kBadParameter);
}

}  // namespace
}  // namespace grainless
