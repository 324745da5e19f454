// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "denoise_task.h"
#include "layer_filter.h"
#include "layers_preview.h"
#include "ui/dialog.h"

namespace grainless {

// What one call of a procedure works on.
struct JobSubject {
  GimpImage* image = nullptr;
  std::vector<Drawables> groups = {};  // each is filtered together; the dialog shows the first
  int32_t shown = 0;                   // of the first group
  std::string what = {};               // which layers a stack is made of, a sentence; else empty
  // Why the work can't begin, or its result not be written any more; empty when it can.
  std::function<std::string()> refusal = {};
};

class Job {
 public:
  Job(Engine& engine, std::unique_ptr<LayerFilter> filter, JobSubject subject);

  GimpImage* image() const { return subject_.image; }
  std::string refusal() const { return subject_.refusal(); }
  // Makes the preview, which goes on existing.
  ui::Subject open_preview();
  // The work, with what the preview has measured.
  Tasks tasks(const Params& params);

 private:
  Engine& engine_;
  const std::unique_ptr<LayerFilter> filter_;
  const JobSubject subject_;
  std::optional<LayersPreview> preview_;
};

}  // namespace grainless
