// SPDX-License-Identifier: MIT
#include "run.h"

#include <glib/gi18n.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config.h"
#include "denoise_drawable.h"
#include "engine/preset_folder.h"
#include "engine/sentence.h"
#include "module_dir.h"
#include "preview_layer.h"
#include "target.h"
#include "ui/dialog.h"
#include "work_progress.h"

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

std::string first_refusal(const Drawables& drawables) {
  for (GimpDrawable* drawable : drawables) {
    const std::string why = refusal(drawable);
    if (!why.empty()) return why;
  }
  return {};
}

// Computes all drawables before the first one changes: an error or a cancel on the last of them
// leaves every one as it was.
Status denoise_all(Engine& engine, GimpImage* image, const Drawables& drawables,
                   const Params& params, const Known& first, const ui::WorkMonitor* monitor,
                   bool talk) {
  std::vector<std::unique_ptr<DenoiseDrawable>> all;
  {
    WorkProgress progress(drawables.size(), monitor);
    const Watch watch{[&](double fraction) { progress.update(fraction); }, progress.cancel()};
    for (size_t i = 0; i < drawables.size(); ++i) {
      all.push_back(std::make_unique<DenoiseDrawable>(engine, drawables[i], params));
      progress.begin(i, all.back()->name());
      Status status = all.back()->compute(i == 0 ? first : Known(), watch);
      if (!status.ok()) return status;
    }
  }
  // Somebody may have locked or rasterised one meanwhile.
  const std::string why = first_refusal(drawables);
  if (!why.empty()) return {ErrorCode::kBadInput, why};
  const UndoGroup undo(image, drawables.size() > 1);
  for (const auto& drawable : all) {
    Status status = drawable->merge();
    if (!status.ok()) return status;
    if (!append_report(drawable->report())) g_message(_("The report could not be written."));
    if (talk) tell(drawable->report());
  }
  return {};
}

// The dialog stays open while the filter works: none when the user leaves it without.
std::optional<Status> run_in_dialog(GimpProcedure* procedure, GimpImage* image,
                                    const Drawables& drawables, GimpProcedureConfig* config,
                                    Engine& engine) {
  ui::initialise();
  PreviewLayer preview(engine, drawables[0]);
  const auto params = [&] { return params_from_config(config); };
  const auto work = [&](const ui::WorkMonitor& monitor) {
    const std::optional<NoiseModel> noise = preview.measured();
    const Known known = noise ? Known{&preview.pixels(), &*noise} : Known();
    return denoise_all(engine, image, drawables, params(), known, &monitor, true);
  };
  return ui::run_dialog(procedure, config, params, preview, places(), work);
}

GimpValueArray* run(GimpProcedure* procedure, GimpRunMode run_mode, GimpImage* image,
                    const Drawables& drawables, GimpProcedureConfig* config) {
  if (drawables.empty()) {
    return end(procedure, GIMP_PDB_CALLING_ERROR, _("There is no layer to denoise."));
  }
  const std::string why = first_refusal(drawables);
  if (!why.empty()) return end(procedure, GIMP_PDB_EXECUTION_ERROR, why);
  Engine engine({module_dir(), gimp_get_num_processors()});
  if (run_mode == GIMP_RUN_INTERACTIVE) {
    const auto status = run_in_dialog(procedure, image, drawables, config, engine);
    if (!status) return end(procedure, GIMP_PDB_CANCEL, {});
    return end(procedure, pdb_status(status->code()), status->message());
  }
  const Params params = params_from_config(config);
  Status status = validate(params);
  if (status.ok()) {
    status = denoise_all(engine, image, drawables, params, {}, nullptr,
                         run_mode != GIMP_RUN_NONINTERACTIVE);
  }
  return end(procedure, pdb_status(status.code()), status.message());
}

}  // namespace

GimpValueArray* run_procedure(GimpProcedure* procedure, GimpRunMode run_mode, GimpImage* image,
                              GimpDrawable** drawables, GimpProcedureConfig* config, gpointer) {
  gegl_init(nullptr, nullptr);
  set_translation([](const char* pattern) -> const char* { return _(pattern); });
  const auto count = gimp_core_object_array_get_length(reinterpret_cast<GObject**>(drawables));
  GimpValueArray* values = nullptr;
  const Status status = guard([&] {
    values = run(procedure, run_mode, image, Drawables(drawables, drawables + count), config);
  });
  return status.ok() ? values : end(procedure, GIMP_PDB_EXECUTION_ERROR, status.message());
}

}  // namespace grainless
