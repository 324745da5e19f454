// SPDX-License-Identifier: MIT
#include "preset_dialogs.h"

#include <glib/gi18n.h>

#include "engine/params/preset_folder.h"

namespace grainless::ui {
namespace {

// What a window of GTK answers, and then it is gone.
bool accepted(GtkWidget* dialog) {
  const gint response = gtk_dialog_run(GTK_DIALOG(dialog));
  return response == GTK_RESPONSE_ACCEPT;
}

// The text may name files, whose names need not be UTF-8.
GtkWidget* message(GtkWindow* parent, GtkMessageType type, const std::string& text) {
  gchar* valid = g_utf8_make_valid(text.data(), static_cast<gssize>(text.size()));
  GtkWidget* dialog =
      gtk_message_dialog_new(parent, GTK_DIALOG_MODAL, type, GTK_BUTTONS_NONE, "%s", valid);
  g_free(valid);
  gtk_window_set_title(GTK_WINDOW(dialog), _("Grainless Denoise"));
  return dialog;
}

struct NameQuestion {
  GtkWidget* dialog;
  GtkWidget* entry;
  GtkWidget* remark;
  const std::function<bool(const std::string&, std::string&)>& judge;

  std::string name() const { return gtk_entry_get_text(GTK_ENTRY(entry)); }
  void update() const {
    std::string text;
    const bool good = judge(name(), text);
    gtk_label_set_text(GTK_LABEL(remark), name().empty() ? "" : text.c_str());
    gtk_dialog_set_response_sensitive(GTK_DIALOG(dialog), GTK_RESPONSE_ACCEPT, good);
  }
};

void add_filter(GtkFileChooser* chooser) {
  GtkFileFilter* filter = gtk_file_filter_new();
  gtk_file_filter_set_name(filter, _("Grainless presets"));
  gtk_file_filter_add_pattern(filter, (std::string("*") + kPresetExtension).c_str());
  gtk_file_chooser_add_filter(chooser, filter);
}

std::optional<std::string> file_of(GtkFileChooser* chooser, bool save) {
  gchar* chosen = gtk_file_chooser_get_filename(chooser);
  if (chosen == nullptr) return std::nullopt;
  std::string path = chosen;
  g_free(chosen);
  if (save && !path.ends_with(kPresetExtension)) path += kPresetExtension;
  return path;
}

}  // namespace

void show_complaint(GtkWindow* parent, const std::string& sentence) {
  GtkWidget* dialog = message(parent, GTK_MESSAGE_ERROR, sentence);
  gtk_dialog_add_button(GTK_DIALOG(dialog), _("_Close"), GTK_RESPONSE_CLOSE);
  gtk_dialog_run(GTK_DIALOG(dialog));
  gtk_widget_destroy(dialog);
}

bool ask(GtkWindow* parent, const std::string& question, const char* action) {
  GtkWidget* dialog = message(parent, GTK_MESSAGE_QUESTION, question);
  gtk_dialog_add_button(GTK_DIALOG(dialog), _("_Cancel"), GTK_RESPONSE_CANCEL);
  gtk_dialog_add_button(GTK_DIALOG(dialog), action, GTK_RESPONSE_ACCEPT);
  const bool yes = accepted(dialog);
  gtk_widget_destroy(dialog);
  return yes;
}

std::optional<std::string> ask_name(
    GtkWindow* parent, const NameWindow& texts,
    const std::function<bool(const std::string&, std::string&)>& remark) {
  GtkWidget* dialog =
      gtk_dialog_new_with_buttons(texts.title, parent, GTK_DIALOG_MODAL, _("_Cancel"),
                                  GTK_RESPONSE_CANCEL, texts.action, GTK_RESPONSE_ACCEPT, nullptr);
  gtk_dialog_set_default_response(GTK_DIALOG(dialog), GTK_RESPONSE_ACCEPT);
  GtkWidget* label = gtk_label_new_with_mnemonic(_("_Name of the preset:"));
  GtkWidget* entry = gtk_entry_new();
  gtk_label_set_mnemonic_widget(GTK_LABEL(label), entry);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_entry_set_activates_default(GTK_ENTRY(entry), TRUE);
  gtk_entry_set_width_chars(GTK_ENTRY(entry), 32);
  gtk_entry_set_text(GTK_ENTRY(entry), texts.name.c_str());
  GtkWidget* below = gtk_label_new(nullptr);
  gtk_label_set_xalign(GTK_LABEL(below), 0);
  gtk_label_set_line_wrap(GTK_LABEL(below), TRUE);
  gtk_label_set_max_width_chars(GTK_LABEL(below), 40);

  GtkWidget* content = gtk_dialog_get_content_area(GTK_DIALOG(dialog));
  gtk_container_set_border_width(GTK_CONTAINER(content), 12);
  gtk_box_set_spacing(GTK_BOX(content), 6);
  for (GtkWidget* widget : {label, entry, below}) {
    gtk_box_pack_start(GTK_BOX(content), widget, FALSE, FALSE, 0);
  }
  NameQuestion question{dialog, entry, below, remark};
  g_signal_connect_swapped(entry, "changed",
                           G_CALLBACK(+[](NameQuestion* self) { self->update(); }), &question);
  question.update();
  gtk_widget_show_all(content);
  std::optional<std::string> name;
  if (accepted(dialog)) name = question.name();
  gtk_widget_destroy(dialog);
  return name;
}

std::optional<std::string> ask_file(GtkWindow* parent, FileUse use, const std::string& name) {
  const bool save = use == FileUse::kExport;
  GtkWidget* dialog = gtk_file_chooser_dialog_new(
      save ? _("Export Preset") : _("Import Preset"), parent,
      save ? GTK_FILE_CHOOSER_ACTION_SAVE : GTK_FILE_CHOOSER_ACTION_OPEN, _("_Cancel"),
      GTK_RESPONSE_CANCEL, save ? _("_Export") : _("_Import"), GTK_RESPONSE_ACCEPT, nullptr);
  gtk_dialog_set_default_response(GTK_DIALOG(dialog), GTK_RESPONSE_ACCEPT);
  GtkFileChooser* chooser = GTK_FILE_CHOOSER(dialog);
  gtk_file_chooser_set_local_only(chooser, TRUE);
  add_filter(chooser);
  const std::string proposed = (name.empty() ? "Grainless" : name) + kPresetExtension;
  if (save) gtk_file_chooser_set_current_name(chooser, proposed.c_str());
  std::optional<std::string> path;
  while (!path && accepted(dialog)) {
    path = file_of(chooser, save);
    // Asked here and not by GTK, which doesn't know of the extension.
    if (path && save && g_file_test(path->c_str(), G_FILE_TEST_EXISTS) &&
        !ask(GTK_WINDOW(dialog), _("This file exists already. Replace it?"), _("_Replace"))) {
      path.reset();
    }
  }
  gtk_widget_destroy(dialog);
  return path;
}

}  // namespace grainless::ui
