// SPDX-License-Identifier: MIT
#include "mean_shares.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/volume/fusion.h"
#include "engine/noise/sample.h"
#include "engine/plan/make_plan.h"
#include "float_picture.h"

namespace grainless {
namespace {

constexpr int32_t kTiles = 6;
constexpr double kRecorruption = 0.5;  // a: less is nearer to y, and less sure
constexpr float kStood = 0.9f;         // share of the layers that a pixel's mean must hold
constexpr int64_t kFewestPixels = 1 << 12;
// Of the variance that the mean's noise has by what layers differ by: layers that repeat others
// show less.
constexpr double kLeastShown = 0.25;

// Two pictures of one scene whose noise is independent: the first, and what leads from it to the
// second. Of a mean of so many layers.
struct TwoPictures {
  Planes first, step;
  Planes counts;  // how many layers' worth a pixel's mean is
  int32_t layers;
};

// Over a channel, d being what the filter adds to the first picture.
struct Sums {
  double towards = 0, added = 0, step = 0;  // <d, step>, <d, d>, <step, step>
};

struct Found {
  Sums sums[kMaxChannels];
  int64_t pixels = 0;
};

// The middle `count` ones.
std::span<const ConstImage> middle(std::span<const ConstImage> layers, int32_t count) {
  const size_t kept = static_cast<size_t>(count);
  return layers.subspan((layers.size() - kept) / 2, kept);
}

std::vector<ConstImage> parts_at(std::span<const ConstImage> layers, const SampleTile& tile) {
  std::vector<ConstImage> parts;
  for (const ConstImage& layer : layers) parts.push_back(part_of(layer, tile));
  return parts;
}

// Adds share * other to planes over the same rectangle.
void add(const Planes& other, double share, Planes& planes) {
  const Rect& rect = planes.rect();
  for (int32_t c = 0; c < planes.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      const float* from = other.at(c, rect.x, y);
      float* to = planes.at(c, rect.x, y);
      for (int32_t x = 0; x < rect.width; ++x) to[x] += static_cast<float>(share) * from[x];
    }
  }
}

Planes planes_of(const StackPlan& stack, const ConstImage& part, ThreadPool& pool) {
  const Plan plan = layer_pixels(stack.fusion, part.format);
  return planes_from_pixels(plan, tile_of(part, {}), part.rect, pool);
}

// As strong as the noise of the layers' mean. Halves take turns: what moves or fades steadily is in
// both.
Planes noise_of_mean(const StackPlan& stack, std::span<const ConstImage> parts, ThreadPool& pool) {
  const auto count = static_cast<int32_t>(parts.size());
  const int32_t odd = count / 2, even = count - odd;
  const double scale = std::sqrt(1.0 / count / (1.0 / even + 1.0 / odd));
  Planes noise = planes_of(stack, parts.front(), pool);
  add(noise, scale / even - 1, noise);
  for (int32_t i = 1; i < count; ++i) {
    add(planes_of(stack, parts[i], pool), i % 2 == 0 ? scale / even : -scale / odd, noise);
  }
  return noise;
}

// Of a layer and the next one; of a mean: recorrupted by what its halves differ by.
TwoPictures two_pictures(const StackPlan& stack, int32_t count, std::span<const ConstImage> parts,
                         ThreadPool& pool, const Callbacks& callbacks) {
  const auto used = static_cast<int32_t>(parts.size());
  Fused mean = fuse_layers(stack.fusion, {used, 0, parts}, (used - 1) / 2, parts.front().rect, pool,
                           callbacks);
  if (count == 1) {
    Planes first = planes_of(stack, parts[0], pool), step = planes_of(stack, parts[1], pool);
    add(first, -1, step);
    return {std::move(first), std::move(step), std::move(mean.count), used};
  }
  Planes noise = noise_of_mean(stack, parts, pool);
  add(noise, kRecorruption, mean.planes);
  add(noise, -(kRecorruption + 1 / kRecorruption) - 1, noise);
  return {std::move(mean.planes), std::move(noise), std::move(mean.count), used};
}

Planes filtered(const Plan& plan, const Planes& planes, ThreadPool& pool,
                const Callbacks& callbacks, const RunPicture& run) {
  const Rect& rect = planes.rect();
  FloatPicture source(planes.channels(), rect.width, rect.height, rect, pool);
  FloatPicture target(planes.channels(), rect.width, rect.height, rect, pool);
  const Plan plain = plain_pixels(source.format);
  pixels_from_planes(plain, tile_of(source.image(), source.writable()), planes, planes, pool);
  run(plan, source.image(), target.writable(), callbacks);
  return planes_from_pixels(plain, tile_of(target.image(), {}), rect, pool);
}

// Of pixels whose layers stood still.
void add_sums(const TwoPictures& two, const Planes& result, Found& found) {
  const Rect& rect = result.rect();
  const float least = kStood * static_cast<float>(two.layers);
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    const float* count = two.counts.at(0, rect.x, y);
    found.pixels += std::count_if(count, count + rect.width, [&](float n) { return n >= least; });
    for (int32_t c = 0; c < result.channels(); ++c) {
      const float *from = two.first.at(c, rect.x, y), *to = result.at(c, rect.x, y);
      const float* step = two.step.at(c, rect.x, y);
      Sums& sums = found.sums[c];
      for (int32_t x = 0; x < rect.width; ++x) {
        if (count[x] < least) continue;
        const double d = to[x] - from[x], s = step[x];
        sums.towards += d * s;
        sums.added += d * d;
        sums.step += s * s;
      }
    }
  }
}

// What is found of a method.
struct OfMethod {
  Method method;
  MeanShares shares;
};

// Its filter, tried on pictures of some means.
struct Trial {
  OfMethod of;
  StackPlan stack;
  Plan plan;
  Found found;
};
using Shares = float (MeanShares::*)[kMaxChannels];

class Measurement {
 public:
  Measurement(std::span<const ConstImage> layers, const NoiseModel& noise, ThreadPool& pool,
              const Callbacks& callbacks, const RunPicture& run)
      : layers_(layers), noise_(noise), pool_(pool), callbacks_(callbacks), run_(run) {}

  // Sets those of a mean of `count` layers, or of one. Methods of which they don't tell any go.
  void measure(int32_t count, Shares shares, std::vector<OfMethod>& methods) const;

 private:
  Trial trial_of(const OfMethod& of, int32_t count) const;
  void find(int32_t count, std::vector<Trial>& trials) const;
  bool tell(const Trial& trial, int32_t count) const;
  double expected_step(int32_t count) const;

  std::span<const ConstImage> layers_;
  const NoiseModel& noise_;
  ThreadPool& pool_;
  const Callbacks& callbacks_;
  const RunPicture& run_;
};

Trial Measurement::trial_of(const OfMethod& of, int32_t count) const {
  Params params;
  params.method = static_cast<int32_t>(of.method);
  params.quality = static_cast<int32_t>(Quality::kFast);
  StackPlan stack = make_stack_plan(params, count, noise_.channels, noise_);
  stack.fusion.follows = false;  // what differs is to be noise
  const Plan plan = left_plan(stack, count);
  return {of, std::move(stack), plan, {}};
}

// How layers are averaged is the same for all methods.
void Measurement::find(int32_t count, std::vector<Trial>& trials) const {
  const ConstImage& one = layers_.front();
  const std::span used = middle(layers_, std::max(2, count));
  const Callbacks quiet{callbacks_.cancel, {}};
  for (const SampleTile& tile : sample_tiles(one.width, one.height, kTiles)) {
    const TwoPictures two =
        two_pictures(trials.front().stack, count, parts_at(used, tile), pool_, quiet);
    for (Trial& trial : trials) {
      add_sums(two, filtered(trial.plan, two.first, pool_, quiet, run_), trial.found);
    }
  }
}

// Luma's variance.
double Measurement::expected_step(int32_t count) const {
  const LayerDifference& between = noise_.stack.between;
  const double sigma = between.known ? between.sigma[0][0] : noise_.sigma[0][0];
  if (count == 1) return 2 * sigma * sigma;
  const double step = (kRecorruption + 1 / kRecorruption) * sigma;
  return step * step / count;
}

bool Measurement::tell(const Trial& trial, int32_t count) const {
  const Found& found = trial.found;
  const double step = kLeastShown * expected_step(count) * static_cast<double>(found.pixels);
  return found.pixels >= kFewestPixels && found.sums[0].step >= step;
}

void Measurement::measure(int32_t count, Shares shares, std::vector<OfMethod>& methods) const {
  std::vector<Trial> trials;
  for (const OfMethod& of : methods) {
    Trial trial = trial_of(of, count);
    if (changes_nothing(trial.stack.params, left_noise(trial.stack, count))) continue;
    trials.push_back(std::move(trial));
  }
  methods.clear();
  if (trials.empty()) return;
  find(count, trials);
  for (Trial& trial : trials) {
    if (!tell(trial, count)) continue;
    for (int32_t c = 0; c < noise_.channels; ++c) {
      const auto& [towards, added, all] = trial.found.sums[c];
      (trial.of.shares.*shares)[c] =
          towards < added ? static_cast<float>(std::max(0.0, towards / added)) : 1;
    }
    methods.push_back(trial.of);
  }
}

}  // namespace

void measure_mean_shares(std::span<const ConstImage> layers, ThreadPool& pool,
                         const Callbacks& callbacks, const RunPicture& run, NoiseModel& noise) {
  const auto all = static_cast<int32_t>(layers.size());
  const LayerDifference& between = noise.stack.between;
  const int32_t near = between.known ? std::min(all, 2 * between.reach + 1) : all;
  if (near < 2) return;
  const Measurement measurement(layers, noise, pool, callbacks, run);
  std::vector<OfMethod> methods{{Method::kBm3d, {}}, {Method::kNlm, {}}};
  measurement.measure(1, &MeanShares::of_one, methods);
  callbacks.report(1.0 / 3);
  measurement.measure(2, &MeanShares::of_two, methods);
  callbacks.report(2.0 / 3);
  if (near > 2) measurement.measure(near, &MeanShares::of_all, methods);
  for (auto& [method, shares] : methods) {
    if (near == 2) std::copy_n(shares.of_two, kMaxChannels, shares.of_all);
    shares.layers = near;
    noise.stack.means[static_cast<int32_t>(method)] = shares;
  }
}

}  // namespace grainless
