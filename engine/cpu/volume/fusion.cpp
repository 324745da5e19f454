// SPDX-License-Identifier: MIT
#include "fusion.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "displaced.h"
#include "engine/boundary/pixel_math.h"
#include "engine/boundary/plan.h"
#include "engine/boundary/pyramid.h"
#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/frame/pyramid.h"
#include "engine/progress.h"
#include "motion_field.h"

namespace grainless {
namespace {

constexpr int32_t kTileWidth = 512, kTileHeight = 256;

// out[x] = sum of in[x .. x + count - 1]: runs of 1, 2, 4, … are added once for all, in the same
// order everywhere. `in` holds width + count - 1 values and is used up.
void box_row(float* in, int32_t width, int32_t count, float* out) {
  std::fill_n(out, width, 0.0f);
  int32_t held = width + count - 1, from = 0;
  for (int32_t run = 1; run <= count; run *= 2) {
    if ((count & run) != 0) {
      for (int32_t x = 0; x < width; ++x) out[x] += in[x + from];
      from += run;
    }
    held -= run;
    if (2 * run > count) return;
    for (int32_t x = 0; x < held; ++x) in[x] += in[x + run];
  }
}

// The same of rows, `width` apart.
void box_rows(float* in, int32_t height, int32_t count, int32_t width, Planes& out) {
  const Rect& rect = out.rect();
  for (int32_t y = 0; y < height; ++y) std::fill_n(out.at(0, rect.x, rect.y + y), width, 0.0f);
  int32_t held = height + count - 1, from = 0;
  for (int32_t run = 1; run <= count; run *= 2) {
    if ((count & run) != 0) {
      for (int32_t y = 0; y < height; ++y) {
        const float* row = in + static_cast<size_t>(y + from) * width;
        float* to = out.at(0, rect.x, rect.y + y);
        for (int32_t x = 0; x < width; ++x) to[x] += row[x];
      }
      from += run;
    }
    held -= run;
    if (2 * run > count) return;
    for (int32_t y = 0; y < held; ++y) {
      float* row = in + static_cast<size_t>(y) * width;
      const float* other = row + static_cast<size_t>(run) * width;
      for (int32_t x = 0; x < width; ++x) row[x] += other[x];
    }
  }
}

bool always_valid(PixelFormat format) {
  const bool whole = format.component == Component::kU8 || format.component == Component::kU16;
  return whole && !format.has_alpha();
}

bool are_valid(const ConstImage& image, const Rect& rect, ValueRange range) {
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      if (!pixel_is_valid(pixel_at(image, x, y), image.format, range)) return false;
    }
  }
  return true;
}

// How the layers near one are displaced, over a part of it.
class Motion {
 public:
  Motion(const FusionPlan& plan, const VolumePart<ConstImage>& source, int32_t z, const Rect& rect,
         ThreadPool& pool, const Callbacks& callbacks)
      : first_(std::max(0, z - plan.depth)) {
    if (!plan.follows) return;
    const ConstImage& one = source.layers.front();
    const Plan pixels = layer_pixels(plan, one.format);
    const Rect part = intersect(expand(rect, plan.still_reach()), {0, 0, one.width, one.height});
    const Rect area = intersect(motion_area(part), {0, 0, one.width, one.height});
    const auto about = [&](int32_t l) {
      return plan.places.between(z, l, source.count, one.width, one.height);
    };
    const auto levels = [&](int32_t l) {
      throw_if_cancelled(callbacks);
      return motion_levels(pixels, source.layers[static_cast<size_t>(l - source.first)],
                           moved_about(about(l), area, one.width, one.height), pool);
    };
    const MotionLevels own = levels(z);
    const int32_t end = std::min(source.count, z + plan.depth + 1);
    fields_.resize(static_cast<size_t>(end - first_));
    for (int32_t l = first_; l < end; ++l) {
      if (l == z) continue;
      const float share =
          std::sqrt((plan.variance(z, source.count) + plan.variance(l, source.count)) / 2);
      const float sigma[2] = {share * plan.motion_sigma[0], share * plan.motion_sigma[1]};
      MotionField field = find_motion(own, levels(l), about(l), sigma, part, pool);
      if (!field.is_zero()) fields_[static_cast<size_t>(l - first_)] = std::move(field);
    }
  }

  // None where nothing moved.
  const MotionField* of(int32_t z) const {
    if (fields_.empty()) return nullptr;
    const std::optional<MotionField>& field = fields_[static_cast<size_t>(z - first_)];
    return field ? &*field : nullptr;
  }

 private:
  const int32_t first_;
  std::vector<std::optional<MotionField>> fields_;
};

// One thread's tile of one layer.
class Tile {
 public:
  Tile(const FusionPlan& plan, const VolumePart<ConstImage>& source, int32_t z,
       const Motion& motion)
      : plan_(plan),
        source_(source),
        z_(z),
        motion_(motion),
        serial_(1),
        pixels_(layer_pixels(plan, source.layers.front().format)) {}

  void run(const Rect& rect, Fused& result);

 private:
  const ConstImage& layer(int32_t z) const {
    return source_.layers[static_cast<size_t>(z - source_.first)];
  }
  Rect image(int32_t level) const {
    return {0, 0, level_size(layer(z_).width, level), level_size(layer(z_).height, level)};
  }
  Planes load(int32_t z, const Rect& rect) {
    return planes_from_pixels(pixels_, source_tile(layer(z)), rect, serial_);
  }
  Planes load_moved(int32_t z);

  void walk(int32_t step, Fused& result);
  void weigh(int32_t z, const Planes& own, const Planes& other);
  void set_tones(const Planes& own, const Planes& other);
  void set_shares(int32_t z);
  void square_level(int32_t level);
  void apply(const FusionTest& test);
  void drop_repeated(const Planes& before, const Planes& other);
  void drop_invalid(int32_t z);
  void drop_invalid(const ConstImage& image, const MotionField& field);
  void box(const Planes& in, const Rect& image, int32_t radius, Planes& out);
  void add(int32_t z, const Planes& other, Fused& result);
  float variance(int32_t z) const { return plan_.variance(z, source_.count); }
  void finish(Fused& result);

  const FusionPlan& plan_;
  const VolumePart<ConstImage>& source_;
  const int32_t z_;
  const Motion& motion_;
  ThreadPool serial_;
  const Plan pixels_;
  Rect rect_, grown_;
  float between_ = 1;  // sigma^2 over the mean of the two layers'
  Planes own_, difference_[kFusionLevels], weight_, total_, squares_;
  Planes share_;                      // of D that counts
  Planes tone_;                       // FusionPlan::tones at the coarsest level
  Planes squares_of_[kFusionLevels];  // d^2 / (2 sigma^2), the channels' mean
  std::vector<float> padded_, sums_;
};

void Tile::run(const Rect& rect, Fused& result) {
  rect_ = rect;
  // Whole pixels of the coarsest level, with all of its boxes.
  const int32_t coarse = plan_.levels - 1;
  Rect grown = rect;
  for (int32_t l = 0; l < coarse; ++l) grown = halved(grown);
  grown = intersect(expand(grown, kFusionMargin), image(coarse));
  tone_ = Planes(1, grown);
  for (int32_t l = coarse; l > 0; --l) grown = intersect(doubled(grown), image(l - 1));
  grown_ = grown;
  own_ = load(z_, grown_);
  for (int32_t l = 0; l < plan_.levels; ++l) {
    difference_[l] = Planes(plan_.channels, grown);
    squares_of_[l] = Planes(1, grown);
    grown = halved(grown);
  }
  weight_ = Planes(1, rect);
  share_ = Planes(1, rect);
  total_ = Planes(1, rect);
  squares_ = Planes(1, rect);
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    std::fill_n(total_.at(0, rect.x, y), rect.width, 1.0f);
    std::fill_n(squares_.at(0, rect.x, y), rect.width, 1.0f);
    for (int32_t c = 0; c < plan_.channels; ++c) {
      std::fill_n(result.planes.at(c, rect.x, y), rect.width, 0.0f);
    }
  }
  walk(1, result);
  walk(-1, result);
  finish(result);
}

// The layers on one side, from the nearest on.
void Tile::walk(int32_t step, Fused& result) {
  Planes before;
  for (int32_t i = 1; i <= plan_.depth; ++i) {
    const int32_t z = z_ + step * i;
    if (z < 0 || z >= source_.count) return;
    Planes other = load_moved(z);
    set_shares(z);
    weigh(z, own_, other);
    drop_repeated(i == 1 ? own_ : before, other);
    drop_invalid(z);
    add(z, other, result);
    before = std::move(other);
  }
}

Planes Tile::load_moved(int32_t z) {
  const MotionField* field = motion_.of(z);
  if (field == nullptr) return load(z, grown_);
  return displaced(load(z, displaced_source(*field, grown_, image(0))), *field, grown_);
}

void Tile::weigh(int32_t z, const Planes& own, const Planes& other) {
  between_ = 2 / (variance(z_) + variance(z));
  for (int32_t c = 0; c < plan_.channels; ++c) {
    for (int32_t y = grown_.y; y < grown_.bottom(); ++y) {
      const float *a = own.at(c, grown_.x, y), *b = other.at(c, grown_.x, y);
      float* d = difference_[0].at(c, grown_.x, y);
      for (int32_t x = 0; x < grown_.width; ++x) d[x] = a[x] - b[x];
    }
  }
  for (int32_t y = rect_.y; y < rect_.bottom(); ++y) {
    std::fill_n(weight_.at(0, rect_.x, y), rect_.width, 1.0f);
  }
  set_tones(own, other);
  for (int32_t l = 0; l < plan_.levels; ++l) {
    if (l > 0) halve(difference_[l - 1], image(l - 1), difference_[l], serial_);
    square_level(l);
  }
  for (const FusionTest& test : kFusionTests) apply(test);
}

// The noise of a place's brightness, between the middles of the tones.
void Tile::set_tones(const Planes& own, const Planes& other) {
  Planes mean(1, grown_);
  for (int32_t y = grown_.y; y < grown_.bottom(); ++y) {
    const float *a = own.at(0, grown_.x, y), *b = other.at(0, grown_.x, y);
    float* out = mean.at(0, grown_.x, y);
    for (int32_t x = 0; x < grown_.width; ++x) out[x] = 0.5f * (a[x] + b[x]);
  }
  for (int32_t l = 1; l < plan_.levels; ++l) {
    Planes coarse(1, halved(mean.rect()));
    halve(mean, image(l - 1), coarse, serial_);
    mean = std::move(coarse);
  }
  const Rect& all = tone_.rect();
  for (int32_t y = all.y; y < all.bottom(); ++y) {
    const float* luma = mean.at(0, all.x, y);
    float* tone = tone_.at(0, all.x, y);
    for (int32_t x = 0; x < all.width; ++x) {
      const float at = clamp_to(luma[x] * plan_.tone_scale - 0.5f, 0.0f, kNoiseTones - 1.001f);
      const auto below = static_cast<int32_t>(at);
      const float part = at - static_cast<float>(below);
      tone[x] = plan_.tones[below] + part * (plan_.tones[below + 1] - plan_.tones[below]);
    }
  }
}

void Tile::set_shares(int32_t z) {
  for (int32_t y = rect_.y; y < rect_.bottom(); ++y) {
    std::fill_n(share_.at(0, rect_.x, y), rect_.width, 1.0f);
  }
  const MotionField* field = motion_.of(z);
  if (field == nullptr || plan_.followed_share == 1) return;
  for_blocks(*field, rect_, [&](const Offset& offset, const Rect& block) {
    if (!offset.as_round) return;
    for (int32_t y = block.y; y < block.bottom(); ++y) {
      std::fill_n(share_.at(0, block.x, y), block.width, plan_.followed_share);
    }
  });
}

void Tile::square_level(int32_t level) {
  const Planes& difference = difference_[level];
  const Rect& all = difference.rect();
  const int32_t shift = plan_.levels - 1 - level;
  for (int32_t y = all.y; y < all.bottom(); ++y) {
    float* out = squares_of_[level].at(0, all.x, y);
    std::fill_n(out, all.width, 0.0f);
    for (int32_t c = 0; c < plan_.channels; ++c) {
      const float* d = difference.at(c, all.x, y);
      const float gain = between_ * plan_.gain[level][c];
      for (int32_t x = 0; x < all.width; ++x) out[x] += gain * (d[x] * d[x]);
    }
    const float* tone = tone_.at(0, tone_.rect().x, y >> shift) - tone_.rect().x;
    for (int32_t x = 0; x < all.width; ++x) out[x] *= tone[(all.x + x) >> shift];
  }
}

void Tile::apply(const FusionTest& test) {
  Rect wanted = rect_;
  for (int32_t l = 0; l < test.level; ++l) wanted = halved(wanted);
  Planes mean(1, wanted);
  box(squares_of_[test.level], image(test.level), test.radius, mean);
  const int32_t side = 2 * test.radius + 1;
  const float samples = 1 / static_cast<float>(side * side), slope = 1 / (test.alike - test.same);
  for (int32_t y = rect_.y; y < rect_.bottom(); ++y) {
    const float* sums = mean.at(0, wanted.x, y >> test.level) - wanted.x;
    const float* share = share_.at(0, rect_.x, y) - rect_.x;
    float* weight = weight_.at(0, rect_.x, y) - rect_.x;
    for (int32_t x = rect_.x; x < rect_.right(); ++x) {
      const float w = (test.alike - share[x] * (sums[x >> test.level] * samples)) * slope;
      weight[x] = std::min(weight[x], clamp_to(w, 0.0f, 1.0f));
    }
  }
}

// Sums over boxes; beyond the image its reflection.
void Tile::box(const Planes& in, const Rect& image, int32_t radius, Planes& out) {
  const Rect& rect = out.rect();
  const int32_t count = 2 * radius + 1, rows = rect.height + count - 1;
  padded_.resize(static_cast<size_t>(rect.width) + count - 1);
  sums_.resize(static_cast<size_t>(rows) * rect.width);
  for (int32_t j = 0; j < rows; ++j) {
    const float* from =
        in.at(0, in.rect().x, reflect(rect.y - radius + j, image.height)) - in.rect().x;
    for (size_t i = 0; i < padded_.size(); ++i) {
      padded_[i] = from[reflect(rect.x - radius + static_cast<int32_t>(i), image.width)];
    }
    box_row(padded_.data(), rect.width, count, sums_.data() + static_cast<size_t>(j) * rect.width);
  }
  box_rows(sums_.data(), rect.height, count, rect.width, out);
}

// Whether a pixel has the value of each of its neighbours that there are: turned or mirrored, a
// picture has the same such pixels.
bool is_plain(const Planes& plane, int32_t c, int32_t x, int32_t y) {
  const Rect& all = plane.rect();
  const float value = *plane.at(c, x, y);
  return *plane.at(c, std::max(x - 1, all.x), y) == value &&
         *plane.at(c, std::min(x + 1, all.right() - 1), y) == value &&
         *plane.at(c, x, std::max(y - 1, all.y)) == value &&
         *plane.at(c, x, std::min(y + 1, all.bottom() - 1)) == value;
}

// A plain area, which holds no noise, is no less worth for it.
void Tile::drop_repeated(const Planes& before, const Planes& other) {
  constexpr int32_t kSide = 2 * kRepeatRadius + 1;
  constexpr float kDiffers = 2 * kSide * kSide;  // more than all that repeat themselves
  Planes mark(1, grown_), sums(1, rect_);
  bool any = false;
  for (int32_t y = grown_.y; y < grown_.bottom(); ++y) {
    float* out = mark.at(0, grown_.x, y);
    for (int32_t x = 0; x < grown_.width; ++x) {
      bool same = true, plain = true;
      for (int32_t c = 0; c < plan_.channels; ++c) {
        same = same && *before.at(c, grown_.x + x, y) == *other.at(c, grown_.x + x, y);
        plain = plain && same && is_plain(other, c, grown_.x + x, y);
      }
      out[x] = !same ? kDiffers : plain ? 0.0f : 1.0f;
      any = any || same;
    }
  }
  if (!any) return;
  box(mark, image(0), kRepeatRadius, sums);
  for (int32_t y = rect_.y; y < rect_.bottom(); ++y) {
    const float* sum = sums.at(0, rect_.x, y);
    float* weight = weight_.at(0, rect_.x, y);
    for (int32_t x = 0; x < rect_.width; ++x) {
      if (sum[x] > 0 && sum[x] < kDiffers) weight[x] = 0.0f;
    }
  }
}

void Tile::drop_invalid(int32_t z) {
  const ConstImage& image = layer(z);
  if (const MotionField* field = motion_.of(z)) return drop_invalid(image, *field);
  if (always_valid(image.format)) return;
  for (int32_t y = rect_.y; y < rect_.bottom(); ++y) {
    float* weight = weight_.at(0, rect_.x, y);
    for (int32_t x = 0; x < rect_.width; ++x) {
      const void* pixel = pixel_at(image, rect_.x + x, y);
      if (!pixel_is_valid(pixel, image.format, plan_.valid)) weight[x] = 0.0f;
    }
  }
}

// Neither is what came from beyond the layer.
void Tile::drop_invalid(const ConstImage& image, const MotionField& field) {
  const Rect all{0, 0, image.width, image.height};
  const bool whole = always_valid(image.format);
  for_blocks(field, rect_, [&](const Offset& offset, const Rect& block) {
    if (whole && all.contains(pixels_under(offset, block))) return;
    for (int32_t y = block.y; y < block.bottom(); ++y) {
      float* weight = weight_.at(0, rect_.x, y) - rect_.x;
      for (int32_t x = block.x; x < block.right(); ++x) {
        const Rect pixels = pixels_under(offset, {x, y, 1, 1});
        if (!all.contains(pixels) || !are_valid(image, pixels, plan_.valid)) weight[x] = 0.0f;
      }
    }
  });
}

void Tile::add(int32_t z, const Planes& other, Fused& result) {
  const float share = variance(z_) / variance(z);  // of the weight of one as noisy as this layer
  for (int32_t y = rect_.y; y < rect_.bottom(); ++y) {
    const float* weight = weight_.at(0, rect_.x, y);
    float *total = total_.at(0, rect_.x, y), *squares = squares_.at(0, rect_.x, y);
    for (int32_t x = 0; x < rect_.width; ++x) {
      const float w = share * weight[x];
      total[x] += w;
      squares[x] += w * weight[x];
    }
    for (int32_t c = 0; c < plan_.channels; ++c) {
      const float *own = own_.at(c, rect_.x, y), *from = other.at(c, rect_.x, y);
      float* sum = result.planes.at(c, rect_.x, y);
      for (int32_t x = 0; x < rect_.width; ++x) {
        sum[x] += share * weight[x] * (from[x] - own[x]);
      }
    }
  }
}

// Written by differences, a constant stays what it is to the last bit.
void Tile::finish(Fused& result) {
  for (int32_t y = rect_.y; y < rect_.bottom(); ++y) {
    const float *total = total_.at(0, rect_.x, y), *squares = squares_.at(0, rect_.x, y);
    float* count = result.count.at(0, rect_.x, y);
    for (int32_t x = 0; x < rect_.width; ++x) count[x] = total[x] * total[x] / squares[x];
    for (int32_t c = 0; c < plan_.channels; ++c) {
      const float* own = own_.at(c, rect_.x, y);
      float* sum = result.planes.at(c, rect_.x, y);
      for (int32_t x = 0; x < rect_.width; ++x) {
        sum[x] = own[x] + plan_.taken[c] * (sum[x] / total[x]);
      }
    }
  }
}

}  // namespace

Plan layer_pixels(const FusionPlan& plan, PixelFormat format) {
  Plan pixels{};
  pixels.format = format;
  pixels.channels = plan.channels;
  pixels.valid = plan.valid;
  pixels.corners = plan.corners;
  pixels.bend = plan.bend;
  std::copy_n(plan.hidden, kMaxChannels, pixels.hidden);
  return pixels;
}

Fused fuse_layers(const FusionPlan& plan, const VolumePart<ConstImage>& source, int32_t z,
                  const Rect& rect, ThreadPool& pool, const Callbacks& callbacks) {
  Fused result{Planes(plan.channels, rect), Planes(1, rect)};
  const Motion motion(plan, source, z, rect, pool, callbacks);
  const int32_t columns = (rect.width + kTileWidth - 1) / kTileWidth;
  const int32_t tiles = columns * ((rect.height + kTileHeight - 1) / kTileHeight);
  std::vector<std::unique_ptr<Tile>> tile(pool.size());
  std::mutex mutex;
  int32_t done = 0;
  pool.parallel_for(tiles, [&](int32_t index, int32_t slot) {
    throw_if_cancelled(callbacks);
    if (!tile[slot]) tile[slot] = std::make_unique<Tile>(plan, source, z, motion);
    tile[slot]->run(intersect({rect.x + index % columns * kTileWidth,
                               rect.y + index / columns * kTileHeight, kTileWidth, kTileHeight},
                              rect),
                    result);
    std::lock_guard lock(mutex);
    callbacks.report(static_cast<double>(++done) / tiles);
  });
  return result;
}

}  // namespace grainless
