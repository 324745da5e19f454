// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "denoise_task.h"
#include "job_subject.h"
#include "layer_filter.h"
#include "live_preview.h"
#include "ui/dialog.h"

namespace grainless {

// One call of a procedure: what it was asked to denoise, the preview while the dialog is open, and
// the tasks that do the work.
class Job {
 public:
  Job(Engine& engine, std::unique_ptr<LayerFilter> filter, JobSubject subject);

  GimpImage* image() const { return subject_.image; }
  // Why the image and its layers can't be denoised (any more), in one sentence; empty: they can.
  std::string refusal() const { return subject_.refusal(); }
  Drawables drawables() const;
  // Makes the preview, which lives as long as the job, with these settings at first.
  ui::Subject open_preview(const Params& params);
  // The work for these settings. What the preview has measured is not measured again.
  Tasks tasks(const Params& params);

 private:
  Engine& engine_;
  const std::unique_ptr<LayerFilter> filter_;
  const JobSubject subject_;
  std::optional<LivePreview> preview_;
};

}  // namespace grainless
