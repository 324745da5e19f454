// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/denoise.h"

namespace grainless {

// The two ways to filter layers: each by itself, or all of them together as a stack. Preview and
// final run ask the same one, so that they agree. A layer by itself is a volume of one.
class LayerFilter {
 public:
  virtual ~LayerFilter() = default;

  // Those whose noise is measured, by index.
  virtual std::vector<int32_t> noise_layers(const LayersShape& shape) const = 0;
  // `measured`: the noise_layers() of `count`, whole; of a single layer that run_flow() takes, only
  // Engine::looked_at() of it need have been read. seconds may be null.
  virtual Status measure(const Params& params, int32_t count, std::span<const ConstImage> measured,
                         const Callbacks& callbacks, NoiseModel& noise, double* seconds) = 0;

  // Of a run's time, what measure() takes.
  virtual double measured_share() const { return 0.03; }

  // Whether measure() of a sigma that is given is Engine::asked_noise() of an automatic one.
  virtual bool measures_given() const { return false; }

  // measure() for a single layer that has passed in bands of rows. Empty: this filter wants whole
  // layers.
  using MeasureSurvey =
      std::function<Status(const Params& params, Survey& survey, const Callbacks& callbacks,
                           NoiseModel& noise, double* seconds)>;
  virtual MeasureSurvey measure_survey() { return {}; }

  // run() for a single layer whose pixels come and go meanwhile. Empty: this filter wants them all
  // at once.
  using RunFlow =
      std::function<Status(const Params& params, const NoiseModel& noise,
                           const PictureFlow& picture, const Callbacks& callbacks, Report& report)>;
  virtual RunFlow run_flow() { return {}; }

  // The layers and their part that `box` of a volume depends on.
  virtual Status needed(const Params& params, const NoiseModel& noise, const LayersShape& layers,
                        const VolumeBox& box, VolumeBox& source) = 0;
  virtual Status run(const Params& params, const NoiseModel& noise,
                     const VolumePart<ConstImage>& source, const VolumePart<MutableImage>& target,
                     const Callbacks& callbacks, Report& report) = 0;
};

// `engine` outlives them.
std::unique_ptr<LayerFilter> picture_filter(Engine& engine);
std::unique_ptr<LayerFilter> stack_filter(Engine& engine);

}  // namespace grainless
