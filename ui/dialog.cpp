// SPDX-License-Identifier: MIT
#include "dialog.h"

#include <glib/gi18n.h>
#include <libgimp/gimpui.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "controls.h"
#include "dialog_state.h"
#include "foot_line.h"
#include "layer_chooser.h"
#include "letters.h"
#include "lines.h"
#include "noise_panel.h"
#include "preset_bar.h"
#include "preview.h"
#include "preview_bar.h"
#include "procedure_dialog.h"
#include "side_column.h"
#include "status_text.h"
#include "work_panel.h"

namespace grainless::ui {
namespace {

// At first, with a preview of about 800 × 600; smaller on a small screen.
constexpr int kWidth = 1210, kHeight = 840;
constexpr double kShareOfScreen = 0.94;
constexpr int kSideWidth = 350, kLeastSideWidth = 160;
constexpr int kGap = 12, kGaps = 5 * kGap;  // from left to right, with those of GIMP's dialogs
constexpr int kStatusLines = 2;
constexpr char kEffect[] = "as-effect";  // the argument's key
constexpr guint kLookPause = 400;  // milliseconds between two looks at what the layers are now

class Dialog {
 public:
  Dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
         const std::function<Params()>& params, const Subject& subject, const Places& places)
      : config_(config),
        params_(params),
        places_(places),
        no_effect_(subject.no_effect),
        known_(load_dialog_state(places.state)),
        state_(known_),
        dialog_(new_procedure_dialog(procedure, config, title_of(subject), places)),
        work_(GTK_DIALOG(dialog_)),
        foot_(work_.build()),
        presets_(
            std::make_unique<PresetBar>(config, params, places.presets,
                                        subject.stack ? PresetUse::kStack : PresetUse::kPicture)),
        controls_(GIMP_PROCEDURE_DIALOG(dialog_), config,
                  [this](const std::string& key, bool on) { clicked(key, on); }),
        preview_(std::make_unique<Preview>(subject.source, listener())),
        bar_(std::make_unique<PreviewBar>(*preview_)),
        noise_(std::make_unique<NoisePanel>(*preview_, [this](double s) { use_sigma(s); })) {
    layers_ = std::make_unique<LayerChooser>(*preview_, subject.layers, subject.stack);
    preview_->layer_changed(subject.layers.shown());
    build(subject);
    show_as_before();
    changed_ = g_signal_connect_swapped(
        config_, "notify", G_CALLBACK(+[](Dialog* self) { self->settings_changed(); }), this);
    settings_changed();
    watch();
  }

  ~Dialog() {
    remember();
    g_source_remove(watch_);
    g_signal_handlers_disconnect_by_data(dialog_, this);
    g_signal_handler_disconnect(config_, changed_);
    layers_.reset();
    bar_.reset();
    preview_.reset();
    presets_.reset();
    gtk_widget_destroy(dialog_);
  }

  std::optional<Status> run(const Work& work) {
    // It may have ended before it began: the image was closed while the window was made.
    while (!ended_ && gimp_procedure_dialog_run(GIMP_PROCEDURE_DIALOG(dialog_))) {
      set_working(true);
      Status status = work_.run(work);
      if (status.code() != ErrorCode::kCancelled) return status;
      set_working(false);
    }
    return ended_;
  }

 private:
  static const char* title_of(const Subject& subject) {
    return subject.stack ? _("Grainless Denoise Layer Stack") : _("Grainless Denoise");
  }

  Preview::Listener listener() {
    return {[this] { show_state(); },
            [this] {
              if (bar_) bar_->update();
            },
            [this](const auto& found) { controls_.set_devices(found); },
            [this](int by) {
              if (layers_) layers_->step(by);
            },
            [this] { look_at_layer(false); }};
  }

  void remember() {
    if (!gtk_window_is_maximized(GTK_WINDOW(dialog_))) {
      gtk_window_get_size(GTK_WINDOW(dialog_), &state_.width, &state_.height);
    }
    state_.view = preview_->view();
    state_.zoom = preview_->viewport().fits() ? 0 : preview_->viewport().zoom();
    // The dialog ends, whatever becomes of that.
    (void)guard([&] {
      if (!(state_ == known_)) save_dialog_state(places_.state, state_);
    });
  }

  void show_as_before() {
    bar_->show_view(known_.view);
    Viewport viewport = preview_->viewport();
    if (known_.zoom == 0) {
      viewport.fit();
    } else {
      viewport.zoom_to(known_.zoom);
    }
    preview_->look(viewport);
  }

  // The user can go on working in GIMP, which tells nobody what happens there.
  void watch() {
    const auto look = +[](gpointer self) -> gboolean {
      static_cast<Dialog*>(self)->look_at_layer(false);
      return G_SOURCE_CONTINUE;
    };
    watch_ = g_timeout_add(kLookPause, look, this);
    // Back from GIMP's windows.
    g_signal_connect(dialog_, "focus-in-event",
                     G_CALLBACK(+[](GtkWidget*, GdkEvent*, Dialog* self) -> gboolean {
                       self->look_at_layer(true);
                       return FALSE;
                     }),
                     this);
    look_at_layer(false);
  }

  void end(const Status& why) {
    ended_ = why;
    gtk_dialog_response(GTK_DIALOG(dialog_), GTK_RESPONSE_CANCEL);
  }

  void look_at_layer(bool thorough) {
    if (working_ || ended_ || watch_ == 0) return;
    Situation situation;
    const Status looked = guard([&] { situation = preview_->look_at_layer(thorough); });
    if (!looked.ok()) return end(looked);
    if (!situation.end.empty()) return end({ErrorCode::kBadInput, situation.end});
    remark_ = situation.remark;
    effect_remark_ = situation.effect_remark;
    update_controls();
    show_remark();
    if (refusal_ == situation.refusal) return;
    refusal_ = situation.refusal;
    show_state();
  }

  void show_remark() { foot_.set_remark(wants_effect() ? effect_remark_ : remark_); }

  void build(const Subject& subject) {
    GtkWidget* halves = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, kGap);
    gtk_container_set_border_width(GTK_CONTAINER(halves), kGap);
    left_ = build_left(subject);
    gtk_box_pack_start(GTK_BOX(halves), left_, TRUE, TRUE, 0);
    gtk_box_pack_start(GTK_BOX(halves), build_side(subject.stack), FALSE, FALSE, 0);
    GtkWidget* content = gtk_dialog_get_content_area(GTK_DIALOG(dialog_));
    gtk_box_pack_start(GTK_BOX(content), halves, TRUE, TRUE, 0);
    gtk_widget_show_all(halves);
    fit_side();
    when_letters_change(side_, [this] { fit_side(); });
    leave_wheel_to(side_);
    set_size();
  }

  // No wider than what the screen leaves of it beside the preview: OK and Cancel end below it.
  void fit_side() {
    const int others = least_width(left_) + kGaps;
    const int room = static_cast<int>(work_area().width * kShareOfScreen) - others;
    fix_width(side_, parts_, kSideWidth, std::max(room, kLeastSideWidth));
  }

  GtkWidget* build_left(const Subject& subject) {
    GtkWidget* frame = gtk_frame_new(nullptr);
    gtk_frame_set_shadow_type(GTK_FRAME(frame), GTK_SHADOW_IN);
    gtk_container_add(GTK_CONTAINER(frame), preview_->widget());
    preview_->draw_focus_on(frame);

    device_ = new_line_of_height(60, kStatusLines);
    bar_->add_line(place_of(device_));
    bar_->add_line(foot_.widget());

    GtkWidget* left = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    gtk_box_pack_start(GTK_BOX(left), layers_->build(subject.what), FALSE, FALSE, 0);
    gtk_box_pack_start(GTK_BOX(left), frame, TRUE, TRUE, 0);
    gtk_box_pack_start(GTK_BOX(left), bar_->widget(), FALSE, FALSE, 0);
    return left;
  }

  void pack_controls(GtkWidget* side, GtkWidget* controls) {
    gtk_box_pack_start(GTK_BOX(side), controls, FALSE, FALSE, 0);
    parts_.push_back(controls);
  }

  GtkWidget* build_side(bool stack) {
    GtkWidget* side = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12);
    gtk_box_pack_start(GTK_BOX(side), presets_->widget(), FALSE, FALSE, 0);
    if (stack) pack_controls(side, controls_.column(ParamGroup::kStack));
    pack_controls(side, controls_.column(ParamGroup::kMain, "sigma", noise_->widget()));
    GtkWidget* advanced = gtk_expander_new_with_mnemonic(_("Advanced twea_ks"));
    GtkWidget* folded = controls_.column(ParamGroup::kAdvanced);
    gtk_widget_set_margin_top(folded, 6);
    gtk_container_add(GTK_CONTAINER(advanced), folded);
    parts_.push_back(folded);
    pack_controls(side, advanced);
    if (!stack) pack_controls(side, new_effect_choice());

    side_ = new_side_column(side);
    return side_;
  }

  // The argument that is no parameter: what becomes of the result.
  GtkWidget* new_effect_choice() {
    GParamSpec* argument = effect_argument();
    GtkWidget* choice =
        gimp_prop_check_button_new(G_OBJECT(config_), kEffect, g_param_spec_get_nick(argument));
    gtk_widget_set_tooltip_text(choice, g_param_spec_get_blurb(argument));
    return choice;
  }

  // Null: a stack has none.
  GParamSpec* effect_argument() const {
    return g_object_class_find_property(G_OBJECT_GET_CLASS(config_), kEffect);
  }

  bool wants_effect() const {
    if (effect_argument() == nullptr) return false;
    gboolean wanted = FALSE;
    g_object_get(config_, kEffect, &wanted, nullptr);
    return wanted != FALSE;
  }

  // Before the user has agreed to it, and not in place of a result.
  std::string effect_refusal() const { return wants_effect() ? no_effect_ : std::string(); }

  // Of the screen, as large as can be where none is known.
  GdkRectangle work_area() const {
    GdkDisplay* display = gtk_widget_get_display(dialog_);
    GdkMonitor* monitor = gdk_display_get_primary_monitor(display);
    if (monitor == nullptr) monitor = gdk_display_get_monitor(display, 0);
    GdkRectangle area = {0, 0, G_MAXSHORT, G_MAXSHORT};
    if (monitor != nullptr) gdk_monitor_get_workarea(monitor, &area);
    return area;
  }

  void set_size() {
    const GdkRectangle area = work_area();
    const int width = known_.width > 0 ? known_.width : kWidth;
    const int height = known_.height > 0 ? known_.height : kHeight;
    gtk_window_set_default_size(GTK_WINDOW(dialog_),
                                std::min(width, static_cast<int>(area.width * kShareOfScreen)),
                                std::min(height, static_cast<int>(area.height * kShareOfScreen)));
  }

  // While the filter works its settings and the preview stand still, and the processor is the
  // filter's.
  void set_working(bool working) {
    working_ = working;
    preview_->set_paused(working);
    foot_.set_working(working);
    layers_->set_sensitive(!working);
    gtk_widget_set_sensitive(side_, !working);
  }

  // Who turns the measuring off goes on from what was measured.
  void clicked(const std::string& key, bool on) {
    if (key != "auto-sigma" || on) return;
    const std::optional<double> measured = noise_->measured();
    if (measured) g_object_set(config_, "sigma", std::round(*measured * 10) / 10, nullptr);
  }

  void settings_changed() {
    const Params params = params_();
    update_controls();
    const Status valid = validate(params);
    invalid_ = valid.ok() ? effect_refusal() : valid.message();
    if (valid.ok()) preview_->set_params(params);
    show_remark();
    show_state();
  }

  void update_controls() {
    controls_.update_sensitivity(params_(), preview_->source().has_colour());
  }

  void show_state() {
    if (device_ == nullptr) return;
    const PreviewModel& model = preview_->model();
    const Params params = params_();
    noise_->update(params);
    // While the noise is measured its level is what was measured.
    controls_.show_instead("sigma", params.auto_sigma ? noise_->measured() : std::nullopt);
    // What can't be helped is told once, and then when the user has asked for a card.
    const bool told = params.device == "auto";
    std::string device = device_text(model, preview_->loaded(), told ? known_.told : std::string());
    if (told && !model.busy() && model.info() != nullptr) state_.told = fallback_text(model);
    if (!model.error().empty()) device = capitalized(model.error());
    if (!refusal_.empty()) device = refusal_;
    if (!invalid_.empty()) device = capitalized(invalid_);
    set_text(device_, device);
    // What was told already; and all of a sentence that is longer than its place.
    std::string all = device_text(model, preview_->loaded());
    if (all.find(device) == std::string::npos) all = device + "\n" + all;
    gtk_widget_set_tooltip_text(device_, all.c_str());
    if (working_) return;
    gtk_dialog_set_response_sensitive(GTK_DIALOG(dialog_), GTK_RESPONSE_OK,
                                      refusal_.empty() && invalid_.empty());
  }

  void use_sigma(double sigma) {
    g_object_set(config_, "auto-sigma", FALSE, "sigma", sigma, nullptr);
  }

  GimpProcedureConfig* config_;
  std::function<Params()> params_;
  const Places places_;
  const std::string no_effect_;
  const DialogState known_;  // from the last time
  DialogState state_;        // for the next one
  GtkWidget* dialog_;
  GtkWidget* left_ = nullptr;  // the preview, and what belongs to it
  GtkWidget* side_ = nullptr;
  std::vector<GtkWidget*> parts_;  // beside the preview: whose width counts
  GtkWidget* device_ = nullptr;
  std::string invalid_;                 // why the settings can't be used
  std::string refusal_;                 // why nothing can be done to the layers as they are
  std::string remark_, effect_remark_;  // see Situation
  std::optional<Status> ended_;         // why the dialog ends by itself
  bool working_ = false;
  gulong changed_ = 0;
  guint watch_ = 0;
  WorkPanel work_;
  FootLine foot_;
  std::unique_ptr<PresetBar> presets_;
  Controls controls_;
  std::unique_ptr<Preview> preview_;
  std::unique_ptr<PreviewBar> bar_;
  std::unique_ptr<LayerChooser> layers_;
  std::unique_ptr<NoisePanel> noise_;
};

}  // namespace

// GIMP names the display of its windows. Without any, gimp_ui_init() ends the program where the
// environment doesn't lead to one either.
bool initialise() {
  const gchar* display = gimp_display_name();
  const bool named = display != nullptr && *display != '\0';
  if (!named && !gtk_init_check(nullptr, nullptr)) return false;
  gimp_ui_init("grainless");
  return true;
}

std::optional<Status> run_dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
                                 const std::function<Params()>& params, const Subject& subject,
                                 const Places& places, const Work& work) {
  return Dialog(procedure, config, params, subject, places).run(work);
}

}  // namespace grainless::ui
