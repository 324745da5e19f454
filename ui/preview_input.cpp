// SPDX-License-Identifier: MIT
// The preview's mouse and keyboard.
#include <algorithm>
#include <cmath>
#include <utility>

#include "preview.h"

namespace grainless::ui {
namespace {

constexpr int kDragThreshold = 4;  // a press that moves less is no drag
constexpr int kSplitReach = 8;     // how near to the line counts as on it
constexpr int kKeyboardStep = 64;
constexpr double kSplitStep = 0.05;

}  // namespace

bool Preview::near_split(double x) const {
  const double line = split_ * gtk_widget_get_allocated_width(area_);
  return view_ == View::kSplit && std::fabs(x - line) <= kSplitReach;
}

void Preview::update_cursor(double x) {
  const bool on_line = drag_ == Drag::kSplit || (drag_ == Drag::kNone && near_split(x));
  const char* name = on_line ? "col-resize" : drag_ == Drag::kPan ? "grabbing" : nullptr;
  GdkWindow* window = gtk_widget_get_window(area_);
  if (window == nullptr) return;
  GdkCursor* cursor =
      name != nullptr ? gdk_cursor_new_from_name(gtk_widget_get_display(area_), name) : nullptr;
  gdk_window_set_cursor(window, cursor);
  if (cursor != nullptr) g_object_unref(cursor);
}

gboolean Preview::pressed(const GdkEventButton& event) {
  if ((event.button != GDK_BUTTON_PRIMARY && event.button != GDK_BUTTON_MIDDLE) ||
      event.type != GDK_BUTTON_PRESS) {
    return FALSE;
  }
  gtk_widget_grab_focus(area_);
  press_x_ = event.x;
  press_y_ = event.y;
  drag_ = near_split(event.x) ? Drag::kSplit : Drag::kPressed;
  if (drag_ == Drag::kPressed) show_original(true);
  return TRUE;
}

void Preview::set_focus(double x, double y) {
  const double left = PreviewCanvas::pane_left(view_, width(), x * scale());
  const Viewport& viewport = model_.view();
  model_.set_focus(std::pair{viewport.image_x(x * scale() - left), viewport.image_y(y * scale())});
}

gboolean Preview::moved(const GdkEventMotion& event) {
  set_focus(event.x, event.y);
  const double dx = event.x - press_x_, dy = event.y - press_y_;
  if (drag_ == Drag::kPressed && std::hypot(dx, dy) >= kDragThreshold) {
    drag_ = Drag::kPan;
    show_original(false);
  }
  if (drag_ == Drag::kPan) {
    press_x_ = event.x;
    press_y_ = event.y;
    pan(static_cast<int32_t>(std::lround(-dx * scale())),
        static_cast<int32_t>(std::lround(-dy * scale())));
  } else if (drag_ == Drag::kSplit) {
    split_ = std::clamp(event.x / gtk_widget_get_allocated_width(area_), 0.0, 1.0);
    gtk_widget_queue_draw(area_);
  }
  update_cursor(event.x);
  return drag_ != Drag::kNone;
}

gboolean Preview::released() {
  drag_ = Drag::kNone;
  show_original(false);
  update_cursor(-kSplitReach * 2);
  return TRUE;
}

gboolean Preview::scrolled(const GdkEventScroll& event) {
  int by = 0;
  if (event.direction == GDK_SCROLL_UP) by = 1;
  if (event.direction == GDK_SCROLL_DOWN) by = -1;
  if (event.direction == GDK_SCROLL_SMOOTH) {
    scroll_ -= event.delta_y;
    by = static_cast<int>(scroll_);
    scroll_ -= by;
  }
  const double x = event.x * scale();
  if (by != 0) zoom_at(by, x - PreviewCanvas::pane_left(view_, width(), x), event.y * scale());
  return TRUE;
}

void Preview::zoom_at(int by, double x, double y) {
  Viewport viewport = model_.view();
  viewport.zoom_by(by, x, y);
  look(viewport);
}

void Preview::pan(int32_t dx, int32_t dy) {
  Viewport viewport = model_.view();
  viewport.pan_by(dx, dy);
  look(viewport);
}

bool Preview::zoom_key(guint key) {
  Viewport viewport = model_.view();
  switch (key) {
    case GDK_KEY_plus:
    case GDK_KEY_equal:
    case GDK_KEY_KP_Add:
      viewport.zoom_by(1);
      break;
    case GDK_KEY_minus:
    case GDK_KEY_KP_Subtract:
      viewport.zoom_by(-1);
      break;
    case GDK_KEY_1:
    case GDK_KEY_KP_1:
      viewport.zoom_to(1);
      break;
    case GDK_KEY_0:
    case GDK_KEY_KP_0:
      viewport.fit();
      break;
    default:
      return false;
  }
  look(viewport);
  return true;
}

bool Preview::layer_key(guint key) {
  const bool up = key == GDK_KEY_Page_Up || key == GDK_KEY_KP_Page_Up;
  if (!up && key != GDK_KEY_Page_Down && key != GDK_KEY_KP_Page_Down) return false;
  if (!listener_.layer_stepped) return false;
  listener_.layer_stepped(up ? 1 : -1);
  return true;
}

bool Preview::arrow_key(const GdkEventKey& event) {
  int32_t dx = 0, dy = 0;
  if (event.keyval == GDK_KEY_Left) dx = -1;
  if (event.keyval == GDK_KEY_Right) dx = 1;
  if (event.keyval == GDK_KEY_Up) dy = -1;
  if (event.keyval == GDK_KEY_Down) dy = 1;
  if (dx == 0 && dy == 0) return false;
  if ((event.state & GDK_SHIFT_MASK) != 0 && view_ == View::kSplit) {
    split_ = std::clamp(split_ + dx * kSplitStep, 0.0, 1.0);
    gtk_widget_queue_draw(area_);
  } else {
    pan(dx * kKeyboardStep, dy * kKeyboardStep);
  }
  return true;
}

gboolean Preview::key(const GdkEventKey& event) {
  const bool down = event.type == GDK_KEY_PRESS;
  if (event.keyval == GDK_KEY_space) {
    show_original(down);
    return TRUE;
  }
  if ((event.state & (GDK_CONTROL_MASK | GDK_MOD1_MASK)) != 0 || !down) return FALSE;
  return zoom_key(event.keyval) || layer_key(event.keyval) || arrow_key(event) ? TRUE : FALSE;
}

// The Space that is held will be let go of elsewhere.
void Preview::keyboard_left() {
  if (drag_ == Drag::kNone) show_original(false);
}

}  // namespace grainless::ui
