// SPDX-License-Identifier: MIT
#include "volume.h"

#include <algorithm>
#include <memory>

namespace grainless {
namespace {

// Slabs with fewer voxels leave a large card partly idle.
constexpr int64_t kSharedVoxels = int64_t{1} << 22;

// Runs a device gets one after the other, so that the last ones end at the same time and transfers
// go beside kernels.
constexpr int32_t kTurns = 2, kStreams = 2;

// From a multiple of kVolumeCut on.
Rect cut_from(const Rect& rect) {
  const int32_t x = std::max(rect.x, 0) / kVolumeCut * kVolumeCut;
  const int32_t y = std::max(rect.y, 0) / kVolumeCut * kVolumeCut;
  return {x, y, rect.right() - x, rect.bottom() - y};
}

}  // namespace

VolumeBox volume_source_box(const VolumePlan& volume, const VolumeBox& box,
                            const LayersShape& shape) {
  const Rect reach = cut_from(expand(box.rect, volume.margin() + kFillRadius));
  const int32_t first = std::max(0, box.first - volume.reach());
  const int32_t end = std::min(shape.count, box.first + box.layers + volume.reach());
  return {intersect(reach, {0, 0, shape.width, shape.height}), first, end - first};
}

VolumeWork::VolumeWork(const Plan& plan, const VolumePlan& volume, const VolumePixels& pixels,
                       const Callbacks& callbacks)
    : plan_(plan),
      volume_(volume),
      callbacks_(callbacks),
      count_(pixels.source.count),
      first_(pixels.target.first),
      source_first_(pixels.source.first),
      targets_(pixels.target.layers.begin(), pixels.target.layers.end()) {
  const MutableImage& one = pixels.target.layers.front();
  const LayersShape shape{one.format, one.width, one.height, count_};
  cut_ = volume_source_box(volume, {one.rect, first_, 1}, shape).rect;
  for (const ConstImage& layer : pixels.source.layers) {
    sources_.push_back({const_cast<void*>(pixel_at(layer, cut_.x, cut_.y)), layer.row_bytes});
  }
}

Rect VolumeWork::grown(const Rect& tile) const {
  const int32_t reach = volume_.reach();
  return intersect({0, tile.y - reach, 1, tile.height + 2 * reach}, {0, 0, 1, count_});
}

// A backend that takes one run at a time cuts its slab itself.
Cut VolumeWork::choose_cut(const Backend& backend, int32_t devices) const {
  for (int32_t streams = std::clamp(backend.concurrency(), 1, kStreams); streams > 0; --streams) {
    const int32_t slab = largest_slab(backend, devices, streams);
    if (slab > 0) return {{1, slab}, streams};
  }
  throw_no_room(backend.budget());
}

int32_t VolumeWork::largest_slab(const Backend& backend, int32_t devices, int32_t streams) const {
  const int32_t layers = area().height;
  const auto least =
      static_cast<int32_t>(std::min<int64_t>(kSharedVoxels / cut_.area() + 1, layers));
  const int32_t parts = devices * (streams > 1 ? streams * kTurns : 1);
  int32_t slab = std::max(least, (layers + parts - 1) / parts);
  const uint64_t budget = backend.budget() / streams;
  const auto fits = [&](int32_t count) {
    const int32_t held = std::min(count + 2 * volume_.reach(), count_);
    return backend.slab_bytes(plan_, volume_, cut_.width, cut_.height, held, count) <= budget;
  };
  while (slab > 1 && !fits(slab)) slab = (slab + 1) / 2;
  return fits(slab) ? slab : 0;
}

void VolumeWork::run(Backend& backend, const Rect& tile, const Callbacks& callbacks,
                     AbiTiming* timing) const {
  const Rect in = grown(tile);
  const std::span targets = std::span(targets_).subspan(tile.y - first_, tile.height);
  const bool whole = targets.front().rect == cut_;
  const ptrdiff_t row = ptrdiff_t{cut_.width} * plan_.format.pixel_bytes();
  std::vector<std::unique_ptr<uint8_t[]>> results;
  std::vector<AbiLayer> layers;
  for (const MutableImage& target : targets) {
    if (!whole) results.push_back(std::make_unique_for_overwrite<uint8_t[]>(row * cut_.height));
    layers.push_back(whole ? AbiLayer{target.data, target.row_bytes}
                           : AbiLayer{results.back().get(), row});
  }
  backend.run_slab(plan_, volume_,
                   {cut_.width, cut_.height, count_, in.y, in.height, tile.y, tile.height,
                    sources_.data() + (in.y - source_first_), layers.data()},
                   callbacks, timing);
  for (size_t z = 0; z < results.size(); ++z) {
    copy_pixels({plan_.format, targets[z].width, targets[z].height, cut_, results[z].get(), row},
                targets[z]);
  }
}

}  // namespace grainless
