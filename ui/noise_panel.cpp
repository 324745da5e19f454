// SPDX-License-Identifier: MIT
#include "noise_panel.h"

#include <glib/gi18n.h>

#include <cmath>
#include <memory>
#include <utility>

#include "engine/boundary/choices.h"
#include "engine/params/tone_strength.h"
#include "lines.h"
#include "status_text.h"

namespace grainless::ui {
namespace {

std::vector<NoisePoint> even_tones(double sigma) {
  constexpr int kStep = 15;
  std::vector<NoisePoint> tones;
  for (int brightness = 0; brightness <= 255; brightness += kStep) {
    tones.push_back({static_cast<double>(brightness), sigma});
  }
  return tones;
}

}  // namespace

NoisePanel::NoisePanel(Preview& preview, std::function<void(double)> use_sigma)
    : preview_(preview),
      use_sigma_(std::move(use_sigma)),
      box_(gtk_box_new(GTK_ORIENTATION_VERTICAL, 6)),
      estimate_(new_line(36)),
      area_(new_line(36)),
      button_(gtk_button_new_with_mnemonic("")) {
  for (GtkWidget* widget : {estimate_, plot_.widget(), button_, area_}) {
    gtk_box_pack_start(GTK_BOX(box_), widget, FALSE, FALSE, 0);
  }
  gtk_widget_set_no_show_all(area_, TRUE);
  gtk_widget_set_halign(button_, GTK_ALIGN_START);
  g_signal_connect_swapped(button_, "clicked",
                           G_CALLBACK(+[](NoisePanel* self) { self->measure_area(); }), this);
  // The selection may change while the dialog is open.
  g_signal_connect_swapped(button_, "enter-notify-event",
                           G_CALLBACK(+[](NoisePanel* self) -> gboolean {
                             self->update_button();
                             return FALSE;
                           }),
                           this);
  update_button();
}

void NoisePanel::update_button() {
  const bool selection = preview_.source().has_selection();
  gtk_button_set_label(GTK_BUTTON(button_),
                       selection ? _("Measure the se_lection") : _("Measure the visib_le part"));
  gtk_widget_set_tooltip_text(
      button_,
      selection ? _("Measures the noise of the selected part, which should be flat like a piece of "
                    "sky, and takes it for the noise level (sigma) of the layer.")
                : _("Measures the noise of what the preview shows, which should be flat like a "
                    "piece of sky, and takes it for the noise level (sigma) of the layer. With a "
                    "selection it would measure that."));
  gtk_widget_set_sensitive(button_, preview_.loaded() >= 1 && !measuring_);
}

void NoisePanel::update(const Params& params) {
  const PreviewInfo* info = preview_.model().own_info();
  if (version_ != preview_.source().version() || layer_ != preview_.model().layer()) {
    version_ = preview_.source().version();
    layer_ = preview_.model().layer();
    asked_ = -1;
    sigma_.clear();
    removed_.clear();
    plot_.set_curves({});
  }
  if (params.auto_sigma && info != nullptr && info->measured) {
    sigma_ = info->sigma;
    confidence_ = info->confidence;
    corners_ = info->corners;
    impulses_ = info->impulses;
  }
  // Not before there is a first picture: the diagram can wait.
  if (asked_ != preview_.model().layer() && info != nullptr && !preview_.model().busy() &&
      preview_.loaded() >= 1) {
    measure_layer();
  }
  const bool waiting = sigma_.empty() && params.auto_sigma;
  params_ = params;
  set_text(estimate_, waiting ? _("Measuring the noise…") : text());
  gtk_widget_set_visible(estimate_, waiting || !sigma_.empty());
  update_level();
  gtk_widget_set_sensitive(button_, preview_.loaded() >= 1 && !measuring_);
}

std::string NoisePanel::text() const {
  const bool removes = params_.strength > 0 && (params_.luma > 0 || params_.chroma > 0);
  const bool looks = params_.impulse == static_cast<int32_t>(ImpulseWay::kAuto);
  return noise_text(sigma_, confidence_, corners_, looks && removes ? impulses_ : std::string());
}

void NoisePanel::update_level() {
  const bool automatic = params_.auto_sigma;
  const double level = !automatic ? params_.sigma : sigma_.empty() ? 0 : sigma_[0];
  std::vector<NoisePoint> tones = automatic ? removed_ : std::vector<NoisePoint>();
  if (has_tone_strength(params_)) {
    if (tones.empty()) tones = even_tones(level);
    for (NoisePoint& tone : tones) tone.sigma *= tone_strength(params_, tone.brightness);
  }
  plot_.set_level(level, tones);
}

void NoisePanel::measure_layer() {
  const int32_t layer = preview_.model().layer();
  asked_ = layer;
  preview_.compute_aside([this, layer, version = version_] {
    auto picture = std::make_shared<NoisePicture>();
    const Status status = preview_.source().measure_layer(layer, *picture);
    return [this, layer, version, picture, ok = status.ok()] {
      if (!ok || layer != preview_.model().layer() || version != version_) return;
      sigma_ = picture->sigma;
      confidence_ = picture->confidence;
      corners_ = picture->corners;
      impulses_ = picture->impulses;
      set_text(estimate_, text());
      gtk_widget_show(estimate_);
      plot_.set_curves(std::move(picture->curves));
      removed_ = picture->removed;
      update_level();
    };
  });
}

void NoisePanel::measure_area() {
  measuring_ = true;
  update_button();
  preview_.source().pick_area(preview_.viewport().visible());
  preview_.compute_aside([this] {
    AreaMeasurement measured;
    const Status status = preview_.source().measure_area(measured);
    return [this, status, measured] { show_area(status, measured); };
  });
}

void NoisePanel::show_area(const Status& status, const AreaMeasurement& measured) {
  measuring_ = false;
  update_button();
  if (status.code() == ErrorCode::kCancelled) return;  // what was measured is no more
  std::string text = status.ok() ? area_text(measured.sigma) : capitalized(status.message());
  if (!measured.remark.empty()) text += (text.empty() ? "" : "\n") + measured.remark;
  set_text(area_, text);
  gtk_widget_set_visible(area_, !text.empty());
  if (!status.ok() || measured.sigma.empty()) return;
  plot_.set_mark({measured.brightness, measured.sigma[0]});
  use_sigma_(std::round(measured.sigma[0] * 10) / 10);
}

}  // namespace grainless::ui
