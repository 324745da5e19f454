// SPDX-License-Identifier: MIT
// The one place where user units become kernel units. A Plan is plain data: it crosses the module
// boundary (abi.h) and its parts are passed by value into CPU loops and CUDA kernels alike.
//
// Exact matching. Patches are compared on integers: a match plane holds round(compress(v) * scale)
// (engine/plan/match_scale.h, pixel_math.h: match_value), so that a sum of squared differences is
// exact in any order, on any backend, in integer or (below 2^24) float arithmetic. That is what
// makes running sums compatible with "place does not matter", and BM3D's groups the same on the CPU
// and on a GPU.
#pragma once

#include <cstdint>
#include <type_traits>

#include "choices.h"
#include "corner_gain.h"
#include "impulse_rule.h"
#include "pixels.h"
#include "tone_bend.h"

namespace grainless {

inline constexpr int32_t kMaxPatch = 16;
inline constexpr int32_t kMaxGroup = 32;
inline constexpr int32_t kMaxBm3dStages = 6;
inline constexpr int32_t kShareRadius = 4;  // of the square that tells a pixel's share of the noise
inline constexpr int32_t kFillRadius = 8;   // pixels round an invalid one whose mean replaces it

// A BM3D candidate is one 32-bit key: bits 31..12 distance (sum of squared differences of match
// values, shifted right by distance_shift, capped at kMaxKeyDistance), bits 11..0 its index in the
// search window, 1 + (dy + radius) * (2 * radius + 1) + (dx + radius), which needs radius <= 31.
// The reference itself has key 0. The group is the `group` smallest keys whose distance is at most
// max_distance, cut to a power of two: a total order, the same on every backend. In this order the
// patches enter the Haar transform, whose pairs are neighbours: (0, 1), (2, 3), then their sums.
inline constexpr int32_t kKeyIndexBits = 12;
inline constexpr uint32_t kMaxKeyDistance = (1u << 20) - 1;

// What a stage of BM3D does to its groups.
enum class GroupRule : int32_t {
  kHardThreshold = 0,  // of 3-D coefficients: the first stage, which has no pilot
  kWiener = 1,         // empirical Wiener filter of 3-D coefficients, after the pilot's
  // Each patch becomes the best combination of the group's (NL-Ridge's second step: Herbreteau and
  // Kervrann, Towards a Unified View of Unsupervised Non-Local Methods for Image Denoising, 2022).
  // With the n pixels of the k patches, less their mean over the group, as rows of Y (noisy) and X
  // (pilot), and v the noise variance:
  //     estimate = mean + T Y,  T = 1 - n v (X X' + n v 1)^-1
  // (where n v is less than float's rounding of X X', a larger multiple of 1: bm3d_math.h).
  // Patch i weighs 1 / max(|row i of T|^2 + 1 / (k n), 1 / k), at least 1, in the aggregation.
  //
  // With Bm3dStage::share < 1 it filters a picture Z that the stages before have left a part of its
  // noise (LIChI: Herbreteau and Kervrann, Linear Combinations of Patches are Unreasonably
  // Effective for Single-Image Denoising, 2022). t(x) being the share of the noise that Z has at
  // pixel x, a group's noise variance is v t^2, t that of the reference patch's middle pixel.
  // With E the estimate before, Z of the stage before (first of all the noisy picture, t = 1), and
  // D the root mean square of (noisy picture - new Z) within kShareRadius of x:
  //     new Z = E + (share / t) (Z - E),  new t = max(share, 1 - D / sigma)
  kRidge = 2,
};

// One stage of BM3D on one level. Reference patches stand at absolute multiples of step from (0,0),
// plus the last row and column of positions; candidates lie inside the image.
struct Bm3dStage {
  int32_t rule;           // GroupRule
  int32_t patch;          // pixels a side, 2..kMaxPatch
  int32_t step;           // 1..patch
  int32_t radius;         // search window = 2 * radius + 1
  int32_t group;          // power of two, 1..kMaxGroup
  uint32_t max_distance;  // largest key distance in a group (threshold tau)
  int32_t distance_shift;
  MatchCurve match;  // of the luma plane
  // kHardThreshold: lambda * sigma, which each channel's coefficients have to exceed. The others:
  // noise variance v = mu^2 * sigma^2, in the Wiener weight s^2 / (s^2 + v). A channel with 0 stays
  // what the stage before made of it. The group's mean (coefficient 0, 0 of both transforms) is
  // kept unchanged, counts as retained and weighs 1 in the sum of W^2: so a constant stays what it
  // is, at any brightness.
  float shrink[kMaxChannels];
  // The least share of the noise, whose deviation is sigma, that the picture has that it filters:
  // 1, the noisy picture itself, or less in a ridge filter.
  float share;
  float sigma[kMaxChannels];
  // Separable patch transform, row-major patch x patch: coefficients = F * P * F^T, back with
  // I = F^-1. Rows of F have unit norm: white noise keeps its variance in every coefficient.
  // The 3-D transform adds the orthonormal Haar transform along the group.
  // Transform::kDft, of the first stage alone, has no matrices: it is the orthonormal DFT along all
  // three axes, and the threshold is on the complex coefficients' magnitudes. sigma^2 is the mean
  // of their squares: half of it a part, all of it in the coefficients that are real by symmetry.
  float forward[kMaxPatch * kMaxPatch];
  float inverse[kMaxPatch * kMaxPatch];
  int32_t transform;        // Transform that forward and inverse hold, for specialised kernels
  float kaiser[kMaxPatch];  // aggregation window = kaiser[y] * kaiser[x]

  // Pixels round one of the stage's estimate that it depends on: groups reach radius + patch - 1
  // from a reference, whose own see its window, and the shares round its middle.
  int32_t support() const {
    const int32_t seen = share < 1 && radius < kShareRadius ? kShareRadius : radius;
    return seen + radius + patch - 1;
  }
};

// Weights from distances: w = exp(-max(D * gain - noise, 0) * decay), D the sum of squared
// differences of match values over the patch and all channels. D * gain is the mean squared
// difference in units of the noise variance, whose expectation for two noisy copies of one patch is
// 2; `noise` is how much of that is taken off. Beyond an argument of -kNlmCutoff the weight is 0,
// on every backend: float can't tell much less from nothing. So it is for all D of kNlmVanishes and
// more; D is less than 2^30.
inline constexpr float kNlmCutoff = 80.0f;
inline constexpr int32_t kNlmVanishes = 1 << 23;
struct NlmWeight {
  int32_t enabled;  // 0: the planes of this weight are copied
  float gain, noise, decay;
};

// What a pixel itself counts for: own + of_largest * (the largest weight of the others).
struct CentreWeight {
  float own, of_largest;
};

// The bits of a float that a patch's share of a displacement has not: a card keeps the 13 leading
// ones, and where few neighbours count the rest would be seen between backends.
inline constexpr int32_t kNlmShareRest = 0x7ff;

// Non-Local Means (Buades 2005) with one joint distance over the channels. For even patch sizes the
// patch of pixel p spans p - patch / 2 .. p - patch / 2 + patch - 1. Pixels outside of the image
// are its symmetric reflection.
//
// Let w(p, D) be the weights of p's window without D = 0, and c(p) the centre's own weight, a
// CentreWeight. With v the plane:
//   patchwise == 0:  v(x) + sum_D w(x, D) (v(x + D) - v(x)) / (sum_D w(x, D) + c(x))
//   patchwise != 0:  v(x) + mean over the patches p that hold x of
//                           sum_D w(p, D) (v(x + D) - v(x)) / (sum_D w(p, D) + c(p))
// (Buades, Coll, Morel, IPOL 2011: every patch gives an estimate of all its pixels.) Patch-wise, p
// may lie outside of the image, so that every x has patch^2 patches; one whose denominator is 0
// takes no part in the mean. A pixel without any estimate keeps its value. Written by differences,
// a constant stays what it is to the last bit. Patch-wise, the share of D, w(p, D) over that sum,
// is rounded to 13 bits (kNlmShareRest).
struct NlmPlan {
  int32_t patch;
  int32_t radius;
  CentreWeight centre;
  MatchCurve match[kMaxChannels];
  NlmWeight luma, chroma;  // equal when joint != 0
  int32_t joint;           // 1: luma's weights serve all channels
  int32_t patchwise;       // 1: halo is radius + patch - 1, else radius + patch / 2
};

// Which patch pairs Shapiro-Wilk NLM accepts, and what pixels without any such pair get.
struct SwNlmGate {
  int32_t least_spread, most_spread;  // of n S2 - S1^2
  int32_t most_square;                // of S2: keeps n S2 within an int
  int32_t most_chroma;                // of the two chroma planes' sums of d^2 together
  NlmWeight fallback;                 // of the joint distance, as in NlmPlan
};

// Shapiro-Wilk NLM (Yamanappa et al. 2018): two patches are alike when their difference looks like
// noise. d are the n = patch^2 differences of match values, each within +-kSwDifference, S1 and S2
// their sum and sum of squares. A pair is accepted when
//     S1^2 < S2                                   |mean| < standard error, exactly
//     least_spread < n S2 - S1^2 < most_spread    |deviation - 1| < standard error
//     W = (sum a (d(n+1-i) - d(i)))^2 norm / (n S2 - S1^2) >= least_w, d ascending
// and, in colour, when the chroma planes' squares stay within most_chroma: neighbours are chosen
// by luma, which holds most of the picture, and colour edges without a luma edge only veto. So a
// colour patch costs one sort, as a grey one. All sums are exact integers, a are multiples of
// 2^-15, and W is three correctly rounded float operations on them (square, times norm, divided
// by the spread): every backend accepts the same pairs. Patches, borders and `centre` are as in
// NlmPlan; an accepted pair weighs min(W, 1), and
//     v'(x) = v(x) + taken * sum_D w(x, D) (v(x + D) - v(x)) / (sum_D w(x, D) + c(x)).
// A pixel without any accepted pair takes the weights of NlmPlan instead (van der Vuurst 2023).
inline constexpr int32_t kSwDifference = 2047;
inline constexpr int32_t kSwCoefficientBits = 15;
struct SwNlmPlan {
  int32_t patch;
  int32_t radius;
  CentreWeight centre;
  MatchCurve match[kMaxChannels];
  int16_t coefficient[kMaxPatch * kMaxPatch / 2];  // a of the i-th pair from outside
  float norm, least_w;
  float taken[kMaxChannels];  // share of the removed noise that is taken away; 0: it is copied
  SwNlmGate luma, chroma;
  int32_t joint;  // 1: luma's gate serves all channels
};

// One stage of the DCT denoiser: a pass over the patches whose corners stand at absolute multiples
// of step.
struct DctStage {
  int32_t step;  // 1 or 2
  // First stage: the threshold, lambda * sigma. Second: 1 / (mu * sigma), such that a coefficient's
  // weight is 1 - 1 / (1 + (shrink * pilot)^2). A channel with 0 is copied.
  float shrink[kMaxChannels];
};

// Sliding-window DCT (Yu and Sapiro, IPOL 2011). Every patch loses those of its orthonormal 2-D DCT
// coefficients that stay under the threshold; a pixel becomes the mean of the estimates of all
// patches that hold it, each weighing 1 / (number of coefficients it kept) (Pierazzo, Morel and
// Facciolo, IPOL 2017). The second stage is an empirical Wiener filter with the first one's
// estimate as its pilot, and a patch weighs 1 / (sum of squared Wiener weights). The mean is always
// kept and counts as 1. Pixels outside of the image are its symmetric reflection, so that patches
// reach beyond its border. Planes are independent.
inline constexpr int32_t kMaxDctStages = 2;
struct DctPlan {
  int32_t patch;
  int32_t stage_count;
  DctStage stage[kMaxDctStages];
  float matrix[kMaxPatch * kMaxPatch];  // DCT-II, row-major, a frequency a row
};

struct LevelPlan {
  // Of BM3D. One or two stages of hard thresholds come first, whose estimates are the same bits on
  // every backend (bm3d_math.h). Of two the first is the prefilter, with groups of one patch.
  int32_t stage_count;
  Bm3dStage bm3d[kMaxBm3dStages];
  NlmPlan nlm;
  SwNlmPlan sw_nlm;
  DctPlan dct;
  int32_t reach;  // pixels of this level round a pixel that the method looks at
  // Of a level that corrects a finer one, sigma^2 / (9 kGuide^2), 9 being the pixels that E is the
  // mean of; 0: chroma is not guided. See pyramid.h.
  float guide;
  // Sigma of luma's noise, where the last stage of BM3D is followed by the learned post-filter
  // (post_filter.h); 0: where it is not.
  float post_filter;

  // The stage whose estimate stage s matches on, -1: none, on the noisy picture. A hard threshold
  // matches on what is before it, all others on the last hard threshold's estimate.
  int32_t matched_on(int32_t s) const {
    int32_t stage = s - 1;
    while (stage >= 0 && has_pilot(s) && has_pilot(stage)) --stage;
    return stage;
  }
  // The stage whose estimate is stage s's pilot, -1: none.
  int32_t pilot_of(int32_t s) const { return has_pilot(s) ? s - 1 : -1; }
  bool has_pilot(int32_t s) const {
    return bm3d[s].rule != static_cast<int32_t>(GroupRule::kHardThreshold);
  }
};

struct Plan {
  int32_t method;  // Method
  PixelFormat format;
  int32_t channels;            // colour planes: 1 grey, 3 luma and chroma
  int32_t smallest;            // images with a side under this come back unchanged
  int32_t halo;                // pixels round a pixel that its result may depend on
  ValueRange valid;            // colour values outside are left as they are, and no patch sees them
  CornerGain corners;          // taken from colours; never without a bend
  ToneBend bend;               // of colours, before they become planes
  ImpulseRule impulse;         // of bent colours; what is one is replaced in the planes
  float hidden[kMaxChannels];  // planes' values where no valid pixel lies within kFillRadius
  float detail;                // 0..1 of the removed luma comes back
  int32_t level_count;         // level[0] is full resolution; see pyramid.h
  LevelPlan level[kMaxLevels];
};
static_assert(std::is_trivially_copyable_v<Plan> && std::is_standard_layout_v<Plan>);

}  // namespace grainless
