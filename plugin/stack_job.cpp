// SPDX-License-Identifier: MIT
#include "stack_job.h"

#include <utility>

#include "denoise_stack.h"

namespace grainless {

StackJob::StackJob(Engine& engine, GimpImage* image, StackLayers stack)
    : Job(engine, image), stack_(std::move(stack)) {}

std::string StackJob::refusal() const {
  return stack_refusal(image(), stack_.layers);
}

ui::Subject StackJob::open_preview() {
  PreviewStack& preview = preview_.emplace(engine_, stack_.layers, stack_.chosen);
  return {preview, &preview, stack_.what};
}

Tasks StackJob::tasks(const Params& params) {
  KnownStack known;
  if (preview_) known = {preview_->measured_pixels(), preview_->measured(params)};
  Tasks tasks;
  tasks.push_back(std::make_unique<DenoiseStack>(engine_, stack_.layers, params, known));
  return tasks;
}

}  // namespace grainless
