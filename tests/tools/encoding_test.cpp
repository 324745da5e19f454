// SPDX-License-Identifier: MIT
#include "tools/image_io/encoding.h"

#include <array>
#include <cmath>

#include "tool_testing.h"
#include "tools/image_io/icc_curves.h"
#if GRAINLESS_HAVE_LCMS
#include <lcms2.h>
#endif

namespace grainless::tools {
namespace {

TEST(ToneCurve, FromLightUndoesToLight) {
  const std::vector<ToneCurve> curves = {ToneCurve(), ToneCurve::power(1.8), ToneCurve::power(0.45),
                                         ToneCurve::table({0, 0.1, 0.3, 0.7, 1}),
                                         ToneCurve::formula(light_from_srgb)};
  for (const ToneCurve& curve : curves) {
    ASSERT_TRUE(curve.can_be_undone());
    for (const double sample :
         {-3.0, -0.4, 0.0, 1e-6, 0.003, 0.04, 0.2, 0.5, 0.999, 1.0, 1.7, 40.0}) {
      const double light = curve.to_light(sample);
      EXPECT_NEAR(curve.from_light(light), sample, 1e-7 * std::max(1.0, std::abs(sample)));
      if (sample > 0) {
        EXPECT_NEAR(curve.to_light(-sample), -light, 1e-12 * light);
      }
    }
  }
}

TEST(ToneCurve, WhatIsNoNumberStays) {
  const ToneCurve curve = ToneCurve::power(2.2);
  EXPECT_TRUE(std::isnan(curve.to_light(NAN)));
  EXPECT_TRUE(std::isnan(curve.from_light(NAN)));
  EXPECT_EQ(curve.to_light(INFINITY), INFINITY);
}

TEST(ToneCurve, SomeCannotBeUndone) {
  EXPECT_FALSE(ToneCurve::table({0, 0.6, 0.5, 1}).can_be_undone());  // falls
  EXPECT_FALSE(ToneCurve::table({1, 0}).can_be_undone());            // negative
  EXPECT_FALSE(ToneCurve::table({0, 0, 0, 0, 1}).can_be_undone());   // level for long
  EXPECT_FALSE(ToneCurve::table({0, 0.2}).can_be_undone());          // never white
  EXPECT_FALSE(ToneCurve::power(1e5).can_be_undone());
  EXPECT_FALSE(ToneCurve::power(NAN).can_be_undone());
  EXPECT_FALSE(ToneCurve::formula([](double v) { return v < 1 ? v : INFINITY; }).can_be_undone());
  std::vector<double> toe(256);
  for (size_t i = 8; i < toe.size(); ++i) toe[i] = double(i - 8) / 247;
  EXPECT_TRUE(ToneCurve::table(toe).can_be_undone());
}

// All integers of 8 and 16 bits, and back by their perceptual values alone.
TEST(Encoding, IntegersComeBack) {
  ThreadPool pool(2);
  const Encoding encoding({ToneCurve(), ToneCurve::power(1.8), ToneCurve::power(2.6)});
  for (const Component component : {Component::kU8, Component::kU16}) {
    for (const int32_t channels : {3, 4}) {
      Image image =
          make_image({component, channels}, 256, component == Component::kU8 ? 1 : 256, "");
      for (int32_t i = 0; i < image.width * image.height; ++i) {
        for (int32_t c = 0; c < channels; ++c) {
          const auto value = static_cast<uint16_t>(c == 3 ? (i % 3) * 100 : i);
          std::memcpy(image.pixels.get() + ptrdiff_t{i} * image.format.pixel_bytes() +
                          ptrdiff_t{c} * image.format.component_bytes(),
                      &value, size_t(image.format.component_bytes()));
        }
      }
      const Image decoded = encoding.decode(image, pool, "test");
      EXPECT_EQ(decoded.format, (PixelFormat{Component::kFloat, channels}));
      EXPECT_TRUE(same_pixels(
          encoding.encode(decoded, component, Extra::kAlpha, std::nullopt, pool, "test"), image));
    }
  }
}

TEST(Encoding, IntegersAreTheNearest) {
  ThreadPool pool(1);
  const Encoding encoding({ToneCurve::power(2.0)});
  Image values = make_image({Component::kFloat, 1}, 1000, 1, "test");
  for (int32_t i = 0; i < 1000; ++i) {
    const float value = -0.1f + 1.2f * float(i) / 999.0f;
    std::memcpy(values.pixels.get() + size_t(i) * 4, &value, 4);
  }
  const Image words =
      encoding.encode(values, Component::kU16, Extra::kAlpha, std::nullopt, pool, "test");
  for (int32_t i = 0; i < 1000; ++i) {
    uint16_t word;
    std::memcpy(&word, words.pixels.get() + size_t(i) * 2, 2);
    float value;
    std::memcpy(&value, values.pixels.get() + size_t(i) * 4, 4);
    const double sample = std::sqrt(std::clamp(light_from_srgb(double{value}), 0.0, 1.0)) * 65535;
    EXPECT_NEAR(word, sample, 0.502) << value;
  }
}

TEST(Encoding, WhatTheFilterLeavesKeepsItsBits) {
  ThreadPool pool(1);
  const Encoding encoding({ToneCurve::power(1.8), ToneCurve::power(1.8), ToneCurve::power(1.8)});
  for (const Component component :
       {Component::kU8, Component::kU16, Component::kHalf, Component::kFloat}) {
    for (const Extra extra : {Extra::kAlpha, Extra::kPremultiplied, Extra::kUnspecified}) {
      Image image = random_image({component, 4}, 31, 17);
      image.extra = extra;
      Image decoded = encoding.decode(image, pool, "test");
      EXPECT_TRUE(same_pixels(encoding.encode(decoded, component, extra,
                                              Encoding::Kept{&image, &decoded}, pool, "test"),
                              image));
    }
  }
}

TEST(Encoding, PremultipliedColoursAreDividedByAlpha) {
  ThreadPool pool(1);
  const Encoding encoding({ToneCurve()});
  Image image = make_image({Component::kFloat, 2}, 1, 1, "test");
  const float pixel[2] = {0.1f, 0.5f};
  std::memcpy(image.pixels.get(), pixel, sizeof pixel);
  image.extra = Extra::kPremultiplied;
  const Image decoded = encoding.decode(image, pool, "test");
  float out[2];
  std::memcpy(out, decoded.pixels.get(), sizeof out);
  EXPECT_FLOAT_EQ(out[0], float(srgb_from_light(0.2)));
  EXPECT_EQ(out[1], 0.5f);
  const Image back = encoding.encode(decoded, Component::kFloat, Extra::kPremultiplied,
                                     std::nullopt, pool, "test");
  std::memcpy(out, back.pixels.get(), sizeof out);
  EXPECT_FLOAT_EQ(out[0], 0.1f);
}

Encoding of(const Metadata& metadata, int32_t channels, std::vector<std::string>& notes) {
  Image picture;
  picture.format = {Component::kU8, channels};
  picture.metadata = metadata;
  return Encoding::of(picture, "a.png", notes);
}

TEST(Encoding, PngGammaCountsUnlessTheFileSaysSrgb) {
  std::vector<std::string> notes;
  Metadata metadata;
  EXPECT_TRUE(of(metadata, 3, notes).is_perceptual());
  metadata.png_gamma = 1 / 1.8;
  EXPECT_NEAR(of(metadata, 1, notes).perceptual_of(0, 0.5), srgb_from_light(std::pow(0.5, 1.8)),
              1e-9);
  metadata.png_gamma = 0.45455;
  EXPECT_FALSE(of(metadata, 3, notes).is_perceptual());  // 2.2 is not sRGB's curve in the shadows
  metadata.png_srgb_intent = 0;
  EXPECT_TRUE(of(metadata, 3, notes).is_perceptual());
  EXPECT_TRUE(notes.empty());
  metadata.png_srgb_intent.reset();
  // The others can be undone, and leave no picture: all grey tones are black, or white.
  for (const double nonsense : {1e-5, 0.01, 0.1, 10.0, 21474.83647}) {
    notes.clear();
    metadata.png_gamma = nonsense;
    EXPECT_TRUE(of(metadata, 3, notes).is_perceptual()) << nonsense;
    ASSERT_EQ(notes.size(), 1u) << nonsense;
    EXPECT_NE(notes[0].find("gamma"), std::string::npos);
  }
}

TEST(Encoding, OfPngCodingBeforeAllOthers) {
  std::vector<std::string> notes;
  Metadata metadata;
  metadata.icc_profile.assign(500, 7);
  const auto coded = [&](uint8_t transfer) {
    metadata.png_colour_codings = {{"mDCV", {1, 2}}, {"cICP", {9, transfer, 0, 1}}};
    return of(metadata, 3, notes);
  };
  EXPECT_NEAR(coded(8).perceptual_of(2, 0.2), srgb_from_light(0.2), 1e-9);
  EXPECT_NEAR(coded(4).perceptual_of(0, 0.5), srgb_from_light(std::pow(0.5, 2.2)), 1e-9);
  EXPECT_NEAR(coded(1).perceptual_of(0, 0.5), srgb_from_light(std::pow(0.599 / 1.099, 1 / 0.45)),
              1e-9);
  for (const int transfer : {13, 16, 18}) {
    EXPECT_TRUE(coded(static_cast<uint8_t>(transfer)).is_perceptual());
  }
  EXPECT_TRUE(notes.empty());
  EXPECT_TRUE(coded(2).is_perceptual());  // not said: the profile is asked
  EXPECT_EQ(notes.size(), 1u);
}

TEST(Encoding, ADamagedProfileIsSaid) {
  std::vector<std::string> notes;
  Metadata metadata;
  metadata.icc_profile.assign(500, 7);
  metadata.png_gamma = 1.0;  // the profile stands before it, damaged or not
  EXPECT_TRUE(of(metadata, 3, notes).is_perceptual());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("'a.png': its colour profile"), std::string::npos) << notes[0];
}

#if GRAINLESS_HAVE_LCMS

// An RGB or grey profile with that curve, which goes away.
std::vector<uint8_t> profile_with(cmsToneCurve* curve, int32_t colours, double version = 4.3) {
  const cmsCIExyY white = {0.3127, 0.3290, 1};
  const cmsCIExyYTRIPLE primaries = {{0.64, 0.33, 1}, {0.3, 0.6, 1}, {0.15, 0.06, 1}};
  cmsToneCurve* const curves[3] = {curve, curve, curve};
  cmsHPROFILE profile = colours == 1 ? cmsCreateGrayProfile(&white, curve)
                                     : cmsCreateRGBProfile(&white, &primaries, curves);
  cmsSetProfileVersion(profile, version);
  cmsUInt32Number bytes = 0;
  EXPECT_TRUE(cmsSaveProfileToMem(profile, nullptr, &bytes));
  std::vector<uint8_t> content(bytes);
  EXPECT_TRUE(cmsSaveProfileToMem(profile, content.data(), &bytes));
  cmsCloseProfile(profile);
  cmsFreeToneCurve(curve);
  return content;
}

void expect_curve(const std::vector<uint8_t>& profile, int32_t colours,
                  const std::function<double(double)>& light, double tolerance) {
  const IccCurves read = read_icc_curves(profile, colours);
  ASSERT_EQ(read.curves.size(), size_t(colours)) << read.why;
  for (const ToneCurve& curve : read.curves) {
    for (int32_t i = 0; i <= 100; ++i) {
      EXPECT_NEAR(curve.to_light(i / 100.0), light(i / 100.0), tolerance) << i;
    }
  }
}

// ICC.1:2010, table 65; parameters g a b c d e f.
double icc_formula(int32_t type, const std::array<double, 7>& p, double x) {
  const auto [g, a, b, c, d, e, f] = p;
  switch (type) {
    case 0:
      return std::pow(x, g);
    case 1:
      return x >= -b / a ? std::pow(a * x + b, g) : 0;
    case 2:
      return x >= -b / a ? std::pow(a * x + b, g) + c : c;
    case 3:
      return x >= d ? std::pow(a * x + b, g) : c * x;
    default:
      return x >= d ? std::pow(a * x + b, g) + e : c * x + f;
  }
}

TEST(IccCurves, EachKindOfFormulaIsRead) {
  const std::array<std::array<double, 7>, 5> parameters = {
      {{1.8},
       {2.0, 1.02, -0.02},
       {2.0, 0.99, -0.02, 0.03},
       {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045},
       {3.0, 0.8, 0.19, 0.3, 0.0525, 0.01, 0.0065}}};
  for (int32_t type = 0; type < 5; ++type) {
    const auto& p = parameters[size_t(type)];
    const auto light = [&](double x) { return icc_formula(type, p, x); };
    for (const int32_t colours : {1, 3}) {
      expect_curve(profile_with(cmsBuildParametricToneCurve(nullptr, type + 1, p.data()), colours),
                   colours, light, 5e-5);  // parameters are kept to 2^-16
    }
  }
}

TEST(IccCurves, TablesAndGammaAreRead) {
  std::array<uint16_t, 33> table;
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<uint16_t>(65535 * std::pow(double(i) / 32, 1.5) + 0.5);
  }
  expect_curve(
      profile_with(cmsBuildTabulatedToneCurve16(nullptr, 33, table.data()), 3), 3,
      [&](double x) {
        const auto i = std::min(size_t(x * 32), size_t{31});
        return (table[i] + (table[i + 1] - table[i]) * (x * 32 - double(i))) / 65535.0;
      },
      1e-9);
  const auto square = [](double x) { return x * x; };
  expect_curve(profile_with(cmsBuildGamma(nullptr, 2), 1, 2.1), 1, square, 1e-6);
  // Identity is found exactly: floats pass through sRGB's curve alone.
  const IccCurves linear = read_icc_curves(profile_with(cmsBuildGamma(nullptr, 1), 3), 3);
  ASSERT_EQ(linear.curves.size(), 3u);
  EXPECT_EQ(linear.curves[0].to_light(1.0 / 3), 1.0 / 3);
}

TEST(IccCurves, SrgbIsPerceptual) {
  std::vector<std::string> notes;
  Metadata metadata;
  const std::array<double, 5> srgb = {2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045};
  metadata.icc_profile = profile_with(cmsBuildParametricToneCurve(nullptr, 4, srgb.data()), 3);
  EXPECT_TRUE(of(metadata, 3, notes).is_perceptual());
  std::array<uint16_t, 1024> table;
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<uint16_t>(65535 * light_from_srgb(double(i) / 1023) + 0.5);
  }
  metadata.icc_profile = profile_with(cmsBuildTabulatedToneCurve16(nullptr, 1024, table.data()), 3);
  EXPECT_TRUE(of(metadata, 3, notes).is_perceptual());
  EXPECT_TRUE(notes.empty());
}

TEST(IccCurves, UselessProfilesAreRefusedWithAReason) {
  const std::vector<uint8_t> grey = profile_with(cmsBuildGamma(nullptr, 1.8), 1);
  EXPECT_NE(read_icc_curves(grey, 3).why.find("other colours"), std::string::npos);
  const std::array<uint16_t, 3> falling = {0, 60000, 30000};
  const auto bad = profile_with(cmsBuildTabulatedToneCurve16(nullptr, 3, falling.data()), 3);
  EXPECT_NE(read_icc_curves(bad, 3).why.find("undone"), std::string::npos);
  cmsHPROFILE lab = cmsCreateLab2Profile(nullptr);
  cmsUInt32Number bytes = 0;
  cmsSaveProfileToMem(lab, nullptr, &bytes);
  std::vector<uint8_t> content(bytes);
  cmsSaveProfileToMem(lab, content.data(), &bytes);
  cmsCloseProfile(lab);
  EXPECT_FALSE(read_icc_curves(content, 3).why.empty());
}

TEST(IccCurves, AnyCutOfAProfileIsSafe) {
  const std::vector<uint8_t> whole = profile_with(cmsBuildGamma(nullptr, 1.8), 3);
  for (size_t bytes = 0; bytes < whole.size(); bytes += 7) {
    const IccCurves read = read_icc_curves({whole.begin(), whole.begin() + ptrdiff_t(bytes)}, 3);
    EXPECT_EQ(read.curves.empty(), !read.why.empty());
  }
}

#endif

}  // namespace
}  // namespace grainless::tools
