// SPDX-License-Identifier: MIT
#include "work_progress.h"

#include <glib/gi18n.h>
#include <libgimp/gimp.h>

#include "ui/text.h"
#include "ui/time_left.h"

namespace grainless {
namespace {

constexpr int kMinutesFrom = 90;  // seconds; below that they are counted

std::string left_text(int seconds) {
  if (seconds < kMinutesFrom) return ui::format(_("%d s left"), seconds);
  return ui::format(_("%d min left"), (seconds + 30) / 60);
}

}  // namespace

WorkProgress::WorkProgress(size_t count, const ui::WorkMonitor* monitor)
    : count_(count), monitor_(monitor) {
  gimp_progress_init(_("Denoising"));
}

WorkProgress::~WorkProgress() {
  gimp_progress_end();
}

void WorkProgress::begin(size_t index, const std::string& name) {
  index_ = index;
  name_ = name;
  update(0);
}

std::string WorkProgress::text(double fraction) const {
  std::string what = _("Denoising");
  if (count_ > 1) {
    what = ui::format(_("Layer %d of %d: %s"), static_cast<int>(index_) + 1,
                      static_cast<int>(count_), name_.c_str());
  }
  const std::optional<int> left = ui::time_left(watch_.seconds(), fraction);
  return left ? ui::format(_("%s – %s"), what.c_str(), left_text(*left).c_str()) : what;
}

void WorkProgress::update(double fraction) {
  const double all = (static_cast<double>(index_) + fraction) / static_cast<double>(count_);
  gimp_progress_update(all);
  const std::string now = text(all);
  if (now != shown_) gimp_progress_set_text(now.c_str());
  shown_ = now;
  if (monitor_ != nullptr) monitor_->progress(all, now);
}

}  // namespace grainless
