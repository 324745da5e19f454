// SPDX-License-Identifier: MIT
#include "stack_trial.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "engine/cpu/frame/pixel_planes.h"
#include "engine/noise/sample.h"
#include "engine/params/params.h"
#include "engine/plan/fusion_plan.h"
#include "float_picture.h"
#include "registration.h"

namespace grainless {
namespace {

constexpr int32_t kTiles = 6;
constexpr double kRecorruption = 0.5;  // a: less is nearer to the layer, and less sure
constexpr int32_t kDepth = 3;
// Where noise is stronger than said, what leaves more of it seems nearer. (240 bursts of five: such
// stacks lost up to 1.3 dB by what was found, and gained no more.)
constexpr float kMostUneven = 1.1f;

// Numbers of mean 0 and deviation 1, the same on any machine: sums of four uniform ones are near
// enough to normal ones.
class WhiteNoise {
 public:
  explicit WhiteNoise(uint64_t seed) : state_(seed) {}
  float next() {
    state_ += 0x9e3779b97f4a7c15u;  // SplitMix64 (Steele, Lea and Flood 2014)
    uint64_t bits = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    bits ^= bits >> 31;
    const uint64_t sum =
        (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    constexpr float kMiddle = 2 * 65535.0f, kDeviation = 65536 * 0.577350269f;
    return (static_cast<float>(sum) - kMiddle) / kDeviation;
  }

 private:
  uint64_t state_;
};

// Of a layer's part: of one scene, with independent noise.
struct TwoPictures {
  FloatPicture first;
  Planes second;
};

TwoPictures two_pictures(const ConstImage& part, const PictureNoise& noise, float strength,
                         uint64_t seed, ThreadPool& pool) {
  const Plan plain = plain_pixels(part.format);
  Planes first = planes_from_pixels(plain, tile_of(part, {}), part.rect, pool);
  Planes second = planes_from_pixels(plain, tile_of(part, {}), part.rect, pool);
  WhiteNoise drawn(seed);
  for (int32_t c = 0; c < first.channels(); ++c) {
    const float sigma = strength * noise.sigma[0][c];
    const auto there = static_cast<float>(sigma * kRecorruption);
    const auto back = static_cast<float>(sigma / kRecorruption);
    for (int32_t y = 0; y < part.height; ++y) {
      float *to = first.at(c, 0, y), *other = second.at(c, 0, y);
      for (int32_t x = 0; x < part.width; ++x) {
        const float z = drawn.next();
        to[x] += there * z;
        other[x] -= back * z;
      }
    }
  }
  FloatPicture picture(first.channels(), part.width, part.height, part.rect, pool);
  pixels_from_planes(plain_pixels(picture.format), tile_of(picture.image(), picture.writable()),
                     first, first, pool);
  return {std::move(picture), std::move(second)};
}

double squared_distance(const FloatPicture& picture, const Planes& planes, ThreadPool& pool) {
  const Planes own = planes_from_pixels(plain_pixels(picture.format), tile_of(picture.image(), {}),
                                        picture.rect, pool);
  double sum = 0;
  for (int32_t c = 0; c < own.channels(); ++c) {
    for (int32_t y = 0; y < picture.height; ++y) {
      const float *a = own.at(c, 0, y), *b = planes.at(c, 0, y);
      for (int32_t x = 0; x < picture.width; ++x) {
        const double apart = double{a[x]} - b[x];
        sum += apart * apart;
      }
    }
  }
  return sum;
}

// What layers differ by may be called white, too. Where coarse noise is left it hides in both
// pictures, and each layer alone seems nearest.
bool falls_as_white(const PictureNoise& noise) {
  constexpr float kMostLeft = 0.6f;  // of sigma, from level to level
  for (int32_t l = 1; l < noise.levels; ++l) {
    for (int32_t c = 0; c < noise.channels; ++c) {
      if (noise.sigma[l][c] > kMostLeft * noise.sigma[l - 1][c]) return false;
    }
  }
  return true;
}

bool can_try(std::span<const ConstImage> layers, const NoiseModel& noise) {
  const StackNoise& stack = noise.stack;
  const bool even =
      noise.bend.enabled == 0 && !stack.alone.known && stack.unevenness <= kMostUneven;
  return layers.size() > 1 && surely_white(noise) && even && !stack.between.known && !noise.toned;
}

// That of the first pictures.
NoiseModel recorrupted(const NoiseModel& noise) {
  NoiseModel more = noise;
  more.stack.places = {};  // what is looked at is brought together
  for (auto& level : more.sigma) {
    for (float& sigma : level) sigma *= static_cast<float>(std::hypot(1.0, kRecorruption));
  }
  return more;
}

// Of one layer, and those near it that it is filtered with.
class Trial {
 public:
  Trial(std::span<const ConstImage> layers, int32_t z, const SampleTile& tile,
        const NoiseModel& noise, ThreadPool& pool)
      : first_(std::max(0, z - kReach)), at_(z - first_), pool_(pool) {
    const int32_t end = std::min(static_cast<int32_t>(layers.size()), z + kReach + 1);
    for (int32_t l = first_; l < end; ++l) {
      const SampleTile there = placed_tile(noise.stack.places, z, l, tile, layers[l]);
      const float strength = noise.stack.strengths.at(l, static_cast<int32_t>(layers.size()));
      parts_.push_back(
          two_pictures(part_of(layers[l], there), noise, strength, seed_of(l, tile), pool));
    }
    for (const TwoPictures& part : parts_) sources_.push_back(part.first.image());
  }

  // From the scene, squared, plus the same for any way.
  double distance(Method method, const NoiseModel& noise, const RunVolume& run,
                  const Callbacks& callbacks) const {
    const auto count = static_cast<int32_t>(parts_.size());
    return distance(method, of_part(noise, first_, count), std::min(kDepth, count - 1),
                    {count, 0, sources_}, at_, run, callbacks);
  }

  double distance_alone(Method method, const NoiseModel& noise, const RunVolume& run,
                        const Callbacks& callbacks) const {
    return distance(method, of_part(noise, first_ + at_, 1), 1,
                    {1, 0, std::span(&sources_[at_], 1)}, 0, run, callbacks);
  }

 private:
  static constexpr int32_t kReach = kDepth + 1;  // patches have layers, too

  double distance(Method method, const NoiseModel& noise, int32_t depth,
                  const VolumePart<ConstImage>& source, int32_t at, const RunVolume& run,
                  const Callbacks& callbacks) const {
    Params params;
    params.method = static_cast<int32_t>(method);
    params.quality = static_cast<int32_t>(Quality::kFast);
    params.device = "cpu";
    const ConstImage& one = sources_.front();
    FloatPicture result(one.format.colours(), one.width, one.height, one.rect, pool_);
    const MutableImage target = result.writable();
    run(params, depth, noise, {source, {source.count, at, std::span(&target, 1)}}, callbacks);
    return squared_distance(result, parts_[at_].second, pool_);
  }

  static NoiseModel of_part(NoiseModel noise, int32_t first, int32_t count) {
    noise.stack.strengths = noise.stack.strengths.part(first, count);
    return noise;
  }

  static uint64_t seed_of(int32_t layer, const SampleTile& tile) {
    return (static_cast<uint64_t>(tile.y) << 32 | static_cast<uint64_t>(tile.x)) * 64 +
           static_cast<uint64_t>(layer);
  }

  const int32_t first_, at_;
  ThreadPool& pool_;
  std::vector<TwoPictures> parts_;
  std::vector<ConstImage> sources_;
};

double sum_of(const double (&distances)[kStackMethods]) {
  return std::accumulate(distances, distances + kStackMethods, 0.0);
}

}  // namespace

void try_ways(std::span<const ConstImage> layers, bool all, ThreadPool& pool,
              const Callbacks& callbacks, const RunVolume& run, NoiseModel& noise) {
  if (!can_try(layers, noise)) return;
  const ConstImage& one = layers.front();
  const Callbacks quiet{callbacks.cancel, {}};
  NoiseModel average = recorrupted(noise), search = average, unfollowed = average;
  average.stack.nlm_way = NlmWay::kAverage;
  search.stack.nlm_way = NlmWay::kSearch;
  unfollowed.stack.nlm_way = NlmWay::kAverage;
  std::fill_n(unfollowed.stack.unfollowed, kStackMethods, true);
  const bool follows = follows_motion(noise);
  if (!follows) average = unfollowed;
  const std::vector<SampleTile> tiles = sample_tiles(one.width, one.height, kTiles);
  const size_t trials = std::min<size_t>(kTiles, tiles.size() * layers.size());
  double averaged[kStackMethods] = {}, alone[kStackMethods] = {}, searched = 0;
  double as_they_are[kStackMethods] = {}, brought[kStackMethods] = {};
  const bool placed = follows && noise.stack.places.count > 0;
  NoiseModel here = noise;
  here.stack.places = {};
  for (size_t i = 0; i < trials; ++i) {  // tiles and layers take turns
    const auto z = static_cast<int32_t>((i + i / tiles.size()) % layers.size());
    const SampleTile& tile = tiles[i % tiles.size()];
    const Trial trial(layers, z, tile, here, pool);
    for (int32_t m = 0; m < kStackMethods; ++m) {
      averaged[m] += trial.distance(static_cast<Method>(m), average, run, quiet);
      if (follows) {
        as_they_are[m] += trial.distance(static_cast<Method>(m), unfollowed, run, quiet);
      }
      alone[m] += trial.distance_alone(static_cast<Method>(m), average, run, quiet);
    }
    if (placed) {
      const Trial together(layers, z, tile, noise, pool);
      for (int32_t m = 0; m < kStackMethods; ++m) {
        brought[m] += together.distance(static_cast<Method>(m), average, run, quiet);
      }
    }
    if (all) searched += trial.distance(Method::kNlm, search, run, quiet);
    callbacks.report(static_cast<double>(i + 1) / static_cast<double>(trials));
  }
  StackNoise& found = noise.stack;
  if (placed && sum_of(brought) < sum_of(averaged)) {
    std::copy_n(brought, kStackMethods, averaged);
  } else {
    found.places = {};
  }
  for (int32_t m = 0; m < kStackMethods; ++m) {
    found.unfollowed[m] = follows && as_they_are[m] < averaged[m];
    if (found.unfollowed[m]) averaged[m] = as_they_are[m];
    found.apart[m] = falls_as_white(noise) && alone[m] < averaged[m];
  }
  if (!all) return;
  constexpr auto kNlm = static_cast<int32_t>(Method::kNlm);
  const double other = found.apart[kNlm] ? alone[kNlm] : averaged[kNlm];
  found.nlm_way = searched < other ? NlmWay::kSearch : NlmWay::kAverage;
}

}  // namespace grainless
