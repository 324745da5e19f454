// SPDX-License-Identifier: MIT
#include "coarse.h"

#include <algorithm>

namespace grainless {
namespace {

// White noise of the finest band over all that flat blocks show.
double finest_part(const Measured& m) {
  return m.flat.sigma[0] > 0 ? m.fine.sigma / m.flat.sigma[0] : 0;
}

// Regions show hardly more than blocks: one noise, and no texture that grows with them. Where they
// show next to nothing, they are drawn, and say nothing of the photograph beside them.
bool is_one_noise(const Measured& m, double most_growth) {
  constexpr double kLeastOfBlocks = 0.1;
  const double calm = m.region.calm, blocks = m.flat.sigma[0];
  return calm > kLeastOfBlocks * blocks && calm < most_growth * blocks;
}

bool is_one_chroma_noise(const Measured& m) {
  return is_one_noise(m, 1.7);
}

// The same of luma, whose noise falls with resolution, too.
bool is_one_luma_noise(const Measured& m) {
  return is_one_noise(m, 1.5) && m.region.coarse < 0.72 * m.region.calm;
}

// No block is much calmer than the flattest ones are on average, though calm regions show more.
bool is_everywhere(const Measured& m) {
  return m.flat.lowest > 0.75 * m.flat.sigma[0] && is_one_noise(m, 2.2);
}

// A picture that is the same all over and coarse is a texture: a photograph has calm parts and
// others.
bool is_all_texture(const Measured& m) {
  return m.region.most < 1.5 * m.region.calm && m.region.coarse > 0.54 * m.region.calm;
}

// How noise falls with resolution after a camera's demosaicing, noise reduction and JPEG: between
// that of textures and that of smooth surfaces, enlarged pictures and what other filters left.
bool looks_processed(const FlatNoise& flat) {
  const double half = flat.sigma[1] / flat.sigma[0], quarter = flat.sigma[2] / flat.sigma[1];
  return half > 0.7 && half < 0.95 && quarter < 0.76;
}

// What a scan's or a clean photograph's colours hold becomes coarse when it is rotated,
// straightened or made smaller, as a camera's noise is. But that is in all of the picture, or in
// most and as slow to fall with resolution as noise reduction leaves it, and more than a scan's
// grain; or it is in strong colours, or nothing of the finest band is left. Of 427 such pictures in
// which luma seemed to hold coarse noise 76 are left, 48 of them through JPEG again; of 280 of
// PolyU, RNI15 and simulated cameras three are missed, small crops.
bool chroma_is_a_cameras(const Measured* m) {
  constexpr double kLeastLowest = 0.7, kSomeLowest = 0.5, kSlowFall = 0.8, kMoreThanGrain = 1.25;
  constexpr double kEmpty = 0.12, kStaysCoarse = 0.85, kMoreThanRounding = 0.47;
  constexpr double kStrong = 3.3, kMostCoarse = 0.6;
  const Measured &luma = m[0], &u = m[1], &v = m[2];
  const auto lowest = [](const Measured& c) { return c.flat.lowest / c.flat.sigma[0]; };
  const auto quarter = [](const Measured& c) { return c.flat.sigma[2] / c.flat.sigma[1]; };
  const double least = std::min(lowest(u), lowest(v));
  const bool slow = std::min(quarter(u), quarter(v)) > kSlowFall;
  const bool everywhere = least > kLeastLowest || (least > kSomeLowest && slow);
  if (everywhere && v.flat.sigma[0] > kMoreThanGrain) return true;
  // JPEG keeps nothing of the finest band; what a camera has cleaned doesn't fall with resolution.
  if (std::max(u.fine.sigma, v.fine.sigma) < kEmpty) {
    return v.region.coarse >= kStaysCoarse * v.region.calm;
  }
  return v.fine.sigma >= kMoreThanRounding ||
         (std::min(u.flat.sigma[0], v.flat.sigma[0]) > kStrong &&
          luma.region.coarse < kMostCoarse * luma.region.calm);
}

// The calmest patches of V = R - 2G + B hold a scan's weak white noise, luma's finest band some,
// and luma is not much finer than the colours, which is what a demosaicing leaves that follows
// edges: what flat blocks show beyond that is texture. Of 3,487 crops of Kodak24 with noise of 0 to
// 1, some brighter, warmer or of more contrast, 74 seemed to hold a camera's coarse noise, 34 of
// them are such; of 1,536 crops of PolyU and simulated cameras that hold it two.
bool is_a_scans(const Measured* m) {
  constexpr double kLeast = 0.25, kMost = 0.7, kLeastOfLuma = 0.9;
  constexpr double kMostPersistence = 2.8, kMostPatchTexture = 3, kMostFiner = 0.24;
  const Measured& v = m[2];
  const auto half = [](const Measured& c) { return c.flat.sigma[1] / c.flat.sigma[0]; };
  const bool weak = v.fine.sigma > kLeast && v.fine.sigma < kMost;
  const bool white =
      v.fine.texture < kMostPatchTexture && 2 * v.halved < kMostPersistence * v.fine.sigma;
  return weak && white && m[0].fine.sigma > kLeastOfLuma &&
         half(m[0]) > 0.5 * (half(m[1]) + half(m[2])) - kMostFiner;
}

// The shades of one texture: luma and both colours vary together where the picture is flattest,
// which noise doesn't, and the colours' finest band is neither empty, as cameras leave it, nor full
// of noise. Of 1,856 noisy or edited crops of Kodak24, simulated cameras and PolyU, which seemed to
// hold coarse noise and lost 328 dB together, 33 are told, and 153 dB; two of PolyU's lose 1 each.
// What is_demosaiced tells holds all the same: a parrot's green hides the noise of red and blue.
bool is_of_one_colour(const Measured* m) {
  constexpr double kMostApart = 0.45, kEmpty = 0.04, kFull = 0.42;
  const double fine = std::max(finest_part(m[1]), finest_part(m[2]));
  return m[0].chroma_blocks.apart < kMostApart && fine > kEmpty && fine < kFull;
}

// Cameras leave coarse noise in V, too, or nothing in U's finest band. (Of the same crops 26 are
// told, which lost 33 dB, and none of a camera's.)
bool is_v_clean(const Measured* m) {
  constexpr double kMostHalf = 1.0, kEmpty = 0.04;
  return m[2].flat.sigma[1] < kMostHalf && m[1].fine.sigma > kEmpty;
}

// A camera's red and blue are noisier than its green: V = R - 2G + B rises with luma. Noise that
// was white before the picture was edited says nothing of it.
bool v_falls(const Measured* m, double by) {
  return m[0].luma_blocks.v_with_luma < -by && !was_white(m);
}

// Luma follows from both colours as the shades of a texture do, and not from their noise.
bool luma_follows(const Measured* m) {
  constexpr double kFalls = 0.05, kLeastTold = 0.295;
  return m[0].chroma_blocks.told > kLeastTold && v_falls(m, kFalls);
}

// Colour tells that there is noise; how much luma shows isn't that alone where texture is
// everywhere: the calmest region is hardly calmer than others, and coarse, and luma has clearly
// more of it than the noise of a mosaic has. (Kodak24's 1, 5, 6, 13 and 14, simulated cameras at
// ISO 1600 and 3200: twice the noise was found, and up to 4.4 dB lost. Of 960 simulated crops none
// is left, and those that this keeps from being sure gained less than 2.4 dB.)
bool texture_adds(const Measured& luma, double chroma_share) {
  constexpr double kStrong = 6.5, kCalmer = 3.6, kCoarse = 0.45, kQuarter = 0.265;
  constexpr double kLeastShare = 0.222, kMostShare = 0.735;
  const double* sigma = luma.flat.sigma;
  return sigma[0] > kStrong && sigma[2] > kQuarter * sigma[0] &&
         luma.region.most < kCalmer * luma.region.calm &&
         luma.region.coarse > kCoarse * luma.region.calm && chroma_share > kLeastShare &&
         chroma_share < kMostShare;
}

}  // namespace

double mean_chroma(const Measured* m) {
  return 0.5 * (m[1].flat.sigma[0] + m[2].flat.sigma[0]);
}

bool chroma_is_intact(const Measured* m) {
  constexpr double kMostPatchTexture = 1.9, kLeastShare = 0.1, kFaint = 0.15, kWeak = 1.5;
  return std::all_of(m + 1, m + 3, [](const Measured& c) {
    return c.fine.sigma >= kFaint && c.fine.sigma <= kWeak && c.fine.texture < kMostPatchTexture &&
           c.fine.sigma > kLeastShare * c.flat.sigma[0];
  });
}

Coarse judge_coarse(const Measured* m) {
  constexpr double kMost = 30;  // no such noise is stronger, halftone screens are
  constexpr double kMostPatchTexture = 1.6, kMostEmptied = 250;
  const double luma = m[0].flat.sigma[0], chroma = mean_chroma(m);
  if (luma > std::min(kMost, 1.25 * (3.0 + 3.0 * chroma)) || chroma_is_intact(m)) {
    return Coarse::kNone;
  }
  if (!chroma_is_a_cameras(m) || is_of_one_colour(m) || is_v_clean(m)) return Coarse::kNone;
  if (is_a_scans(m) && !was_white(m)) return Coarse::kNone;
  // Coarse noise would show in the calmest patches, too.
  const bool clean_patches = m[0].fine.sigma > 0 && m[0].fine.texture < kMostPatchTexture;
  if (clean_patches || is_all_texture(m[0])) return Coarse::kNone;
  const double share = chroma / luma;
  const bool one_luma_noise = is_one_luma_noise(m[0]);
  const bool witnessed = is_one_chroma_noise(m[1]) && is_one_chroma_noise(m[2]) &&
                         (share > 0.6 || (share > 0.35 && one_luma_noise));
  if (texture_adds(m[0], share) || luma_follows(m)) return Coarse::kSome;
  if (witnessed) return Coarse::kSure;
  // Enlarging and filters empty the finest band; cameras leave something there.
  if (m[0].fine.texture > kMostEmptied) return Coarse::kNone;
  const bool plain = one_luma_noise || is_everywhere(m[0]);
  return plain && looks_processed(m[0].flat) ? Coarse::kSure : Coarse::kSome;
}

bool may_be_texture(const Measured* m) {
  constexpr double kFalls = 0.083, kLeastSpread = 1.45;
  return luma_follows(m) || (v_falls(m, kFalls) && m[0].luma_blocks.spread > kLeastSpread);
}

bool is_demosaiced(const Measured* m) {
  constexpr double kWeakest = 9, kStrongest = 60, kMostPatchTexture = 3;
  constexpr double kMostHalf = 0.7, kMostQuarter = 0.66, kMostHalfOfV = 0.77;
  constexpr double kLeastFine = 0.4, kLeastLowest = 0.62, kLeastCalmest = 0.8;
  constexpr double kLeastChroma = 0.2, kMostChroma = 0.75;
  constexpr double kPlainHalf = 0.54, kPlainCoarse = 0.45, kPlainLowest = 0.75;
  const FlatNoise &flat = m[0].flat, &v = m[2].flat;
  const double luma = flat.sigma[0], chroma = mean_chroma(m);
  if (luma < kWeakest || luma > kStrongest || is_all_texture(m[0])) return false;
  const bool fine = m[0].fine.sigma > kLeastFine * luma && m[0].fine.texture < kMostPatchTexture;
  const bool falls =
      flat.sigma[1] < kMostHalf * luma && flat.sigma[2] < kMostQuarter * flat.sigma[1];
  const bool plain = flat.sigma[1] < kPlainHalf * luma && flat.lowest > kPlainLowest * luma &&
                     m[0].region.coarse < kPlainCoarse * m[0].region.calm;
  const bool sampled = plain || v.sigma[1] < kMostHalfOfV * v.sigma[0];
  const bool everywhere = flat.lowest > kLeastLowest * luma && flat.calmest > kLeastCalmest * luma;
  return fine && falls && sampled && everywhere && chroma > kLeastChroma * luma &&
         chroma < kMostChroma * luma;
}

bool was_white(const Measured* m) {
  constexpr double kPlain = 0.24, kGood = 0.19, kSome = 0.1;
  constexpr double kMostOfLuma = 0.37, kMuchTexture = 8;
  if (m[1].flat.sigma[0] <= 0 || m[2].flat.sigma[0] <= 0) return false;
  const double fine = std::min(finest_part(m[1]), finest_part(m[2]));
  const double texture = std::min(m[1].fine.texture, m[2].fine.texture);
  return fine > kPlain || (fine > kGood && finest_part(m[0]) < kMostOfLuma) ||
         (fine > kSome && texture > kMuchTexture);
}

}  // namespace grainless
