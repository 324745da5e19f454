// SPDX-License-Identifier: MIT
// BM3D over stacks of layers: what it gains where they show the same, and that nothing is lost
// where they don't.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>

#include "engine/denoise.h"
#include "engine/noise/similarity.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;
using Stack = std::vector<TestImage>;

constexpr float kSigma = 20;
constexpr PixelFormat kColour{Component::kU8, 3};

Params stack_params() {
  Params params;
  params.auto_sigma = false;
  params.sigma = kSigma;
  params.quality = static_cast<int32_t>(Quality::kFast);
  params.search = 13;
  return params;
}

// The same picture with noise of its own on every layer.
Stack burst(PixelFormat format, int32_t count, int32_t width = 96, int32_t height = 80) {
  Stack layers;
  for (int32_t z = 0; z < count; ++z) {
    layers.push_back(test::noisy_picture(format, width, height, kSigma, 5 + z));
  }
  return layers;
}

// Moved by a few pixels; what was beyond the border repeats it.
TestImage moved(const TestImage& image, int32_t by) {
  TestImage result = image;
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      for (int32_t c = 0; c < image.format.channels; ++c) {
        result.set(x, y, c, image.get(std::clamp(x - by, 0, image.width - 1), y, c));
      }
    }
  }
  return result;
}

TestImage clean(PixelFormat format, int32_t width = 96, int32_t height = 80) {
  return test::noisy_picture(format, width, height, 0);
}

std::vector<ConstImage> views(const Stack& stack) {
  std::vector<ConstImage> views;
  for (const TestImage& layer : stack) views.push_back(layer.view());
  return views;
}

std::vector<MutableImage> targets(Stack& stack) {
  std::vector<MutableImage> targets;
  for (TestImage& layer : stack) targets.push_back(layer.target());
  return targets;
}

Stack denoised(const Params& params, int32_t depth, const Stack& stack, int32_t threads = 2) {
  Engine engine({"", threads});
  Stack results = stack;
  Report report;
  const Status status =
      engine.denoise_volume(params, depth, views(stack), targets(results), {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_NE(report.device, "");
  return results;
}

TestImage alone(const Params& params, const TestImage& image) {
  Engine engine({"", 2});
  TestImage result = image;
  Report report;
  NoiseModel noise;
  EXPECT_TRUE(engine.noise_for(params, image.view(), {}, noise, nullptr).ok());
  EXPECT_TRUE(engine.denoise(params, noise, image.view(), result.target(), {}, report).ok());
  return result;
}

TestImage mean_of(const Stack& stack) {
  TestImage mean = stack.front();
  for (int32_t y = 0; y < mean.height; ++y) {
    for (int32_t x = 0; x < mean.width; ++x) {
      for (int32_t c = 0; c < mean.format.channels; ++c) {
        float sum = 0;
        for (const TestImage& layer : stack) sum += layer.get(x, y, c);
        mean.set(x, y, c, sum / static_cast<float>(stack.size()));
      }
    }
  }
  return mean;
}

TEST(Stack, IsBetterThanALayerAloneAndThanThePlainMean) {
  for (const PixelFormat format : {kColour, PixelFormat{Component::kU16, 1}}) {
    const Stack layers = burst(format, 4);
    const TestImage truth = clean(format);
    const double single = test::psnr(alone(stack_params(), layers[0]), truth);
    const double plain = test::psnr(mean_of(layers), truth);
    for (const int32_t depth : {3, 15}) {
      for (const TestImage& result : denoised(stack_params(), depth, layers)) {
        EXPECT_GT(test::psnr(result, truth), single + 2.0) << "depth " << depth;
        EXPECT_GT(test::psnr(result, truth), plain + 2.0) << "depth " << depth;
      }
    }
  }
}

// Before a white sky, with noise that 8 bits cut off: every layer's white is 8 steps grey, and so
// is their mean.
TEST(Stack, WhiteThatWasCutOffBecomesWhite) {
  constexpr int32_t kWidth = 384, kHeight = 256;
  const auto tone = [](int32_t x, int32_t y) {
    return std::min(255.0, 120 + 1.1 * x + 25 * std::sin(0.07 * y));
  };
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, kSigma);
  const auto layer = [&](bool noisy) {
    TestImage image(kColour, kWidth, kHeight);
    for (int32_t y = 0; y < kHeight; ++y) {
      for (int32_t x = 0; x < kWidth; ++x) {
        for (int32_t c = 0; c < 3; ++c) {
          const double value = tone(x, y) + (noisy ? normal(random) : 0);
          image.set(x, y, c, static_cast<float>(std::clamp(value, 0.0, 255.0)));
        }
      }
    }
    return image;
  };
  Stack layers;
  for (int32_t z = 0; z < 4; ++z) layers.push_back(layer(true));
  const TestImage truth = layer(false);
  Params params = stack_params();
  params.auto_sigma = true;
  const double single = test::psnr(alone(params, layers[0]), truth);
  const TestImage result = denoised(params, 3, layers)[0];
  EXPECT_GT(test::psnr(result, truth), single);
  double white = 0;
  for (int32_t y = 0; y < kHeight; ++y) white += double{result.get(kWidth - 60, y, 1)} / kHeight;
  EXPECT_GT(white, 253.5);
  // Nor does it take a measured sigma.
  params.auto_sigma = false;
  params.sigma = kSigma;
  const TestImage given = denoised(params, 3, layers)[0];
  EXPECT_GT(test::psnr(given, truth), single);
  params.auto_sigma = true;
  // What is not removed keeps its mean.
  params.highlights = 0;
  double noisy = 0;
  const TestImage kept = denoised(params, 3, layers)[0];
  for (int32_t y = 0; y < kHeight; ++y) noisy += double{kept.get(kWidth - 60, y, 1)} / kHeight;
  EXPECT_LT(noisy, 250);
}

TEST(Stack, LayersThatMovedTakeNothingFromOneAlone) {
  const Stack still = burst(kColour, 4);
  const TestImage truth = clean(kColour);
  const double single = test::psnr(alone(stack_params(), still[0]), truth);
  for (const int32_t by : {1, 3, 11}) {
    Stack layers = still;
    for (size_t z = 1; z < layers.size(); ++z)
      layers[z] = moved(layers[z], by * static_cast<int32_t>(z));
    EXPECT_GT(test::psnr(denoised(stack_params(), 3, layers)[0], truth), single - 0.05) << by;
  }
  Stack others = still;
  for (size_t z = 1; z < others.size(); ++z) {
    for (int32_t y = 0; y < others[z].height; ++y) {
      for (int32_t x = 0; x < others[z].width; ++x) {
        for (int32_t c = 0; c < 3; ++c) others[z].set(x, y, c, 255 - still[z].get(x, y, c));
      }
    }
  }
  EXPECT_GT(test::psnr(denoised(stack_params(), 3, others)[0], truth), single - 0.05);
}

// A scene that is known between pixels, with noise of sigma.
TestImage of_scene(PixelFormat format, int32_t width, int32_t height, const Similarity& by,
                   float sigma, uint32_t seed) {
  const PixelFormat exact{Component::kFloat, format.channels};
  const TestImage still = test::noisy_picture(exact, width, height, 0);
  const TestImage noisy = test::noisy_picture(exact, width, height, sigma, seed);
  TestImage image(format, width, height);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const PicturePoint at = point_of(x, y, width, height), from = at + inverse(by).at(at);
      const double value = 128 + test::waves(from.real(), from.imag()) +
                           2 * test::waves(from.real() / 8, from.imag() / 8);
      for (int32_t c = 0; c < format.channels; ++c) {
        const float noise = sigma > 0 ? noisy.get(x, y, c) - still.get(x, y, c) : 0;
        image.set(x, y, c, static_cast<float>(value) + noise);
      }
    }
  }
  return image;
}

TEST(Stack, WhatLiesFarAwayIsAveragedAllTheSame) {
  constexpr int32_t kWidth = 352, kHeight = 320;
  const Similarity by[] = {{}, {{36, -21}, {0, 0.006}}, {{-12, -47}, {0, -0.004}}};
  for (const PixelFormat format : {kColour, PixelFormat{Component::kU16, 1}}) {
    const uint32_t count = format.channels == 1 ? 11 : 3;
    Stack layers;
    for (uint32_t z = 0; z < count; ++z) {
      layers.push_back(of_scene(format, kWidth, kHeight, by[z % 3], kSigma, 5 + z));
    }
    Params params;
    params.quality = static_cast<int32_t>(Quality::kFast);
    const Stack results = denoised(params, 2, layers);
    for (size_t z = 0; z < 3; ++z) {
      const TestImage truth = of_scene(format, kWidth, kHeight, by[z], 0, 1);
      const double single = test::psnr(alone(params, layers[z]), truth);
      EXPECT_GT(test::psnr(results[z], truth), single + 0.7) << z;
    }
  }
}

// Slides, exposures in a row: nothing is averaged, and each has noise of its own.
TEST(Stack, PicturesOfTheirOwnAreDenoisedAsSuch) {
  Stack layers;
  for (uint32_t z = 0; z < 3; ++z) {
    const double far = 5000.0 * z;
    layers.push_back(
        of_scene(kColour, 224, 192, {{far, -far}, {}}, 4 + 9 * static_cast<float>(z), 7 + z));
  }
  for (const Method method : {Method::kBm3d, Method::kNlm}) {
    Params params;
    params.method = static_cast<int32_t>(method);
    params.quality = static_cast<int32_t>(Quality::kNormal);
    params.impulse = static_cast<int32_t>(ImpulseWay::kOff);
    params.detail = 10;
    const Stack results = denoised(params, 2, layers);
    for (size_t z = 0; z < 3; ++z) {
      EXPECT_EQ(test::largest_difference(results[z], alone(params, layers[z])), 0) << z;
    }
  }
}

// Of a stack of which some layers are looked at, no number is that of a layer.
TEST(Stack, WhatSomeLayersShowIsNotTakenForOthers) {
  constexpr int32_t kCount = 32;
  Stack chosen;
  const std::vector<int32_t> measured = measured_layers({kColour, 160, 128, kCount});
  for (const int32_t z : measured) {
    const double far = 5000.0 * z;
    const auto sigma = 4 + static_cast<float>(z);
    chosen.push_back(
        of_scene(kColour, 160, 128, {{far, -far}, {}}, sigma, static_cast<uint32_t>(z)));
  }
  Engine engine({"", 2});
  NoiseModel noise, all;
  ASSERT_TRUE(engine.volume_noise({}, kCount, views(chosen), {}, noise, nullptr).ok());
  EXPECT_EQ(noise.lone, nullptr);
  EXPECT_EQ(noise.stack.strengths.count, 0);
  EXPECT_EQ(noise.stack.places.count, 0);
  ASSERT_TRUE(engine.volume_noise({}, views(chosen), {}, all, nullptr).ok());
  EXPECT_NE(all.lone, nullptr) << "where there are no others";
}

// Frames of one scene at different sensitivities, or one of which is done already.
TEST(Stack, NoisyLayersTakeFromCalmOnesAndCostThemNothing) {
  const std::vector<std::vector<float>> cases{{5, 9}, {4, 24, 24}, {0, 14, 14}};
  for (const std::vector<float>& sigma : cases) {
    const TestImage truth = clean(kColour, 192, 160);
    Stack layers;
    for (size_t z = 0; z < sigma.size(); ++z) {
      layers.push_back(
          test::noisy_picture(kColour, 192, 160, sigma[z], 5 + static_cast<int32_t>(z)));
    }
    for (const Method method : {Method::kBm3d, Method::kNlm}) {
      Params params;
      params.method = static_cast<int32_t>(method);
      params.quality = static_cast<int32_t>(Quality::kNormal);
      const Stack results = denoised(params, 3, layers);
      for (size_t z = 0; z < sigma.size(); ++z) {
        const double single = std::min(60.0, test::psnr(alone(params, layers[z]), truth));
        EXPECT_GT(test::psnr(results[z], truth), single - 0.1)
            << sigma.size() << " layers, " << z << ", method " << params.method;
        if (sigma[z] < 2 * sigma[0] || sigma[0] == 0) continue;
        EXPECT_GT(test::psnr(results[z], truth), single + 3)
            << sigma.size() << " layers, " << z << ", method " << params.method;
      }
    }
  }
}

// As a hand moves a camera: by whole pixels and parts of one.
TEST(Stack, WhatMovedIsAveragedAllTheSame) {
  constexpr int32_t kWidth = 256, kHeight = 224;
  for (const PixelFormat format : {kColour, PixelFormat{Component::kU16, 1}}) {
    const PixelFormat exact{Component::kFloat, format.channels};
    const TestImage still = test::noisy_picture(exact, kWidth, kHeight, 0);
    TestImage truth(format, kWidth, kHeight);
    Stack layers(4, truth);
    for (int32_t z = 0; z < 4; ++z) {
      const TestImage noisy = test::noisy_picture(exact, kWidth, kHeight, kSigma, 5 + z);
      for (int32_t y = 0; y < kHeight; ++y) {
        for (int32_t x = 0; x < kWidth; ++x) {
          for (int32_t c = 0; c < format.channels; ++c) {
            const auto value = static_cast<float>(128 + test::waves(x - 3.3 * z, y + 1.7 * z));
            layers[z].set(x, y, c, value + noisy.get(x, y, c) - still.get(x, y, c));
            if (z == 1) truth.set(x, y, c, value);
          }
        }
      }
    }
    for (const Method method : {Method::kBm3d, Method::kNlm}) {
      Params params;
      params.method = static_cast<int32_t>(method);
      params.quality = static_cast<int32_t>(Quality::kFast);
      const double single = test::psnr(alone(params, layers[1]), truth);
      EXPECT_GT(test::psnr(denoised(params, 3, layers)[1], truth), single + 1)
          << "method " << params.method;
    }
  }
}

Params given(Method method, double sigma) {
  Params params = stack_params();
  params.method = static_cast<int32_t>(method);
  params.search = 0;
  params.sigma = sigma;
  return params;
}

// Less than the noise is what one keeps detail with, by eye or in a script.
TEST(Stack, AnyGivenSigmaAveragesWhatStandsStill) {
  const Stack layers = burst(kColour, 4, 160, 144);
  const TestImage truth = clean(kColour, 160, 144);
  const double plain = test::psnr(mean_of(layers), truth);
  for (const Method method : {Method::kBm3d, Method::kNlm}) {
    Params automatic = given(method, 0);
    automatic.auto_sigma = true;
    const double measured = test::psnr(denoised(automatic, 3, layers)[1], truth);
    for (const double sigma : {4.0, 8.0, 14.0, double{kSigma}, 30.0}) {
      const Params params = given(method, sigma);
      const double here = test::psnr(denoised(params, 3, layers)[1], truth);
      EXPECT_GT(here, test::psnr(alone(params, layers[1]), truth) + 1) << sigma;
      if (sigma > 0.67 * kSigma) {
        EXPECT_GT(here, plain - 0.1) << sigma;
      }
      if (sigma == kSigma) {
        EXPECT_NEAR(here, measured, 0.1);
      }
    }
  }
}

// Promise 8 of the design, of layers that differ by far more than was given.
TEST(Stack, WhatAveragingChangesTheGivenSigmaExplains) {
  const Stack layers = burst({Component::kFloat, 3}, 4, 160, 144);
  for (const Method method : {Method::kBm3d, Method::kNlm}) {
    for (const double sigma : {0.0, 0.0001, 0.01, 1.0, 4.0, 12.0}) {
      Params params = given(method, sigma);
      params.centre = static_cast<int32_t>(Centre::kOne);
      const Stack results = denoised(params, 3, layers);
      EXPECT_EQ(results[1].bytes == layers[1].bytes, sigma == 0) << sigma;
      const double distance = 255 / std::pow(10, test::psnr(results[1], layers[1]) / 20);
      EXPECT_LE(distance, 3 * sigma + 0.5) << sigma;
    }
  }
}

TEST(Stack, MoreThanTheNoiseDoesNotAverageWhatMoved) {
  Stack layers = burst(kColour, 4, 160, 144);
  for (int32_t z = 1; z < 4; ++z) layers[z] = moved(layers[z], 5 * z);
  const TestImage truth = clean(kColour, 160, 144);
  for (const double sigma : {40.0, 75.0}) {
    const Params params = given(Method::kBm3d, sigma);
    const double single = test::psnr(alone(params, layers[0]), truth);
    EXPECT_GT(test::psnr(denoised(params, 3, layers)[0], truth), single - 0.05) << sigma;
  }
}

// Frames that are held, as in animations, show the same noise again: nothing is learnt from them.
TEST(Stack, HeldFramesAreOneLayer) {
  const TestImage one = burst(kColour, 1).front();
  const Stack held(5, one);
  const TestImage expected = alone(stack_params(), one);
  for (const TestImage& result : denoised(stack_params(), 3, held)) {
    EXPECT_LE(test::largest_difference(result, expected), 1.0f);
  }
}

TEST(Stack, AStackOfOneIsThePictureAlone) {
  const Stack one = burst(kColour, 1);
  EXPECT_LE(
      test::largest_difference(denoised(stack_params(), 2, one)[0], alone(stack_params(), one[0])),
      1.0f);
}

// Many layers are measured for longer than anybody watches a bar that stands still.
TEST(Stack, MeasuringShowsItsProgress) {
  Stack layers = burst(kColour, 6);
  for (int32_t z = 0; z < 6; ++z) layers[z] = moved(layers[z], 3 * z);
  std::vector<double> seen;
  const Callbacks callbacks{nullptr, [&](double fraction) { seen.push_back(fraction); }};
  Engine engine({});
  NoiseModel noise;
  ASSERT_TRUE(engine.volume_noise(Params{}, views(layers), callbacks, noise, nullptr).ok());
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  ASSERT_FALSE(seen.empty());
  EXPECT_GE(seen.front(), 0);
  EXPECT_EQ(seen.back(), 1);
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_GT(seen.size(), layers.size());
}

TEST(Stack, ThreadsDoNotMatter) {
  const Stack layers = burst({Component::kFloat, 3}, 3, 300, 90);
  const Stack one = denoised(stack_params(), 2, layers, 1);
  const Stack three = denoised(stack_params(), 2, layers, 3);
  for (size_t z = 0; z < layers.size(); ++z) EXPECT_EQ(one[z].bytes, three[z].bytes);
}

// What a preview asks for, from no more than volume_source() of it.
// Every box of a stack, of the layers as they are and, where `places` say so, far from each other.
void expect_parts_have_the_bits_of_the_whole(PixelFormat format,
                                             std::span<const Similarity> places) {
  Engine engine({"", 2});
  const int32_t width = 280, height = 150, count = 4, depth = 2;
  Stack layers = burst(format, count, width, height);
  layers[3] = moved(layers[3], places.empty() ? 5 : 45);
  if (format.has_alpha()) {
    for (TestImage& layer : layers) {
      for (int32_t y = 20; y < 60; ++y) {
        for (int32_t x = 30; x < 70; ++x) layer.set(x, y, format.channels - 1, 0);
      }
    }
  }
  Params params = stack_params();
  params.detail = 20;
  NoiseModel noise = white_noise(format.colours(), kSigma);
  noise.stack.places = {static_cast<int32_t>(places.size()), width, height, 520, {}};
  std::copy(places.begin(), places.end(), noise.stack.places.of);
  noise.levels = 3;
  for (int32_t c = 0; c < noise.channels; ++c) {
    noise.sigma[1][c] = 0.6f * kSigma;
    noise.sigma[2][c] = 0.4f * kSigma;
    noise.white[c] = false;
  }
  const Stack whole = [&] {
    Stack results = layers;
    Report report;
    const std::vector<ConstImage> sources = views(layers);
    const std::vector<MutableImage> into = targets(results);
    EXPECT_TRUE(engine
                    .denoise_volume_part(params, depth, noise,
                                         {{count, 0, sources}, {count, 0, into}}, {}, report)
                    .ok());
    EXPECT_TRUE(report.changed);
    return results;
  }();
  for (const Rect& rect : {Rect{93, 41, 50, 30}, Rect{0, 0, 9, 5}, Rect{279, 149, 1, 1}}) {
    for (const int32_t z : {0, 2}) {
      VolumeBox needed;
      ASSERT_TRUE(engine
                      .volume_source(params, depth, noise, {format, width, height, count},
                                     {rect, z, 1}, needed)
                      .ok());
      std::vector<ConstImage> sources;
      for (int32_t i = needed.first; i < needed.first + needed.layers; ++i) {
        sources.push_back(layers[i].view(needed.rect));
      }
      TestImage part(format, width, height);
      const MutableImage target = part.target(rect);
      Report report;
      const Status status = engine.denoise_volume_part(
          params, depth, noise, {{count, needed.first, sources}, {count, z, {&target, 1}}}, {},
          report);
      ASSERT_TRUE(status.ok()) << status.message();
      for (int32_t y = rect.y; y < rect.bottom(); ++y) {
        for (int32_t x = rect.x; x < rect.right(); ++x) {
          for (int32_t c = 0; c < format.channels; ++c) {
            ASSERT_EQ(part.get(x, y, c), whole[z].get(x, y, c)) << x << ", " << y;
          }
        }
      }
    }
  }
}

TEST(Stack, APartHasTheBitsOfTheWhole) {
  const Similarity places[] = {
      {}, {{-31, 12}, {}}, {{400, 9}, {0, 0.2}}, {{45, 0.4}, {0.01, 0.02}}};
  for (const PixelFormat format : {kColour, PixelFormat{Component::kFloat, 2}}) {
    expect_parts_have_the_bits_of_the_whole(format, {});
    expect_parts_have_the_bits_of_the_whole(format, places);
  }
}

TEST(Stack, LightnessAndColourAreApart) {
  const Stack layers = burst({Component::kFloat, 3}, 3);
  Params params = stack_params();
  params.luma = 0;
  const TestImage colour = denoised(params, 2, layers)[1];
  float most = 0;
  for (int32_t y = 0; y < colour.height; ++y) {
    for (int32_t x = 0; x < colour.width; ++x) {
      float change = 0;
      for (int32_t c = 0; c < 3; ++c) change += colour.get(x, y, c) - layers[1].get(x, y, c);
      most = std::max(most, std::fabs(change));
    }
  }
  EXPECT_LT(most, 0.01f) << "of lightness";
  params.luma = 100;
  params.strength = 1;
  EXPECT_LT(test::largest_difference(denoised(params, 2, layers)[1], layers[1]), 3.0f);
}

TEST(Stack, MoreStrengthLeavesNoMoreNoise) {
  const Stack layers = burst(kColour, 4);
  const TestImage truth = clean(kColour);
  double before = 0;
  for (const double strength : {5.0, 25.0, 50.0, 75.0, 100.0}) {
    Params params = stack_params();
    params.strength = strength;
    const double found = test::psnr(denoised(params, 3, layers)[1], truth);
    EXPECT_GT(found, before) << strength;
    before = found;
  }
}

TEST(Stack, AConstantStaysAndWhatIsNoNumberIsLeft) {
  Stack layers(3, TestImage({Component::kFloat, 3}, 64, 48));
  for (TestImage& layer : layers) {
    for (int32_t y = 0; y < 48; ++y) {
      for (int32_t x = 0; x < 64; ++x) {
        for (int32_t c = 0; c < 3; ++c) layer.set(x, y, c, 77);
      }
    }
  }
  EXPECT_LT(test::largest_difference(denoised(stack_params(), 2, layers)[1], layers[1]), 1e-3f);
  layers[1].set(20, 20, 1, std::numeric_limits<float>::quiet_NaN());
  layers[0].set(30, 20, 0, std::numeric_limits<float>::infinity());
  const Stack results = denoised(stack_params(), 2, layers);
  EXPECT_TRUE(std::isnan(results[1].get(20, 20, 1)));
  EXPECT_TRUE(std::isinf(results[0].get(30, 20, 0)));
  for (const TestImage& result : results) {
    EXPECT_NEAR(result.get(19, 20, 1), 77, 1e-3f);
    EXPECT_NEAR(result.get(31, 20, 0), 77, 1e-3f);
  }
}

// What a camera does: noise that depends on brightness, 12 in the dark half, 6 in the bright one.
Stack camera_burst() {
  Stack layers(4, TestImage(kColour, 512, 256));
  uint32_t seed = 1;
  for (TestImage& layer : layers) {
    const TestImage calm = test::noisy_picture({Component::kFloat, 3}, 512, 256, 6, seed++);
    const TestImage still = test::noisy_picture({Component::kFloat, 3}, 512, 256, 0);
    for (int32_t y = 0; y < 256; ++y) {
      for (int32_t x = 0; x < 512; ++x) {
        for (int32_t c = 0; c < 3; ++c) {
          const float noise = calm.get(x, y, c) - still.get(x, y, c);
          layer.set(x, y, c, x < 256 ? 70 + 2 * noise : 180 + noise);
        }
      }
    }
  }
  return layers;
}

TEST(Stack, TheNoiseOfEachToneIsMeasured) {
  const Stack layers = camera_burst();
  Engine engine({"", 2});
  Params params;
  NoiseModel noise;
  ASSERT_TRUE(engine.volume_noise(params, views(layers), {}, noise, nullptr).ok());
  const double dark = noise.sigma[0][0] * std::sqrt(noise.stack.tones[4]);
  const double bright = noise.sigma[0][0] * std::sqrt(noise.stack.tones[11]);
  EXPECT_NEAR(dark, 12, 1.5);
  EXPECT_NEAR(bright, 6, 1);
  EXPECT_GT(noise.stack.unevenness, 1.2);
}

// Of either method, and automatic.
TEST(Stack, OfCameraNoiseIsBetterThanThePlainMean) {
  const Stack layers = camera_burst();
  TestImage truth(kColour, 512, 256);
  for (int32_t y = 0; y < 256; ++y) {
    for (int32_t x = 0; x < 512; ++x) {
      for (int32_t c = 0; c < 3; ++c) truth.set(x, y, c, x < 256 ? 70 : 180);
    }
  }
  const double plain = test::psnr(mean_of(layers), truth);
  for (const Method method : {Method::kBm3d, Method::kNlm}) {
    Params params;
    params.method = static_cast<int32_t>(method);
    params.quality = static_cast<int32_t>(Quality::kFast);
    for (const TestImage& result : denoised(params, 3, layers)) {
      EXPECT_GT(test::psnr(result, truth), plain + 3) << "method " << static_cast<int>(method);
    }
  }
}

// Texture on the left and next to none on the right, as a camera leaves it that has removed noise
// itself: what is left of the noise hides in the texture.
struct ReducedBurst {
  Stack layers;
  TestImage truth;  // of the first one
};

ReducedBurst reduced_burst(double right_a_frame) {
  constexpr int32_t kWidth = 320, kHeight = 256, kFrames = 4;
  const auto scene = [](double x, double y) {
    double value = 110;
    for (int32_t i = 1; i <= 10; ++i) {
      const double angle = 2.4 * i, length = 3 + 1.7 * i;
      const double along = std::cos(angle) * x + std::sin(angle) * y;
      value += (x < kWidth * 0.6 ? 7 : 0.3) * std::sin(6.2832 * along / length + 1.3 * i);
    }
    return value;
  };
  const TestImage empty(kColour, kWidth, kHeight);
  ReducedBurst burst{Stack(kFrames, empty), empty};
  for (int32_t z = 0; z < kFrames; ++z) {
    const TestImage noise = test::noisy_picture({Component::kFloat, 3}, kWidth, kHeight, 7, 31 + z);
    const TestImage clean = test::noisy_picture({Component::kFloat, 3}, kWidth, kHeight, 0);
    for (int32_t y = 0; y < kHeight; ++y) {
      for (int32_t x = 0; x < kWidth; ++x) {
        const double value = scene(x - z * right_a_frame, y);
        const float share = x < kWidth * 0.6 ? 1.0f : 0.1f;
        for (int32_t c = 0; c < 3; ++c) {
          const float grain = share * (noise.get(x, y, c) - clean.get(x, y, c));
          if (z == 0) burst.truth.set(x, y, c, static_cast<float>(value));
          burst.layers[z].set(x, y, c, static_cast<float>(value) + grain);
        }
      }
    }
  }
  return burst;
}

Params automatic(Method method) {
  Params params;
  params.method = static_cast<int32_t>(method);
  params.quality = static_cast<int32_t>(Quality::kFast);
  return params;
}

TEST(Stack, OfReducedNoiseIsNoWorseThanThePlainMean) {
  const auto [layers, truth] = reduced_burst(0);
  const double plain = test::psnr(mean_of(layers), truth);
  for (const Method method : {Method::kBm3d, Method::kNlm}) {
    const Params params = automatic(method);
    const double single = test::psnr(alone(params, layers[0]), truth);
    const double stack = test::psnr(denoised(params, 3, layers)[0], truth);
    EXPECT_GT(plain, single + 2);  // in one layer alone it looks like texture
    EXPECT_GT(stack, plain - 0.05) << "method " << static_cast<int>(method);
  }
}

TEST(Stack, OfReducedNoiseThatMovedIsNoWorseThanALayerAlone) {
  for (const double by : {0.5, 2.0, 9.0}) {
    const auto [layers, truth] = reduced_burst(by);
    const Params params = automatic(Method::kBm3d);
    const double single = test::psnr(alone(params, layers[0]), truth);
    EXPECT_GT(test::psnr(denoised(params, 3, layers)[0], truth), single - 0.05) << by;
  }
}

// Where layers differ though each looks free of noise, the same settings leave all as it is.
TEST(Stack, OfReducedNoiseStaysWhereNothingIsWanted) {
  const Stack layers = reduced_burst(0).layers;
  Params params;
  params.strength = 0;
  const Stack results = denoised(params, 3, layers);
  for (size_t z = 0; z < layers.size(); ++z) EXPECT_EQ(results[z].bytes, layers[z].bytes);
}

// Corners three times as noisy as the middle, as a fast lens's are whose vignetting was corrected.
TEST(Stack, OfNoisyCornersIsNoWorseThanALayerAlone) {
  constexpr int32_t kWidth = 360, kHeight = 300, kLayers = 5;
  const TestImage picture = clean({Component::kFloat, 3}, kWidth, kHeight);
  for (const int32_t step : {0, 3}) {
    Stack layers, truth;
    for (int32_t z = 0; z < kLayers; ++z) {
      truth.push_back(moved(picture, step * z));
      TestImage layer = truth.back();
      const TestImage noisy = test::noisy_picture(layer.format, kWidth, kHeight, 6, 40 + z);
      for (int32_t y = 0; y < kHeight; ++y) {
        for (int32_t x = 0; x < kWidth; ++x) {
          const double right = 2.0 * x / kWidth - 1, down = 2.0 * y / kHeight - 1;
          const auto gain = static_cast<float>(1 + right * right + down * down);
          for (int32_t c = 0; c < 3; ++c) {
            const float noise = noisy.get(x, y, c) - picture.get(x, y, c);
            layer.set(x, y, c, layer.get(x, y, c) + gain * noise);
          }
        }
      }
      layers.push_back(layer);
    }
    for (const Method method : {Method::kBm3d, Method::kNlm}) {
      Params params;
      params.method = static_cast<int32_t>(method);
      params.quality = static_cast<int32_t>(Quality::kFast);
      const TestImage stacked = denoised(params, kLayers - 1, layers)[2];
      const double of_stack = test::psnr(stacked, truth[2]);
      EXPECT_GT(of_stack, test::psnr(alone(params, layers[2]), truth[2]) - 0.1) << step;
      if (step == 0) {
        EXPECT_GT(of_stack, test::psnr(mean_of(layers), truth[2]) + 1);
      }
    }
  }
}

}  // namespace
}  // namespace grainless
