// SPDX-License-Identifier: MIT
#include "volume_noise.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "calm_layers.h"
#include "clip_curve.h"
#include "corner_gain.h"
#include "engine/boundary/pixel_math.h"
#include "estimate.h"
#include "exposures.h"
#include "flat_blocks.h"
#include "layer_strengths.h"
#include "layer_tones.h"
#include "picture_range.h"
#include "still_noise.h"
#include "tone_profile.h"

namespace grainless {
namespace {

constexpr int32_t kLumaBlock = 16;
constexpr double kMostOverLeft = 1.1;  // sigma of a layer that others doubt
// What is done of a measurement (31 layers in colour): looking for corners, then each layer alone.
constexpr double kGainDone = 0.25, kEachDone = 0.65;
constexpr int32_t kLeastTiles = 16;  // of a layer: what a picture of 512 x 512 has

// A layer that was measured: its noise as it is, and its pixels.
struct MeasuredLayer {
  PictureNoise noise;
  Sample sample;
};

// One profile for all layers, which come from one camera: of most of them, surely. Those that don't
// dare to say what they hold don't contradict; they are left out.
bool find_profile(std::vector<MeasuredLayer>& layers, ThreadPool& pool, ToneProfile& mean) {
  const size_t all = layers.size();
  std::erase_if(layers, [](const MeasuredLayer& layer) {
    return layer.noise.confidence == Confidence::kUnsure;
  });
  std::vector<ToneProfile> sure;
  for (const MeasuredLayer& layer : layers) {
    const PictureNoise& noise = layer.noise;
    if (noise.confidence != Confidence::kMeasured || !noise.range.is_usual()) return false;
    if (noise.toned) return false;
    const ToneProfile profile = measure_profile(layer.sample, pool);
    if (is_sure(profile, noise)) sure.push_back(profile);
  }
  if (2 * sure.size() <= all) return false;
  for (const ToneProfile& profile : sure) {
    mean.explained += profile.explained / static_cast<double>(sure.size());
    for (int32_t k = 0; k < kProfileKnots; ++k) {
      mean.log_sigma[k] += profile.log_sigma[k] / static_cast<double>(sure.size());
    }
  }
  return true;
}

EvenNoise noise_of_each(std::vector<MeasuredLayer> layers, NoiseKind kind, ThreadPool& pool,
                        const Callbacks& callbacks, const PictureNoise& mean) {
  EvenNoise alone;
  ToneProfile profile;
  if (!find_profile(layers, pool, profile)) return alone;
  alone.bend = bend_of(profile, trusted_share(mean));
  std::vector<PictureNoise> found(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!estimate_bent_noise(profile, alone.bend, std::move(layers[i].sample), layers[i].noise,
                             kind, pool, {callbacks.cancel, {}}, found[i])) {
      return alone;
    }
  }
  const PictureNoise even = mean_noise(found, HUGE_VAL);
  std::copy_n(even.strength, kMaxChannels, alone.strength);
  std::copy_n(even.white, kMaxChannels, alone.white);
  for (int32_t l = 0; l < kMaxLevels; ++l) std::copy_n(even.sigma[l], kMaxChannels, alone.sigma[l]);
  alone.known = true;
  return alone;
}

bool none_seems_clean(const std::vector<PictureNoise>& found) {
  return std::none_of(found.begin(), found.end(), [](const PictureNoise& noise) {
    return noise.confidence == Confidence::kLittle;
  });
}

std::vector<PictureNoise> sure_ones(const std::vector<PictureNoise>& found) {
  std::vector<PictureNoise> sure;
  std::copy_if(found.begin(), found.end(), std::back_inserter(sure),
               [](const PictureNoise& noise) { return noise.confidence == Confidence::kMeasured; });
  return sure;
}

// Layers that moved by more than can be traced differ by their texture, which no noise of theirs
// explains: it is hardly stronger than what the noisiest of those that are sure shows.
double most_hidden(const std::vector<PictureNoise>& sure) {
  constexpr double kFar = 2.0;
  float most = 0;
  for (const PictureNoise& noise : sure) most = std::max(most, noise.sigma[0][0]);
  return sure.empty() ? HUGE_VAL : kFar * most;
}

// As far as flat blocks tell: what each layer holds is as strong, and falls as much with
// resolution.
bool show_same_noise(const std::vector<Sample>& samples, ThreadPool& pool) {
  constexpr double kMostApart = 1.25;
  double least[kSampleLevels], most[kSampleLevels] = {};
  std::fill_n(least, kSampleLevels, HUGE_VAL);
  for (const Sample& sample : samples) {
    const FlatNoise flat = flat_block_noise(sample, 0, kLumaBlock, pool);
    for (int32_t l = 0; l < kSampleLevels; ++l) {
      least[l] = std::min(least[l], flat.sigma[l]);
      most[l] = std::max(most[l], flat.sigma[l]);
    }
  }
  return std::equal(least, least + kSampleLevels, most,
                    [](double low, double high) { return low > 0 && high <= kMostApart * low; });
}

}  // namespace

double most_agreed(const std::vector<PictureNoise>& found) {
  constexpr float kMostOver = 1.5f, kAgree = 3.0f;  // 8-bit steps: as little as does no harm
  std::vector<float> luma;
  for (const PictureNoise& noise : found) luma.push_back(noise.sigma[0][0]);
  const auto middle = luma.begin() + static_cast<ptrdiff_t>((luma.size() - 1) / 2);
  std::nth_element(luma.begin(), middle, luma.end());
  return std::max(kMostOver * *middle, kAgree);
}

PictureNoise mean_noise(const std::vector<PictureNoise>& found, double most) {
  PictureNoise mean;
  mean.channels = found.front().channels;
  mean.toned =
      std::all_of(found.begin(), found.end(), [](const PictureNoise& n) { return n.toned; });
  std::fill_n(mean.strength, kMaxChannels, 0.0f);
  int32_t count = 0, edited = 0, texture = 0, white[kMaxChannels] = {};
  for (const PictureNoise& noise : found) {
    mean.confidence = std::max(mean.confidence, noise.confidence);
    if (noise.sigma[0][0] > most) continue;
    ++count;
    edited += noise.was_white ? 1 : 0;
    texture += noise.like_texture ? 1 : 0;
    mean.levels = noise.levels;
    for (int32_t c = 0; c < mean.channels; ++c) {
      for (int32_t l = 0; l < noise.levels; ++l) mean.sigma[l][c] += noise.sigma[l][c];
      mean.strength[c] += noise.strength[c];
      white[c] += noise.white[c] ? 1 : 0;
    }
  }
  for (int32_t c = 0; c < mean.channels; ++c) {
    for (int32_t l = 0; l < mean.levels; ++l) mean.sigma[l][c] /= static_cast<float>(count);
    mean.strength[c] /= static_cast<float>(count);
    mean.white[c] = 2 * white[c] > count;
  }
  mean.was_white = 2 * edited > count;
  mean.like_texture = 2 * texture > count;
  return mean;
}

namespace {

// What most of the layers surely show. Of white noise of colours alone: such stacks are averaged,
// and all that is left is noise.
CornerGain common_gain(std::span<const ConstImage> layers, const std::vector<Sample>& samples,
                       NoiseKind kind, ThreadPool& pool, const Callbacks& callbacks) {
  CornerGain sum;
  float count = 0;
  if (layers.front().format.colours() == 1) return sum;
  const auto all = static_cast<float>(layers.size());
  for (size_t i = 0; i < layers.size() && 2 * (count + all - static_cast<float>(i)) > all; ++i) {
    callbacks.report(kGainDone * static_cast<double>(i) / static_cast<double>(layers.size()));
    const ConstImage& layer = layers[i];
    if (is_neutral(samples[i])) continue;
    const PictureNoise noise =
        estimate_cornered_noise(samples[i], {0, 0, layer.width, layer.height},
                                picture_range({&layer, 1}), kind, pool, {callbacks.cancel, {}});
    if (noise.corners.enabled == 0 || !surely_white(noise)) continue;
    ++count;
    sum.rise += noise.corners.rise;
    sum.bulge += noise.corners.bulge;
  }
  if (2 * count <= all) return {};
  return {1, sum.rise / count, sum.bulge / count};
}

// Where layers stand still the mean of many holds less noise than one that is a little calmer.
constexpr double kCalm = 0.6, kStillCalm = 0.35;

// Layers of which hardly a pixel is there, a bit each; none where all are such.
uint32_t invisible_ones(const std::vector<Sample>& samples) {
  constexpr double kHardly = 0.05;
  uint32_t bits = 0, all = 0;
  for (size_t z = 0; z < samples.size(); ++z) {
    int64_t pixels = 0, invalid = 0;
    for (const SampleTile& tile : samples[z].tiles) {
      pixels += static_cast<int64_t>(tile.state.size());
      invalid += std::count_if(tile.state.begin(), tile.state.end(),
                               [](uint8_t state) { return (state & kInvalid) != 0; });
    }
    all |= uint32_t{1} << z;
    const auto visible = static_cast<double>(pixels - invalid);
    if (visible < kHardly * static_cast<double>(pixels)) bits |= uint32_t{1} << z;
  }
  return bits == all ? 0 : bits;
}

// What they seem to hold is no measure of the others' noise.
std::vector<PictureNoise> doubted(uint32_t layers, std::vector<PictureNoise> found) {
  for (size_t z = 0; z < found.size(); ++z) {
    if ((layers >> z & 1) != 0) found[z].confidence = Confidence::kTooSmall;
  }
  return found;
}

void leave_out(uint32_t layers, std::vector<PictureNoise>& found, std::vector<Sample>& samples) {
  for (size_t z = found.size(); z-- > 0;) {
    if ((layers >> z & 1) == 0) continue;
    found.erase(found.begin() + static_cast<ptrdiff_t>(z));
    samples.erase(samples.begin() + static_cast<ptrdiff_t>(z));
  }
}

}  // namespace

NoiseModel estimate_volume_noise(std::span<const ConstImage> layers, bool all, NoiseKind kind,
                                 ThreadPool& pool, const Callbacks& callbacks) {
  const int32_t tiles = std::max(kLeastTiles, kSampleTiles / static_cast<int32_t>(layers.size()));
  std::vector<PictureNoise> found;
  std::vector<Sample> samples;
  for (const ConstImage& layer : layers) {
    samples.push_back(take_sample(layer, pool, callbacks, tiles));
  }
  const CornerGain corners = common_gain(layers, samples, kind, pool, callbacks);
  for (size_t i = 0; i < layers.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(layers.size());
    callbacks.report(std::lerp(kGainDone, kEachDone, share));
    const ConstImage& layer = layers[i];
    if (corners.enabled != 0) {
      take_gain(field_of(corners, layer.width, layer.height), samples[i], pool);
    }
    found.push_back(
        estimate_noise(samples[i], picture_range({&layer, 1}), kind, pool, {callbacks.cancel, {}}));
  }
  callbacks.report(kEachDone);
  if (all && differ_in_strength(found, samples, pool)) {
    NoiseModel different = noise_of_different(found);
    different.corners = corners;
    return different;
  }
  const uint32_t invisible = invisible_ones(samples);
  const CalmLayers calm(doubted(invisible, found), samples, pool);
  leave_out(invisible | (all ? calm.bits(kStillCalm) : 0), found, samples);
  leave_out_mute(found, samples);
  double most = most_agreed(found);
  const auto disagrees = [&](const PictureNoise& noise) { return noise.sigma[0][0] > most; };
  if (std::any_of(found.begin(), found.end(), disagrees)) {
    most = std::max(most, kMostOverLeft * std::sqrt(variance_left(samples, pool, callbacks)));
  }
  NoiseModel mean{mean_noise(found, most)};
  const std::vector<PictureNoise> sure = sure_ones(found);
  const bool speaks = !sure.empty() && mean.confidence == Confidence::kUnsure &&
                      none_seems_clean(found) && show_same_noise(samples, pool);
  const std::vector<PictureNoise>& those = speaks ? sure : found;
  const PictureNoise witness = mean_noise(those, most_agreed(those));
  const bool mostly = 2 * sure.size() > found.size();
  const PictureNoise of_most = mostly ? mean_noise(sure, most_agreed(sure)) : PictureNoise{};
  measure_layers(samples,
                 {speaks ? &witness : nullptr, mostly ? &of_most : nullptr, most_hidden(sure)},
                 pool, callbacks, mean);
  mean.stack.clip = measure_sensor_clip(samples, {}, pool);
  if (surely_white(mean)) {
    mean.stack.even_clip = measure_even_clip(samples, colour_sigma(mean), pool);
  }
  std::vector<MeasuredLayer> measured_alone;
  for (size_t i = 0; i < found.size(); ++i) {
    measured_alone.push_back({found[i], std::move(samples[i])});
  }
  mean.stack.alone = noise_of_each(std::move(measured_alone), kind, pool, callbacks, mean);
  if (mean.stack.alone.known) mean.confidence = Confidence::kMeasured;
  tell_layers_apart(mean);
  mean.corners = corners;
  const bool still = mean.stack.still || mean.stack.between.known;
  mean.stack.calm = calm.bits(still ? kStillCalm : kCalm);
  if (still) mean.stack.calm |= calm.bits_by_others(kStillCalm);
  return mean;
}

}  // namespace grainless
