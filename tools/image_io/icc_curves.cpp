// SPDX-License-Identifier: MIT
#include "icc_curves.h"

#if GRAINLESS_HAVE_LCMS
#include <lcms2.h>
#endif

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

namespace grainless::tools {

#if GRAINLESS_HAVE_LCMS

namespace {

struct ProfileCloser {
  void operator()(void* profile) const { cmsCloseProfile(profile); }
};

constexpr cmsTagSignature kGrey[] = {cmsSigGrayTRCTag};
constexpr cmsTagSignature kRgb[] = {cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag};

// A table is interpolated here: Little CMS would round its values, and the samples, to 16 bits.
ToneCurve table_of(const cmsToneCurve* curve) {
  const uint16_t* table = cmsGetToneCurveEstimatedTable(curve);
  std::vector<double> points;
  for (uint32_t i = 0; i < cmsGetToneCurveEstimatedTableEntries(curve); ++i) {
    points.push_back(table[i] / 65535.0);
  }
  return ToneCurve::table(std::move(points));
}

ToneCurve formula_of(const cmsToneCurve* curve) {
  constexpr double kProbes[] = {0.1, 0.25, 0.5, 0.75, 1, 2};
  const std::shared_ptr<cmsToneCurve> copy(cmsDupToneCurve(curve), cmsFreeToneCurve);
  const auto light = [copy](double sample) -> double {
    return cmsEvalToneCurveFloat(copy.get(), static_cast<float>(sample));
  };
  const bool linear = std::all_of(std::begin(kProbes), std::end(kProbes), [&](double sample) {
    return light(sample) == double{static_cast<float>(sample)};
  });
  return linear ? ToneCurve() : ToneCurve::formula(light);
}

}  // namespace

IccCurves read_icc_curves(const std::vector<uint8_t>& bytes, int32_t colours) {
  IccCurves result;
  const std::unique_ptr<void, ProfileCloser> profile(
      cmsOpenProfileFromMem(bytes.data(), static_cast<cmsUInt32Number>(bytes.size())));
  result.why = "is damaged";
  if (profile == nullptr) return result;
  result.why = "is for other colours";
  const bool grey = colours == 1;
  if (cmsGetColorSpace(profile.get()) != (grey ? cmsSigGrayData : cmsSigRgbData)) return result;
  result.why = "has no tone curves that can be undone";
  const auto* tags = grey ? std::begin(kGrey) : std::begin(kRgb);
  std::vector<ToneCurve> curves;
  for (int32_t c = 0; c < colours; ++c) {
    const auto* curve = static_cast<const cmsToneCurve*>(cmsReadTag(profile.get(), tags[c]));
    if (curve == nullptr) return result;
    const bool formula = cmsGetToneCurveParametricType(curve) != 0;
    if (!formula && cmsGetToneCurveEstimatedTableEntries(curve) < 2) return result;
    curves.push_back(formula ? formula_of(curve) : table_of(curve));
    if (!curves.back().can_be_undone()) return result;
  }
  return {std::move(curves), {}};
}

#else

namespace {

bool holds(const std::vector<uint8_t>& bytes, std::string_view text) {
  return std::search(bytes.begin(), bytes.end(), text.begin(), text.end()) != bytes.end();
}

// By its name, in ASCII or UTF-16.
bool calls_itself_srgb(const std::vector<uint8_t>& profile) {
  using namespace std::string_view_literals;
  const bool linear = holds(profile, "inear") || holds(profile, "i\0n\0e\0a\0r"sv);
  return !linear && (holds(profile, "sRGB") || holds(profile, "s\0R\0G\0B"sv));
}

}  // namespace

// Without Little CMS.
IccCurves read_icc_curves(const std::vector<uint8_t>& profile, int32_t) {
  if (calls_itself_srgb(profile)) return {};
  return {{}, "can't be read by this build, which lacks Little CMS"};
}

#endif

}  // namespace grainless::tools
