// SPDX-License-Identifier: MIT
// Shapiro-Wilk NLM (Yamanappa et al. 2018; van der Vuurst 2023), all displacements of the window
// one after the other, each pair of patches tested once. As in engine/cpu/nlm/nlm.cpp the image is
// cut into blocks that own their sums, so that a pixel's sums run over the displacements in one
// order.
#include "sw_nlm.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/cpu/frame/blocks.h"
#include "engine/cpu/frame/extended_rows.h"
#include "kernel.h"

namespace grainless {
namespace {

// Planes that share a gate; without a share they are copied.
std::vector<SwNlmSums> groups_of(const SwNlmPlan& plan, int32_t channels) {
  std::vector<SwNlmSums> groups;
  const auto add = [&](int32_t first, int32_t count, const SwNlmGate& gate) {
    const float* taken = plan.taken + first;
    if (std::any_of(taken, taken + count, [](float s) { return s > 0; })) {
      groups.push_back({first, count, gate, {}, {}, {}, {}});
    }
  };
  if (plan.joint != 0) {
    add(0, channels, plan.luma);
  } else {
    add(0, 1, plan.luma);
    add(1, channels - 1, plan.chroma);
  }
  return groups;
}

// How many elements of 4 bytes the planes and rows of one thread's block take.
struct ScratchSize {
  ptrdiff_t stride, row;
  size_t extended, sums, ring, total;

  ScratchSize(const SwNlmPlan& plan, int32_t channels, int32_t width, int32_t height) {
    const int32_t margin = plan.radius + plan.patch / 2;
    stride = padded_row(width + 2 * margin, kSwPad);
    row = padded_row(width + 2 * plan.radius + plan.patch, kSwPad);
    extended = stride * (height + 2 * margin);
    sums = row * height;
    ring = row * (plan.radius + 1);
    const size_t samples = kSwPad * plan.patch * plan.patch;
    // Values and matches; differences and chroma squares; five single rows.
    total = 2 * channels * extended + 2 * row * plan.patch + 5 * row + samples;
    for (const SwNlmSums& group : groups_of(plan, channels)) {
      total += ring + (group.count + 2) * sums;
    }
  }
};

// One thread's working memory.
class Scratch {
 public:
  Scratch(const SwNlmPlan& plan, int32_t channels, int32_t width, int32_t height)
      : size_(plan, channels, width, height), memory_(size_.total) {
    std::fill_n(memory_.data(), memory_.size(), 0.0f);
    block_.plan = &plan;
    block_.margin = plan.radius + plan.patch / 2;
    block_.channels = channels;
    block_.stride = size_.stride;
    block_.row = size_.row;
    for (int32_t c = 0; c < channels; ++c) {
      block_.value[c] = value_[c] = take<float>(size_.extended);
      block_.match[c] = match_[c] = take<int16_t>(size_.extended);
    }
    block_.differences = take<int16_t>(size_.row * plan.patch);
    block_.chroma_squares = take<int32_t>(size_.row * plan.patch);
    block_.column_sums = take<int16_t>(size_.row);
    block_.column_squares = take<int32_t>(size_.row);
    block_.chroma_columns = take<int32_t>(size_.row);
    block_.spread = take<int32_t>(size_.row);
    block_.samples = take<int16_t>(kSwPad * plan.patch * plan.patch);
    for (SwNlmSums& group : groups_of(plan, channels)) {
      group.weights = take<float>(size_.ring);
      for (int32_t c = 0; c < group.count; ++c) group.difference[c] = take<float>(size_.sums);
      group.total = take<float>(size_.sums);
      group.largest = take<float>(size_.sums);
      block_.groups[block_.group_count++] = group;
    }
  }

  // Makes the block hold `rect` of the image (or of its reflection), and clears its sums.
  const SwNlmBlock& load(const MethodJob& job, const Rect& rect);

 private:
  template <typename T>
  T* take(size_t count) {  // of 4 bytes each, at most
    float* start = memory_.data() + used_;
    used_ += count;
    return reinterpret_cast<T*>(start);
  }

  ScratchSize size_;
  AlignedBuffer<float> memory_;
  size_t used_ = 0;
  SwNlmBlock block_{};
  float* value_[kMaxChannels] = {};
  int16_t* match_[kMaxChannels] = {};
  std::vector<int32_t> columns_;  // of the source, an extended column each
};

const SwNlmBlock& Scratch::load(const MethodJob& job, const Rect& rect) {
  const SwNlmPlan& plan = *block_.plan;
  const int32_t around = 2 * plan.radius + plan.patch - 1;  // the source may hold no pixel more
  const Rect extended{rect.x - block_.margin, rect.y - block_.margin, rect.width + around,
                      rect.height + around};
  block_.width = rect.width;
  block_.height = rect.height;
  for_extended_rows(job, extended, columns_, [&](int32_t c, int32_t y, const float* source) {
    float* value = value_[c] + y * block_.stride;
    for (int32_t x = 0; x < extended.width; ++x) value[x] = source[columns_[x]];
    sw_nlm_match_row(value, extended.width, plan.match[c], match_[c] + y * block_.stride);
  });
  for (int32_t g = 0; g < block_.group_count; ++g) {
    const SwNlmSums& sums = block_.groups[g];
    const size_t used = block_.row * rect.height;
    for (int32_t c = 0; c < sums.count; ++c) std::fill_n(sums.difference[c], used, 0.0f);
    std::fill_n(sums.total, used, 0.0f);
    std::fill_n(sums.largest, used, 0.0f);
  }
  return block_;
}

float fallback_weight(const NlmWeight& weight, uint32_t distance) {
  const float t = (static_cast<float>(distance) * weight.gain - weight.noise) * weight.decay;
  return t > kNlmCutoff ? 0.0f : std::exp(-std::max(t, 0.0f));
}

// Sums of a pixel without any accepted pair, by the weights of Non-Local Means.
void sum_fallback(const SwNlmBlock& block, const SwNlmSums& sums, int32_t x, int32_t y,
                  std::vector<uint32_t>& distances) {
  const int32_t radius = block.plan->radius, side = 2 * radius + 1;
  const ptrdiff_t pitch = (side + kSwPad - 1) / kSwPad * kSwPad;
  distances.resize(pitch * side);
  sw_nlm_window(block, x, y, pitch, distances.data());
  const ptrdiff_t at = (y + block.margin) * block.stride + x + block.margin;
  float difference[kMaxChannels] = {}, total = 0, largest = 0;
  for (int32_t dy = -radius; dy <= radius; ++dy) {
    for (int32_t dx = -radius; dx <= radius; ++dx) {
      if (dx == 0 && dy == 0) continue;
      const uint32_t distance = distances[(dy + radius) * pitch + dx + radius];
      const float w = fallback_weight(sums.gate.fallback, distance);
      for (int32_t c = 0; c < sums.count; ++c) {
        const float* own = block.value[sums.first + c] + at;
        difference[c] += w * (own[dy * block.stride + dx] - own[0]);
      }
      total += w;
      largest = std::max(largest, w);
    }
  }
  const ptrdiff_t out = y * block.row + x;
  for (int32_t c = 0; c < sums.count; ++c) sums.difference[c][out] = difference[c];
  sums.total[out] = total;
  sums.largest[out] = largest;
}

void finish_row(const MethodJob& job, const SwNlmBlock& block, const SwNlmSums& sums,
                const Rect& rect, int32_t y) {
  const ptrdiff_t at = y * block.row;
  const CentreWeight centre = block.plan->centre;
  for (int32_t c = 0; c < sums.count; ++c) {
    const float taken = block.plan->taken[sums.first + c];
    const float* own = job.source->at(sums.first + c, rect.x, rect.y + y);
    float* target = job.target->at(sums.first + c, rect.x, rect.y + y);
    for (int32_t x = 0; x < rect.width; ++x) {
      const float total =
          sums.total[at + x] + (centre.own + centre.of_largest * sums.largest[at + x]);
      target[x] = own[x] + taken * (sums.difference[c][at + x] / (total > 0 ? total : 1.0f));
    }
  }
}

void run_block(const MethodJob& job, Scratch& scratch, const Rect& rect) {
  const SwNlmBlock& block = scratch.load(job, rect);
  add_displacements(job, block.plan->radius,
                    [&](int32_t dx, int32_t dy) { sw_nlm_add_displacement(block, dx, dy); });
  std::vector<uint32_t> distances;
  for (int32_t g = 0; g < block.group_count; ++g) {
    const SwNlmSums& sums = block.groups[g];
    for (int32_t y = 0; y < rect.height; ++y) {
      throw_if_cancelled(*job.callbacks);
      for (int32_t x = 0; x < rect.width; ++x) {
        if (!(sums.total[y * block.row + x] > 0)) sum_fallback(block, sums, x, y, distances);
      }
      finish_row(job, block, sums, rect, y);
    }
  }
}

}  // namespace

void run_sw_nlm(const MethodJob& job) {
  const SwNlmPlan& plan = job.level->sw_nlm;
  const Rect& rect = job.target->rect();
  const int32_t channels = job.target->channels();
  const std::vector<SwNlmSums> groups = groups_of(plan, channels);
  copy_unfiltered(job, groups);
  if (groups.empty() || rect.empty()) return job.callbacks->report(1.0);

  run_in_blocks(
      job,
      [&](int32_t width, int32_t height) {
        return std::make_unique<Scratch>(plan, channels, width, height);
      },
      [&](Scratch& scratch, const Rect& block) { run_block(job, scratch, block); });
}

uint64_t sw_nlm_bytes(const LevelPlan& level, const LevelSize& size, int32_t threads) {
  return blocks_bytes(
      size.width, size.height, threads, [&](int32_t block_width, int32_t block_height) {
        return ScratchSize(level.sw_nlm, size.channels, block_width, block_height).total;
      });
}

}  // namespace grainless
