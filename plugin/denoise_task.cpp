// SPDX-License-Identifier: MIT
#include "denoise_task.h"

#include <glib/gi18n.h>

#include "engine/stopwatch.h"

namespace grainless {
namespace {

Error refused() {
  return {ErrorCode::kBadInput, _("GIMP did not take the new pixels; nothing was changed.")};
}

}  // namespace

DenoiseTask::DenoiseTask(Engine& engine, const Drawables& drawables, const Params& params)
    : engine_(engine), params_(params) {
  for (GimpDrawable* drawable : drawables) parts_.emplace_back(drawable);
  report_.drawable = item_name(GIMP_ITEM(drawables.front()));
  report_.params = params;
}

DenoiseTask::~DenoiseTask() {
  for (size_t i = 0; i < prepared_; ++i) io(i).discard();
}

Status DenoiseTask::compute(const Watch& watch) {
  const Stopwatch stopwatch;
  const Status status = guard([&] {
    if (target().empty()) {
      report_.engine.note = nothing_selected();
    } else {
      run(watch);
    }
  });
  report_.total = stopwatch.seconds();
  return status;
}

PixelBuffer DenoiseTask::buffer(size_t index, const Rect& rect) const {
  return {io(index).encoding().format, io(index).width(), io(index).height(), rect};
}

void DenoiseTask::read(size_t index, PixelBuffer& into, const Watch& watch) {
  const Stopwatch stopwatch;
  parts_[index].read = io(index).read_all(into, watch);
  report_.read += stopwatch.seconds();
}

void DenoiseTask::begin_preparing(const Watch& watch) {
  const Stopwatch stopwatch;
  const double part = 1.0 / static_cast<double>(count());
  for (size_t i = 0; i < count(); ++i) {
    prepared_ = i + 1;
    const Watch one = share(watch, static_cast<double>(i) * part, part);
    if (!io(i).prepare_outside(target(), one)) throw refused();
  }
  report_.write += stopwatch.seconds();
}

void DenoiseTask::prepare(size_t index, const PixelBuffer& source, const PixelBuffer& result,
                          const Watch& watch) {
  const Stopwatch stopwatch;
  if (!io(index).prepare(source, result, watch)) throw refused();
  report_.write += stopwatch.seconds();
}

Status DenoiseTask::check_pixels(const Watch& watch) const {
  return guard([&] {
    for (size_t i = 0; i < prepared_; ++i) {
      if (io(i).unchanged(parts_[i].read, watch)) continue;
      throw Error(ErrorCode::kBadInput, repainted_sentence(io(i).drawable()));
    }
  });
}

Status DenoiseTask::check_state() const {
  for (size_t i = 0; i < prepared_; ++i) {
    const std::string difference = parts_[i].start.difference();
    if (!difference.empty()) return {ErrorCode::kBadInput, difference};
  }
  return {};
}

bool DenoiseTask::merge(size_t& merged) {
  const Stopwatch stopwatch;
  for (size_t i = 0; i < prepared_; ++i, ++merged) {
    if (!io(i).merge(target())) return false;
  }
  prepared_ = 0;
  report_.write += stopwatch.seconds();
  report_.total += stopwatch.seconds();
  return true;
}

}  // namespace grainless
