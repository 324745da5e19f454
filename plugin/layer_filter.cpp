// SPDX-License-Identifier: MIT
#include "layer_filter.h"

namespace grainless {
namespace {

class PictureFilter final : public LayerFilter {
 public:
  explicit PictureFilter(Engine& engine) : engine_(engine) {}

  std::vector<int32_t> noise_layers(const LayersShape&) const override { return {0}; }

  Status measure(const Params& params, int32_t, std::span<const ConstImage> measured,
                 const Callbacks& callbacks, NoiseModel& noise, double* seconds) override {
    return engine_.noise_for(params, measured.front(), callbacks, noise, seconds);
  }

  MeasureSurvey measure_survey() override {
    return [this](const Params& params, Survey& survey, const Callbacks& callbacks,
                  NoiseModel& noise, double* seconds) {
      return engine_.noise_for(params, survey, callbacks, noise, seconds);
    };
  }

  RunFlow run_flow() override {
    return [this](const Params& params, const NoiseModel& noise, const PictureFlow& picture,
                  const Callbacks& callbacks, Report& report) {
      return engine_.denoise(params, noise, picture, callbacks, report);
    };
  }

  Status needed(const Params& params, const NoiseModel& noise, const LayersShape& layers,
                const VolumeBox& box, VolumeBox& source) override {
    source = box;
    return engine_.source_rect(params, noise, layers, box.rect, source.rect);
  }

  Status run(const Params& params, const NoiseModel& noise, const VolumePart<ConstImage>& source,
             const VolumePart<MutableImage>& target, const Callbacks& callbacks,
             Report& report) override {
    return engine_.denoise(params, noise, source.layers.front(), target.layers.front(), callbacks,
                           report);
  }

 private:
  Engine& engine_;
};

class StackFilter final : public LayerFilter {
 public:
  explicit StackFilter(Engine& engine) : engine_(engine) {}

  std::vector<int32_t> noise_layers(const LayersShape& shape) const override {
    return measured_layers(shape);
  }

  Status measure(const Params& params, int32_t count, std::span<const ConstImage> measured,
                 const Callbacks& callbacks, NoiseModel& noise, double* seconds) override {
    return engine_.volume_noise(params, count, measured, callbacks, noise, seconds);
  }

  double measured_share() const override { return kMeasuredShare; }

  bool measures_given() const override { return true; }

  Status needed(const Params& params, const NoiseModel& noise, const LayersShape& layers,
                const VolumeBox& box, VolumeBox& source) override {
    return engine_.volume_source(params, params.depth, noise, layers, box, source);
  }

  Status run(const Params& params, const NoiseModel& noise, const VolumePart<ConstImage>& source,
             const VolumePart<MutableImage>& target, const Callbacks& callbacks,
             Report& report) override {
    return engine_.denoise_volume_part(params, params.depth, noise, {source, target}, callbacks,
                                       report);
  }

 private:
  Engine& engine_;
};

}  // namespace

std::unique_ptr<LayerFilter> picture_filter(Engine& engine) {
  return std::make_unique<PictureFilter>(engine);
}

std::unique_ptr<LayerFilter> stack_filter(Engine& engine) {
  return std::make_unique<StackFilter>(engine);
}

}  // namespace grainless
