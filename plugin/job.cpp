// SPDX-License-Identifier: MIT
#include "job.h"

#include <utility>

namespace grainless {

Job::Job(Engine& engine, std::unique_ptr<LayerFilter> filter, JobSubject subject)
    : engine_(engine), filter_(std::move(filter)), subject_(std::move(subject)) {}

Drawables Job::drawables() const {
  Drawables all;
  for (const Drawables& group : subject_.groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

ui::Subject Job::open_preview(const Params& params) {
  LivePreview& preview = preview_.emplace(engine_, *filter_, subject_);
  preview.read_ahead(params);
  return {preview, preview, subject_.is_stack(), subject_.what};
}

Tasks Job::tasks(const Params& params) {
  Tasks tasks;
  for (const Drawables& group : subject_.groups) {
    Known known;
    if (preview_ && preview_->is_about(group)) known.noise = preview_->known_noise(params);
    if (known.noise) known.pixels = preview_->measured_pixels();
    if (known.pixels.empty()) known.noise.reset();  // it doesn't hold what it has measured
    tasks.push_back(std::make_unique<DenoiseTask>(*filter_, group, params, std::move(known)));
  }
  return tasks;
}

}  // namespace grainless
