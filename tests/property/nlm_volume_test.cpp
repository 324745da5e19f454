// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <random>

#include "engine/cpu/nlm_volume.h"
#include "engine/denoise.h"
#include "tests/support/reference_nlm_volume.h"
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
      const float clean = 80.0f + 60.0f * ((x / 9 + y / 7 + z / 5) % 2) - 40.0f * c;
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
};

class NlmVolumeTwin : public testing::TestWithParam<TwinCase> {};

TEST_P(NlmVolumeTwin, AgreesWithPlainDouble) {
  const TwinCase& test = GetParam();
  Params params = volume_params(test.search, test.patch);
  params.centre = static_cast<int32_t>(test.centre);
  params.luma = test.luma;
  params.chroma = test.chroma;
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
  for (int64_t rest = hwy::SupportedTargets(); rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const std::vector<Planes> now = filtered(plan, layers);
    for (size_t z = 0; z < now.size(); ++z) {
      EXPECT_TRUE(same_bits(now[z], best[z])) << hwy::TargetName(target);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
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
      engine.denoise_volume(params, 7, views(noisy), targets(results), {}, report);
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

TEST(Volume, SlabsAndThreadsDoNotShow) {
  const PixelFormat format{Component::kFloat, 1};
  const std::vector<TestImage> noisy = burst(format, 35, kSigma);  // three slabs
  const Params params = volume_params(3, 3);
  std::vector<TestImage> one = noisy, other = noisy, part(noisy.begin() + 10, noisy.begin() + 23);
  Report report;
  Engine single({"", 1}), several({"", 3});
  ASSERT_TRUE(single.denoise_volume(params, 2, views(noisy), targets(one), {}, report).ok());
  ASSERT_TRUE(several.denoise_volume(params, 2, views(noisy), targets(other), {}, report).ok());
  for (size_t z = 0; z < one.size(); ++z) EXPECT_EQ(one[z].bytes, other[z].bytes) << z;
  const std::vector<TestImage> cut = part;
  ASSERT_TRUE(single.denoise_volume(params, 2, views(cut), targets(part), {}, report).ok());
  for (size_t z = 3; z + 3 < part.size(); ++z) EXPECT_EQ(part[z].bytes, one[10 + z].bytes) << z;
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
  params.method = static_cast<int32_t>(Method::kBm3d);
  EXPECT_EQ(code(1, layers), ErrorCode::kBadParameter);
}

}  // namespace
}  // namespace grainless
