// SPDX-License-Identifier: MIT
// Non-Local Means (Buades, Coll, Morel 2005), all displacements of the window one after the other
// (Darbon et al. 2008): squared differences once a pair, box sums by running columns. The image is
// cut into blocks whose planes stay in the cache; a block owns its sums, so that threads share
// nothing and a pixel's sums run over the displacements in one order.
#include "nlm.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/cpu/frame/blocks.h"
#include "engine/cpu/frame/extended_rows.h"
#include "kernel.h"

namespace grainless {
namespace {

// Planes that share a weight; those of a disabled one are copied.
std::vector<NlmSums> groups_of(const NlmPlan& nlm, int32_t channels) {
  std::vector<NlmSums> groups;
  const auto add = [&](int32_t first, int32_t count, const NlmWeight& weight) {
    if (weight.enabled != 0 && count > 0)
      groups.push_back({first, count, weight, {}, {}, {}, {}, {}});
  };
  if (nlm.joint != 0) {
    add(0, channels, nlm.luma);
  } else {
    add(0, 1, nlm.luma);
    add(1, channels - 1, nlm.chroma);
  }
  return groups;
}

// Patch-wise, a block holds the centres of all patches of its results: so many more each way.
int32_t extra_pixels(const NlmPlan& nlm) {
  return nlm.patchwise != 0 ? nlm.patch - 1 : 0;
}

// How many elements of 4 bytes the planes and rows of one thread's block take.
struct ScratchSize {
  ptrdiff_t stride, row;
  ptrdiff_t lead;  // before an extended plane, so that the block's own pixels are aligned
  size_t extended, sums, ring, spread, total;

  // width and height are the results'.
  ScratchSize(const NlmPlan& nlm, int32_t channels, int32_t width, int32_t height) {
    width += extra_pixels(nlm);
    height += extra_pixels(nlm);
    const int32_t margin = nlm.radius + nlm.patch / 2;
    stride = padded_row(width + 2 * margin, kNlmPad);
    row = padded_row(width + 2 * nlm.radius + nlm.patch, kNlmPad);
    lead = kNlmAlignment + (kRowAlignment - margin % kRowAlignment) % kRowAlignment;
    extended = stride * (height + 2 * margin) + kNlmAlignment + kRowAlignment;
    sums = row * height;
    ring = kNlmRun * row * (nlm.radius + 1);
    spread = nlm.patchwise != 0 ? row * (2 + 2 * nlm.patch) : 0;
    total = 2 * channels * extended + (kNlmRun + 1) * row;
    for (const NlmSums& group : groups_of(nlm, channels)) {
      total += ring + spread + (group.count + 2) * sums;
    }
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
      block_.value[c] = value_[c] = take<float>(size_.extended) + size_.lead;
      block_.match[c] = match_[c] = take<int32_t>(size_.extended) + size_.lead;
    }
    take<int32_t>(size_.row);  // boxes are read from before a row
    block_.columns = take<int32_t>(kNlmRun * size_.row);
    for (NlmSums& group : groups_of(nlm, channels)) {
      group.weights = take<float>(size_.ring);
      group.spread = take<float>(size_.spread);
      for (int32_t c = 0; c < group.count; ++c) group.difference[c] = take<float>(size_.sums);
      group.total = take<float>(size_.sums);
      group.largest = take<float>(size_.sums);
      block_.groups[block_.group_count++] = group;
    }
  }

  // Makes the block hold `rect` of the image (or of its reflection), and clears its sums.
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
  std::vector<int32_t> columns_;  // of the source, an extended column each
};

// Puts the lower halves of `above` into the upper ones of `match`.
void pair(int32_t* match, const int32_t* above, int32_t count) {
  for (int32_t x = 0; x < count; ++x) {
    const uint32_t upper = static_cast<uint32_t>(above[x]) << 16;
    match[x] = static_cast<int32_t>(upper | (static_cast<uint32_t>(match[x]) & 0xffffu));
  }
}

const NlmBlock& Scratch::load(const MethodJob& job, const Rect& rect) {
  const NlmPlan& nlm = job.level->nlm;
  const int32_t around = 2 * nlm.radius + nlm.patch - 1;  // the source may hold no pixel more
  const Rect extended{rect.x - block_.margin, rect.y - block_.margin, rect.width + around,
                      rect.height + around};
  block_.width = rect.width;
  block_.height = rect.height;
  for_extended_rows(job, extended, columns_, [&](int32_t c, int32_t y, const float* source) {
    float* value = value_[c] + y * block_.stride;
    for (int32_t x = 0; x < extended.width; ++x) value[x] = source[columns_[x]];
    int32_t* match = match_[c] + y * block_.stride;
    nlm_match_row(value, extended.width, nlm.match[c], match);
    pair(match, y < nlm.patch ? match : match - nlm.patch * block_.stride, extended.width);
  });
  for (int32_t g = 0; g < block_.group_count; ++g) {
    const NlmSums& sums = block_.groups[g];
    const size_t used = block_.row * rect.height;
    for (int32_t c = 0; c < sums.count; ++c) std::fill_n(sums.difference[c], used, 0.0f);
    std::fill_n(sums.total, used, 0.0f);
    std::fill_n(sums.largest, used, 0.0f);
  }
  return block_;
}

void finish_pixels(const MethodJob& job, const NlmBlock& block, const Rect& rect) {
  const CentreWeight centre = job.level->nlm.centre;
  for (int32_t g = 0; g < block.group_count; ++g) {
    const NlmSums& sums = block.groups[g];
    for (int32_t c = 0; c < sums.count; ++c) {
      for (int32_t y = 0; y < rect.height; ++y) {
        const ptrdiff_t at = y * block.row;
        const float* own = job.source->at(sums.first + c, rect.x, rect.y + y);
        float* target = job.target->at(sums.first + c, rect.x, rect.y + y);
        for (int32_t x = 0; x < rect.width; ++x) {
          const float total =
              sums.total[at + x] + (centre.own + centre.of_largest * sums.largest[at + x]);
          target[x] = own[x] + sums.difference[c][at + x] / (total > 0 ? total : 1.0f);
        }
      }
    }
  }
}

// Turns the total weight of every patch into what a weight of it counts for, and `largest` into
// whether the patch has an estimate.
void finish_totals(const NlmPlan& nlm, const NlmBlock& block) {
  for (int32_t g = 0; g < block.group_count; ++g) {
    const NlmSums& sums = block.groups[g];
    for (int32_t y = 0; y < block.height; ++y) {
      for (ptrdiff_t i = y * block.row; i < y * block.row + block.width; ++i) {
        const float total =
            sums.total[i] + (nlm.centre.own + nlm.centre.of_largest * sums.largest[i]);
        sums.largest[i] = total > 0 ? 1.0f : 0.0f;
        sums.total[i] = total > 0 ? 1.0f / total : 0.0f;
      }
    }
  }
}

// How many patches with an estimate hold each pixel of row y of the results.
void count_patches(const NlmBlock& block, const NlmSums& sums, int32_t y, int32_t width,
                   std::vector<float>& counts) {
  std::vector<float> columns(width + block.patch - 1, 0.0f);
  for (int32_t i = 0; i < block.patch; ++i) {
    const float* valid = sums.largest + (y + i) * block.row;
    for (size_t x = 0; x < columns.size(); ++x) columns[x] += valid[x];
  }
  counts.assign(width, 0.0f);
  for (int32_t k = 0; k < block.patch; ++k) {
    for (int32_t x = 0; x < width; ++x) counts[x] += columns[x + k];
  }
}

void finish_patches(const MethodJob& job, const NlmBlock& block, const Rect& rect) {
  std::vector<float> counts;
  for (int32_t g = 0; g < block.group_count; ++g) {
    const NlmSums& sums = block.groups[g];
    for (int32_t y = 0; y < rect.height; ++y) {
      count_patches(block, sums, y, rect.width, counts);
      for (int32_t c = 0; c < sums.count; ++c) {
        const float* difference = sums.difference[c] + y * block.row;
        const float* own = job.source->at(sums.first + c, rect.x, rect.y + y);
        float* target = job.target->at(sums.first + c, rect.x, rect.y + y);
        for (int32_t x = 0; x < rect.width; ++x) {
          target[x] = own[x] + difference[x] / std::max(counts[x], 1.0f);
        }
      }
    }
  }
}

// Half of the search window in runs along its rows.
void add_displacements(const MethodJob& job, const NlmBlock& block, NlmPass pass) {
  const int32_t radius = block.radius;
  const int32_t together = pass == NlmPass::kPatches || radius < kNlmRun - 1 ? 1 : kNlmRun;
  for (int32_t dy = 0; dy <= radius; ++dy) {
    for (int32_t dx = dy == 0 ? 1 : -radius; dx <= radius;) {
      throw_if_cancelled(*job.callbacks);
      const int32_t count = dx + together - 1 <= radius ? together : 1;
      nlm_add_displacements(block, pass, {dx, dy, count});
      dx += count;
    }
  }
}

void run_block(const MethodJob& job, Scratch& scratch, const Rect& rect) {
  const NlmPlan& nlm = job.level->nlm;
  throw_if_cancelled(*job.callbacks);
  if (nlm.patchwise == 0) {
    const NlmBlock& block = scratch.load(job, rect);
    add_displacements(job, block, NlmPass::kPixels);
    return finish_pixels(job, block, rect);
  }
  const int32_t before = nlm.patch - 1 - nlm.patch / 2, extra = extra_pixels(nlm);
  const Rect centres{rect.x - before, rect.y - before, rect.width + extra, rect.height + extra};
  const NlmBlock& block = scratch.load(job, centres);
  add_displacements(job, block, NlmPass::kTotals);
  finish_totals(nlm, block);
  add_displacements(job, block, NlmPass::kPatches);
  finish_patches(job, block, rect);
}

}  // namespace

void run_nlm(const MethodJob& job) {
  const NlmPlan& nlm = job.level->nlm;
  const Rect& rect = job.target->rect();
  const int32_t channels = job.target->channels();
  const std::vector<NlmSums> groups = groups_of(nlm, channels);
  copy_unfiltered(job, groups);
  if (groups.empty() || rect.empty()) return job.callbacks->report(1.0);

  run_in_blocks(
      job,
      [&](int32_t width, int32_t height) {
        return std::make_unique<Scratch>(nlm, channels, width, height);
      },
      [&](Scratch& scratch, const Rect& block) { run_block(job, scratch, block); });
}

uint64_t nlm_bytes(const LevelPlan& level, const LevelSize& size, int32_t threads) {
  return blocks_bytes(
      size.width, size.height, threads, [&](int32_t block_width, int32_t block_height) {
        return ScratchSize(level.nlm, size.channels, block_width, block_height).total;
      });
}

}  // namespace grainless
