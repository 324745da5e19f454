// SPDX-License-Identifier: MIT
#include "run.h"

#include <glib/gi18n.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config.h"
#include "denoise_drawable.h"
#include "engine/preset_folder.h"
#include "module_dir.h"
#include "preview_layer.h"
#include "target.h"
#include "ui/dialog.h"

namespace grainless {
namespace {

using Drawables = std::vector<GimpDrawable*>;

GimpValueArray* end(GimpProcedure* procedure, GimpPDBStatusType status, const std::string& why) {
  GError* error = nullptr;
  if (!why.empty()) error = g_error_new_literal(GIMP_PLUG_IN_ERROR, 0, why.c_str());
  return gimp_procedure_new_return_values(procedure, status, error);
}

GimpPDBStatusType pdb_status(ErrorCode code) {
  if (code == ErrorCode::kOk) return GIMP_PDB_SUCCESS;
  if (code == ErrorCode::kCancelled) return GIMP_PDB_CANCEL;
  return code == ErrorCode::kBadParameter ? GIMP_PDB_CALLING_ERROR : GIMP_PDB_EXECUTION_ERROR;
}

// One undo step, however many drawables there are.
class UndoGroup {
 public:
  UndoGroup(GimpImage* image, bool wanted) : image_(wanted ? image : nullptr) {
    if (image_ != nullptr) gimp_image_undo_group_start(image_);
  }
  ~UndoGroup() {
    if (image_ != nullptr) gimp_image_undo_group_end(image_);
  }
  UndoGroup(const UndoGroup&) = delete;
  UndoGroup& operator=(const UndoGroup&) = delete;

 private:
  GimpImage* image_;
};

// Nothing is silent: what the user asked for and didn't get is said. On "auto" the processor is no
// surprise; the dialog names it.
void tell(const RunReport& report) {
  if (!report.engine.note.empty()) g_message("%s", report.engine.note.c_str());
  if (report.params.device == "auto" || report.params.device == "cpu") return;
  for (const std::string& reason : report.engine.fallbacks) g_message("%s", reason.c_str());
}

ui::Places places() {
  const std::filesystem::path user = gimp_directory(), program = module_dir();
  return {(user / kPresetFolder).string(), (program / "manual" / "grainless.html").string()};
}

Status denoise_all(Engine& engine, GimpImage* image, const Drawables& drawables,
                   const Params& params, const Known& first, bool talk) {
  gimp_progress_init(_("Denoising"));
  const UndoGroup undo(image, drawables.size() > 1);
  const double count = static_cast<double>(drawables.size());
  for (size_t i = 0; i < drawables.size(); ++i) {
    RunReport report;
    const auto progress = [&](double fraction) {
      gimp_progress_update((static_cast<double>(i) + fraction) / count);
    };
    Status status =
        denoise_drawable(engine, drawables[i], params, i == 0 ? first : Known(), progress, report);
    if (!status.ok()) return status;
    if (!append_report(report)) g_message(_("The report could not be written."));
    if (talk) tell(report);
  }
  gimp_progress_end();
  return {};
}

GimpValueArray* run(GimpProcedure* procedure, GimpRunMode run_mode, GimpImage* image,
                    const Drawables& drawables, GimpProcedureConfig* config) {
  if (drawables.empty()) {
    return end(procedure, GIMP_PDB_CALLING_ERROR, _("There is no layer to denoise."));
  }
  for (GimpDrawable* drawable : drawables) {
    const std::string why = refusal(drawable);
    if (!why.empty()) return end(procedure, GIMP_PDB_EXECUTION_ERROR, why);
  }
  Engine engine({module_dir(), gimp_get_num_processors()});
  std::optional<PreviewLayer> preview;
  std::optional<NoiseModel> noise;
  if (run_mode == GIMP_RUN_INTERACTIVE) {
    ui::initialise();
    preview.emplace(engine, drawables[0]);
    if (!ui::run_dialog(
            procedure, config, [&] { return params_from_config(config); }, *preview, places())) {
      return end(procedure, GIMP_PDB_CANCEL, {});
    }
    noise = preview->measured();
  }
  Known known;
  if (noise) known = {&preview->pixels(), &*noise};
  const Params params = params_from_config(config);
  Status status = validate(params);
  if (status.ok()) {
    status =
        denoise_all(engine, image, drawables, params, known, run_mode != GIMP_RUN_NONINTERACTIVE);
  }
  return end(procedure, pdb_status(status.code()), status.message());
}

}  // namespace

GimpValueArray* run_procedure(GimpProcedure* procedure, GimpRunMode run_mode, GimpImage* image,
                              GimpDrawable** drawables, GimpProcedureConfig* config, gpointer) {
  gegl_init(nullptr, nullptr);
  const auto count = gimp_core_object_array_get_length(reinterpret_cast<GObject**>(drawables));
  GimpValueArray* values = nullptr;
  const Status status = guard([&] {
    values = run(procedure, run_mode, image, Drawables(drawables, drawables + count), config);
  });
  return status.ok() ? values : end(procedure, GIMP_PDB_EXECUTION_ERROR, status.message());
}

}  // namespace grainless
