// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "job_subject.h"
#include "layers_preview.h"
#include "ui/preview_source.h"

namespace grainless {

// What the dialog previews of a subject, as GIMP has it now: when the user paints, scales or
// chooses another picture, a new LayersPreview takes the place of the one before, with which a
// running job may still work.
class LivePreview final : public ui::PreviewSource, public ui::LayerList {
 public:
  // `engine`, `filter` and `subject` outlive the preview.
  LivePreview(Engine& engine, LayerFilter& filter, const JobSubject& subject);

  int32_t width() const override { return now_->width(); }
  int32_t height() const override { return now_->height(); }
  bool has_colour() const override { return now_->has_colour(); }
  Rect target() const override { return now_->target(); }
  uint64_t version() const override { return version_; }
  const ui::Selection& selection() const override { return now_->selection(); }
  ui::Situation look(bool thorough) override;
  bool load_some(const Rect& first, int32_t level) override;
  bool shows(const Rect& visible, int32_t level) const override {
    return now_->shows(visible, level);
  }
  double loaded() const override { return now_->loaded(); }
  bool ready(const ui::PreviewJob& job) override;
  const ui::Bitmap& original(int32_t level, const Rect& part) const override {
    return now_->original(level, part);
  }
  ui::PictureColours colours() const override { return now_->colours(); }
  Status denoise(const ui::PreviewJob& job, const Callbacks& callbacks,
                 ui::PreviewResult& result) override;
  std::vector<ui::DeviceChoice> devices() override;
  bool has_selection() const override { return now_->has_selection(); }
  void pick_area(const Rect& visible) override { now_->pick_area(visible); }
  Status measure_area(ui::AreaMeasurement& measured) override;
  Status measure_layer(int32_t layer, ui::NoisePicture& picture) override;
  void stop() override;

  std::vector<std::string> names() const override;
  int32_t shown() const override { return subject_.is_stack() ? now_->shown() : group_; }
  void show(int32_t layer) override;

  // Main thread, before the window is there: reads what its first pixels wait for longest, and has
  // it measured while the window is made.
  void read_ahead(const Params& params) {
    now_->read_ahead(params, g_get_monotonic_time() + kAhead);
  }

  // Whether it shows these drawables now; and of them, what LayersPreview has of its own.
  bool is_about(const Drawables& drawables) const;
  std::optional<NoiseModel> known_noise(const Params& params) const {
    return now_->known_noise(params);
  }
  SharedPixels measured_pixels() const { return now_->measured_pixels(); }

 private:
  static constexpr int64_t kAhead = 250000;  // microseconds

  const Drawables& group() const { return subject_.groups[static_cast<size_t>(group_)]; }
  size_t count() const;  // of all drawables
  std::shared_ptr<LayersPreview> current() const;
  void renew(int32_t shown);
  ui::PreviewJob for_group(const ui::PreviewJob& job) const;
  std::string end() const;
  bool misses(const Drawables& drawables) const;
  std::string nothing_selected(bool of_all) const;
  std::string nothing_to_change() const;
  void remark_on(ui::Situation& situation) const;
  void ask_for_refusal(bool thorough);
  void compare(bool thorough);

  Engine& engine_;
  LayerFilter& filter_;
  const JobSubject& subject_;
  int32_t group_;
  mutable std::mutex mutex_;            // of now_ and version_, which the main thread changes
  std::shared_ptr<LayersPreview> now_;  // never null
  uint64_t version_ = 0;
  bool stopped_ = false;
  int64_t looks_ = 0;
  std::string refusal_;                      // the subject's, of a while ago
  int64_t check_cost_ = 0, next_check_ = 0;  // microseconds: of the last comparison; when to begin
};

}  // namespace grainless
