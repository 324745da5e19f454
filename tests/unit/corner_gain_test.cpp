// SPDX-License-Identifier: MIT
#include "engine/noise/corner_gain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/denoise.h"
#include "engine/noise/survey.h"
#include "engine/plan/make_plan.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::noisy_picture;
using test::TestImage;

constexpr PixelFormat kGrey{Component::kFloat, 1}, kColour{Component::kFloat, 3};
constexpr PixelFormat kBytes{Component::kU8, 3};

// What noise of sigma 1 is times at a place from -1 to 1 in both directions.
using Strength = std::function<double(double right, double down)>;

// That of corners which are `corner` times as noisy as the middle.
Strength lens(double corner) {
  return [corner](double right, double down) {
    return 1 + (corner - 1) * (right * right + down * down) / 2;
  };
}

TestImage with_noise(const TestImage& clean, double sigma, const Strength& strength,
                     uint32_t seed = 3) {
  TestImage image = clean;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const double here =
          sigma * strength(2.0 * x / (image.width - 1) - 1, 2.0 * y / (image.height - 1) - 1);
      for (int32_t c = 0; c < image.format.colours(); ++c) {
        const double value = double{image.get(x, y, c)} + here * normal(random);
        image.set(x, y, c, static_cast<float>(value));
      }
    }
  }
  return image;
}

TestImage lens_picture(PixelFormat format, double sigma, const Strength& strength) {
  return with_noise(noisy_picture(format, 480, 360, 0), sigma, strength);
}

// What a mosaic leaves of noise: `of_colours` of it lies in colours alone, which are coarser than
// luma.
TestImage with_coarse_noise(const TestImage& clean, double sigma, double of_colours,
                            const Strength& strength) {
  constexpr int32_t kAround = 2;
  const int32_t width = clean.width + 2 * kAround, height = clean.height + 2 * kAround;
  const auto at = [width](int32_t x, int32_t y) { return static_cast<size_t>(y) * width + x; };
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> white[4];  // of all channels, and of each
  for (auto& plane : white) {
    plane.resize(static_cast<size_t>(width) * height);
    for (double& value : plane) value = normal(random);
  }
  const double near[] = {0.25, 0.5, 0.25}, far[] = {0.2, 0.2, 0.2, 0.2, 0.2};
  TestImage image = clean;
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      const double here =
          sigma * strength(2.0 * x / (image.width - 1) - 1, 2.0 * y / (image.height - 1) - 1);
      double luma = 0;
      for (int32_t j = 0; j < 3; ++j) {
        for (int32_t i = 0; i < 3; ++i)
          luma += near[j] * near[i] * white[3][at(x + 1 + i, y + 1 + j)];
      }
      for (int32_t c = 0; c < image.format.colours(); ++c) {
        double colour = 0;
        for (int32_t j = 0; j < 5; ++j) {
          for (int32_t i = 0; i < 5; ++i) colour += far[j] * far[i] * white[c][at(x + i, y + j)];
        }
        const double value = image.get(x, y, c) + here * (luma + of_colours * colour);
        image.set(x, y, c, static_cast<float>(value));
      }
    }
  }
  return image;
}

NoiseModel measured(Engine& engine, const TestImage& image, NoiseKind kind = NoiseKind::kSure) {
  NoiseModel noise;
  const Status status = engine.estimate(image.view(), kind, {}, noise);
  EXPECT_TRUE(status.ok()) << status.message();
  return noise;
}

TestImage denoised(Engine& engine, const TestImage& image, const NoiseModel& noise, Method method,
                   const Rect& rect) {
  TestImage result(image.format, image.width, image.height);
  Params params;
  params.method = static_cast<int32_t>(method);
  params.device = "cpu";
  Report report;
  const Status status =
      engine.denoise(params, noise, image.view(), result.target(rect), {}, report);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.changed);
  return result;
}

TestImage denoised(Engine& engine, const TestImage& image, const NoiseModel& noise, Method method) {
  return denoised(engine, image, noise, method, {0, 0, image.width, image.height});
}

class Corners : public ::testing::Test {
 protected:
  Engine engine_{{"", 2}};
};

TEST_F(Corners, GainIsOneInTheMiddleAndTheSameInAllCorners) {
  const GainField field = field_of({1, 0.5f, 0.75f}, 301, 201);
  EXPECT_EQ(gain_at(field, 150, 100), 1.0f);
  for (const int32_t x : {0, 300}) {
    for (const int32_t y : {0, 200}) EXPECT_NEAR(gain_at(field, x, y), 2.25f, 1e-5f);
  }
  EXPECT_EQ(gain_at(field_of({}, 301, 201), 0, 0), 1.0f);
  EXPECT_EQ(gain_at(field_of({1, 0.5f, 0.75f}, 1, 1), 0, 0), 1.0f);
}

// Volumes and means of layers, which a model of one picture may be given for, have neither.
TEST_F(Corners, NoPlanHasThemWithoutABend) {
  NoiseModel noise = white_noise(3, 8);
  noise.corners = {1, 0.5f, 0.75f};
  Plan plan = make_plan({}, kColour, noise);
  EXPECT_NE(plan.corners.enabled, 0);
  EXPECT_NE(plan.bend.enabled, 0);
  EXPECT_FLOAT_EQ(bent(plan.bend, 77.7f), 77.7f);
  set_bend(plan, {}, noise.range);
  EXPECT_EQ(plan.corners.enabled, 0);
}

TEST_F(Corners, NoiseThatGrowsOrFallsTowardsThemIsFound) {
  for (const PixelFormat format : {kColour, kBytes, kGrey}) {
    for (const double corner : {0.4, 2.0, 3.0}) {
      const NoiseModel noise = measured(engine_, lens_picture(format, 8, lens(corner)));
      EXPECT_NEAR(in_corners(noise) / corner, 1, 0.2) << format.channels << ", " << corner;
      EXPECT_NEAR(noise.sigma[0][0], 8, 1) << format.channels << ", " << corner;
      EXPECT_EQ(noise.confidence, Confidence::kMeasured);
    }
  }
}

TEST_F(Corners, EvenNoiseHasNone) {
  for (const PixelFormat format : {kColour, kBytes, kGrey}) {
    for (const double sigma : {3.0, 8.0, 25.0}) {
      const NoiseModel noise = measured(engine_, lens_picture(format, sigma, lens(1)));
      EXPECT_EQ(noise.corners.enabled, 0) << format.channels << ", " << sigma;
    }
  }
}

// That is no lens's, and a gain of all quarters would blur the others.
TEST_F(Corners, NoiseThatGrowsElsewhereHasNone) {
  const Strength places[] = {
      [](double right, double) { return 1.75 + 0.75 * right; },
      [](double right, double down) { return right > 0 && down > 0 ? lens(3)(right, down) : 1.0; },
      [](double right, double down) { return right > 0 || down > 0 ? lens(3)(right, down) : 1.0; },
  };
  for (const PixelFormat format : {kColour, kGrey}) {
    for (const Strength& strength : places) {
      EXPECT_EQ(measured(engine_, lens_picture(format, 8, strength)).corners.enabled, 0);
    }
  }
}

// A mosaic leaves little of the finest detail of colours: luma shows the gain.
TEST_F(Corners, CoarseNoiseShowsThemInLuma) {
  for (const PixelFormat format : {kColour, kBytes, kGrey}) {
    const TestImage clean = noisy_picture(format, 480, 360, 0);
    for (const double corner : {1.0, 2.0, 2.6}) {
      const TestImage image = with_coarse_noise(clean, 24, 0.8, lens(corner));
      const NoiseModel noise = measured(engine_, image, NoiseKind::kCamera);
      ASSERT_FALSE(noise.white[0]);
      EXPECT_NEAR(in_corners(noise) / corner, 1, 0.2) << format.channels << ", " << corner;
      if (corner == 1) continue;
      NoiseModel even =
          measured(engine_, with_coarse_noise(clean, 24, 0.8, lens(1)), NoiseKind::kCamera);
      EXPECT_NEAR(noise.sigma[1][0] / even.sigma[1][0], 1, 0.2) << format.channels;
    }
  }
}

// Black and white, in three channels.
TEST_F(Corners, GreyPicturesInColourAreMeasuredAsGreyOnes) {
  const TestImage grey = lens_picture({Component::kU8, 1}, 6, lens(3));
  TestImage image(kBytes, grey.width, grey.height);
  for (int32_t y = 0; y < grey.height; ++y) {
    for (int32_t x = 0; x < grey.width; ++x) {
      for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, grey.get(x, y, 0));
    }
  }
  const NoiseModel of_grey = measured(engine_, grey), noise = measured(engine_, image);
  EXPECT_NEAR(in_corners(of_grey), 3, 0.6);
  EXPECT_FLOAT_EQ(in_corners(noise), in_corners(of_grey));
  EXPECT_NEAR(noise.sigma[0][0], std::sqrt(3) * of_grey.sigma[0][0], 1e-3);
}

// Each shade may have its own noise, and the picture is brighter above than below.
TEST_F(Corners, TheyAreToldFromTones) {
  const TestImage clean = noisy_picture(kColour, 480, 360, 0);
  for (const double corner : {1.0, 2.0}) {
    const Strength strength = [&](double right, double down) {
      const auto x = static_cast<int32_t>((right + 1) / 2 * 479 + 0.5);
      const auto y = static_cast<int32_t>((down + 1) / 2 * 359 + 0.5);
      return (0.5 + clean.get(x, y, 1) / 128) * lens(corner)(right, down);
    };
    const NoiseModel noise = measured(engine_, with_noise(clean, 6, strength));
    EXPECT_NEAR(in_corners(noise) / corner, 1, 0.2) << corner;
  }
}

TEST_F(Corners, ResultsAreBetterForThem) {
  const TestImage clean = noisy_picture(kColour, 480, 360, 0);
  const TestImage image = with_noise(clean, 8, lens(3));
  const NoiseModel noise = measured(engine_, image);
  // Even noise as it is found without the corners: the root mean square of all places.
  double squares = 0;
  for (int32_t y = 0; y < 360; ++y) {
    for (int32_t x = 0; x < 480; ++x) {
      const double gain = lens(3)(2.0 * x / 479 - 1, 2.0 * y / 359 - 1);
      squares += gain * gain / (480.0 * 360);
    }
  }
  NoiseModel even = noise;
  even.corners = {};
  for (auto& level : even.sigma) {
    for (float& sigma : level) sigma *= static_cast<float>(std::sqrt(squares));
  }
  for (const Method method : {Method::kBm3d, Method::kNlm, Method::kDct}) {
    const double with = test::psnr(denoised(engine_, image, noise, method), clean);
    const double without = test::psnr(denoised(engine_, image, even, method), clean);
    EXPECT_GT(with, without + 0.5) << static_cast<int32_t>(method);
  }
}

TEST_F(Corners, APartHasThePixelsOfTheWhole) {
  for (const PixelFormat format : {kBytes, kColour}) {
    const TestImage image = lens_picture(format, 8, lens(2.5));
    const NoiseModel noise = measured(engine_, image);
    ASSERT_NE(noise.corners.enabled, 0);
    const TestImage whole = denoised(engine_, image, noise, Method::kBm3d);
    const Rect rect{310, 17, 90, 70};
    const TestImage part = denoised(engine_, image, noise, Method::kBm3d, rect);
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      for (int32_t x = rect.x; x < rect.right(); ++x) {
        for (int32_t c = 0; c < format.channels; ++c) {
          ASSERT_EQ(part.get(x, y, c), whole.get(x, y, c)) << x << ", " << y;
        }
      }
    }
  }
}

TEST_F(Corners, APictureThatPassesByInBandsShowsThem) {
  const TestImage image = lens_picture(kBytes, 8, lens(2.5));
  Survey survey(image.format, image.width, image.height);
  survey.add(image.view(), 0, image.height);
  NoiseModel noise;
  ASSERT_TRUE(engine_.noise_for({}, survey, {}, noise, nullptr).ok());
  const NoiseModel whole = measured(engine_, image);
  EXPECT_NE(noise.corners.enabled, 0);
  EXPECT_EQ(noise.corners.rise, whole.corners.rise);
  EXPECT_EQ(noise.corners.bulge, whole.corners.bulge);
  EXPECT_EQ(noise.sigma[0][0], whole.sigma[0][0]);
}

// The diagram's points are of the middle, as sigma is.
TEST_F(Corners, TheCurveIsThatOfTheMiddle) {
  const TestImage image = lens_picture(kColour, 8, lens(3));
  const NoiseModel noise = measured(engine_, image);
  for (const Rect& rect : {Rect{}, Rect{300, 200, 180, 160}}) {
    NoiseCurve curve;
    ASSERT_TRUE(engine_.noise_curve(image.view(), {rect, nullptr, 0}, noise, {}, curve).ok());
    ASSERT_GT(curve.channel[1].count, 0);
    for (int32_t i = 0; i < curve.channel[1].count; ++i) {
      EXPECT_NEAR(curve.channel[1].point[i].sigma, 8, 2);
    }
  }
}

}  // namespace
}  // namespace grainless
