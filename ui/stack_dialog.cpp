// SPDX-License-Identifier: MIT
#include "stack_dialog.h"

#include <glib/gi18n.h>
#include <libgimp/gimpui.h>

#include "controls.h"
#include "lines.h"
#include "procedure_dialog.h"
#include "work_panel.h"

namespace grainless::ui {
namespace {

constexpr int kWidth = 420;

class StackDialog {
 public:
  StackDialog(GimpProcedure* procedure, GimpProcedureConfig* config,
              const std::function<Params()>& params, const StackFacts& facts, const Places& places)
      : config_(config),
        params_(params),
        dialog_(new_procedure_dialog(procedure, config, _("Grainless Denoise Layer Stack"),
                                     places.manual)),
        work_(GTK_DIALOG(dialog_)),
        controls_(GIMP_PROCEDURE_DIALOG(dialog_), config) {
    build(facts);
    changed_ = g_signal_connect_swapped(
        config_, "notify", G_CALLBACK(+[](StackDialog* self) { self->settings_changed(); }), this);
    settings_changed();
  }

  ~StackDialog() {
    g_signal_handler_disconnect(config_, changed_);
    gtk_widget_destroy(dialog_);
  }
  StackDialog(const StackDialog&) = delete;
  StackDialog& operator=(const StackDialog&) = delete;

  std::optional<Status> run(const Work& work) {
    while (gimp_procedure_dialog_run(GIMP_PROCEDURE_DIALOG(dialog_))) {
      gtk_widget_set_sensitive(side_, FALSE);
      Status status = work_.run(work);
      if (status.code() != ErrorCode::kCancelled) return status;
      gtk_widget_set_sensitive(side_, TRUE);
    }
    return std::nullopt;
  }

 private:
  void build(const StackFacts& facts) {
    side_ = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);
    gtk_container_set_border_width(GTK_CONTAINER(side_), 12);
    gtk_widget_set_size_request(side_, kWidth, -1);
    GtkWidget* what = new_line(50);
    set_text(what, facts.what);
    invalid_ = new_line(50);
    for (GtkWidget* widget : {what, controls_.column(ParamGroup::kStack),
                              controls_.column(ParamGroup::kMain), build_advanced(), invalid_}) {
      gtk_box_pack_start(GTK_BOX(side_), widget, FALSE, FALSE, 0);
    }
    controls_.set_devices(facts.devices);
    GtkWidget* content = gtk_dialog_get_content_area(GTK_DIALOG(dialog_));
    gtk_box_pack_start(GTK_BOX(content), side_, TRUE, TRUE, 0);
    gtk_widget_show_all(side_);
    gtk_box_pack_start(GTK_BOX(content), work_.build(), FALSE, FALSE, 0);
  }

  GtkWidget* build_advanced() {
    GtkWidget* advanced = gtk_expander_new_with_mnemonic(_("Advanced twea_ks"));
    GtkWidget* column = controls_.column(ParamGroup::kAdvanced);
    gtk_widget_set_margin_top(column, 6);
    gtk_container_add(GTK_CONTAINER(advanced), column);
    return advanced;
  }

  void settings_changed() {
    const Params params = params_();
    controls_.update_sensitivity(params);
    const Status valid = validate(params);
    set_text(invalid_, valid.message());
    gtk_dialog_set_response_sensitive(GTK_DIALOG(dialog_), GTK_RESPONSE_OK, valid.ok());
  }

  GimpProcedureConfig* config_;
  std::function<Params()> params_;
  GtkWidget* dialog_;
  GtkWidget* side_ = nullptr;
  GtkWidget* invalid_ = nullptr;  // why the settings can't be used
  gulong changed_ = 0;
  WorkPanel work_;
  Controls controls_;
};

}  // namespace

std::optional<Status> run_stack_dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
                                       const std::function<Params()>& params,
                                       const StackFacts& facts, const Places& places,
                                       const Work& work) {
  return StackDialog(procedure, config, params, facts, places).run(work);
}

}  // namespace grainless::ui
