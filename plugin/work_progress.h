// SPDX-License-Identifier: MIT
// What GIMP's progress bar and the dialog say while the filter works.
#pragma once

#include <string>

#include "engine/stopwatch.h"
#include "ui/dialog.h"

namespace grainless {

class WorkProgress {
 public:
  // `count` drawables; monitor may be null.
  WorkProgress(size_t count, const ui::WorkMonitor* monitor);
  ~WorkProgress();
  WorkProgress(const WorkProgress&) = delete;
  WorkProgress& operator=(const WorkProgress&) = delete;

  const CancelToken* cancel() const { return monitor_ != nullptr ? monitor_->cancel : nullptr; }
  // The index-th drawable begins.
  void begin(size_t index, const std::string& name);
  // So much of it is done. Main thread, often: the dialog lives on this.
  void update(double fraction);

 private:
  std::string text(double fraction) const;

  size_t count_, index_ = 0;
  const ui::WorkMonitor* monitor_;
  std::string name_, shown_;
  Stopwatch watch_;
};

}  // namespace grainless
