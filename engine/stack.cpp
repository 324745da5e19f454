// SPDX-License-Identifier: MIT
#include "stack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cell_cover.h"
#include "engine/boundary/pixel_math.h"
#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/frame/rows.h"
#include "engine/cpu/volume/fusion.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/toned_noise.h"
#include "float_picture.h"

namespace grainless {
namespace {

// Share of a layer's time.
constexpr double kFusionShare = 0.1;
// Of two stages one works on most of the halo.
constexpr double kHaloCost = 0.5;

int32_t layers_near(int32_t z, int32_t depth, int32_t count) {
  return std::min(z + depth, count - 1) - std::max(z - depth, 0) + 1;
}

// Which runs a pixel that is worth `count` layers mixes: run 1.25 is three quarters of run 1. A
// little less than all layers is all: weights vary with the noise.
float mixture(float count, int32_t layers, float worth) {
  const auto last = static_cast<float>(last_run(layers));
  if (last == 0) return 0;
  const float run = last * (1 - std::log2(count) / std::log2(worth));
  const float whole = std::floor(run);
  return std::max(0.0f, std::min(last, whole + clamp_to(2 * (run - whole) - 1, 0.0f, 1.0f)));
}

// One layer on its way.
class Layer {
 public:
  Layer(const StackPlan& stack, const VolumePart<ConstImage>& source, int32_t z,
        const MutableImage& target, ThreadPool& pool)
      : stack_(stack),
        source_(source),
        z_(z),
        worth_(stack.fusion.worth(z, source.count)),
        layers_(worth_layers(layers_near(z, stack.fusion.depth, source.count), worth_)),
        strength_(stack.fusion.strengths.at(z, source.count)),
        target_(target),
        own_(source.layers[static_cast<size_t>(z - source.first)]),
        pool_(pool) {}

  void run(float detail, const Callbacks& callbacks, const RunPicture& run);

 private:
  double margin() const { return kHaloCost * stack_.halo / kCell; }
  void run_alone(const PictureNoise& noise, float detail, const Callbacks& callbacks,
                 const RunPicture& run) const;
  FloatPicture fuse(const Callbacks& callbacks);
  std::array<CellMask, kMostRuns> needed() const;
  Planes filtered(double count, const FloatPicture& mean, const Rect& rect,
                  const Callbacks& callbacks, const RunPicture& run) const;
  void lead_back(double count, const FloatPicture& mean, Planes& filtered) const;
  void set_clip(Plan& plan) const;
  void mix(int32_t run, const Planes& planes, CellMask& needed);

  const StackPlan& stack_;
  const VolumePart<ConstImage>& source_;
  const int32_t z_;
  const double worth_;  // of the layers near it: how many as noisy as it is
  const int32_t layers_;
  const double strength_;  // of its noise
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
  FloatPicture picture(stack_.fusion.channels, own_.width, own_.height, needed, pool_);
  const AbiTile tile = tile_of(picture.image(), picture.writable());
  pixels_from_planes(plain_pixels(picture.format), tile, fused.planes, fused.planes, pool_);
  runs_ = Planes(1, target_.rect);
  const auto worth = static_cast<float>(worth_);
  over_rows(target_.rect, pool_, [&](int32_t y) {
    const float* count = fused.count.at(0, target_.rect.x, y);
    float* runs = runs_.at(0, target_.rect.x, y);
    for (int32_t x = 0; x < target_.rect.width; ++x) runs[x] = mixture(count[x], layers_, worth);
  });
  return picture;
}

// The cells that hold pixels which need a run.
std::array<CellMask, kMostRuns> Layer::needed() const {
  const Rect& all = runs_.rect();
  std::array<CellMask, kMostRuns> masks;
  masks.fill(CellMask(all));
  pool_.parallel_for(masks[0].all().height, [&](int32_t row, int32_t) {
    const Rect pixels = masks[0].pixels({0, row, masks[0].all().width, 1});
    for (int32_t y = pixels.y; y < pixels.bottom(); ++y) {
      const float* runs = runs_.at(0, all.x, y);
      for (int32_t x = 0; x < all.width; ++x) {
        const auto run = static_cast<size_t>(runs[x]);
        masks[run].at(x / kCell, row) = 1;
        if (runs[x] > static_cast<float>(run)) masks[run + 1].at(x / kCell, row) = 1;
      }
    }
  });
  return masks;
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
  over_rows(rect, pool_, [&](int32_t y) {
    for (int32_t c = 0; c < channels; ++c) {
      const float* from = before.at(c, rect.x, y);
      float* to = filtered.at(c, rect.x, y);
      for (int32_t x = 0; x < rect.width; ++x) to[x] = from[x] + share[c] * (to[x] - from[x]);
    }
  });
}

// Cells that are done are needed no more: rectangles may overlap.
void Layer::mix(int32_t run, const Planes& planes, CellMask& needed) {
  const Rect cells = needed.cells(planes.rect());
  pool_.parallel_for(cells.height, [&](int32_t i, int32_t) {
    const int32_t row = cells.y + i;
    for (int32_t column = cells.x; column < cells.right(); ++column) {
      if (needed.at(column, row) == 0) continue;
      needed.at(column, row) = 0;
      const Rect cell = needed.pixels({column, row, 1, 1});
      for (int32_t y = cell.y; y < cell.bottom(); ++y) {
        const float* runs = runs_.at(0, cell.x, y);
        for (int32_t c = 0; c < planes.channels(); ++c) {
          const float* from = planes.at(c, cell.x, y);
          float* to = result_.at(c, cell.x, y);
          for (int32_t x = 0; x < cell.width; ++x) {
            const float share = 1 - std::abs(runs[x] - static_cast<float>(run));
            if (share > 0) to[x] += share * from[x];
          }
        }
      }
    }
  });
}

// What the filter makes of a part of a mean of `count` layers.
Planes Layer::filtered(double count, const FloatPicture& mean, const Rect& rect,
                       const Callbacks& callbacks, const RunPicture& run) const {
  FloatPicture result(stack_.fusion.channels, own_.width, own_.height, rect, pool_);
  if (changes_nothing(stack_.params, left_noise(stack_, count, strength_))) {
    // What layers differ by may look like texture in each, which stays.
    copy_pixels(mean.image(), result.writable());
  } else {
    run(left_plan(stack_, count, strength_), mean.image(), result.writable(), callbacks);
  }
  Planes planes =
      planes_from_pixels(plain_pixels(result.format), tile_of(result.image(), {}), rect, pool_);
  lead_back(count, mean, planes);
  return planes;
}

void Layer::run_alone(const PictureNoise& noise, float detail, const Callbacks& callbacks,
                      const RunPicture& run) const {
  if (changes_nothing(stack_.params, noise)) return copy_pixels(own_, target_);
  Plan plan = lone_plan(stack_, own_.format, noise);
  plan.detail = detail;
  run(plan, own_, target_, callbacks);
}

void Layer::set_clip(Plan& plan) const {
  Params params = stack_.params;
  params.detail = 100 * plan.detail;
  const ClipCurve clip = clip_for(params, plan.channels, stack_.noise.stack.even_clip);
  if (clip.step <= 0) return;
  plan.bend = enabled_bend(plan.bend);
  plan.bend.clip = clip;
}

void Layer::run(float detail, const Callbacks& callbacks, const RunPicture& run) {
  if (const PictureNoise* lone = lone_noise(stack_.noise, z_, source_.count)) {
    return run_alone(*lone, detail, callbacks, run);
  }
  const FloatPicture picture =
      fuse({callbacks.cancel, [&](double fraction) { callbacks.report(kFusionShare * fraction); }});
  result_ = Planes(stack_.fusion.channels, target_.rect);
  over_rows(target_.rect, pool_, [&](int32_t y) {
    for (int32_t c = 0; c < result_.channels(); ++c) {
      std::fill_n(result_.at(c, target_.rect.x, y), target_.rect.width, 0.0f);
    }
  });
  std::array<CellMask, kMostRuns> masks = needed();
  std::array<std::vector<Rect>, kMostRuns> parts;
  double all = 0, done = 0;
  for (size_t i = 0; i < masks.size(); ++i) {
    for (const Rect& cells : cover(masks[i], margin())) {
      parts[i].push_back(masks[i].pixels(cells));
      all += static_cast<double>(parts[i].back().area());
    }
  }
  for (size_t i = 0; i < masks.size(); ++i) {
    const auto one = static_cast<int32_t>(i);
    for (const Rect& rect : parts[i]) {
      const double before = done / all, part = static_cast<double>(rect.area()) / all;
      const Planes planes = filtered(
          run_count(one, layers_, worth_), picture, rect,
          {callbacks.cancel,
           [&](double fraction) {
             callbacks.report(kFusionShare + (1 - kFusionShare) * (before + part * fraction));
           }},
          run);
      mix(one, planes, masks[i]);
      done += static_cast<double>(rect.area());
    }
  }
  Plan plan = layer_pixels(stack_.fusion, own_.format);
  plan.detail = detail;
  set_clip(plan);
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
