// SPDX-License-Identifier: MIT
#include "letters.h"

#include <utility>

namespace grainless::ui {
namespace {

// In Pango's fine units.
struct LetterSize {
  int width = 0, height = 0;

  bool operator==(const LetterSize&) const = default;
};

LetterSize letter_size(GtkWidget* widget) {
  PangoLayout* layout = gtk_widget_create_pango_layout(widget, "Xx");
  LetterSize size;
  pango_layout_get_size(layout, &size.width, &size.height);
  g_object_unref(layout);
  return size;
}

// A style changes for many reasons, such as a window that gets the keyboard.
struct Watch {
  GtkWidget* widget;
  std::function<void()> body;
  LetterSize known;
  guint idle = 0;

  void look() {
    if (idle != 0 || letter_size(widget) == known) return;
    const auto tell = +[](gpointer self) -> gboolean {
      static_cast<Watch*>(self)->tell();
      return G_SOURCE_REMOVE;
    };
    idle = g_idle_add(tell, this);
  }

  void tell() {
    idle = 0;
    known = letter_size(widget);
    body();
  }
};

void end_watch(GtkWidget* widget, Watch* watch) {
  g_signal_handlers_disconnect_by_data(widget, watch);
  if (watch->idle != 0) g_source_remove(watch->idle);
  delete watch;
}

}  // namespace

void when_letters_change(GtkWidget* widget, std::function<void()> body) {
  auto* watch = new Watch{widget, std::move(body), letter_size(widget)};
  g_signal_connect_swapped(widget, "style-updated", G_CALLBACK(+[](Watch* self) { self->look(); }),
                           watch);
  g_signal_connect(widget, "destroy", G_CALLBACK(end_watch), watch);
}

}  // namespace grainless::ui
