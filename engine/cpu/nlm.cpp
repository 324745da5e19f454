// SPDX-License-Identifier: MIT
// Non-Local Means (Buades, Coll, Morel 2005) pixel by pixel, all displacements of the window one
// after the other (Darbon et al. 2008): squared differences once a pair, box sums by running
// columns. The image is cut into blocks whose planes stay in the cache; a block owns its sums, so
// that threads share nothing and a pixel's sums run over the displacements in one order.
#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/pixel_math.h"
#include "engine/status.h"
#include "method.h"
#include "nlm_kernel.h"

namespace grainless {
namespace {

// Largest block. Wide and high enough to make its margin small beside it, small enough for a
// megabyte of second-level cache.
constexpr int32_t kBlockWidth = 256, kBlockHeight = 64;

ptrdiff_t padded(int32_t width) {
  return (width + kNlmPad + 15) / 16 * 16;
}

// Planes that share a weight; those of a disabled one are copied.
std::vector<NlmSums> groups_of(const NlmPlan& nlm, int32_t channels) {
  std::vector<NlmSums> groups;
  const auto add = [&](int32_t first, int32_t count, const NlmWeight& weight) {
    if (weight.enabled != 0 && count > 0) groups.push_back({first, count, weight, {}, {}, {}, {}});
  };
  if (nlm.joint != 0) {
    add(0, channels, nlm.luma);
  } else {
    add(0, 1, nlm.luma);
    add(1, channels - 1, nlm.chroma);
  }
  return groups;
}

// How many elements of 4 bytes the planes and rows of one thread's block take.
struct ScratchSize {
  ptrdiff_t stride, row;
  size_t extended, sums, ring, total;

  ScratchSize(const NlmPlan& nlm, int32_t channels, int32_t width, int32_t height) {
    const int32_t margin = nlm.radius + nlm.patch / 2;
    stride = padded(width + 2 * margin);
    row = padded(width + 2 * nlm.radius + nlm.patch);
    extended = stride * (height + 2 * margin);
    sums = row * height;
    ring = row * (nlm.radius + 1);
    total = 2 * channels * extended + row * (nlm.patch + 1);
    for (const NlmSums& group : groups_of(nlm, channels)) total += ring + (group.count + 2) * sums;
  }
};

// One thread's working memory.
class Scratch {
 public:
  Scratch(const NlmPlan& nlm, int32_t channels, int32_t width, int32_t height)
      : size_(nlm, channels, width, height), memory_(size_.total) {
    std::fill_n(memory_.data(), memory_.size(), 0.0f);
    block_.patch = nlm.patch;
    block_.radius = nlm.radius;
    block_.margin = nlm.radius + nlm.patch / 2;
    block_.channels = channels;
    block_.stride = size_.stride;
    block_.row = size_.row;
    for (int32_t c = 0; c < channels; ++c) {
      block_.value[c] = value_[c] = take<float>(size_.extended);
      block_.match[c] = match_[c] = take<int32_t>(size_.extended);
    }
    block_.squares = take<int32_t>(size_.row * nlm.patch);
    block_.columns = take<int32_t>(size_.row);
    for (NlmSums& group : groups_of(nlm, channels)) {
      group.weights = take<float>(size_.ring);
      for (int32_t c = 0; c < group.count; ++c) group.difference[c] = take<float>(size_.sums);
      group.total = take<float>(size_.sums);
      group.largest = take<float>(size_.sums);
      block_.groups[block_.group_count++] = group;
    }
  }

  // Makes the block hold `rect` of the image, and clears its sums.
  const NlmBlock& load(const MethodJob& job, const Rect& rect);

 private:
  template <typename T>
  T* take(size_t count) {
    float* start = memory_.data() + used_;
    used_ += count;
    return reinterpret_cast<T*>(start);
  }

  ScratchSize size_;
  AlignedBuffer<float> memory_;
  size_t used_ = 0;
  NlmBlock block_{};
  float* value_[kMaxChannels] = {};
  int32_t* match_[kMaxChannels] = {};
  std::vector<int32_t> columns_;  // of the image, an extended column each
};

const NlmBlock& Scratch::load(const MethodJob& job, const Rect& rect) {
  const NlmPlan& nlm = job.level->nlm;
  const int32_t width = rect.width + 2 * block_.margin, height = rect.height + 2 * block_.margin;
  block_.width = rect.width;
  block_.height = rect.height;
  columns_.resize(width);
  for (int32_t x = 0; x < width; ++x) {
    columns_[x] = reflect(rect.x - block_.margin + x, job.image_width);
  }
  for (int32_t c = 0; c < block_.channels; ++c) {
    for (int32_t y = 0; y < height; ++y) {
      const int32_t from = reflect(rect.y - block_.margin + y, job.image_height);
      const int32_t left = job.source->rect().x;
      const float* source = job.source->at(c, left, from);
      float* value = value_[c] + y * block_.stride;
      for (int32_t x = 0; x < width; ++x) value[x] = source[columns_[x] - left];
      nlm_match_row(value, width, nlm.match_centre[c], nlm.match_scale[c],
                    match_[c] + y * block_.stride);
    }
  }
  for (int32_t g = 0; g < block_.group_count; ++g) {
    const NlmSums& sums = block_.groups[g];
    const size_t used = block_.row * rect.height;
    for (int32_t c = 0; c < sums.count; ++c) std::fill_n(sums.difference[c], used, 0.0f);
    std::fill_n(sums.total, used, 0.0f);
    std::fill_n(sums.largest, used, 0.0f);
  }
  return block_;
}

float centre_weight(Centre centre, float largest) {
  return centre == Centre::kMax ? largest : centre == Centre::kOne ? 1.0f : 0.0f;
}

void finish(const MethodJob& job, const NlmBlock& block, const Rect& rect) {
  const Centre centre = static_cast<Centre>(job.level->nlm.centre);
  for (int32_t g = 0; g < block.group_count; ++g) {
    const NlmSums& sums = block.groups[g];
    for (int32_t y = 0; y < rect.height; ++y) {
      const ptrdiff_t at = y * block.row;
      for (int32_t c = 0; c < sums.count; ++c) {
        const int32_t plane = sums.first + c;
        const float* own = block.value[plane] + (y + block.margin) * block.stride + block.margin;
        float* target = job.target->at(plane, rect.x, rect.y + y);
        for (int32_t x = 0; x < rect.width; ++x) {
          const float total = sums.total[at + x] + centre_weight(centre, sums.largest[at + x]);
          const float change = sums.difference[c][at + x] / (total > 0 ? total : 1.0f);
          target[x] = own[x] + change;
        }
      }
    }
  }
}

void throw_if_cancelled(const MethodJob& job) {
  if (job.callbacks->cancelled()) throw Error(ErrorCode::kCancelled, "cancelled");
}

void run_block(const MethodJob& job, Scratch& scratch, const Rect& rect) {
  const int32_t radius = job.level->nlm.radius;
  throw_if_cancelled(job);
  const NlmBlock& block = scratch.load(job, rect);
  for (int32_t dy = 0; dy <= radius; ++dy) {
    for (int32_t dx = dy == 0 ? 1 : -radius; dx <= radius; ++dx) {
      throw_if_cancelled(job);
      nlm_add_displacement(block, dx, dy);
    }
  }
  finish(job, block, rect);
}

void copy_disabled(const MethodJob& job, const std::vector<NlmSums>& groups) {
  const Rect& rect = job.target->rect();
  for (int32_t c = 0; c < job.target->channels(); ++c) {
    const bool filtered = std::any_of(groups.begin(), groups.end(), [c](const NlmSums& group) {
      return c >= group.first && c < group.first + group.count;
    });
    for (int32_t y = rect.y; y < rect.bottom() && !filtered; ++y) {
      std::copy_n(job.source->at(c, rect.x, y), rect.width, job.target->at(c, rect.x, y));
    }
  }
}

}  // namespace

void run_nlm(const MethodJob& job) {
  const NlmPlan& nlm = job.level->nlm;
  const Rect& rect = job.target->rect();
  const std::vector<NlmSums> groups = groups_of(nlm, job.target->channels());
  copy_disabled(job, groups);
  if (groups.empty() || rect.empty()) return job.callbacks->report(1.0);

  const int32_t width = std::min(kBlockWidth, rect.width);
  const int32_t height = std::min(kBlockHeight, rect.height);
  const int32_t columns = (rect.width + width - 1) / width;
  const int32_t blocks = columns * ((rect.height + height - 1) / height);
  std::vector<std::unique_ptr<Scratch>> scratch(job.pool->size());
  std::mutex mutex;
  int32_t done = 0;
  job.pool->parallel_for(blocks, [&](int32_t index, int32_t slot) {
    if (!scratch[slot]) {
      scratch[slot] = std::make_unique<Scratch>(nlm, job.target->channels(), width, height);
    }
    const Rect cut{rect.x + index % columns * width, rect.y + index / columns * height, width,
                   height};
    run_block(job, *scratch[slot], intersect(cut, rect));
    std::lock_guard lock(mutex);
    job.callbacks->report(static_cast<double>(++done) / blocks);
  });
}

uint64_t nlm_bytes(const LevelPlan& level, int32_t channels, int32_t width, int32_t height,
                   int32_t threads) {
  const int32_t block_width = std::min(kBlockWidth, width);
  const int32_t block_height = std::min(kBlockHeight, height);
  const ScratchSize size(level.nlm, channels, block_width, block_height);
  return static_cast<uint64_t>(std::max(1, threads)) * size.total * sizeof(float);
}

}  // namespace grainless
