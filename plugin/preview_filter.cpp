// SPDX-License-Identifier: MIT
#include "preview_filter.h"

#include <cstring>
#include <utility>
#include <vector>

#include "coarse_preview.h"
#include "preview_conversion.h"

namespace grainless {
namespace {

bool holds(const VolumeBox& outer, const VolumeBox& inner) {
  return outer.rect.contains(inner.rect) && outer.first <= inner.first &&
         outer.first + outer.layers >= inner.first + inner.layers;
}

// A job that was begun before its noise was known was given what white noise asks for; coarse noise
// and layers that stand still may ask for more. The job is planned again, and knows it then.
Status more_is_needed() {
  return {ErrorCode::kCancelled, "cancelled"};
}

// A reduced view has little noise left and all its sharpness to lose; at 100 % it is the other way
// round.
ui::Bitmap as_shown(const JobPixels& pixels, ui::Bitmap reduced) {
  const ui::PreviewJob& job = pixels.job;
  const int32_t level = ui::coarse_level(job);
  if (level == job.reduction) return reduced;
  const Rect part = ui::at_level(job.rect, level);
  if (level == 0) return ui::enlarge(reduced, job.reduction, level, part);
  return ui::apply_at(*pixels.shown, *pixels.reduced, reduced, job.reduction, level, part);
}

}  // namespace

Status PreviewFilter::run(const ui::PreviewJob& job, const NoiseModel& noise,
                          const Callbacks& callbacks, const Outcome& outcome) const {
  return job.reduction > 0 ? run_reduced(job, noise, callbacks, outcome)
                           : run_full(job, noise, callbacks, outcome);
}

Status PreviewFilter::run_part(const ui::PreviewJob& job, const NoiseModel& noise,
                               const Callbacks& callbacks, const MutableImage& into,
                               const Outcome& outcome) const {
  const Params params = job.coarse ? coarse_params(job.params, 0) : job.params;
  VolumeBox box;
  const Status status = filter_.needed(params, noise, {format(), width(), height(), count()},
                                       {into.rect, job.layer, 1}, box);
  if (!status.ok()) return status;
  if (!holds(outcome.pixels.box, box)) return more_is_needed();
  std::vector<ConstImage> sources;
  for (int32_t z = box.first; z < box.first + box.layers; ++z) {
    const PixelBuffer& pixels = z == job.layer ? *outcome.pixels.full : layer(z).pixels();
    sources.push_back(pixels.image());
  }
  return filter_.run(params, noise, {count(), box.first, sources}, {count(), job.layer, {&into, 1}},
                     callbacks, outcome.report);
}

// Pixels outside of the selection are the layer's own.
Status PreviewFilter::run_full(const ui::PreviewJob& job, const NoiseModel& noise,
                               const Callbacks& callbacks, const Outcome& outcome) const {
  const Rect part = intersect(job.rect, outcome.selection.rect());
  PixelBuffer output(format(), width(), height(), job.rect);
  if (part != job.rect) {
    const PixelBuffer& source = *outcome.pixels.full;
    for (int32_t y = job.rect.y; y < job.rect.bottom(); ++y) {
      std::memcpy(output.at(job.rect.x, y), source.at(job.rect.x, y),
                  static_cast<size_t>(output.row_bytes()));
    }
  }
  if (!part.empty()) {
    const MutableImage into{format(),          width(), height(), part, output.at(part.x, part.y),
                            output.row_bytes()};
    const Status status = run_part(job, noise, callbacks, into, outcome);
    if (!status.ok()) return status;
  }
  outcome.target = ui::Bitmap(job.rect);
  finish_full(job, outcome, output);
  return {};
}

// Through the layer's own format, whose steps may be coarser than the screen's, and the selection.
void PreviewFilter::finish_full(const ui::PreviewJob& job, const Outcome& outcome,
                                PixelBuffer& output) const {
  const Encoding& encoding = layer(job.layer).io().encoding();
  const LayerSelection& selection = outcome.selection;
  const PixelBuffer& source = *outcome.pixels.full;
  const Rect& rect = job.rect;
  std::vector<uint8_t> original(size_t(rect.width) * encoding.native_bytes());
  std::vector<uint8_t> result(original.size());
  const PreviewConversion to_preview(encoding, encoding.native);
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    const uint8_t* row = output.at(rect.x, y);
    if (!encoding.direct() || !selection.replaces()) {
      babl_process(babl_fish(encoding.engine, encoding.native), source.at(rect.x, y),
                   original.data(), rect.width);
      restore_native(encoding, original.data(), source.at(rect.x, y), row, result.data(),
                     rect.width);
      if (!selection.replaces()) {
        selection.merge(encoding.native, rect.x, y, rect.width, original.data(), result.data());
      }
      row = result.data();
    }
    to_preview.convert(row, outcome.target.at(rect.x, y), rect.width);
  }
}

Status PreviewFilter::run_reduced(const ui::PreviewJob& job, const NoiseModel& noise,
                                  const Callbacks& callbacks, const Outcome& outcome) const {
  const Params params = coarse_params(job.params, job.reduction);
  const NoiseModel reduced = reduced_noise(noise, job.reduction);
  const Rect whole = ui::at_level(layer(job.layer).io().whole(), job.reduction);
  ScreenPixels pixels(layer(job.layer).io().encoding().format.colours());
  ui::Bitmap target(ui::at_level(job.rect, job.reduction));
  VolumeBox box;
  Status status =
      filter_.needed(params, reduced, {pixels.format(), whole.width, whole.height, count()},
                     {target.rect, job.layer, 1}, box);
  if (!status.ok()) return status;
  if (!holds(outcome.pixels.box, box)) return more_is_needed();
  std::vector<ConstImage> sources;
  for (int32_t z = box.first; z < box.first + box.layers; ++z) {
    const std::shared_ptr<const ui::Bitmap> level =
        z == job.layer ? outcome.pixels.reduced : layer(z).level_part(job.reduction, box.rect);
    sources.push_back(pixels.image(*level, whole.width, whole.height, box.rect));
  }
  const MutableImage into = pixels.target(target, whole.width, whole.height);
  status = filter_.run(params, reduced, {count(), box.first, sources},
                       {count(), job.layer, {&into, 1}}, callbacks, outcome.report);
  if (!status.ok()) return status;
  pixels.finish(target);
  if (!outcome.selection.replaces()) {
    outcome.selection.merge(job.reduction, *outcome.pixels.reduced, target);
  }
  outcome.target = as_shown(outcome.pixels, std::move(target));
  return {};
}

}  // namespace grainless
