// SPDX-License-Identifier: MIT
#include "volume.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>

#include "engine/noise/black_lift.h"
#include "engine/noise/estimate.h"
#include "engine/noise/exposures.h"
#include "engine/noise/flat_blocks.h"
#include "engine/noise/layer_tones.h"
#include "engine/noise/still_noise.h"
#include "engine/noise/tone_profile.h"

namespace grainless {
namespace {

constexpr int32_t kMeasuredLayers = 9;
constexpr int32_t kLumaBlock = 16;
constexpr double kMostOverLeft = 1.1;  // sigma of a layer that others doubt
constexpr int32_t kLeastTiles = 16;    // of a layer: what a picture of 512 x 512 has

// Slabs with fewer voxels leave a large card partly idle.
constexpr int64_t kSharedVoxels = int64_t{1} << 22;

// Runs a device gets one after the other, so that the last ones end at the same time and transfers
// go beside kernels.
constexpr int32_t kTurns = 2, kStreams = 2;

// A layer that was measured: its noise as it is, and its pixels.
struct MeasuredLayer {
  NoiseModel noise;
  Sample sample;
};

// One profile for all layers, which come from one camera: of most of them, surely.
bool find_profile(const std::vector<MeasuredLayer>& layers, ThreadPool& pool, ToneProfile& mean) {
  std::vector<ToneProfile> sure;
  for (const MeasuredLayer& layer : layers) {
    const NoiseModel& noise = layer.noise;
    if (noise.confidence != Confidence::kMeasured || !noise.range.is_usual()) return false;
    if (noise.toned) return false;
    const ToneProfile profile = measure_profile(layer.sample, pool);
    if (is_sure(profile, noise)) sure.push_back(profile);
  }
  if (2 * sure.size() <= layers.size()) return false;
  for (const ToneProfile& profile : sure) {
    for (int32_t k = 0; k < kProfileKnots; ++k) {
      mean.log_sigma[k] += profile.log_sigma[k] / static_cast<double>(sure.size());
    }
  }
  return true;
}

EvenNoise noise_of_each(std::vector<MeasuredLayer> layers, NoiseKind kind, ThreadPool& pool,
                        const Callbacks& callbacks, const NoiseModel& mean) {
  EvenNoise alone;
  ToneProfile profile;
  if (!find_profile(layers, pool, profile)) return alone;
  alone.bend = bend_of(profile, trusted_share(mean));
  std::vector<NoiseModel> found(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    if (!estimate_bent_noise(alone.bend, std::move(layers[i].sample), layers[i].noise, kind, pool,
                             callbacks, found[i])) {
      return alone;
    }
  }
  const NoiseModel even = mean_noise(found, HUGE_VAL);
  std::copy_n(even.strength, kMaxChannels, alone.strength);
  std::copy_n(even.white, kMaxChannels, alone.white);
  for (int32_t l = 0; l < kMaxLevels; ++l) std::copy_n(even.sigma[l], kMaxChannels, alone.sigma[l]);
  alone.known = true;
  return alone;
}

bool none_seems_clean(const std::vector<NoiseModel>& found) {
  return std::none_of(found.begin(), found.end(), [](const NoiseModel& noise) {
    return noise.confidence == Confidence::kLittle;
  });
}

std::vector<NoiseModel> sure_ones(const std::vector<NoiseModel>& found) {
  std::vector<NoiseModel> sure;
  std::copy_if(found.begin(), found.end(), std::back_inserter(sure),
               [](const NoiseModel& noise) { return noise.confidence == Confidence::kMeasured; });
  return sure;
}

bool found_none(const NoiseModel& noise) {
  return std::all_of(noise.sigma[0], noise.sigma[0] + noise.channels,
                     [](float sigma) { return sigma == 0; });
}

// As of exposures in a row those are that were too long.
bool is_cut_off(const NoiseModel& noise, const Sample& sample) {
  constexpr double kMostly = 0.5;
  const bool sure =
      noise.confidence == Confidence::kMeasured || noise.confidence == Confidence::kLittle;
  return !sure && share_cut_off(sample) > kMostly;
}

// Layers that can't tell don't gainsay those of the same scene that surely do, where these are at
// least half of what isn't cut off.
void leave_out_mute(std::vector<NoiseModel>& found, std::vector<Sample>& samples) {
  std::vector<Sample*> sure;
  std::vector<size_t> mute;
  size_t told = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const bool cut_off = is_cut_off(found[i], samples[i]);
    told += cut_off ? 0 : 1;
    if (found[i].confidence == Confidence::kMeasured) sure.push_back(&samples[i]);
    const bool nothing = found[i].confidence == Confidence::kTooSmall && found_none(found[i]);
    if (cut_off || nothing) mute.push_back(i);
  }
  if (2 * sure.size() < told) return;
  std::erase_if(mute, [&](size_t i) {
    return std::none_of(sure.begin(), sure.end(), [&](const Sample* sample) {
      return may_show_same_scene(*sample, samples[i]);
    });
  });
  for (auto i = mute.rbegin(); i != mute.rend(); ++i) {
    found.erase(found.begin() + static_cast<ptrdiff_t>(*i));
    samples.erase(samples.begin() + static_cast<ptrdiff_t>(*i));
  }
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

// From a multiple of kVolumeCut on.
Rect cut_from(const Rect& rect) {
  const int32_t x = std::max(rect.x, 0) / kVolumeCut * kVolumeCut;
  const int32_t y = std::max(rect.y, 0) / kVolumeCut * kVolumeCut;
  return {x, y, rect.right() - x, rect.bottom() - y};
}

}  // namespace

VolumeBox volume_source_box(const VolumePlan& volume, const VolumeBox& box,
                            const LayersShape& shape) {
  const Rect reach = cut_from(expand(box.rect, volume.margin() + kFillRadius));
  const int32_t first = std::max(0, box.first - volume.reach());
  const int32_t end = std::min(shape.count, box.first + box.layers + volume.reach());
  return {intersect(reach, {0, 0, shape.width, shape.height}), first, end - first};
}

VolumeWork::VolumeWork(const Plan& plan, const VolumePlan& volume, const VolumePixels& pixels,
                       const Callbacks& callbacks)
    : plan_(plan),
      volume_(volume),
      callbacks_(callbacks),
      count_(pixels.source.count),
      first_(pixels.target.first),
      source_first_(pixels.source.first),
      targets_(pixels.target.layers.begin(), pixels.target.layers.end()) {
  const MutableImage& one = pixels.target.layers.front();
  const LayersShape shape{one.format, one.width, one.height, count_};
  cut_ = volume_source_box(volume, {one.rect, first_, 1}, shape).rect;
  for (const ConstImage& layer : pixels.source.layers) {
    sources_.push_back({const_cast<void*>(pixel_at(layer, cut_.x, cut_.y)), layer.row_bytes});
  }
}

Rect VolumeWork::grown(const Rect& tile) const {
  const int32_t reach = volume_.reach();
  return intersect({0, tile.y - reach, 1, tile.height + 2 * reach}, {0, 0, 1, count_});
}

// A backend that takes one run at a time cuts its slab itself.
Cut VolumeWork::choose_cut(const Backend& backend, int32_t devices) const {
  const int32_t streams = std::clamp(backend.concurrency(), 1, kStreams);
  const int32_t layers = area().height;
  const auto least =
      static_cast<int32_t>(std::min<int64_t>(kSharedVoxels / cut_.area() + 1, layers));
  const int32_t parts = devices * (streams > 1 ? streams * kTurns : 1);
  int32_t slab = std::max(least, (layers + parts - 1) / parts);
  const uint64_t budget = backend.budget() / streams;
  const auto fits = [&](int32_t count) {
    const int32_t held = std::min(count + 2 * volume_.reach(), count_);
    return backend.slab_bytes(plan_, volume_, cut_.width, cut_.height, held, count) <= budget;
  };
  while (slab > 1 && !fits(slab)) slab = (slab + 1) / 2;
  if (!fits(slab)) throw_no_room(budget);
  return {{1, slab}, streams};
}

void VolumeWork::run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
                     AbiTiming* timing) const {
  const Rect in = grown(tile);
  const std::span targets = std::span(targets_).subspan(tile.y - first_, tile.height);
  const bool whole = targets.front().rect == cut_;
  const ptrdiff_t row = ptrdiff_t{cut_.width} * plan_.format.pixel_bytes();
  std::vector<std::unique_ptr<uint8_t[]>> results;
  std::vector<AbiLayer> layers;
  for (const MutableImage& target : targets) {
    if (!whole) results.push_back(std::make_unique_for_overwrite<uint8_t[]>(row * cut_.height));
    layers.push_back(whole ? AbiLayer{target.data, target.row_bytes}
                           : AbiLayer{results.back().get(), row});
  }
  backend.run_slab(plan_, volume_,
                   {cut_.width, cut_.height, count_, in.y, in.height, tile.y, tile.height,
                    sources_.data() + (in.y - source_first_), layers.data()},
                   callbacks, timing);
  for (size_t z = 0; z < results.size(); ++z) {
    copy_pixels({plan_.format, targets[z].width, targets[z].height, cut_, results[z].get(), row},
                targets[z]);
  }
}

std::vector<int32_t> measured_layers(int32_t count) {
  const int32_t measured = std::min(count, kMeasuredLayers);
  std::vector<int32_t> layers;
  for (int32_t i = 0; i < measured; ++i) {
    layers.push_back(static_cast<int32_t>((int64_t{2} * i + 1) * count / (2 * measured)));
  }
  return layers;
}

double most_agreed(const std::vector<NoiseModel>& found) {
  constexpr float kMostOver = 1.5f, kAgree = 3.0f;  // 8-bit steps: as little as does no harm
  std::vector<float> luma;
  for (const NoiseModel& noise : found) luma.push_back(noise.sigma[0][0]);
  const auto middle = luma.begin() + static_cast<ptrdiff_t>((luma.size() - 1) / 2);
  std::nth_element(luma.begin(), middle, luma.end());
  return std::max(kMostOver * *middle, kAgree);
}

NoiseModel mean_noise(const std::vector<NoiseModel>& found, double most) {
  NoiseModel mean;
  mean.channels = found.front().channels;
  mean.toned = std::all_of(found.begin(), found.end(), [](const NoiseModel& n) { return n.toned; });
  std::fill_n(mean.strength, kMaxChannels, 0.0f);
  int32_t count = 0, edited = 0, texture = 0, white[kMaxChannels] = {};
  for (const NoiseModel& noise : found) {
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

NoiseModel estimate_volume_noise(std::span<const ConstImage> layers, NoiseKind kind,
                                 ThreadPool& pool, const Callbacks& callbacks) {
  const std::vector<int32_t> measured = measured_layers(static_cast<int32_t>(layers.size()));
  const int32_t tiles = std::max(kLeastTiles, kSampleTiles / static_cast<int32_t>(measured.size()));
  std::vector<NoiseModel> found;
  std::vector<Sample> samples;
  for (const int32_t z : measured) {
    found.push_back(estimate_noise(layers[z], kind, pool, callbacks, tiles));
    samples.push_back(take_sample(layers[z], pool, callbacks, tiles));
  }
  leave_out_mute(found, samples);
  double most = most_agreed(found);
  const auto disagrees = [&](const NoiseModel& noise) { return noise.sigma[0][0] > most; };
  if (std::any_of(found.begin(), found.end(), disagrees)) {
    most = std::max(most, kMostOverLeft * std::sqrt(variance_left(samples)));
  }
  NoiseModel mean = mean_noise(found, most);
  const std::vector<NoiseModel> sure = sure_ones(found);
  const bool speaks = !sure.empty() && mean.confidence == Confidence::kUnsure &&
                      none_seems_clean(found) && show_same_noise(samples, pool);
  const std::vector<NoiseModel>& those = speaks ? sure : found;
  const NoiseModel witness = mean_noise(those, most_agreed(those));
  measure_layers(samples, speaks ? &witness : nullptr, mean);
  mean.lift = measure_lift(samples, {});
  std::vector<MeasuredLayer> measured_alone;
  for (size_t i = 0; i < found.size(); ++i) {
    measured_alone.push_back({found[i], std::move(samples[i])});
  }
  mean.alone = noise_of_each(std::move(measured_alone), kind, pool, callbacks, mean);
  tell_layers_apart(mean);
  return mean;
}

}  // namespace grainless
