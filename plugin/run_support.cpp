// SPDX-License-Identifier: MIT
#include "run_support.h"

#include <filesystem>

#include "engine/module_version.h"
#include "engine/params/preset_folder.h"
#include "module_dir.h"
#include "ui/status_text.h"

namespace grainless {

GimpValueArray* answer(GimpProcedure* procedure, GimpPDBStatusType status, const std::string& why) {
  GError* error = nullptr;
  if (!why.empty()) error = g_error_new_literal(GIMP_PLUG_IN_ERROR, 0, why.c_str());
  return gimp_procedure_new_return_values(procedure, status, error);
}

GimpPDBStatusType pdb_status(ErrorCode code) {
  if (code == ErrorCode::kOk) return GIMP_PDB_SUCCESS;
  if (code == ErrorCode::kCancelled) return GIMP_PDB_CANCEL;
  return code == ErrorCode::kBadParameter ? GIMP_PDB_CALLING_ERROR : GIMP_PDB_EXECUTION_ERROR;
}

UndoGroup::UndoGroup(GimpImage* image, bool wanted) : image_(wanted ? image : nullptr) {
  if (image_ != nullptr) gimp_image_undo_group_start(image_);
}

UndoGroup::~UndoGroup() {
  if (image_ != nullptr) gimp_image_undo_group_end(image_);
}

void tell(const RunReport& report) {
  if (!report.engine.note.empty()) {
    g_message("%s", ui::capitalized(report.engine.note).c_str());
  }
  if (report.params.device == "auto" || report.params.device == "cpu") return;
  for (const std::string& reason : report.engine.fallbacks) {
    g_message("%s", ui::capitalized(reason).c_str());
  }
}

// Names and numbers only: nothing to translate.
std::string version_text() {
  std::string text = "Grainless " GRAINLESS_VERSION;
  try {
    text += "\ngrainless-cuda.so " + module_version(module_dir());
  } catch (const Error&) {  // the dialog's line about the device says why
  }
  return text;
}

ui::Places places() {
  const std::filesystem::path user = gimp_directory(), program = module_dir();
  return {(user / kPresetFolder).string(), (program / "manual" / "grainless.html").string(),
          (user / "grainless" / "dialog.ini").string(), version_text()};
}

}  // namespace grainless
