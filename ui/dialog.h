// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>

#include "engine/params.h"
#include "preview_source.h"

// libgimp's types by name only: the headers behind them need GTK's, or the PDB's.
typedef struct _GimpProcedure GimpProcedure;
typedef struct _GimpProcedureConfig GimpProcedureConfig;

namespace grainless::ui {

// Prepares GTK; before anything else of this folder.
void initialise();

// Where on the disk to find what belongs to the dialog.
struct Places {
  std::string presets;  // the user's folder of them
  std::string manual;   // an HTML page
};

// Shows the dialog for the procedure's settings with a live preview of `source`; true: the user
// wants the filter to run. params turns the settings into parameters.
bool run_dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
                const std::function<Params()>& params, PreviewSource& source, const Places& places);

}  // namespace grainless::ui
