// SPDX-License-Identifier: MIT
#include "picture_job.h"

#include <utility>

#include "denoise_drawable.h"

namespace grainless {

PictureJob::PictureJob(Engine& engine, GimpImage* image, Drawables drawables)
    : Job(engine, image), drawables_(std::move(drawables)) {}

std::string PictureJob::refusal() const {
  return grainless::refusal(image(), drawables_);
}

ui::Subject PictureJob::open_preview() {
  return {preview_.emplace(engine_, drawables_.front())};
}

Tasks PictureJob::tasks(const Params& params) {
  Tasks tasks;
  for (GimpDrawable* drawable : drawables_) {
    Known known;
    if (tasks.empty() && preview_) known = {&preview_->pixels(), preview_->measured(params)};
    tasks.push_back(std::make_unique<DenoiseDrawable>(engine_, drawable, params, known));
  }
  return tasks;
}

}  // namespace grainless
