// SPDX-License-Identifier: MIT
// The promises of the design at the engine's front door, for every method.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/denoise.h"
#include "tests/support/answer_time.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::largest_difference;
using test::noisy_picture;
using test::TestImage;

constexpr float kSigma = 12.0f;

Engine& engine() {
  static Engine shared({"", 2});
  return shared;
}

struct Setting {
  const char* name;
  Method method;
  Transform transform = Transform::kBior15;
  Stages stages = Stages::kAll;
};

Params settings(const Setting& setting) {
  Params params;
  params.method = static_cast<int32_t>(setting.method);
  params.transform = static_cast<int32_t>(setting.transform);
  params.stages = static_cast<int32_t>(setting.stages);
  params.auto_sigma = false;
  return params;
}

NoiseModel noise_of(PixelFormat format, float sigma = kSigma) {
  return white_noise(format.colours(), sigma);
}

TestImage denoised(const Params& params, const TestImage& image, float sigma = kSigma,
                   Engine& by = engine(), Report* report_out = nullptr) {
  TestImage result(image.format, image.width, image.height);
  Report report;
  const Status status =
      by.denoise(params, noise_of(image.format, sigma), image.view(), result.target(), {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  if (report_out != nullptr) *report_out = report;
  return result;
}

class Denoise : public ::testing::TestWithParam<Setting> {};
INSTANTIATE_TEST_SUITE_P(
    Methods, Denoise,
    ::testing::Values(Setting{"Bm3d", Method::kBm3d},
                      Setting{"Bm3dFourier", Method::kBm3d, Transform::kDft},
                      Setting{"Bm3dFourierFirst", Method::kBm3d, Transform::kDft, Stages::kFirst},
                      Setting{"Nlm", Method::kNlm}, Setting{"SwNlm", Method::kSwNlm},
                      Setting{"Dct", Method::kDct}),
    [](const auto& info) { return info.param.name; });

TEST_P(Denoise, ACropComputedAloneHasTheBitsOfTheWhole) {
  const Params params = settings(GetParam());
  std::mt19937 generator(7);
  for (PixelFormat format : {PixelFormat{Component::kFloat, 1}, PixelFormat{Component::kU8, 4}}) {
    const TestImage image = noisy_picture(format, 331, 257, kSigma);
    const TestImage whole = denoised(params, image);
    for (int32_t i = 0; i < 6; ++i) {
      const auto below = [&](int32_t n) { return static_cast<int32_t>(generator() % n); };
      Rect rect{below(300), below(230), 0, 0};
      rect.width = 1 + below(image.width - rect.x);
      rect.height = 1 + below(image.height - rect.y);
      Rect source;
      ASSERT_TRUE(engine()
                      .source_rect(params, noise_of(format), {format, image.width, image.height},
                                   rect, source)
                      .ok());
      // Only what the engine asked for is given to it.
      TestImage part(format, source.width, source.height);
      for (int32_t y = 0; y < source.height; ++y) {
        std::memcpy(&part.bytes[y * part.row_bytes], pixel_at(image.view(), source.x, source.y + y),
                    part.row_bytes);
      }
      const ConstImage given{format, image.width,       image.height,
                             source, part.bytes.data(), part.row_bytes};
      TestImage crop(format, image.width, image.height);
      Report report;
      ASSERT_TRUE(
          engine().denoise(params, noise_of(format), given, crop.target(rect), {}, report).ok());
      for (int32_t y = rect.y; y < rect.bottom(); ++y) {
        ASSERT_EQ(std::memcmp(pixel_at(crop.view(), rect.x, y), pixel_at(whole.view(), rect.x, y),
                              rect.width * format.pixel_bytes()),
                  0)
            << "row " << y << " of " << rect.x << ',' << rect.y << ' ' << rect.width << 'x'
            << rect.height;
      }
    }
  }
}

TEST_P(Denoise, ThreadsAndRunsDoNotMatter) {
  const Params params = settings(GetParam());
  const TestImage image = noisy_picture({Component::kFloat, 3}, 190, 143, kSigma);
  const TestImage first = denoised(params, image);
  for (int32_t threads : {1, 3, 7}) {
    Engine other({"", threads});
    EXPECT_EQ(denoised(params, image, kSigma, other).bytes, first.bytes) << threads << " threads";
  }
}

TEST_P(Denoise, NoiseIsRemoved) {
  for (PixelFormat format : {PixelFormat{Component::kU16, 1}, PixelFormat{Component::kHalf, 3}}) {
    const TestImage clean = noisy_picture(format, 128, 128, 0.0f);
    const TestImage noisy = noisy_picture(format, 128, 128, kSigma);
    const double before = test::psnr(noisy, clean);
    EXPECT_GT(test::psnr(denoised(settings(GetParam()), noisy), clean), before + 4.0);
  }
}

TEST_P(Denoise, EveryFormatGivesTheSamePicture) {
  const TestImage reference_in = noisy_picture({Component::kU8, 3}, 96, 80, kSigma);
  const TestImage reference = denoised(settings(GetParam()), reference_in);
  for (Component component : {Component::kU16, Component::kHalf, Component::kFloat}) {
    // Half floats round the input itself, which a threshold may amplify. A pixel of Shapiro-Wilk
    // with one pair may lose it so, and a hard threshold without the second stage's smooth weights
    // a coefficient: only the mean holds there.
    const bool smooth = GetParam().method != Method::kSwNlm && GetParam().stages != Stages::kFirst;
    const float rounded = smooth ? 1.5f : 255.0f;
    const float tolerance = component == Component::kHalf ? rounded : 0.65f;
    double squares = 0;
    for (int32_t channels : {3, 4}) {
      TestImage image({component, channels}, 96, 80, 12);
      for (int32_t y = 0; y < 80; ++y) {
        for (int32_t x = 0; x < 96; ++x) {
          for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, reference_in.get(x, y, c));
          if (channels == 4) image.set(x, y, 3, 128.0f);
        }
      }
      const TestImage result = denoised(settings(GetParam()), image);
      for (int32_t y = 0; y < 80; ++y) {
        for (int32_t x = 0; x < 96; ++x) {
          for (int32_t c = 0; c < 3; ++c) {
            ASSERT_NEAR(result.get(x, y, c), reference.get(x, y, c), tolerance);
            squares += std::pow(result.get(x, y, c) - reference.get(x, y, c), 2);
          }
          if (channels == 4) {
            ASSERT_EQ(result.get(x, y, 3), image.get(x, y, 3));
          }
        }
      }
    }
    EXPECT_LT(std::sqrt(squares / (2 * 96 * 80 * 3)), 0.65) << "root of the mean square";
  }
}

TEST_P(Denoise, AConstantImageStaysAsItIs) {
  for (PixelFormat format : {PixelFormat{Component::kU8, 3}, PixelFormat{Component::kFloat, 1}}) {
    TestImage image(format, 70, 50);
    for (int32_t y = 0; y < 50; ++y) {
      for (int32_t x = 0; x < 70; ++x) {
        for (int32_t c = 0; c < format.channels; ++c) {
          image.set(x, y, c, 77.0f + 40.0f * static_cast<float>(c));
        }
      }
    }
    EXPECT_LT(largest_difference(denoised(settings(GetParam()), image), image), 2e-3f);
  }
}

TEST_P(Denoise, NothingToRemoveIsTheIdentityAndSaysSo) {
  Params params = settings(GetParam());
  const TestImage image = noisy_picture({Component::kFloat, 4}, 40, 30, kSigma);
  Report report;
  EXPECT_EQ(denoised(params, image, 0.0f, engine(), &report).bytes, image.bytes);
  EXPECT_FALSE(report.changed);
  EXPECT_FALSE(report.note.empty());
  params.strength = 0;
  EXPECT_EQ(denoised(params, image, kSigma, engine(), &report).bytes, image.bytes);
  EXPECT_FALSE(report.note.empty());
}

TEST_P(Denoise, LumaAndChromaAreLeftAloneWhenAsked) {
  const TestImage image = noisy_picture({Component::kFloat, 3}, 64, 64, kSigma);
  const auto sum = [](const TestImage& i, int32_t x, int32_t y) {
    return i.get(x, y, 0) + i.get(x, y, 1) + i.get(x, y, 2);
  };
  const auto tint = [](const TestImage& i, int32_t x, int32_t y) {
    return i.get(x, y, 0) - i.get(x, y, 2);
  };
  Params params = settings(GetParam());
  params.luma = 0;
  const TestImage colour_only = denoised(params, image);
  params.luma = 100;
  params.chroma = 0;
  const TestImage light_only = denoised(params, image);
  for (int32_t y = 0; y < 64; ++y) {
    for (int32_t x = 0; x < 64; ++x) {
      ASSERT_NEAR(sum(colour_only, x, y), sum(image, x, y), 1e-3);
      ASSERT_NEAR(tint(light_only, x, y), tint(image, x, y), 1e-3);
    }
  }
  EXPECT_GT(largest_difference(colour_only, image), 3.0f);
  EXPECT_GT(largest_difference(light_only, image), 3.0f);
}

TEST_P(Denoise, DetailGivesLumaBack) {
  const TestImage image = noisy_picture({Component::kFloat, 1}, 64, 64, kSigma);
  Params params = settings(GetParam());
  const TestImage full = denoised(params, image);
  params.detail = 50;
  const TestImage half = denoised(params, image);
  for (int32_t y = 0; y < 64; ++y) {
    for (int32_t x = 0; x < 64; ++x) {
      ASSERT_NEAR(half.get(x, y, 0), 0.5f * (full.get(x, y, 0) + image.get(x, y, 0)), 1e-3);
    }
  }
}

TEST_P(Denoise, WhatLiesUnderTransparencyNeverShows) {
  TestImage one = noisy_picture({Component::kU8, 4}, 90, 70, kSigma);
  for (int32_t y = 20; y < 60; ++y) {
    for (int32_t x = 30; x < 90; ++x) one.set(x, y, 3, 0.0f);
  }
  TestImage other = one;
  for (int32_t y = 20; y < 60; ++y) {
    for (int32_t x = 30; x < 90; ++x) {
      one.set(x, y, 0, 255.0f);
      other.set(x, y, 0, 0.0f);
    }
  }
  const TestImage a = denoised(settings(GetParam()), one);
  const TestImage b = denoised(settings(GetParam()), other);
  for (int32_t y = 0; y < 70; ++y) {
    for (int32_t x = 0; x < 90; ++x) {
      const bool clear = one.get(x, y, 3) == 0;
      for (int32_t c = 0; c < 4; ++c) {
        if (clear) {
          ASSERT_EQ(a.get(x, y, c), one.get(x, y, c));
        } else {
          ASSERT_EQ(a.get(x, y, c), b.get(x, y, c)) << x << ',' << y;
        }
      }
    }
  }
}

TEST_P(Denoise, NotFinitePixelsStayAndHarmNoOther) {
  TestImage image = noisy_picture({Component::kFloat, 3}, 60, 140, kSigma);
  image.set(20, 20, 1, std::numeric_limits<float>::quiet_NaN());
  image.set(40, 130, 0, std::numeric_limits<float>::infinity());
  Report report;
  const TestImage result = denoised(settings(GetParam()), image, kSigma, engine(), &report);
  EXPECT_EQ(report.replaced_pixels, 2);
  EXPECT_TRUE(std::isnan(result.get(20, 20, 1)));
  EXPECT_EQ(result.get(20, 20, 0), image.get(20, 20, 0));
  EXPECT_TRUE(std::isinf(result.get(40, 130, 0)));
  for (int32_t y = 0; y < 140; ++y) {
    for (int32_t x = 0; x < 60; ++x) {
      if ((x == 20 && y == 20) || (x == 40 && y == 130)) continue;
      for (int32_t c = 0; c < 3; ++c) {
        ASSERT_TRUE(std::isfinite(result.get(x, y, c))) << x << ',' << y;
        ASSERT_NEAR(result.get(x, y, c), image.get(x, y, c), 80.0f);
      }
    }
  }
}

TEST_P(Denoise, EverySmallSizeWorks) {
  const Params params = settings(GetParam());
  for (int32_t width : {1, 2, 7, 8, 9, 17}) {
    for (int32_t height : {1, 5, 8, 11, 33}) {
      const TestImage image = noisy_picture({Component::kU16, 3}, width, height, kSigma);
      Report report;
      const TestImage result = denoised(params, image, kSigma, engine(), &report);
      if (!report.changed) {
        EXPECT_EQ(result.bytes, image.bytes);
        EXPECT_NE(report.note.find("smaller than a patch"), std::string::npos);
      }
    }
  }
}

TEST_P(Denoise, PaddingBytesAreNeverTouched) {
  const TestImage image = noisy_picture({Component::kU8, 3}, 33, 21, kSigma, 1, 7);
  TestImage result({Component::kU8, 3}, 33, 21, 13);
  Report report;
  ASSERT_TRUE(engine()
                  .denoise(settings(GetParam()), noise_of(image.format), image.view(),
                           result.target(), {}, report)
                  .ok());
  for (int32_t y = 0; y < 21; ++y) {
    for (int32_t i = 0; i < 13; ++i) ASSERT_EQ(result.bytes[y * result.row_bytes + 99 + i], 0xa5);
  }
}

TEST_P(Denoise, TransposingTheImageTransposesTheResult) {
  const TestImage image = noisy_picture({Component::kFloat, 1}, 61, 61, kSigma);
  TestImage turned = image;
  for (int32_t y = 0; y < 61; ++y) {
    for (int32_t x = 0; x < 61; ++x) turned.set(x, y, 0, image.get(y, x, 0));
  }
  const TestImage a = denoised(settings(GetParam()), image);
  const TestImage b = denoised(settings(GetParam()), turned);
  double sum = 0;
  for (int32_t y = 0; y < 61; ++y) {
    for (int32_t x = 0; x < 61; ++x) sum += std::pow(a.get(x, y, 0) - b.get(y, x, 0), 2);
  }
  // Ties between equally distant patches are broken in raster order, so a few groups may differ.
  EXPECT_LT(std::sqrt(sum / (61 * 61)), 0.1);
}

TEST_P(Denoise, MoreStrengthNeverLeavesMoreNoise) {
  const TestImage clean = noisy_picture({Component::kFloat, 1}, 96, 96, 0.0f);
  TestImage flat({Component::kFloat, 1}, 96, 96), noisy = flat;
  std::mt19937 generator(3);
  std::normal_distribution<float> gaussian(100.0f, kSigma);
  for (int32_t y = 0; y < 96; ++y) {
    for (int32_t x = 0; x < 96; ++x) noisy.set(x, y, 0, gaussian(generator));
  }
  Params params = settings(GetParam());
  double last = 1e9;
  for (double strength : {25.0, 50.0, 75.0, 100.0, 130.0, 160.0, 200.0}) {
    params.strength = strength;
    const TestImage result = denoised(params, noisy);
    double sum = 0, squares = 0;
    for (int32_t y = 0; y < 96; ++y) {
      for (int32_t x = 0; x < 96; ++x) {
        sum += result.get(x, y, 0);
        squares += std::pow(result.get(x, y, 0), 2);
      }
    }
    const double deviation = std::sqrt(std::max(0.0, squares / 9216 - std::pow(sum / 9216, 2)));
    // A stronger BM3D matches on a smoother pilot, which moves what little is left: under 1 % of
    // sigma.
    EXPECT_LE(deviation, last + 0.02 * kSigma) << "strength " << strength;
    last = std::min(last, deviation);
  }
}

TEST_P(Denoise, CancelIsAnsweredWithinATenthOfASecond) {
  Params params = settings(GetParam());
  params.quality = static_cast<int32_t>(Quality::kHigh);
  const TestImage image = noisy_picture({Component::kU8, 3}, 1600, 1200, kSigma);
  TestImage result(image.format, image.width, image.height);
  const auto work = [&](const Callbacks& callbacks) {
    Report report;
    const Status status = engine().denoise(params, noise_of(image.format), image.view(),
                                           result.target(), callbacks, report);
    EXPECT_EQ(status.code(), ErrorCode::kCancelled);
  };
  const auto seconds = [&] { return test::seconds_to_cancel(std::chrono::milliseconds(40), work); };
  EXPECT_LT(test::quickest(0.1, seconds), 0.1);
}

TEST_P(Denoise, ProgressNeverFallsAndEndsAtOne) {
  const TestImage image = noisy_picture({Component::kU8, 1}, 300, 200, kSigma);
  TestImage result(image.format, image.width, image.height);
  double last = 0;
  Callbacks callbacks;
  callbacks.progress = [&](double fraction) {
    EXPECT_GE(fraction, last);
    last = fraction;
  };
  Report report;
  ASSERT_TRUE(engine()
                  .denoise(settings(GetParam()), noise_of(image.format), image.view(),
                           result.target(), callbacks, report)
                  .ok());
  EXPECT_NEAR(last, 1.0, 1e-9);
  EXPECT_GT(report.kernels, 0);
  EXPECT_EQ(report.device, "cpu");
}

// A picture that is all texture: no pixel has a look-alike, and the least unlike one must not count
// as such.
TEST(Centre, AutomaticLosesNothingAtWeakNoise) {
  constexpr int32_t kSide = 90;
  for (const Method method : {Method::kNlm, Method::kSwNlm}) {
    for (const int32_t channels : {1, 3}) {
      TestImage clean({Component::kFloat, channels}, kSide, kSide);
      std::mt19937 generator(7);
      std::normal_distribution<float> gaussian(0.0f, 1.0f);
      for (int32_t i = 0; i < kSide * kSide * channels; ++i) {
        const int32_t x = i / channels % kSide, y = i / channels / kSide;
        clean.set(x, y, i % channels, 120 + 25 * gaussian(generator));
      }
      for (const float sigma : {0.5f, 1.0f, 2.0f, 3.0f, 5.0f}) {
        TestImage noisy = clean;
        for (int32_t i = 0; i < kSide * kSide * channels; ++i) {
          const int32_t x = i / channels % kSide, y = i / channels / kSide, c = i % channels;
          noisy.set(x, y, c, clean.get(x, y, c) + sigma * gaussian(generator));
        }
        for (const Quality quality : {Quality::kFast, Quality::kNormal, Quality::kHigh}) {
          Params params;
          params.method = static_cast<int32_t>(method);
          params.quality = static_cast<int32_t>(quality);
          const double before = test::psnr(noisy, clean);
          EXPECT_GE(test::psnr(denoised(params, noisy, sigma), clean), before - 0.05)
              << sigma << ' ' << channels << ' ' << static_cast<int>(quality);
          if (method == Method::kSwNlm) break;  // the same but for the window
        }
      }
    }
  }
}

TEST(DenoiseInput, BadInputIsRefusedInOneSentence) {
  const TestImage image = noisy_picture({Component::kU8, 3}, 20, 20, kSigma);
  TestImage result(image.format, 20, 20);
  Report report;
  Params params = settings({"Nlm", Method::kNlm});
  params.sigma = 400;
  EXPECT_EQ(engine()
                .denoise(params, noise_of(image.format), image.view(), result.target(), {}, report)
                .code(),
            ErrorCode::kBadParameter);
  params.sigma = 10;
  ConstImage broken = image.view();
  broken.data = nullptr;
  EXPECT_EQ(
      engine().denoise(params, noise_of(image.format), broken, result.target(), {}, report).code(),
      ErrorCode::kBadInput);
  broken = image.view();
  broken.rect.width = 30;
  EXPECT_EQ(
      engine().denoise(params, noise_of(image.format), broken, result.target(), {}, report).code(),
      ErrorCode::kBadInput);
  broken = image.view({5, 5, 5, 5});
  EXPECT_EQ(
      engine().denoise(params, noise_of(image.format), broken, result.target(), {}, report).code(),
      ErrorCode::kInternal);
}

}  // namespace
}  // namespace grainless
