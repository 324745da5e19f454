// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "job.h"
#include "preview_layer.h"

namespace grainless {

// Drawables that are denoised one by one. The dialog shows the first.
class PictureJob final : public Job {
 public:
  PictureJob(Engine& engine, GimpImage* image, Drawables drawables);

  std::string refusal() const override;
  ui::Subject open_preview() override;
  Tasks tasks(const Params& params) override;

 private:
  Drawables drawables_;
  std::optional<PreviewLayer> preview_;
};

}  // namespace grainless
