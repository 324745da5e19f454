// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimpui.h>

#include "dialog.h"

namespace grainless::ui {

// GIMP's dialog for a procedure, with two differences. Help and F1 open `manual`, a page on this
// computer, in the browser: GIMP's own way asks about GIMP's manual first. And the buttons for one
// nameless set of saved settings are not shown, since there are presets with names. Help says the
// version in its tooltip.
GtkWidget* new_procedure_dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
                                const char* title, const Places& places);

}  // namespace grainless::ui
