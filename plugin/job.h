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

class Job {
 public:
  Job(Engine& engine, std::unique_ptr<LayerFilter> filter, JobSubject subject);

  GimpImage* image() const { return subject_.image; }
  std::string refusal() const { return subject_.refusal(); }
  Drawables drawables() const;
  // Makes the preview, which goes on existing, for these settings at first.
  ui::Subject open_preview(const Params& params);
  // The work, with what the preview has measured.
  Tasks tasks(const Params& params);

 private:
  Engine& engine_;
  const std::unique_ptr<LayerFilter> filter_;
  const JobSubject subject_;
  std::optional<LivePreview> preview_;
};

}  // namespace grainless
