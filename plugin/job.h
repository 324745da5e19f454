// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "denoise_task.h"
#include "ui/dialog.h"

namespace grainless {

// What one call of a procedure works on: drawables one by one (picture_job.h), or a stack of layers
// (stack_job.h).
class Job {
 public:
  virtual ~Job() = default;

  GimpImage* image() const { return image_; }
  // Why the work can't begin, or its result not be written any more; empty when it can.
  virtual std::string refusal() const = 0;
  // Makes the preview, which goes on existing.
  virtual ui::Subject open_preview() = 0;
  // The work, with what a preview has measured.
  virtual Tasks tasks(const Params& params) = 0;

 protected:
  Job(Engine& engine, GimpImage* image) : engine_(engine), image_(image) {}

  Engine& engine_;

 private:
  GimpImage* image_;
};

}  // namespace grainless
