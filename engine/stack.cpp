// SPDX-License-Identifier: MIT
#include "stack.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/volume/fusion.h"
#include "engine/plan/make_plan.h"
#include "float_picture.h"

namespace grainless {
namespace {

// Share of a layer's time.
constexpr double kFusionShare = 0.1;

int32_t layers_near(int32_t z, int32_t depth, int32_t count) {
  return std::min(z + depth, count - 1) - std::max(z - depth, 0) + 1;
}

// Which runs a pixel that is worth `count` layers mixes: run 1.25 is three quarters of run 1. A
// little less than all layers is all: weights vary with the noise.
float mixture(float count, int32_t layers) {
  const auto last = static_cast<float>(last_run(layers));
  if (last == 0) return 0;
  const float run = last * (1 - std::log2(count) / std::log2(static_cast<float>(layers)));
  const float whole = std::floor(run);
  return std::min(last, whole + clamp_to(2 * (run - whole) - 1, 0.0f, 1.0f));
}

// One layer on its way.
class Layer {
 public:
  Layer(const StackPlan& stack, const VolumePart<ConstImage>& source, int32_t z,
        const MutableImage& target, ThreadPool& pool)
      : stack_(stack),
        source_(source),
        z_(z),
        layers_(layers_near(z, stack.fusion.depth, source.count)),
        target_(target),
        own_(source.layers[static_cast<size_t>(z - source.first)]),
        pool_(pool) {}

  void run(float detail, const Callbacks& callbacks, const RunPicture& run);

 private:
  void run_alone(const NoiseModel& noise, float detail, const Callbacks& callbacks,
                 const RunPicture& run) const;
  FloatPicture fuse(const Callbacks& callbacks);
  Rect where(int32_t run) const;
  void lead_back(double count, const FloatPicture& mean, Planes& filtered) const;
  void mix(int32_t run, const Planes& planes);

  const StackPlan& stack_;
  const VolumePart<ConstImage>& source_;
  const int32_t z_, layers_;
  const MutableImage& target_;
  const ConstImage& own_;
  ThreadPool& pool_;
  Planes runs_;  // of a pixel of the target: the mixture of runs that it needs
  Planes result_;
};

FloatPicture Layer::fuse(const Callbacks& callbacks) {
  const Rect all{0, 0, own_.width, own_.height};
  const Rect needed = intersect(expand(target_.rect, stack_.halo), all);
  Fused fused = fuse_layers(stack_.fusion, source_, z_, needed, pool_, callbacks);
  FloatPicture picture(stack_.fusion.channels, own_.width, own_.height, needed);
  const AbiTile tile = tile_of(picture.image(), picture.writable());
  pixels_from_planes(plain_pixels(picture.format), tile, fused.planes, fused.planes, pool_);
  runs_ = Planes(1, target_.rect);
  for (int32_t y = target_.rect.y; y < target_.rect.bottom(); ++y) {
    const float* count = fused.count.at(0, target_.rect.x, y);
    float* runs = runs_.at(0, target_.rect.x, y);
    for (int32_t x = 0; x < target_.rect.width; ++x) runs[x] = mixture(count[x], layers_);
  }
  return picture;
}

// The smallest rectangle that holds all pixels which need that run.
Rect Layer::where(int32_t run) const {
  const Rect& all = runs_.rect();
  int32_t left = all.right(), right = all.x, top = all.bottom(), bottom = all.y;
  for (int32_t y = all.y; y < all.bottom(); ++y) {
    const float* runs = runs_.at(0, all.x, y) - all.x;
    for (int32_t x = all.x; x < all.right(); ++x) {
      if (std::abs(runs[x] - static_cast<float>(run)) >= 1) continue;
      left = std::min(left, x);
      right = std::max(right, x + 1);
      top = std::min(top, y);
      bottom = y + 1;
    }
  }
  return {left, top, std::max(0, right - left), std::max(0, bottom - top)};
}

// What the filter took that is not noise.
void Layer::lead_back(double count, const FloatPicture& mean, Planes& filtered) const {
  float share[kMaxChannels];
  for (int32_t c = 0; c < kMaxChannels; ++c) share[c] = share_of_noise(stack_, count, c);
  const int32_t channels = filtered.channels();
  if (std::all_of(share, share + channels, [](float part) { return part == 1; })) return;
  const Rect& rect = filtered.rect();
  const Planes before =
      planes_from_pixels(plain_pixels(mean.format), tile_of(mean.image(), {}), rect, pool_);
  for (int32_t c = 0; c < channels; ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      const float* from = before.at(c, rect.x, y);
      float* to = filtered.at(c, rect.x, y);
      for (int32_t x = 0; x < rect.width; ++x) to[x] = from[x] + share[c] * (to[x] - from[x]);
    }
  }
}

void Layer::mix(int32_t run, const Planes& planes) {
  const Rect& rect = planes.rect();
  for (int32_t c = 0; c < planes.channels(); ++c) {
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      const float *from = planes.at(c, rect.x, y), *runs = runs_.at(0, rect.x, y);
      float* to = result_.at(c, rect.x, y);
      for (int32_t x = 0; x < rect.width; ++x) {
        const float share = 1 - std::abs(runs[x] - static_cast<float>(run));
        if (share > 0) to[x] += share * from[x];
      }
    }
  }
}

void Layer::run_alone(const NoiseModel& noise, float detail, const Callbacks& callbacks,
                      const RunPicture& run) const {
  if (changes_nothing(stack_.params, noise)) return copy_pixels(own_, target_);
  Plan plan = lone_plan(stack_, own_.format, noise);
  plan.detail = detail;
  run(plan, own_, target_, callbacks);
}

void Layer::run(float detail, const Callbacks& callbacks, const RunPicture& run) {
  if (const NoiseModel* lone = lone_noise(stack_.noise, z_)) {
    return run_alone(*lone, detail, callbacks, run);
  }
  const FloatPicture picture =
      fuse({callbacks.cancel, [&](double fraction) { callbacks.report(kFusionShare * fraction); }});
  result_ = Planes(stack_.fusion.channels, target_.rect);
  for (int32_t c = 0; c < result_.channels(); ++c) {
    for (int32_t y = target_.rect.y; y < target_.rect.bottom(); ++y) {
      std::fill_n(result_.at(c, target_.rect.x, y), target_.rect.width, 0.0f);
    }
  }
  Rect rect[kMostRuns];
  double all = 0, done = 0;
  for (int32_t i = 0; i < kMostRuns; ++i) {
    rect[i] = where(i);
    all += static_cast<double>(rect[i].area());
  }
  for (int32_t i = 0; i < kMostRuns; ++i) {
    if (rect[i].empty()) continue;
    FloatPicture filtered(stack_.fusion.channels, own_.width, own_.height, rect[i]);
    const double before = done / all, part = static_cast<double>(rect[i].area()) / all;
    const double count = run_count(i, layers_);
    if (changes_nothing(stack_.params, left_noise(stack_, count))) {
      // What layers differ by may look like texture in each, which stays.
      copy_pixels(picture.image(), filtered.writable());
    } else {
      run(left_plan(stack_, count), picture.image(), filtered.writable(),
          {callbacks.cancel, [&](double fraction) {
             callbacks.report(kFusionShare + (1 - kFusionShare) * (before + part * fraction));
           }});
    }
    Planes planes = planes_from_pixels(plain_pixels(filtered.format), tile_of(filtered.image(), {}),
                                       rect[i], pool_);
    lead_back(count, picture, planes);
    mix(i, planes);
    done += static_cast<double>(rect[i].area());
  }
  Plan plan = layer_pixels(stack_.fusion, own_.format);
  plan.detail = detail;
  const AbiTile tile = tile_of(own_, target_);
  const Planes own = planes_from_pixels(plan, tile, target_.rect, pool_);
  pixels_from_planes(plan, tile, own, result_, pool_);
}

}  // namespace

VolumeBox stack_source_box(const StackPlan& stack, const VolumeBox& box, const LayersShape& shape) {
  const Rect reach = expand(box.rect, stack.halo + stack.fusion.reach() + kFillRadius);
  const int32_t first = std::max(0, box.first - stack.fusion.depth);
  const int32_t end = std::min(shape.count, box.first + box.layers + stack.fusion.depth);
  return {intersect(reach, {0, 0, shape.width, shape.height}), first, end - first};
}

void run_stack(const StackPlan& stack, const VolumePixels& pixels, float detail, ThreadPool& pool,
               const Callbacks& callbacks, const RunPicture& run) {
  const VolumePart<MutableImage>& target = pixels.target;
  const auto layers = static_cast<int32_t>(target.layers.size());
  for (int32_t i = 0; i < layers; ++i) {
    Layer layer(stack, pixels.source, target.first + i, target.layers[i], pool);
    layer.run(
        detail,
        {callbacks.cancel, [&](double fraction) { callbacks.report((i + fraction) / layers); }},
        run);
  }
}

}  // namespace grainless
