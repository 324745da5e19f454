// SPDX-License-Identifier: MIT
// What the dialog's preview shows of a layer, from pixels that are there: filtered as the final run
// filters them, at full resolution or of smaller pictures.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/denoise.h"
#include "layer_filter.h"
#include "layer_selection.h"
#include "loaded_layer.h"
#include "ui/preview_source.h"

namespace grainless {

// What a job works on of the layer that shows, as far as it isn't held whole: pixels, or smaller
// pictures. Read on the main thread, used by the worker.
struct JobPixels {
  ui::PreviewJob job;
  VolumeBox box;  // at job.reduction: what was read for it
  std::shared_ptr<const PixelBuffer> full;
  std::shared_ptr<const ui::Bitmap> reduced;  // at job.reduction
  std::shared_ptr<const ui::Bitmap> shown;    // at coarse_level(job)
};

class PreviewFilter {
 public:
  // Of one size and format, in their order. Both outlive it.
  PreviewFilter(LayerFilter& filter, std::span<const std::unique_ptr<LoadedLayer>> layers)
      : filter_(filter), layers_(layers) {}

  // What becomes of a job: the pixels, and how they came about.
  struct Outcome {
    const JobPixels& pixels;
    const LayerSelection& selection;
    ui::Bitmap& target;
    Report& report;
  };
  // kCancelled where less was read for the job than this noise asks for.
  Status run(const ui::PreviewJob& job, const NoiseModel& noise, const Callbacks& callbacks,
             const Outcome& outcome) const;

 private:
  Status run_full(const ui::PreviewJob& job, const NoiseModel& noise, const Callbacks& callbacks,
                  const Outcome& outcome) const;
  Status run_part(const ui::PreviewJob& job, const NoiseModel& noise, const Callbacks& callbacks,
                  const MutableImage& into, const Outcome& outcome) const;
  void finish_full(const ui::PreviewJob& job, const Outcome& outcome, PixelBuffer& output) const;
  Status run_reduced(const ui::PreviewJob& job, const NoiseModel& noise, const Callbacks& callbacks,
                     const Outcome& outcome) const;

  const LoadedLayer& layer(int32_t index) const { return *layers_[static_cast<size_t>(index)]; }
  int32_t count() const { return static_cast<int32_t>(layers_.size()); }
  int32_t width() const { return layer(0).io().width(); }
  int32_t height() const { return layer(0).io().height(); }
  PixelFormat format() const { return layer(0).io().encoding().format; }

  LayerFilter& filter_;
  std::span<const std::unique_ptr<LoadedLayer>> layers_;
};

}  // namespace grainless
