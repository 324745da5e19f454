// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "preview_canvas.h"

namespace grainless::ui {

// What the dialog remembers from one time to the next besides its settings.
struct DialogState {
  int width = 0, height = 0;  // of the window; 0: not known
  View view = View::kResult;
  double zoom = 1;   // 0: the whole layer
  std::string told;  // why no graphics card computes, as the user has read it

  bool operator==(const DialogState&) const = default;
};

// A file that isn't there, or can't be used, is none: the defaults. One that can't be written is no
// reason to bother anybody.
DialogState load_dialog_state(const std::string& path);
void save_dialog_state(const std::string& path, const DialogState& state);

}  // namespace grainless::ui
