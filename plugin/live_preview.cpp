// SPDX-License-Identifier: MIT
#include "live_preview.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <numeric>

#include "glimpse.h"
#include "layer_effects.h"
#include "ui/text.h"

namespace grainless {
namespace {

// Between two comparisons of all pixels, microseconds; and how much longer than one of them takes.
constexpr int64_t kCheckPause = 700000, kCheckShare = 12;

std::string sentence_on(const char* pattern, GimpDrawable* drawable) {
  return ui::format(pattern, item_name(GIMP_ITEM(drawable)).c_str());
}

}  // namespace

LivePreview::LivePreview(Engine& engine, LayerFilter& filter, const JobSubject& subject)
    : engine_(engine),
      filter_(filter),
      subject_(subject),
      group_(subject.is_stack() ? 0 : subject.shown) {
  renew(subject.is_stack() ? subject.shown : 0);
}

void LivePreview::renew(int32_t shown) {
  auto next = std::make_shared<LayersPreview>(engine_, filter_, group(), shown);
  const std::lock_guard lock(mutex_);
  if (now_) now_->stop();
  now_ = std::move(next);
  ++version_;
  if (stopped_) now_->stop();
}

std::shared_ptr<LayersPreview> LivePreview::current() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

std::vector<std::string> LivePreview::names() const {
  std::vector<std::string> names;
  for (const Drawables& group : subject_.groups) {
    for (GimpDrawable* drawable : group) names.push_back(item_name(GIMP_ITEM(drawable)));
  }
  return names;
}

size_t LivePreview::count() const {
  const auto& groups = subject_.groups;
  return std::accumulate(groups.begin(), groups.end(), size_t{0},
                         [](size_t sum, const Drawables& group) { return sum + group.size(); });
}

void LivePreview::show(int32_t layer) {
  if (subject_.is_stack()) return now_->show(layer);
  group_ = layer;
  if (end().empty()) renew(0);
}

bool LivePreview::is_about(const Drawables& drawables) const {
  return drawables == group();
}

// A picture by itself is the only layer of its group.
ui::PreviewJob LivePreview::for_group(const ui::PreviewJob& job) const {
  ui::PreviewJob own = job;
  if (!subject_.is_stack()) own.layer = 0;
  return own;
}

bool LivePreview::load_some(const Rect& first, int32_t level) {
  const bool checking = now_->is_checking();
  const int64_t start = g_get_monotonic_time();
  const bool more = now_->load_some(first, level);
  const int64_t time = g_get_monotonic_time();
  if (checking) check_cost_ += time - start;
  next_check_ = time + std::max(kCheckPause, kCheckShare * check_cost_);
  return more;
}

bool LivePreview::ready(const ui::PreviewJob& job) {
  return now_->ready(for_group(job));
}

Status LivePreview::denoise(const ui::PreviewJob& job, const Callbacks& callbacks,
                            ui::PreviewResult& result) {
  std::shared_ptr<LayersPreview> preview;
  {
    const std::lock_guard lock(mutex_);
    // What ready() was asked about is no more.
    if (job.version != version_) return {ErrorCode::kCancelled, "cancelled"};
    preview = now_;
  }
  return preview->denoise(for_group(job), callbacks, result);
}

std::vector<ui::DeviceChoice> LivePreview::devices() {
  std::vector<ui::DeviceChoice> choices;
  for (const DeviceInfo& device : engine_.devices()) {
    if (device.usable && device.name != "cpu") {
      choices.push_back({device.name, device.description + " (" + device.name + ")"});
    }
  }
  return choices;
}

Status LivePreview::measure_area(ui::AreaMeasurement& measured) {
  return current()->measure_area(measured);
}

Status LivePreview::measure_layer(int32_t layer, ui::NoisePicture& picture) {
  return current()->measure_layer(subject_.is_stack() ? layer : 0, picture);
}

void LivePreview::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  now_->stop();
}

std::string LivePreview::end() const {
  if (!gimp_image_is_valid(subject_.image)) return subject_.refusal();
  for (const Drawables& group : subject_.groups) {
    for (GimpDrawable* drawable : group) {
      if (!gimp_item_is_valid(GIMP_ITEM(drawable))) return gone_sentence();
    }
  }
  return {};
}

bool LivePreview::misses(const Drawables& drawables) const {
  gint x = 0, y = 0, width = 0, height = 0;
  return !gimp_drawable_mask_intersect(drawables.front(), &x, &y, &width, &height);
}

std::string LivePreview::nothing_selected(bool of_all) const {
  const auto missed = [this](const Drawables& drawables) { return misses(drawables); };
  const auto& groups = subject_.groups;
  if (of_all ? !std::all_of(groups.begin(), groups.end(), missed) : !missed(group())) return {};
  return nothing_selected_sentence(of_all ? count() : 1);
}

// The channels are the image's.
std::string LivePreview::nothing_to_change() const {
  const bool none = ActiveChannels(group().front()).none();
  return none ? no_channel_sentence() : nothing_selected(true);
}

// A new effect comes on top of those that are there, and works on what they make.
void LivePreview::remark_on(ui::Situation& situation) const {
  GimpDrawable* shown = group()[static_cast<size_t>(subject_.is_stack() ? now_->shown() : 0)];
  situation.remark = situation.effect_remark = nothing_selected(false);
  if (!ActiveChannels(shown).all()) situation.effect_remark = effect_on_channels_sentence();
  if (!has_effects(shown)) return;
  situation.remark =
      sentence_on(_("The preview shows “%s” without its layer effects: they come on top."), shown);
  situation.effect_remark =
      sentence_on(_("“%s” has layer effects: this one works on what they make, the preview on the "
                    "layer without them."),
                  shown);
}

void LivePreview::compare(bool thorough) {
  now_->look();
  if (now_->is_checking() || (!thorough && g_get_monotonic_time() < next_check_)) return;
  now_->expect_changes();
  check_cost_ = 0;
}

// Of many layers it takes longer than the window may wait again and again.
void LivePreview::ask_for_refusal(bool thorough) {
  constexpr int64_t kQuick = 4;  // layers
  const auto pause = 1 + static_cast<int64_t>(count()) / kQuick;
  if (thorough || !refusal_.empty() || looks_++ % pause == 0) refusal_ = subject_.refusal();
}

ui::Situation LivePreview::look(bool thorough) {
  ui::Situation situation;
  situation.end = end();
  if (!situation.end.empty()) return situation;
  compare(thorough);
  ask_for_refusal(thorough);
  situation.refusal = refusal_;
  if (now_->pixels_changed() && situation.refusal.empty()) {
    renew(now_->shown());
    situation.pixels = true;
  }
  situation.selection = now_->selection_changed();
  situation.unread = now_->has_work();
  if (situation.refusal.empty()) situation.refusal = nothing_to_change();
  if (situation.refusal.empty()) remark_on(situation);
  return situation;
}

}  // namespace grainless
