// SPDX-License-Identifier: MIT
#include "procedure_dialog.h"

#include <glib/gi18n.h>

#include "preset_dialogs.h"
#include "text.h"

namespace grainless::ui {
namespace {

constexpr char kManual[] = "grainless-manual";  // the dialog's data

// GimpHelpFunc; the data is the dialog.
void show_manual(const gchar*, gpointer data) {
  const auto* path = static_cast<const gchar*>(g_object_get_data(G_OBJECT(data), kManual));
  GError* error = nullptr;
  gchar* uri = g_filename_to_uri(path, nullptr, &error);
  const bool there = g_file_test(path, G_FILE_TEST_IS_REGULAR);
  if (!there || uri == nullptr ||
      !gtk_show_uri_on_window(GTK_WINDOW(data), uri, GDK_CURRENT_TIME, &error)) {
    const std::string text = format(_("The manual can't be shown: %s (%s)"), path,
                                    error != nullptr ? error->message : _("there is no such file"));
    show_complaint(GTK_WINDOW(data), text);
  }
  g_clear_error(&error);
  g_free(uri);
}

// Besides the bar of the dialog's own buttons, that of the saved settings is the only one.
void hide_saved_settings(GtkWidget* dialog) {
  GList* children =
      gtk_container_get_children(GTK_CONTAINER(gtk_dialog_get_content_area(GTK_DIALOG(dialog))));
  for (GList* child = children; child != nullptr; child = child->next) {
    if (GTK_IS_BUTTON_BOX(child->data)) gtk_widget_hide(GTK_WIDGET(child->data));
  }
  g_list_free(children);
}

}  // namespace

GtkWidget* new_procedure_dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
                                const char* title, const Places& places) {
  gboolean header = FALSE;
  g_object_get(gtk_settings_get_default(), "gtk-dialogs-use-header", &header, nullptr);
  auto* dialog = static_cast<GtkWidget*>(
      g_object_new(GIMP_TYPE_PROCEDURE_DIALOG, "procedure", procedure, "config", config, "title",
                   title, "help-func", show_manual, "help-id",
                   gimp_procedure_get_help_id(procedure), "use-header-bar", header, nullptr));
  g_object_set_data_full(G_OBJECT(dialog), kManual, g_strdup(places.manual.c_str()), g_free);
  if (GtkWidget* help = gtk_dialog_get_widget_for_response(GTK_DIALOG(dialog), GTK_RESPONSE_HELP)) {
    gtk_widget_set_tooltip_text(help, places.version.c_str());
  }
  hide_saved_settings(dialog);
  return dialog;
}

}  // namespace grainless::ui
