// SPDX-License-Identifier: MIT
#include "dialog.h"

#include <glib/gi18n.h>
#include <libgimp/gimpui.h>

#include <memory>
#include <string>

#include "controls.h"
#include "preset_bar.h"
#include "preview.h"
#include "procedure_dialog.h"
#include "status_text.h"

namespace grainless::ui {
namespace {

constexpr int kWidth = 960, kHeight = 640;  // at first; smaller on a small screen

class Dialog {
 public:
  Dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
         const std::function<Params()>& params, PreviewSource& source, const Places& places)
      : config_(config),
        params_(params),
        dialog_(new_procedure_dialog(procedure, config, _("Grainless Denoise"), places.manual)),
        presets_(std::make_unique<PresetBar>(config, params, places.presets)),
        controls_(GIMP_PROCEDURE_DIALOG(dialog_), config),
        preview_(std::make_unique<Preview>(source, Preview::Listener{[this] { show_state(); },
                                                                     [this](const auto& found) {
                                                                       controls_.set_devices(found);
                                                                     }})) {
    build();
    changed_ = g_signal_connect_swapped(
        config_, "notify", G_CALLBACK(+[](Dialog* self) { self->settings_changed(); }), this);
    settings_changed();
  }

  ~Dialog() {
    g_signal_handler_disconnect(config_, changed_);
    preview_.reset();
    presets_.reset();
    gtk_widget_destroy(dialog_);
  }

  bool run() { return gimp_procedure_dialog_run(GIMP_PROCEDURE_DIALOG(dialog_)); }

 private:
  void build() {
    GtkWidget* frame = gtk_frame_new(nullptr);
    gtk_frame_set_shadow_type(GTK_FRAME(frame), GTK_SHADOW_IN);
    gtk_container_add(GTK_CONTAINER(frame), preview_->widget());

    GtkWidget* left = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    gtk_box_pack_start(GTK_BOX(left), frame, TRUE, TRUE, 0);
    GtkWidget* hint = add_line(left);
    gtk_label_set_text(GTK_LABEL(hint),
                       _("Drag to move. Hold the mouse button, or Space, to see the "
                         "original."));

    GtkWidget* side = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);
    gtk_box_pack_start(GTK_BOX(side), presets_->widget(), FALSE, FALSE, 0);
    gtk_box_pack_start(GTK_BOX(side), controls_.column(ParamGroup::kMain), FALSE, FALSE, 0);
    GtkWidget* advanced = gtk_expander_new_with_mnemonic(_("Advanced twea_ks"));
    gtk_container_add(GTK_CONTAINER(advanced), controls_.column(ParamGroup::kAdvanced));
    gtk_box_pack_start(GTK_BOX(side), advanced, FALSE, FALSE, 0);

    // Its bar stays in sight, and so do the noise and the device: with the expander open the
    // controls are taller than the window.
    GtkWidget* scrolled = gtk_scrolled_window_new(nullptr, nullptr);
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER,
                                   GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_overlay_scrolling(GTK_SCROLLED_WINDOW(scrolled), FALSE);
    gtk_container_add(GTK_CONTAINER(scrolled), side);
    gtk_widget_set_size_request(scrolled, 320, -1);

    GtkWidget* right = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);
    gtk_box_pack_start(GTK_BOX(right), scrolled, TRUE, TRUE, 0);
    noise_ = add_line(right);
    device_ = add_line(right);

    GtkWidget* halves = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12);
    gtk_container_set_border_width(GTK_CONTAINER(halves), 12);
    gtk_box_pack_start(GTK_BOX(halves), left, TRUE, TRUE, 0);
    gtk_box_pack_start(GTK_BOX(halves), right, FALSE, FALSE, 0);
    GtkWidget* content = gtk_dialog_get_content_area(GTK_DIALOG(dialog_));
    gtk_box_pack_start(GTK_BOX(content), halves, TRUE, TRUE, 0);
    gtk_widget_show_all(halves);
    gtk_window_set_default_size(GTK_WINDOW(dialog_), kWidth, kHeight);
  }

  static GtkWidget* add_line(GtkWidget* box) {
    GtkWidget* label = gtk_label_new(nullptr);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_line_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_max_width_chars(GTK_LABEL(label), 36);
    gtk_label_set_selectable(GTK_LABEL(label), TRUE);
    gtk_widget_set_can_focus(label, FALSE);
    gtk_box_pack_start(GTK_BOX(box), label, FALSE, FALSE, 0);
    return label;
  }

  void settings_changed() {
    const Params params = params_();
    controls_.update_sensitivity(params);
    const Status valid = validate(params);
    invalid_ = valid.message();
    gtk_dialog_set_response_sensitive(GTK_DIALOG(dialog_), GTK_RESPONSE_OK, valid.ok());
    if (valid.ok()) preview_->set_params(params);
    show_state();
  }

  void show_state() {
    if (noise_ == nullptr) return;
    const PreviewResult* result = preview_->result();
    std::string noise = result != nullptr ? noise_text(*result) : std::string();
    std::string device = result != nullptr ? device_text(*result) : std::string();
    if (!preview_->error().empty()) noise = preview_->error();
    if (!invalid_.empty()) noise = invalid_;
    if (result == nullptr && preview_->busy() && invalid_.empty()) {
      noise = preview_->loaded() < 1 ? _("Reading the layer…")
              : params_().auto_sigma ? _("Measuring the noise…")
                                     : _("Computing the preview…");
    }
    if (preview_->busy() && result != nullptr) device = _("Computing the preview…");
    set_text(noise_, noise);
    set_text(device_, device);
  }

  static void set_text(GtkWidget* label, const std::string& text) {
    if (text != gtk_label_get_text(GTK_LABEL(label))) {
      gtk_label_set_text(GTK_LABEL(label), text.c_str());
    }
  }

  GimpProcedureConfig* config_;
  std::function<Params()> params_;
  GtkWidget* dialog_;
  GtkWidget* noise_ = nullptr;
  GtkWidget* device_ = nullptr;
  std::string invalid_;  // why the settings can't be used
  gulong changed_ = 0;
  std::unique_ptr<PresetBar> presets_;
  Controls controls_;
  std::unique_ptr<Preview> preview_;
};

}  // namespace

void initialise() {
  gimp_ui_init("grainless");
}

bool run_dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
                const std::function<Params()>& params, PreviewSource& source,
                const Places& places) {
  bool confirmed = false;
  {
    Dialog dialog(procedure, config, params, source, places);
    confirmed = dialog.run();
  }
  // The window disappears before the filter starts.
  while (g_main_context_iteration(nullptr, FALSE)) {
  }
  return confirmed;
}

}  // namespace grainless::ui
