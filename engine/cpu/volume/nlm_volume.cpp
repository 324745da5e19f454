// SPDX-License-Identifier: MIT
// Non-Local Means over a volume (Palma et al. 2013), all displacements of the box one after the
// other as in engine/cpu/nlm/nlm.cpp: squared differences once a pair, box sums by running columns
// along y and running planes along the layers, all exact integers. The slab is cut into blocks of
// columns that stay in the cache, as far as they can; a block owns its sums.
#include "nlm_volume.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "engine/boundary/pixel_math.h"
#include "engine/progress.h"
#include "kernel.h"

namespace grainless {
namespace {

constexpr int32_t kBlockWidth = 128, kBlockHeight = 32;

ptrdiff_t padded(int32_t width) {
  return (width + kNlmPad + 15) / 16 * 16;
}

struct Shift {
  int32_t x, y, z;
};

// Planes that share a weight.
struct Group {
  int32_t first, count;
  NlmWeight weight;
};

std::vector<Group> groups_of(const NlmPlan& nlm, int32_t channels) {
  std::vector<Group> groups;
  const auto add = [&](int32_t first, int32_t count, const NlmWeight& weight) {
    if (weight.enabled != 0 && count > 0) groups.push_back({first, count, weight});
  };
  add(0, nlm.joint != 0 ? channels : 1, nlm.luma);
  if (nlm.joint == 0) add(1, channels - 1, nlm.chroma);
  return groups;
}

// Sizes of one thread's memory, in elements of 4 bytes.
struct Sizes {
  int32_t margin, layers;  // pixels round a block; layers held, reach and all
  ptrdiff_t stride, row;   // of extended planes and of all others
  size_t extended, plane, total;

  Sizes(const VolumePlan& plan, int32_t channels, int32_t slab) {
    const NlmPlan& nlm = plan.nlm;
    margin = nlm.radius + nlm.patch / 2;
    layers = slab + 2 * plan.reach();
    stride = padded(kBlockWidth + 2 * margin);
    row = padded(kBlockWidth + nlm.radius + nlm.patch);
    extended = stride * (kBlockHeight + 2 * margin);
    plane = row * (kBlockHeight + nlm.radius);
    // Values and matches; sums; ring of boxes and their sum; squares, columns, weights.
    total = 2 * extended * channels * layers + (channels + 4) * plane * slab +
            (plan.layers + 1) * plane + row * (nlm.patch + 2);
  }
};

// One thread's block: `rect` of every layer of the slab.
class Block {
 public:
  Block(const NlmVolumeJob& job, int32_t channels)
      : job_(job),
        plan_(*job.plan),
        slab_(static_cast<int32_t>(job.targets.size())),
        channels_(channels),
        groups_(groups_of(plan_.nlm, channels)),
        sizes_(plan_, channels, slab_),
        memory_(sizes_.total) {
    std::fill_n(memory_.data(), memory_.size(), 0.0f);
    size_t used = 0;
    const auto take = [&](size_t count) {
      return memory_.data() + std::exchange(used, used + count);
    };
    values_ = take(sizes_.extended * channels * sizes_.layers);
    matches_ = reinterpret_cast<int32_t*>(take(sizes_.extended * channels * sizes_.layers));
    sums_ = take((channels + 4) * sizes_.plane * slab_);
    boxes_ = reinterpret_cast<int32_t*>(take(plan_.layers * sizes_.plane));
    totals_ = reinterpret_cast<int32_t*>(take(sizes_.plane));
    squares_ = reinterpret_cast<int32_t*>(take(sizes_.row * plan_.nlm.patch));
    columns_ = reinterpret_cast<int32_t*>(take(sizes_.row));
    weights_ = take(sizes_.row);
  }

  void run(const Rect& rect) {
    load(rect);
    const int32_t radius = plan_.nlm.radius;
    const auto count = static_cast<int32_t>(job_.sources.size());
    for (int32_t dz = 0; dz <= std::min(plan_.depth, count - 1); ++dz) {
      for (int32_t dy = dz == 0 ? 0 : -radius; dy <= radius; ++dy) {
        for (int32_t dx = dz == 0 && dy == 0 ? 1 : -radius; dx <= radius; ++dx) {
          add_displacement({dx, dy, dz});
        }
      }
    }
    for (int32_t z = 0; z < slab_; ++z) finish(z);
  }

 private:
  // Layer z, of -reach .. slab + reach - 1, relative to the slab's first.
  float* value(int32_t c, int32_t z) {
    return values_ + (c * sizes_.layers + z + plan_.reach()) * sizes_.extended;
  }
  int32_t* match(int32_t c, int32_t z) {
    return matches_ + (c * sizes_.layers + z + plan_.reach()) * sizes_.extended;
  }
  // Of layer z of the slab: a difference a channel, then total and largest of each group.
  float* sum(int32_t i, int32_t z) { return sums_ + (z * (channels_ + 4) + i) * sizes_.plane; }
  ptrdiff_t at(int32_t x, int32_t y) const {
    return (y + sizes_.margin) * sizes_.stride + x + sizes_.margin;
  }

  bool exists(int32_t z) const {
    return job_.first + z >= 0 && job_.first + z < static_cast<int32_t>(job_.sources.size());
  }

  void load(const Rect& rect);
  void add_displacement(const Shift& d);
  void add_boxes(const Shift& d, int32_t z, int32_t* boxes);
  void weigh(const Shift& d, int32_t z);
  void add_row(const Group& group, int32_t index, int32_t z, int32_t y, const Shift& to,
               const float* weights);
  void finish(int32_t z);

  const NlmVolumeJob& job_;
  const VolumePlan& plan_;
  const int32_t slab_, channels_;
  const std::vector<Group> groups_;
  const Sizes sizes_;
  AlignedBuffer<float> memory_;
  float *values_, *sums_, *weights_;
  int32_t *matches_, *boxes_, *totals_, *squares_, *columns_;
  Rect rect_;
};

void Block::load(const Rect& rect) {
  rect_ = rect;
  const auto count = static_cast<int32_t>(job_.sources.size());
  for (int32_t z = -plan_.reach(); z < slab_ + plan_.reach(); ++z) {
    const Planes& source = *job_.sources[reflect(job_.first + z, count)];
    for (int32_t c = 0; c < channels_; ++c) {
      for (int32_t y = -sizes_.margin; y < rect.height + sizes_.margin; ++y) {
        const float* from = source.at(c, 0, reflect(rect.y + y, source.rect().height));
        const ptrdiff_t to = at(-sizes_.margin, y);
        const int32_t width = rect.width + 2 * sizes_.margin;
        for (int32_t x = 0; x < width; ++x) {
          value(c, z)[to + x] = from[reflect(rect.x - sizes_.margin + x, source.rect().width)];
        }
        nlm_match_row(value(c, z) + to, width, plan_.nlm.match[c], match(c, z) + to);
      }
    }
  }
  std::fill_n(sums_, (channels_ + 4) * sizes_.plane * slab_, 0.0f);
}

// Weights of the pairs (p, p + D) are needed where p or p + D is in the block: of layers -D.z to
// the slab's last, columns from min(-D.x, 0) and rows from min(-D.y, 0) on.
void Block::add_displacement(const Shift& d) {
  throw_if_cancelled(*job_.callbacks);
  const int32_t before = plan_.layers / 2, after = plan_.layers - 1 - before;
  std::fill_n(boxes_, plan_.layers * sizes_.plane, 0);
  std::fill_n(totals_, sizes_.plane, 0);
  for (int32_t i = 0; i < slab_ + d.z + plan_.layers - 1; ++i) {
    add_boxes(d, i - d.z - before, boxes_ + i % plan_.layers * sizes_.plane);
    const int32_t z = i - d.z - before - after;
    // Between a thin slab and what lies D.z layers before it nobody waits for the pairs.
    if (z >= -d.z && (z >= 0 || z + d.z < slab_)) weigh(d, z);
  }
}

// Puts the plane of layer z in the place of an older one, in `boxes` and in the sums over layers.
void Block::add_boxes(const Shift& d, int32_t z, int32_t* boxes) {
  const int32_t patch = plan_.nlm.patch, low = patch / 2;
  const int32_t left = std::min(-d.x, 0) - low, top = std::min(-d.y, 0) - low;
  const ptrdiff_t count = rect_.width + std::abs(d.x);
  std::fill_n(squares_, sizes_.row * patch, 0);
  std::fill_n(columns_, sizes_.row, 0);
  for (int32_t i = 0; i < rect_.height + std::abs(d.y) + patch - 1; ++i) {
    const int32_t *a[kMaxChannels], *b[kMaxChannels];
    for (int32_t c = 0; c < channels_; ++c) {
      a[c] = match(c, z) + at(left, top + i);
      b[c] = match(c, z + d.z) + at(left + d.x, top + i + d.y);
    }
    nlm_volume_columns(a, b, channels_, count + patch - 1, squares_ + i % patch * sizes_.row,
                       columns_);
    if (i < patch - 1) continue;
    const ptrdiff_t row = (i - patch + 1) * sizes_.row;
    nlm_volume_boxes(columns_, patch, count, boxes + row, totals_ + row);
  }
}

// The pairs of layer z enter the sums at p and, backwards, at p + D, if the other one is a layer of
// the volume: its reflection beyond the ends is a copy, noise and all.
void Block::weigh(const Shift& d, int32_t z) {
  const Shift back{-d.x, -d.y, -d.z};
  const ptrdiff_t count = rect_.width + std::abs(d.x);
  for (int32_t j = 0; j < rect_.height + std::abs(d.y); ++j) {
    for (size_t g = 0; g < groups_.size(); ++g) {
      nlm_volume_weigh(groups_[g].weight, totals_ + j * sizes_.row, count, weights_);
      const auto index = static_cast<int32_t>(g);
      const int32_t own = j - std::max(d.y, 0), other = j - std::max(-d.y, 0);
      if (z >= 0 && exists(z + d.z) && own >= 0 && own < rect_.height) {
        add_row(groups_[g], index, z, own, d, weights_ + std::max(d.x, 0));
      }
      if (z + d.z < slab_ && exists(z) && other >= 0 && other < rect_.height) {
        add_row(groups_[g], index, z + d.z, other, back, weights_ + std::max(-d.x, 0));
      }
    }
  }
}

void Block::add_row(const Group& group, int32_t index, int32_t z, int32_t y, const Shift& to,
                    const float* weights) {
  NlmVolumeRow row{};
  const ptrdiff_t out = y * sizes_.row;
  row.weights = weights;
  for (int32_t i = 0; i < group.count; ++i) {
    const int32_t c = group.first + i;
    row.own[i] = value(c, z) + at(0, y);
    row.other[i] = value(c, z + to.z) + at(to.x, y + to.y);
    row.difference[i] = sum(c, z) + out;
  }
  row.total = sum(channels_ + 2 * index, z) + out;
  row.largest = sum(channels_ + 2 * index + 1, z) + out;
  nlm_volume_add(row, group.count, rect_.width);
}

void Block::finish(int32_t z) {
  const CentreWeight rule = plan_.nlm.centre;
  for (size_t g = 0; g < groups_.size(); ++g) {
    const auto index = channels_ + 2 * static_cast<int32_t>(g);
    for (int32_t c = groups_[g].first; c < groups_[g].first + groups_[g].count; ++c) {
      for (int32_t y = 0; y < rect_.height; ++y) {
        const ptrdiff_t row = y * sizes_.row;
        const float* own = value(c, z) + at(0, y);
        float* target = job_.targets[z]->at(c, rect_.x, rect_.y + y);
        for (int32_t x = 0; x < rect_.width; ++x) {
          const float largest = sum(index + 1, z)[row + x];
          const float centre = rule.own + rule.of_largest * largest;
          const float total = sum(index, z)[row + x] + centre;
          target[x] = own[x] + sum(c, z)[row + x] / (total > 0 ? total : 1.0f);
        }
      }
    }
  }
}

void copy_disabled(const NlmVolumeJob& job, int32_t channels) {
  const std::vector<Group> groups = groups_of(job.plan->nlm, channels);
  for (int32_t c = 0; c < channels; ++c) {
    const bool filtered = std::any_of(groups.begin(), groups.end(), [c](const Group& group) {
      return c >= group.first && c < group.first + group.count;
    });
    for (size_t z = 0; z < job.targets.size() && !filtered; ++z) {
      const Rect& rect = job.targets[z]->rect();
      const Planes& source = *job.sources[job.first + z];
      for (int32_t y = 0; y < rect.height; ++y) {
        std::copy_n(source.at(c, 0, y), rect.width, job.targets[z]->at(c, 0, y));
      }
    }
  }
}

}  // namespace

void run_nlm_volume(const NlmVolumeJob& job) {
  const Rect whole = job.targets.front()->rect();
  const int32_t channels = job.targets.front()->channels();
  copy_disabled(job, channels);
  const int32_t columns = (whole.width + kBlockWidth - 1) / kBlockWidth;
  const int32_t blocks = columns * ((whole.height + kBlockHeight - 1) / kBlockHeight);
  std::vector<std::unique_ptr<Block>> block(job.pool->size());
  std::mutex mutex;
  int32_t done = 0;
  job.pool->parallel_for(blocks, [&](int32_t index, int32_t slot) {
    if (!block[slot]) block[slot] = std::make_unique<Block>(job, channels);
    block[slot]->run(intersect(
        {index % columns * kBlockWidth, index / columns * kBlockHeight, kBlockWidth, kBlockHeight},
        whole));
    std::lock_guard lock(mutex);
    job.callbacks->report(static_cast<double>(++done) / blocks);
  });
}

uint64_t nlm_volume_bytes(const VolumePlan& plan, int32_t channels, int32_t width, int32_t height,
                          int32_t slab, int32_t threads) {
  const int32_t blocks =
      ((width + kBlockWidth - 1) / kBlockWidth) * ((height + kBlockHeight - 1) / kBlockHeight);
  return Sizes(plan, channels, slab).total * sizeof(float) * std::min(threads, blocks);
}

}  // namespace grainless
