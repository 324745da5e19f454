// SPDX-License-Identifier: MIT
#include "estimate.h"

#include <algorithm>
#include <cmath>

#include "clip_curve.h"
#include "coarse.h"
#include "flat_blocks.h"
#include "graphic.h"
#include "neutral.h"
#include "picture_range.h"
#include "sample.h"
#include "weak_texture.h"

namespace grainless {
namespace {

constexpr int32_t kLumaBlock = 16, kChromaBlock = 32;  // JPEG's chroma is constant within 16 pixels
constexpr double kLeast = 0.3;  // smaller sigmas are the rounding of 8-bit pixels

// What is found where noise and texture can't be told apart. A filter changes a picture by not much
// more than sigma: so little leaves every clean picture 42 dB from what it was.
constexpr double kHarmlessGrey = 2.0, kHarmlessLuma = 2.8, kHarmlessChroma = 1.0;

// White noise alone explains the patches and the blocks in which it was found: measured on 45
// photographs with noise of sigma 5 and 10, up to 1.27 and 1.31; on fractals 1.43 and 1.7 upwards.
constexpr double kMostTexture = 1.33, kMostOverLowest = 1.45;

// Fewer pixels than the smallest set of patches takes up.
bool is_too_small(const Sample& sample) {
  constexpr int64_t kFewest = 24 * 24;
  int64_t valid = 0;
  for (const SampleTile& tile : sample.tiles) {
    valid += std::count_if(tile.state.begin(), tile.state.end(),
                           [](uint8_t state) { return (state & kInvalid) == 0; });
  }
  return valid < kFewest;
}

// White noise is as strong in the finest band as in flat blocks, and halves with resolution.
// Texture lifts what flat blocks show, and the half resolution more than the full one.
bool is_white(const Measured& m) {
  if (m.fine.sigma <= 0) return false;
  const double share = m.fine.sigma / std::max(m.fine.sigma, m.flat.sigma[0]);
  const double persistence = 2 * m.halved / m.fine.sigma;
  return (share > 0.15 && persistence < 1.6) || (share > 0.6 && persistence < 3.0);
}

// Whether the calmest patches and blocks hold white noise of that strength and nothing else.
bool is_surely_white(const Measured& m) {
  return m.fine.sigma > 0 && m.fine.texture < kMostTexture &&
         m.flat.lowest < kMostOverLowest * m.fine.sigma;
}

bool is_white(const Measured& m, NoiseKind kind) {
  return is_white(m) && (kind == NoiseKind::kCamera || is_surely_white(m));
}

void set_white(PictureNoise& noise, int32_t channel, double sigma) {
  noise.white[channel] = true;
  for (int32_t l = 0; l < noise.levels; ++l) {
    noise.sigma[l][channel] = static_cast<float>(std::ldexp(sigma, -l));
  }
}

// `sigma` at full resolution as flat blocks show it; the levels keep the proportions found there.
void set_correlated(PictureNoise& noise, int32_t channel, const FlatNoise& flat, double sigma,
                    double lift = kFlatShare) {
  noise.white[channel] = false;
  for (int32_t l = 0; l < noise.levels; ++l) {
    const double share = flat.sigma[0] > 0 ? flat.sigma[l] / flat.sigma[0] : 1.0;
    noise.sigma[l][channel] = static_cast<float>(lift * sigma * share);
  }
}

// No more than what does no harm; the finest band says how much of that.
void set_little(PictureNoise& noise, int32_t channel, const Measured& m, double most) {
  set_white(noise, channel, std::min(m.fine.sigma, most));
  if (m.fine.sigma > most) noise.confidence = Confidence::kUnsure;
}

// White noise of colour is noise up to here even where luma's is doubtful.
constexpr double kWhiteChroma = 2.5;

void set_little_chroma(const Measured* m, PictureNoise& noise) {
  for (int32_t c = 1; c < 3; ++c) {
    set_little(noise, c, m[c], is_surely_white(m[c]) ? kWhiteChroma : kHarmlessChroma);
  }
}

// Luma whose noise is not white. A curved surface leaves no more in the finest band than in the
// next: noise always does.
double correlated_luma(const FlatNoise& flat, double chroma) {
  const double fine = flat.sigma[0], half = flat.sigma[1];
  const double band = std::sqrt(std::max(0.0, fine * fine - half * half));
  double sigma = std::min(fine, 2.5 * band);
  // A camera that has cleaned colour leaves little in luma; much more than that is texture.
  if (chroma >= 0) sigma = std::min(sigma, 3.0 + 3.0 * chroma);
  return sigma;
}

// The more a camera has reduced the noise of colour, the more it has smoothed luma, too. Found on
// simulated development with and without noise reduction (1.3 and 2 or more in luma, where the
// filtered picture is nearest to the clean one) and on camera JPEGs (2 to 4).
void set_strength(PictureNoise& noise, double chroma_share) {
  const double reduced = std::clamp((1.0 - chroma_share) / 0.5, 0.0, 1.0);
  for (int32_t c = 0; c < noise.channels; ++c) {
    if (noise.white[c]) continue;
    noise.strength[c] = static_cast<float>(c == 0 ? 1.1 + 0.6 * reduced : 1.0 + 2.2 * reduced);
  }
}

// Without colour to compare with, texture is told from noise by what noise can't do: leave out some
// of the tones, or leave next to nothing in the finest band (camera JPEGs: a tenth at least, beyond
// the rounding of their pixels).
double correlated_grey(const Measured& luma) {
  constexpr double kRounding = 1.0 / 12, kOverFinest = 10.0;
  const double finest =
      std::sqrt(std::max(kRounding, luma.fine.sigma * luma.fine.sigma - kRounding));
  return std::min({correlated_luma(luma.flat, -1), luma.flat.calmest, kOverFinest * finest});
}

// Noise without colour from `harmless` to `doubtful` may be grain or fine texture as well, and
// counts as the former; from `clear` on it is what it is.
double tempered(double sigma, double harmless, double doubtful, double clear) {
  if (sigma <= harmless || sigma >= clear) return sigma;
  const double above = std::max(0.0, (sigma - doubtful) / (clear - doubtful));
  return harmless + above * (clear - harmless);
}

// What of weak noise is not a picture's own grain: that of scans and old test pictures is as strong
// (1 to 2) and belongs to them. White noise halves from level to level; grain keeps some sqrt(2)
// times as much of it, whose square is twice. Where texture hides the half resolution, a share.
// Some have grain of 3, and there is less to be sure of.
double beyond_grain(const Measured& m) {
  constexpr double kSure = 0.72, kLessSure = 0.56, kLeastShare = 0.5, kMuchGrain = 0.35;
  const double fine = m.fine.sigma * m.fine.sigma, halved = 4 * m.halved * m.halved;
  const double grain = std::max(0.0, halved - fine);
  const double strong = std::clamp(2 * (m.fine.sigma - 2.5), 0.0, 1.0);
  const double sure = grain > kMuchGrain * fine ? std::lerp(kSure, kLessSure, strong) : kSure;
  return sure * std::sqrt(std::max(fine - grain, kLeastShare * fine));
}

double harmless_grey(const Measured& m) {
  return std::min(kHarmlessGrey, beyond_grain(m));
}

double tempered_grey(const Measured& m) {
  return tempered(m.fine.sigma, harmless_grey(m), 3.8, 5.0);
}

// What luma has of independent noise of R, G and B, by their chroma: var Y = (var U + var V) / 2.
double expected_luma(const Measured* m) {
  return std::sqrt(0.5 * (m[1].fine.sigma * m[1].fine.sigma + m[2].fine.sigma * m[2].fine.sigma));
}

double harmless_luma(const Measured* m) {
  constexpr double kOverExpected = 1.7;
  const double expected = expected_luma(m);
  const bool told = is_white(m[1]) && is_white(m[2]) && expected > kLeast;
  return told ? std::min(kHarmlessLuma, kOverExpected * expected) : kHarmlessLuma;
}

double tempered_luma(const Measured* m) {
  const double fine = m[0].fine.sigma;
  return tempered(fine, std::min(fine, harmless_luma(m)), 5.0, 6.5);
}

void estimate_grey(const Measured& luma, NoiseKind kind, PictureNoise& noise) {
  if (kind == NoiseKind::kCamera && !is_white(luma)) {
    set_correlated(noise, 0, luma.flat, correlated_grey(luma));
    set_strength(noise, 0.75);
  } else if (kind == NoiseKind::kCamera) {
    set_white(noise, 0, luma.fine.sigma);
  } else if (is_surely_white(luma)) {
    set_white(noise, 0, tempered_grey(luma));
  } else {
    set_white(noise, 0, harmless_grey(luma));
    if (luma.fine.sigma > kHarmlessGrey) noise.confidence = Confidence::kUnsure;
  }
}

void set_chroma(const Measured* m, NoiseKind kind, double luma, double most, PictureNoise& noise) {
  const bool intact = kind == NoiseKind::kSure && chroma_is_intact(m);
  for (int32_t c = 1; c < 3; ++c) {
    if (is_white(m[c]) || intact) {
      set_white(noise, c, m[c].fine.sigma);
    } else {
      // Cameras reduce noise of colour more than of luma, but hardly below a third.
      const double least = noise.white[0] ? 0.0 : 0.3 * luma;
      const double sigma = std::clamp(m[c].flat.sigma[0], least, 2.0 * luma);
      set_correlated(noise, c, m[c].flat, std::min(sigma, most));
    }
  }
}

// White noise of luma, when there is; negative otherwise. Texture and a scan's grain are mostly
// colourless: where both chroma channels hold white noise, the three colours do. What luma holds
// beyond what they tell of it, while it is weak, is the picture's own.
double white_luma(const Measured* m, NoiseKind kind) {
  constexpr double kMostGrain = 3.6;
  const double fine = m[0].fine.sigma, expected = expected_luma(m);
  if (is_white(m[1], kind) && is_white(m[2], kind) && expected > kLeast && fine >= 0.7 * expected &&
      fine <= std::max(1.5 * expected, kMostGrain)) {
    return expected;
  }
  if (kind == NoiseKind::kCamera) {
    const bool three = is_white(m[1]) && is_white(m[2]) && expected > kLeast;
    return is_white(m[0]) || (three && fine >= 0.7 * expected) ? fine : -1.0;
  }
  return is_white(m[0], kind) ? tempered_luma(m) : -1.0;
}

// Nothing has cleaned flat blocks: they show all of the noise. Strengths that came out best on
// simulated cameras (docs/quality.md).
void set_demosaiced(const Measured* m, PictureNoise& noise) {
  constexpr float kChromaStrength = 1.5f;
  for (int32_t c = 0; c < 3; ++c) {
    set_correlated(noise, c, m[c].flat, m[c].flat.sigma[0], 1.0);
    noise.strength[c] = c == 0 ? 1.0f : kChromaStrength;
  }
}

// Each channel's noise was about as strong as the others', and flat blocks show more of it than of
// a camera's: as much as that of either colour is luma's, and no colour has much more.
void set_edited(const Measured* m, double& luma, double& chroma, PictureNoise& noise) {
  constexpr double kShownOfLuma = 0.8, kMostOfColour = 1.5;
  const double least = std::min(m[1].flat.sigma[0], m[2].flat.sigma[0]);
  luma = std::min(luma, kShownOfLuma * least);
  chroma = std::min(chroma, kMostOfColour * least);
  noise.was_white = true;
}

// More than a scan's, and in all of both: what luma is taken to hold then is no texture of its own.
bool colours_surely_noisy(const Measured* m) {
  constexpr double kLeast = 1.7, kLeastLowest = 0.72;
  return std::all_of(m + 1, m + 3, [](const Measured& c) {
    return c.flat.sigma[0] > kLeast && c.flat.lowest > kLeastLowest * c.flat.sigma[0];
  });
}

void set_coarse(const Measured* m, NoiseKind kind, bool sure, PictureNoise& noise) {
  constexpr double kSomeLuma = 2.8, kSomeChroma = 1.0;  // of flat blocks
  constexpr double kGrainShare = 0.3;
  double found = correlated_luma(m[0].flat, mean_chroma(m)), most_chroma = HUGE_VAL;
  if (kind == NoiseKind::kSure && was_white(m)) {
    set_edited(m, found, most_chroma, noise);
    sure = sure || colours_surely_noisy(m);
  }
  const double luma = sure ? found : std::min(found, kSomeLuma);
  if (luma < found) noise.confidence = Confidence::kUnsure;
  noise.like_texture = kind == NoiseKind::kSure && may_be_texture(m);
  noise.like_grain = !sure && mean_chroma(m) < kGrainShare * found;
  set_correlated(noise, 0, m[0].flat, luma);
  set_chroma(m, kind, luma, sure ? most_chroma : kSomeChroma, noise);
  set_strength(noise, found > 0 ? mean_chroma(m) / found : 1.0);
}

// two_colours: the third is one value all over, as no camera's noise leaves it, and the texture of
// both stands in chroma, which can't tell of coarse noise then.
void estimate_colour(const Measured* m, NoiseKind kind, bool two_colours, PictureNoise& noise) {
  const bool may_be_coarse = !two_colours || kind == NoiseKind::kCamera;
  if (may_be_coarse && white_luma(m, NoiseKind::kSure) < 0 && is_demosaiced(m)) {
    return set_demosaiced(m, noise);
  }
  const double white = white_luma(m, kind);
  if (white >= 0) {
    set_white(noise, 0, white);
    // Colour is never much noisier than luma.
    const bool none = white <= kHarmlessLuma && !(is_white(m[1]) && is_white(m[2]));
    if (none && kind == NoiseKind::kSure) return set_little_chroma(m, noise);
    set_chroma(m, kind, white, HUGE_VAL, noise);
    return set_strength(noise, white > 0 ? mean_chroma(m) / white : 1.0);
  }
  const Coarse coarse = kind == NoiseKind::kCamera ? Coarse::kSure
                        : may_be_coarse            ? judge_coarse(m)
                                                   : Coarse::kNone;
  if (coarse == Coarse::kNone) {
    set_little(noise, 0, m[0], harmless_luma(m));
    return set_little_chroma(m, noise);
  }
  set_coarse(m, kind, coarse == Coarse::kSure, noise);
}

// A photograph has calm parts somewhere; a small piece of one need not. What its calmest patches
// hold besides noise, as a standard deviation: 1 over the cube root of how many patches were seen.
double texture_of_piece(const WeakTexture& fine, double of_one) {
  return of_one * std::pow(std::max(1.0, fine.seen), -1.0 / 3);
}

double without(double sigma, double texture) {
  return std::sqrt(std::max(0.0, sigma * sigma - texture * texture));
}

// What of a channel is noise, without another to compare with. Nine of ten pieces of Kodak24, Set12
// and Standard have less texture, grain included: in grey 3.2 at most where noise seems to explain
// the patches. Where it doesn't, none of what a small piece shows need be noise.
double noise_of_piece(const Measured& m, double of_grey) {
  constexpr double kOfOne = 15, kMost = 3.2;
  if (!is_surely_white(m)) return 0;
  return without(m.fine.sigma, of_grey * std::min(kMost, texture_of_piece(m.fine, kOfOne)));
}

double chroma_of_piece(const Measured& m) {
  constexpr double kOfOne = 5.5;
  return without(m.fine.sigma, texture_of_piece(m.fine, kOfOne));
}

// A camera's: in all of both colours, more than what a scan's hold, and there as strong at half
// resolution as demosaicing leaves it. White noise halves, and texture leaves some blocks free.
bool colours_are_coarse(const Measured* m) {
  constexpr double kLeastFine = 0.9, kLeastLowest = 0.65, kPersists = 2.0;
  const auto holds = [](const Measured& c) {
    return c.fine.sigma > kLeastFine && c.flat.lowest > kLeastLowest * c.flat.sigma[0];
  };
  return holds(m[1]) && holds(m[2]) && 2 * m[1].halved > kPersists * m[1].fine.sigma;
}

// White noise of a colour picture is in its colours, too. Where their finest band is empty, as
// cameras' noise reduction and JPEG leave it (PolyU: mostly up to 0.1; white noise of 0.3: 0.45 and
// more), or far weaker than what is surely coarse, there is another noise.
bool colours_are_not_white(const Measured* m, const PictureNoise& noise) {
  constexpr double kEmpty = 0.4, kMostOfCoarse = 0.5;
  const auto under = [m](const auto& most) {
    return m[1].fine.sigma < most(m[1]) && m[2].fine.sigma < most(m[2]);
  };
  if (under([](const Measured&) { return kEmpty; })) return true;
  if (!noise.white[0] && colours_are_coarse(m)) return true;
  return !noise.white[0] && (is_demosaiced(m) || judge_coarse(m) == Coarse::kSure) &&
         under([](const Measured& c) { return kMostOfCoarse * c.flat.sigma[0]; });
}

void noise_of_piece(const Measured* m, int32_t channels, double* sure) {
  if (channels == 1) {
    sure[0] = noise_of_piece(m[0], 1);
    return;
  }
  for (int32_t c = 1; c < 3; ++c) sure[c] = chroma_of_piece(m[c]);
  const double expected = std::sqrt(0.5 * (sure[1] * sure[1] + sure[2] * sure[2]));
  sure[0] = std::max(expected, noise_of_piece(m[0], std::sqrt(3.0)));
}

// The fewer patches a picture has, the less is found beyond what is noise whatever it is a piece
// of; coarse noise is not told from texture there. So many patches tell as much as a photograph's:
// some 200 x 200 pixels.
void keep_noise_of_piece(const Measured* m, PictureNoise& noise) {
  constexpr double kWhole = 800;
  const double complete = m[0].fine.seen / kWhole;
  if (complete >= 1 || (noise.channels == 3 && colours_are_not_white(m, noise))) return;
  double sure[kMaxChannels] = {};
  noise_of_piece(m, noise.channels, sure);
  const float before = noise.sigma[0][0];
  for (int32_t c = 0; c < noise.channels; ++c) {
    const double found = noise.sigma[0][c], least = std::min(found, sure[c]);
    const double kept = noise.white[c] ? std::lerp(least, found, complete * complete) : least;
    if (noise.white[c] && kept >= found) continue;
    set_white(noise, c, kept);
    noise.strength[c] = 1;
  }
  noise.like_grain = noise.like_grain && !noise.white[0];
  if (noise.sigma[0][0] < 0.5f * before) noise.confidence = Confidence::kTooSmall;
}

// Leaves out what can't be seen, and what no parameter could say: of measurements in other units,
// as much of their range.
void keep_in_range(PictureNoise& noise) {
  const auto most = static_cast<float>(100 * whites(noise.range));
  for (int32_t c = 0; c < noise.channels; ++c) {
    const float sigma = noise.sigma[0][c];
    const float scale = sigma < kLeast ? 0 : sigma > most ? most / sigma : 1;
    for (int32_t l = 0; l < noise.levels; ++l) noise.sigma[l][c] *= scale;
  }
}

bool is_little(const PictureNoise& noise) {
  if (noise.sigma[0][0] > (noise.channels == 1 ? kHarmlessGrey : kHarmlessLuma)) return false;
  return noise.channels == 1 || std::max(noise.sigma[0][1], noise.sigma[0][2]) <= kHarmlessChroma;
}

Confidence confidence_in(const PictureNoise& noise, const Measured& luma) {
  if (!luma.fine.enough && luma.flat.sigma[0] <= 0) return Confidence::kTooSmall;
  if (noise.confidence != Confidence::kMeasured) return noise.confidence;
  return is_little(noise) ? Confidence::kLittle : Confidence::kMeasured;
}

float largest_of(const PictureRange& range) {
  return std::max(std::abs(range.low), std::abs(range.high));
}

// Squares of such values, of which BM3D needs those of whole groups, are no floats.
bool is_beyond_squares(const PictureRange& range) {
  return largest_of(range) > 0x1p66f;
}

// A power of two, by which nothing is rounded: here squares of values beyond 2^56 add up to more
// than a float holds.
float unit_of(const PictureRange& range) {
  const float most = largest_of(range);
  if (!(most > 0x1p56f) || is_beyond_squares(range)) return 1;
  return std::ldexp(1.0f, std::ilogb(most) - 40);
}

PictureRange in_unit(PictureRange range, float unit) {
  for (float* value : {&range.low, &range.middle, &range.high}) *value /= unit;
  for (float& mean : range.mean) mean /= unit;
  return range;
}

Sample in_unit(Sample sample, float unit) {
  for (SampleTile& tile : sample.tiles) {
    for (auto& level : tile.plane) {
      for (std::vector<float>& plane : level) {
        for (float& value : plane) value /= unit;
      }
    }
  }
  return sample;
}

void set_unit(PictureNoise& noise, const PictureRange& range, float unit) {
  for (auto& level : noise.sigma) {
    for (float& sigma : level) sigma *= unit;
  }
  noise.range = range;
}

}  // namespace

PictureNoise as_toned(const PictureNoise& grey, const Toning& toning) {
  PictureNoise noise = noise_of_toned(grey, toning);
  keep_in_range(noise);
  return noise;
}

PictureNoise estimate_noise(const ConstImage& image, NoiseKind kind, ThreadPool& pool,
                            const Callbacks& callbacks, int32_t most_tiles) {
  return estimate_noise(take_sample(image, pool, callbacks, most_tiles), picture_range({&image, 1}),
                        kind, pool, callbacks);
}

PictureNoise estimate_noise(const Sample& sample, const PictureRange& range, NoiseKind kind,
                            ThreadPool& pool, const Callbacks& callbacks) {
  if (const float unit = unit_of(range); unit != 1) {
    PictureNoise noise =
        estimate_noise(in_unit(sample, unit), in_unit(range, unit), kind, pool, callbacks);
    set_unit(noise, range, unit);
    return noise;
  }
  if (const std::optional<Toning> toning = find_toning(sample)) {
    return as_toned(estimate_noise(grey_sample(sample), range, kind, pool, callbacks), *toning);
  }
  PictureNoise noise;
  noise.channels = sample.channels;
  noise.levels = kSampleLevels;
  callbacks.report(0.2);
  noise.confidence = Confidence::kTooSmall;
  if (is_too_small(sample)) return noise;
  noise.confidence = Confidence::kLittle;
  if (is_beyond_squares(range) || is_graphic(sample)) return noise;
  Measured measured[kMaxChannels];
  for (int32_t c = 0; c < noise.channels; ++c) {
    measured[c].fine = weak_texture_noise(sample, c, 0, pool, callbacks);
    measured[c].halved = weak_texture_noise(sample, c, 1, pool, callbacks).sigma;
    measured[c].flat = flat_block_noise(sample, c, c == 0 ? kLumaBlock : kChromaBlock, pool);
    measured[c].region = region_noise(sample, c, pool);
    callbacks.report(0.2 + 0.8 * (c + 1) / noise.channels);
  }
  if (kind == NoiseKind::kSure && noise.channels == 3 && white_luma(measured, kind) < 0) {
    // Only what is not white is asked whether it is coarse noise.
    measured[0].luma_blocks = measure_shades(sample, kLumaBlock, pool);
    measured[0].chroma_blocks = measure_shades(sample, kChromaBlock, pool);
  }
  noise.confidence = Confidence::kMeasured;
  if (noise.channels == 1) {
    estimate_grey(measured[0], kind, noise);
  } else {
    estimate_colour(measured, kind, sample.fixed_colours > 0, noise);
  }
  if (kind == NoiseKind::kSure) keep_noise_of_piece(measured, noise);
  noise.range = range;
  keep_in_range(noise);
  noise.confidence = confidence_in(noise, measured[0]);
  return noise;
}

bool estimate_bent_noise(const ToneProfile& profile, const ToneBend& bend, Sample sample,
                         const PictureNoise& noise, NoiseKind kind, ThreadPool& pool,
                         const Callbacks& callbacks, PictureNoise& even) {
  constexpr float kLeastChange = 1 / 1.5f;
  bend_sample(bend, sample, pool);
  even = estimate_noise(sample, noise.range, kind, pool, callbacks);
  even.bend = bend;
  const float change = even.sigma[0][0] / noise.sigma[0][0];
  return even.confidence == Confidence::kMeasured &&
         change < most_change(profile, noise.channels) && change > kLeastChange &&
         even.white[0] == noise.white[0];
}

double trusted_share(const PictureNoise& noise) {
  return std::clamp(double{noise.sigma[0][0]} / 8 + 0.1, 0.6, 1.0);
}

PictureNoise estimate_even_noise(Sample sample, const PictureRange& range, NoiseKind kind,
                                 ThreadPool& pool, const Callbacks& callbacks) {
  if (const std::optional<Toning> toning = find_toning(sample)) {
    const Sample grey = grey_sample(sample);
    // What makes the noise of luma even doesn't make that of channels that follow from it.
    return as_toned(toning->is_neutral() ? estimate_even_noise(grey, range, kind, pool, callbacks)
                                         : estimate_noise(grey, range, kind, pool, callbacks),
                    *toning);
  }
  PictureNoise noise = estimate_noise(
      sample, range, kind, pool,
      {callbacks.cancel, [&](double fraction) { callbacks.report(0.5 * fraction); }});
  if (noise.confidence != Confidence::kMeasured || !range.is_usual()) return noise;
  const ToneProfile profile = measure_profile(sample, pool);
  if (!is_sure(profile, noise)) {
    if (surely_white(noise)) {
      noise.bend.clip = measure_even_clip({&sample, 1}, colour_sigma(noise), pool);
    }
    return noise;
  }
  ToneBend bend = bend_of(profile, trusted_share(noise));
  bend.clip = measure_sensor_clip({&sample, 1}, bend, pool);
  PictureNoise even;
  const bool agrees = estimate_bent_noise(
      profile, bend, std::move(sample), noise, kind, pool,
      {callbacks.cancel, [&](double fraction) { callbacks.report(0.5 + 0.5 * fraction); }}, even);
  return agrees ? even : noise;
}

}  // namespace grainless
