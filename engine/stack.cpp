// SPDX-License-Identifier: MIT
#include "stack.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/volume/fusion.h"
#include "engine/methods.h"
#include "engine/noise/layer_tones.h"
#include "engine/plan/make_plan.h"

namespace grainless {
namespace {

// Share of a layer's time.
constexpr double kFusionShare = 0.1;

PixelFormat fused_format(int32_t channels) {
  return {Component::kFloat, channels};
}

// A picture of floats without alpha, in memory of its own.
struct Picture {
  Picture(int32_t channels, int32_t image_width, int32_t image_height, const Rect& held)
      : width(image_width), height(image_height), rect(held), values(held.area() * channels) {
    format = fused_format(channels);
  }
  ptrdiff_t row_bytes() const { return ptrdiff_t{rect.width} * format.pixel_bytes(); }
  ConstImage image() const { return {format, width, height, rect, values.data(), row_bytes()}; }
  MutableImage writable() { return {format, width, height, rect, values.data(), row_bytes()}; }

  PixelFormat format;
  int32_t width, height;
  Rect rect;
  std::vector<float> values;
};

// The noise of a mean of `count` independent layers.
NoiseModel fused_noise(const StackPlan& stack, double count) {
  NoiseModel left = evened_noise(stack.noise);
  for (int32_t c = 0; c < left.channels; ++c) {
    const double sigma =
        fused_sigma(stack.fusion.taken[c], count) * (count > 1 ? left.unevenness : 1);
    for (int32_t l = 0; l < left.levels; ++l) {
      left.sigma[l][c] = static_cast<float>(left.sigma[l][c] * sigma);
    }
  }
  return left;
}

// The picture filter's plan for it.
Plan fused_plan(const StackPlan& stack, double count) {
  return make_plan(stack.params, fused_format(stack.fusion.channels), fused_noise(stack, count));
}

AbiTile tile_of(const ConstImage& source, const MutableImage& target) {
  return {source.width, source.height,    source.rect, target.rect,
          source.data,  source.row_bytes, target.data, target.row_bytes};
}

Plan pixel_plan(PixelFormat format, float detail) {
  Plan plan{};
  plan.format = format;
  plan.channels = format.colours();
  plan.detail = detail;
  plan.valid = kAnyFinite;
  return plan;
}

int32_t layers_near(int32_t z, int32_t depth, int32_t count) {
  return std::min(z + depth, count - 1) - std::max(z - depth, 0) + 1;
}

// With n layers in the window there are runs 0..last, run i being for n^(1 - i / last) of them.
int32_t last_run(int32_t layers) {
  int32_t last = 0;
  while (1 << last < layers) ++last;
  return last;
}

double run_count(int32_t run, int32_t layers) {
  const int32_t last = last_run(layers);
  return run >= last ? 1.0 : std::pow(layers, 1.0 - static_cast<double>(run) / last);
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
  Picture fuse(const Callbacks& callbacks);
  Rect where(int32_t run) const;
  void mix(int32_t run, const Picture& picture);

  const StackPlan& stack_;
  const VolumePart<ConstImage>& source_;
  const int32_t z_, layers_;
  const MutableImage& target_;
  const ConstImage& own_;
  ThreadPool& pool_;
  Planes runs_;  // of a pixel of the target: the mixture of runs that it needs
  Planes result_;
};

Picture Layer::fuse(const Callbacks& callbacks) {
  const Rect all{0, 0, own_.width, own_.height};
  const Rect needed = intersect(expand(target_.rect, stack_.halo), all);
  Fused fused = fuse_layers(stack_.fusion, source_, z_, needed, pool_, callbacks);
  Picture picture(stack_.fusion.channels, own_.width, own_.height, needed);
  const AbiTile tile = tile_of(picture.image(), picture.writable());
  pixels_from_planes(pixel_plan(picture.format, 0), tile, fused.planes, fused.planes, pool_);
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

void Layer::mix(int32_t run, const Picture& picture) {
  const Plan plan = pixel_plan(picture.format, 0);
  const AbiTile tile = tile_of(picture.image(), {});
  const Planes planes = planes_from_pixels(plan, tile, picture.rect, pool_);
  for (int32_t c = 0; c < planes.channels(); ++c) {
    for (int32_t y = picture.rect.y; y < picture.rect.bottom(); ++y) {
      const float *from = planes.at(c, picture.rect.x, y), *runs = runs_.at(0, picture.rect.x, y);
      float* to = result_.at(c, picture.rect.x, y);
      for (int32_t x = 0; x < picture.rect.width; ++x) {
        const float share = 1 - std::abs(runs[x] - static_cast<float>(run));
        if (share > 0) to[x] += share * from[x];
      }
    }
  }
}

void Layer::run(float detail, const Callbacks& callbacks, const RunPicture& run) {
  const Picture picture =
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
    Picture filtered(stack_.fusion.channels, own_.width, own_.height, rect[i]);
    const double before = done / all, part = static_cast<double>(rect[i].area()) / all;
    const double count = run_count(i, layers_);
    if (changes_nothing(stack_.params, fused_noise(stack_, count))) {
      // What layers differ by may look like texture in each, which stays.
      copy_pixels(picture.image(), filtered.writable());
    } else {
      run(fused_plan(stack_, count), picture.image(), filtered.writable(),
          {callbacks.cancel, [&](double fraction) {
             callbacks.report(kFusionShare + (1 - kFusionShare) * (before + part * fraction));
           }});
    }
    mix(i, filtered);
    done += static_cast<double>(rect[i].area());
  }
  Plan plan = pixel_plan(own_.format, detail);
  plan.valid = stack_.fusion.valid;
  std::copy_n(stack_.fusion.hidden, kMaxChannels, plan.hidden);
  const AbiTile tile = tile_of(own_, target_);
  const Planes own = planes_from_pixels(plan, tile, target_.rect, pool_);
  pixels_from_planes(plan, tile, own, result_, pool_);
}

// What the filter for volumes doesn't take stays out of the one that stands in for it.
Params picture_params(const Params& params) {
  Params picture = params;
  if (method_row(params.method).stack == StackWay::kFusion) return picture;
  const Params defaults;
  picture.quality = defaults.quality;
  picture.scales = 1;
  picture.shadows = picture.highlights = 100;
  return picture;
}

}  // namespace

bool fuses_stack(const Params& params, const NoiseModel& noise) {
  return method_row(params.method).stack == StackWay::kFusion || noise.between.known;
}

StackPlan make_stack_plan(const Params& params, int32_t depth, int32_t channels,
                          const NoiseModel& noise) {
  StackPlan stack{make_fusion_plan(params, depth, channels, noise), picture_params(params), noise,
                  0};
  stack.params.detail = 0;
  stack.params.impulse = static_cast<int32_t>(ImpulseWay::kOff);
  Plan picture = fused_plan(stack, 1);
  set_bend(picture, {}, noise.range);
  stack.fusion.valid = picture.valid;
  std::copy_n(picture.hidden, kMaxChannels, stack.fusion.hidden);
  for (int32_t layers = 1; layers <= 2 * depth + 1; ++layers) {
    for (int32_t i = 0; i <= last_run(layers); ++i) {
      stack.halo = std::max(stack.halo, fused_plan(stack, run_count(i, layers)).halo);
    }
  }
  return stack;
}

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
