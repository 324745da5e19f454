// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/boundary/status.h"
#include "engine/params/params.h"
#include "engine/progress.h"
#include "preview_source.h"

// libgimp's types by name only: the headers behind them need GTK's, or the PDB's.
typedef struct _GimpProcedure GimpProcedure;
typedef struct _GimpProcedureConfig GimpProcedureConfig;

namespace grainless::ui {

// Prepares GTK; before anything else of this folder. Not without a display.
bool initialise();

// Where on the disk to find what belongs to the dialog.
struct Places {
  std::string presets;  // the user's folder of them
  std::string manual;   // an HTML page
  std::string state;    // a file, see DialogState
  std::string version;  // of the program and its parts, for the Help button
};

// How the dialog watches the filter's work. progress is for the main thread, and to be called
// often: the dialog lives on it.
struct WorkMonitor {
  const CancelToken* cancel = nullptr;
  std::function<void(double fraction, const std::string& text)> progress;
};
using Work = std::function<Status(const WorkMonitor&)>;

// What the dialog is about: a picture, or a stack of layers.
struct Subject {
  PreviewSource& source;
  LayerList& layers;      // with the same source
  bool stack = false;     // else the layers are denoised one by one
  std::string what = {};  // which layers a stack is made of, a sentence
  // Why they can't have the filter as an effect, a sentence; empty: they can.
  std::string no_effect = {};
};

// Shows the dialog for the procedure's settings with a live preview of the subject, and does the
// work when the user wants it. A work that the user stops leads back to the dialog; none: the user
// has left it. params turns the settings into parameters.
std::optional<Status> run_dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
                                 const std::function<Params()>& params, const Subject& subject,
                                 const Places& places, const Work& work);

}  // namespace grainless::ui
