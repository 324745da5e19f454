// SPDX-License-Identifier: MIT
// Floats beyond black and white: highlights, volumes of any unit, and single values that are far
// from all others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/plan.h"
#include "engine/denoise.h"
#include "engine/methods.h"
#include "engine/noise/model.h"
#include "engine/noise/picture_range.h"
#include "engine/params/params.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/match_scale.h"
#include "engine/plan/stack_plan.h"
#include "tests/support/search_volume.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::noisy_picture;
using test::TestImage;

constexpr float kSigma = 12.0f;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Engine& engine() {
  static Engine shared({"", 2});
  return shared;
}

Params params_of(Method method, int32_t scales = 1) {
  Params params;
  params.method = static_cast<int32_t>(method);
  params.auto_sigma = false;
  params.sigma = kSigma;
  params.scales = scales;
  return params;
}

NoiseModel noise_for(const Params& params, const TestImage& image) {
  NoiseModel noise;
  const Status status = engine().noise_for(params, image.view(), {}, noise, nullptr);
  EXPECT_TRUE(status.ok()) << status.message();
  return noise;
}

TestImage denoised(const Params& params, const TestImage& image, Report* report = nullptr) {
  TestImage result(image.format, image.width, image.height);
  Report own;
  const Status status = engine().denoise(params, noise_for(params, image), image.view(),
                                         result.target(), {}, report != nullptr ? *report : own);
  EXPECT_TRUE(status.ok()) << status.message();
  return result;
}

TestImage changed(const TestImage& image, double factor, double offset, int32_t from_x = 0) {
  TestImage result = image;
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = from_x; x < image.width; ++x) {
      for (int32_t c = 0; c < image.format.colours(); ++c) {
        result.set(x, y, c, static_cast<float>(image.get(x, y, c) * factor + offset));
      }
    }
  }
  return result;
}

double rms(const TestImage& a, const TestImage& b, const Rect& rect) {
  double sum = 0;
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      for (int32_t c = 0; c < a.format.colours(); ++c) {
        sum += std::pow(double{a.get(x, y, c)} - b.get(x, y, c), 2);
      }
    }
  }
  return std::sqrt(sum / (static_cast<double>(rect.area()) * a.format.colours()));
}

double decibels(double before, double after) {
  return 20 * std::log10(before / after);
}

class BeyondWhite : public testing::TestWithParam<Method> {};

// The right part of the picture is so much brighter; far from where both meet nothing else differs.
TEST_P(BeyondWhite, BrightPartsAreDenoisedAsOthersAre) {
  const int32_t width = 256, height = 72, border = 128, apart = 44;
  const Rect parts[] = {{0, 0, border - apart, height},
                        {border + apart, 0, width - border - apart, height}};
  for (const int32_t channels : {1, 3}) {
    const PixelFormat format{Component::kFloat, channels};
    const TestImage clean = noisy_picture(format, width, height, 0);
    const TestImage noisy = noisy_picture(format, width, height, kSigma);
    for (const int32_t scales : {1, 2}) {
      const Params params = params_of(GetParam(), scales);
      const TestImage usual = denoised(params, noisy);
      for (const double whites : {5.0, 20.0, 100.0}) {
        const double more = (whites - 1) * 255;
        Report report;
        const TestImage result = denoised(params, changed(noisy, 1, more, border), &report);
        EXPECT_EQ(report.replaced_pixels, 0) << whites;
        for (const Rect& part : parts) {
          const double loss =
              decibels(rms(result, changed(clean, 1, more, border), part), rms(usual, clean, part));
          EXPECT_LT(loss, 0.3) << channels << " channels, " << scales << " scales, " << whites;
        }
      }
    }
  }
}

// Noise in proportion, as in measurements of any unit.
TEST_P(BeyondWhite, UnitsDoNotMatter) {
  const TestImage clean = noisy_picture({Component::kFloat, 1}, 96, 80, 0);
  const TestImage noisy = noisy_picture({Component::kFloat, 1}, 96, 80, kSigma);
  const Params params = params_of(GetParam());
  const double usual = rms(denoised(params, noisy), clean, {0, 0, 96, 80});
  struct Unit {
    double factor, offset;
  };
  for (const auto& [factor, offset] : {Unit{65535, 0}, Unit{3000, -1000 * 255.0}, Unit{40, 1e5}}) {
    const TestImage source = changed(noisy, factor, offset);
    NoiseModel noise = noise_for(params, source);
    noise.sigma[0][0] = static_cast<float>(kSigma * factor);
    TestImage result(source.format, source.width, source.height);
    Report report;
    ASSERT_TRUE(engine().denoise(params, noise, source.view(), result.target(), {}, report).ok());
    EXPECT_EQ(report.replaced_pixels, 0);
    const double error = rms(result, changed(clean, factor, offset), {0, 0, 96, 80}) / factor;
    EXPECT_LT(decibels(error, usual), 0.3) << factor << ' ' << offset;
  }
}

// More contrast than any patch matches: left as it is, nearly, but not worse.
TEST_P(BeyondWhite, ContrastIsKept) {
  const Rect all{0, 0, 96, 80};
  for (const int32_t channels : {1, 3}) {
    const PixelFormat format{Component::kFloat, channels};
    const TestImage clean = noisy_picture(format, 96, 80, 0);
    const TestImage noisy = noisy_picture(format, 96, 80, kSigma);
    for (const double factor : {5.0, 20.0, 100.0}) {
      TestImage wanted = changed(clean, factor, 0), source = wanted;
      for (int32_t y = 0; y < all.height; ++y) {
        for (int32_t x = 0; x < all.width; ++x) {
          for (int32_t c = 0; c < channels; ++c) {
            const float noise = noisy.get(x, y, c) - clean.get(x, y, c);
            source.set(x, y, c, wanted.get(x, y, c) + noise);
          }
        }
      }
      const TestImage result = denoised(params_of(GetParam()), source);
      EXPECT_LT(rms(result, wanted, all), 1.01 * rms(source, wanted, all))
          << channels << ' ' << factor;
    }
  }
}

struct Place {
  int32_t x, y;
};

// As if it were not finite: not a bit of the others changes.
void expect_outliers_harm_none(const Params& params, const TestImage& image,
                               const std::vector<Place>& places, float value) {
  TestImage source = image, twin = image;
  for (size_t i = 0; i < places.size(); ++i) {
    const int32_t c = static_cast<int32_t>(i) % image.format.colours();
    source.set(places[i].x, places[i].y, c, value * (1 + 0.001f * static_cast<float>(i)));
    twin.set(places[i].x, places[i].y, c, kNan);
  }
  Report report;
  const TestImage result = denoised(params, source, &report), expected = denoised(params, twin);
  EXPECT_EQ(report.replaced_pixels, static_cast<int64_t>(places.size())) << value;
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const bool outlier = std::any_of(places.begin(), places.end(), [&](const Place& place) {
        return place.x == x && place.y == y;
      });
      for (int32_t c = 0; c < image.format.channels; ++c) {
        const float is = result.get(x, y, c);
        const float want = outlier ? source.get(x, y, c) : expected.get(x, y, c);
        ASSERT_EQ(std::memcmp(&is, &want, sizeof is), 0)
            << value << " at " << x << ',' << y << ": " << is << " instead of " << want;
      }
    }
  }
}

TEST_P(BeyondWhite, OutliersStayAndTouchNothing) {
  for (const int32_t channels : {1, 3}) {
    const TestImage image = noisy_picture({Component::kFloat, channels}, 70, 66, kSigma);
    for (const int32_t scales : {1, 3}) {
      const Params params = params_of(GetParam(), scales);
      for (const float value : {1e4f, -1e4f, 1e6f, 1e20f, 1e36f, -1e36f}) {
        expect_outliers_harm_none(params, image, {{31, 30}}, value * 255);
      }
      const std::vector<Place> several{{0, 0}, {5, 5}, {6, 5}, {40, 20}, {69, 65}, {30, 65}};
      for (const float value : {2e4f, 3e30f}) {
        expect_outliers_harm_none(params, image, several, value);
      }
    }
  }
}

TEST_P(BeyondWhite, OutliersBesideWhatIsNotFinite) {
  TestImage image = noisy_picture({Component::kFloat, 3}, 70, 66, kSigma);
  for (const Place place : {Place{20, 20}, {21, 20}, {20, 21}, {50, 3}}) {
    image.set(place.x, place.y, 1, kNan);
  }
  TestImage source = image, twin = image;
  for (const Place place : {Place{19, 20}, {20, 19}, {21, 21}, {51, 3}}) {
    source.set(place.x, place.y, 0, 1e34f);
    twin.set(place.x, place.y, 0, kNan);
  }
  const Params params = params_of(GetParam(), 3);
  Report report;
  const TestImage result = denoised(params, source, &report), expected = denoised(params, twin);
  EXPECT_EQ(report.replaced_pixels, 8);
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      if (!std::isfinite(twin.get(x, y, 0)) || !std::isfinite(twin.get(x, y, 1))) continue;
      for (int32_t c = 0; c < 3; ++c) ASSERT_EQ(result.get(x, y, c), expected.get(x, y, c));
    }
  }
}

// Found by fuzzing: as large as numbers are, impulses alone being removed, which cuts no span. Sums
// over neighbours, and of a patch, were infinite, and their differences no numbers.
TEST_P(BeyondWhite, TheLargestNumbersStayNumbers) {
  for (const double most : {1e30, 9e33, 4e37, 3e38}) {
    for (const int32_t channels : {1, 3}) {
      TestImage image({Component::kFloat, channels}, 40, 36);
      std::mt19937 random(3);
      for (int32_t y = 0; y < image.height; ++y) {
        for (int32_t x = 0; x < image.width; ++x) {
          const double share =
              (x + y) % 5 == 0 ? 1.0 : 0.2 + 0.02 * static_cast<double>(random() % 5);
          for (int32_t c = 0; c < channels; ++c)
            image.set(x, y, c, static_cast<float>(most * share));
        }
      }
      for (const double sigma : {0.0, 100.0}) {
        Params params = params_of(GetParam(), 3);
        params.sigma = sigma;
        params.impulse = static_cast<int32_t>(ImpulseWay::kStrong);
        const TestImage result = denoised(params, image);
        for (int32_t y = 0; y < image.height; ++y) {
          for (int32_t x = 0; x < image.width; ++x) {
            for (int32_t c = 0; c < channels; ++c) {
              ASSERT_TRUE(std::isfinite(result.get(x, y, c)))
                  << most << ", " << channels << " channels, sigma " << sigma << ": " << x << ","
                  << y;
            }
          }
        }
      }
    }
  }
}

// The measured noise, too, is that of the other pixels.
TEST_P(BeyondWhite, OutliersDoNotChangeTheMeasuredNoise) {
  TestImage source = noisy_picture({Component::kFloat, 3}, 200, 160, kSigma), twin = source;
  for (int32_t i = 0; i < 9; ++i) {
    source.set(11 + 20 * i, 7 + 17 * i, i % 3, 1e5f * static_cast<float>(i + 1));
    twin.set(11 + 20 * i, 7 + 17 * i, i % 3, kNan);
  }
  Params params = params_of(GetParam());
  params.auto_sigma = true;
  const NoiseModel is = noise_for(params, source), want = noise_for(params, twin);
  for (int32_t c = 0; c < 3; ++c) EXPECT_EQ(is.sigma[0][c], want.sigma[0][c]);
}

TEST_P(BeyondWhite, CropsHaveTheBitsOfTheWhole) {
  TestImage image = changed(noisy_picture({Component::kFloat, 3}, 230, 190, kSigma), 20, -300);
  image.set(100, 90, 0, 1e9f);
  image.set(140, 100, 2, kNan);
  const Params params = params_of(GetParam(), 2);
  const NoiseModel noise = noise_for(params, image);
  const TestImage whole = denoised(params, image);
  const Rect part{83, 71, 66, 43};
  Rect needed;
  ASSERT_TRUE(engine().source_rect(params, noise, {image.format, 230, 190}, part, needed).ok());
  TestImage crop(image.format, 230, 190);
  Report report;
  ASSERT_TRUE(
      engine().denoise(params, noise, image.view(needed), crop.target(part), {}, report).ok());
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    for (int32_t x = part.x; x < part.right(); ++x) {
      for (int32_t c = 0; c < 3; ++c) {
        const float is = crop.get(x, y, c), want = whole.get(x, y, c);
        ASSERT_EQ(std::memcmp(&is, &want, sizeof is), 0) << x << ',' << y;
      }
    }
  }
}

std::string name_of(const testing::TestParamInfo<Method>& info) {
  std::string name = method_row(static_cast<int32_t>(info.param)).choice.id;
  std::erase(name, '-');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Methods, BeyondWhite,
                         testing::Values(Method::kBm3d, Method::kNlm, Method::kSwNlm, Method::kDct),
                         name_of);

// A stack of layers in any unit, with and without an outlier, searched and averaged.
void check_units_of_volumes(bool averaged) {
  const Rect all{0, 0, 64, 48};
  constexpr int32_t kLayers = 5;
  Params params = params_of(Method::kNlm);
  std::vector<TestImage> clean, noisy;
  for (int32_t z = 0; z < kLayers; ++z) {
    clean.push_back(noisy_picture({Component::kFloat, 1}, 64, 48, 0));
    noisy.push_back(
        noisy_picture({Component::kFloat, 1}, 64, 48, kSigma, static_cast<uint32_t>(z + 1)));
  }
  const auto error = [&](double factor, double offset, float outlier) {
    std::vector<TestImage> sources, results;
    std::vector<ConstImage> from;
    std::vector<MutableImage> to;
    for (const TestImage& layer : noisy) sources.push_back(changed(layer, factor, offset));
    if (outlier != 0) sources[2].set(30, 20, 0, outlier);
    results = sources;
    for (int32_t z = 0; z < kLayers; ++z) {
      from.push_back(sources[z].view());
      to.push_back(results[z].target());
    }
    NoiseModel noise = test::noise_of_unlike_layers(params, from);
    noise.sigma[0][0] = static_cast<float>(kSigma * factor);
    if (averaged) {
      params.auto_sigma = true;
      EXPECT_TRUE(engine().volume_noise(params, from, {}, noise, nullptr).ok());
      EXPECT_NEAR(noise.sigma[0][0] / factor, kSigma, 0.2 * kSigma);
    }
    EXPECT_EQ(fuses_stack(params, noise), averaged);
    Report report;
    const Status status = engine().denoise_volume_part(
        params, 2, noise, {{kLayers, 0, from}, {kLayers, 0, to}}, {}, report);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(report.replaced_pixels, outlier != 0 ? 1 : 0);
    if (outlier != 0) {
      EXPECT_EQ(results[2].get(30, 20, 0), sources[2].get(30, 20, 0));
      results[2].set(30, 20, 0, static_cast<float>(clean[2].get(30, 20, 0) * factor + offset));
    }
    double worst = 0;
    for (int32_t z = 0; z < kLayers; ++z) {
      worst = std::max(worst, rms(results[z], changed(clean[z], factor, offset), all) / factor);
    }
    return worst;
  };
  const double usual = error(1, 0, 0);
  EXPECT_LT(usual, 0.6 * kSigma);
  EXPECT_LT(decibels(error(65535, 0, 0), usual), 0.3);
  EXPECT_LT(decibels(error(3000, -1000 * 255.0, 0), usual), 0.3);
  EXPECT_LT(decibels(error(1, 0, 1e30f), usual), 0.3);
  EXPECT_LT(decibels(error(65535, 0, 1e30f), usual), 0.3);
}

TEST(VolumesBeyondWhite, UnitsDoNotMatter) {
  check_units_of_volumes(false);
}

TEST(VolumesBeyondWhite, UnitsDoNotMatterWhereLayersAreAveraged) {
  check_units_of_volumes(true);
}

// What automatic mode finds goes by the unit, too, beyond what a parameter could say.
TEST(VolumesBeyondWhite, TheirNoiseIsMeasured) {
  const TestImage noisy = noisy_picture({Component::kFloat, 1}, 256, 192, kSigma);
  Params params = params_of(Method::kNlm);
  params.auto_sigma = true;
  const float usual = noise_for(params, noisy).sigma[0][0];
  EXPECT_NEAR(usual, kSigma, 0.2 * kSigma);
  for (const double factor : {50.0, 3000.0, 65535.0}) {
    const NoiseModel noise = noise_for(params, changed(noisy, factor, -20 * factor));
    EXPECT_NEAR(noise.sigma[0][0] / factor, usual, 0.05 * usual) << factor;
  }
}

TEST(PictureRange, UsualPicturesHaveTheUsualOne) {
  for (const Component component : {Component::kU8, Component::kHalf, Component::kFloat}) {
    const TestImage image = noisy_picture({component, 3}, 90, 70, 30);
    const ConstImage view = image.view();
    const PictureRange range = picture_range({&view, 1});
    EXPECT_EQ(range.low, 0);
    EXPECT_EQ(range.high, 255);
  }
}

TEST(PictureRange, IsOfWhatThePictureHoldsButForSinglePixels) {
  TestImage image = changed(noisy_picture({Component::kFloat, 3}, 90, 70, 3), 30, 1000);
  const auto range_of = [&image] {
    const ConstImage view = image.view();
    return picture_range({&view, 1});
  };
  const PictureRange range = range_of();
  EXPECT_GT(range.low, -1000);
  EXPECT_GT(range.middle, 2000);
  EXPECT_LT(range.middle, range.high);
  EXPECT_LT(range.high, 30 * 300 + 1000);
  for (int32_t i = 0; i < 20; ++i) image.set(4 + 4 * i, 3 + 3 * i, i % 3, i % 2 ? 1e30f : kNan);
  const PictureRange same = range_of();
  EXPECT_NEAR(same.low, range.low, 0.05 * (range.high - range.low));
  EXPECT_NEAR(same.high, range.high, 0.05 * (range.high - range.low));
}

// Found by fuzzing: bright tones that are bent less let values in whose unbent luma is infinite.
TEST(MatchSpan, NoToneStrengthLetsWiderValuesIn) {
  for (const double shadows : {0.0, 50.0, 200.0}) {
    for (const double highlights : {0.0, 50.0, 200.0}) {
      Params params;
      params.shadows = shadows;
      params.highlights = highlights;
      NoiseModel noise = white_noise(3, 0);  // impulses alone are removed: the span is not cut
      noise.range = {-8e37f, 0, 8e37f};
      const Plan plan = make_plan(params, {Component::kFloat, 3}, noise);
      EXPECT_GE(plan.valid.low, static_cast<float>(-kWidestValue)) << shadows << " " << highlights;
      EXPECT_LE(plan.valid.high, static_cast<float>(kWidestValue)) << shadows << " " << highlights;
    }
  }
}

// Whatever a picture holds and however weak its noise: sums fit, and values that are told apart are
// no coarser than promised (engine/plan/match_scale.h).
TEST(MatchSpan, DistancesFitTheirIntegersForEveryRange) {
  for (const Method method : {Method::kBm3d, Method::kNlm, Method::kSwNlm}) {
    for (const int32_t channels : {1, 3}) {
      for (const double sigma : {1e-4, 0.5, 12.0, 100.0, 1e6}) {
        for (const float high : {400.0f, 5e3f, 1e6f, 1e12f, 4e37f}) {
          for (const int32_t patch : {2, 5, 16}) {
            Params params = params_of(method, 3);
            params.patch = patch;
            NoiseModel noise = white_noise(channels, static_cast<float>(sigma));
            noise.range = {-high / 3, high / 2, high};
            const Plan plan = make_plan(params, {Component::kFloat, channels}, noise);
            EXPECT_LE(plan.valid.low, plan.valid.high);
            const double middle = std::min<double>(noise.range.middle, kWidestValue);
            EXPECT_LE(plan.valid.low, middle);
            EXPECT_GE(plan.valid.high, static_cast<float>(middle));
            const auto span = [](const MatchCurve& curve) {
              EXPECT_TRUE(std::isfinite(curve.centre) && curve.scale > 0);
              return 2 * std::ceil(double{curve.most} * curve.scale);
            };
            for (int32_t l = 0; l < plan.level_count; ++l) {
              const LevelPlan& level = plan.level[l];
              double sum = 0;
              for (int32_t c = 0; c < channels && method == Method::kNlm; ++c) {
                sum += std::pow(span(level.nlm.match[c]), 2) * level.nlm.patch * level.nlm.patch;
              }
              EXPECT_LT(sum, std::ldexp(1.0, 31));
              for (int32_t c = 0; c < channels && method == Method::kSwNlm; ++c) {
                EXPECT_LT(span(level.sw_nlm.match[c]), 65536);
              }
              for (int32_t s = 0; s < level.stage_count; ++s) {
                const Bm3dStage& stage = level.bm3d[s];
                EXPECT_LT(std::pow(span(stage.match), 2) * stage.patch * stage.patch,
                          std::ldexp(1.0, 31));
                EXPECT_LT(stage.max_distance, kMaxKeyDistance);
                // Twice of it fits in two bytes of a card's matrix units.
                EXPECT_LT(match_value(1e36f, stage.match), 1 << 13);
                EXPECT_GT(match_value(-1e36f, stage.match), -(1 << 13));
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace grainless
