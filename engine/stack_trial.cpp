// SPDX-License-Identifier: MIT
#include "stack_trial.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/cpu/frame/pixel_planes.h"
#include "engine/noise/sample.h"
#include "engine/params/params.h"
#include "float_picture.h"

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

TwoPictures two_pictures(const ConstImage& part, const NoiseModel& noise, uint64_t seed,
                         ThreadPool& pool) {
  const Plan plain = plain_pixels(part.format);
  Planes first = planes_from_pixels(plain, tile_of(part, {}), part.rect, pool);
  Planes second = planes_from_pixels(plain, tile_of(part, {}), part.rect, pool);
  WhiteNoise drawn(seed);
  for (int32_t c = 0; c < first.channels(); ++c) {
    const auto there = static_cast<float>(noise.sigma[0][c] * kRecorruption);
    const auto back = static_cast<float>(noise.sigma[0][c] / kRecorruption);
    for (int32_t y = 0; y < part.height; ++y) {
      float *to = first.at(c, 0, y), *other = second.at(c, 0, y);
      for (int32_t x = 0; x < part.width; ++x) {
        const float z = drawn.next();
        to[x] += there * z;
        other[x] -= back * z;
      }
    }
  }
  FloatPicture picture(first.channels(), part.width, part.height, part.rect);
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

bool can_try(std::span<const ConstImage> layers, const NoiseModel& noise) {
  const bool even =
      noise.bend.enabled == 0 && !noise.alone.known && noise.unevenness <= kMostUneven;
  return layers.size() > 1 && surely_white(noise) && even && !noise.between.known && !noise.toned;
}

// That of the first pictures.
NoiseModel recorrupted(const NoiseModel& noise) {
  NoiseModel more = noise;
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
      parts_.push_back(two_pictures(part_of(layers[l], tile), noise, seed_of(l, tile), pool));
    }
    for (const TwoPictures& part : parts_) sources_.push_back(part.first.image());
  }

  // From the scene, squared, plus the same for either way.
  double distance(NoiseModel& noise, NlmWay way, const RunVolume& run,
                  const Callbacks& callbacks) const {
    Params params;
    params.method = static_cast<int32_t>(Method::kNlm);
    params.device = "cpu";
    noise.nlm_way = way;
    const ConstImage& source = sources_.front();
    FloatPicture result(source.format.colours(), source.width, source.height, source.rect);
    const MutableImage target = result.writable();
    const auto count = static_cast<int32_t>(parts_.size());
    run(params, std::min(kDepth, count - 1), noise,
        {{count, 0, sources_}, {count, at_, std::span(&target, 1)}}, callbacks);
    return squared_distance(result, parts_[at_].second, pool_);
  }

 private:
  static constexpr int32_t kReach = kDepth + 1;  // patches have layers, too

  static uint64_t seed_of(int32_t layer, const SampleTile& tile) {
    return (static_cast<uint64_t>(tile.y) << 32 | static_cast<uint64_t>(tile.x)) * 64 +
           static_cast<uint64_t>(layer);
  }

  const int32_t first_, at_;
  ThreadPool& pool_;
  std::vector<TwoPictures> parts_;
  std::vector<ConstImage> sources_;
};

}  // namespace

void try_ways(std::span<const ConstImage> layers, ThreadPool& pool, const Callbacks& callbacks,
              const RunVolume& run, NoiseModel& noise) {
  if (!can_try(layers, noise)) return;
  const ConstImage& one = layers.front();
  const Callbacks quiet{callbacks.cancel, {}};
  NoiseModel more = recorrupted(noise);
  const std::vector<SampleTile> tiles = sample_tiles(one.width, one.height, kTiles);
  const size_t trials = std::min<size_t>(kTiles, tiles.size() * layers.size());
  double average = 0, search = 0;
  for (size_t i = 0; i < trials; ++i) {  // tiles and layers take turns
    const auto z = static_cast<int32_t>((i + i / tiles.size()) % layers.size());
    const Trial trial(layers, z, tiles[i % tiles.size()], noise, pool);
    average += trial.distance(more, NlmWay::kAverage, run, quiet);
    search += trial.distance(more, NlmWay::kSearch, run, quiet);
  }
  noise.nlm_way = search < average ? NlmWay::kSearch : NlmWay::kAverage;
}

}  // namespace grainless
