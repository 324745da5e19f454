// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "job.h"
#include "preview_stack.h"
#include "stack_layers.h"

namespace grainless {

// Layers that are denoised together.
class StackJob final : public Job {
 public:
  StackJob(Engine& engine, GimpImage* image, StackLayers stack);

  std::string refusal() const override;
  ui::Subject open_preview() override;
  Tasks tasks(const Params& params) override;

 private:
  StackLayers stack_;
  std::optional<PreviewStack> preview_;
};

}  // namespace grainless
