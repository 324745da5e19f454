// SPDX-License-Identifier: MIT
#include "run.h"

#include <glib/gi18n.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config.h"
#include "denoise_drawable.h"
#include "engine/sentence.h"
#include "module_dir.h"
#include "preview_layer.h"
#include "run_support.h"
#include "work_progress.h"

namespace grainless {
namespace {

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
  return ui::run_dialog(procedure, config, params, {preview}, places(), work);
}

GimpValueArray* run(GimpProcedure* procedure, GimpRunMode run_mode, GimpImage* image,
                    const Drawables& drawables, GimpProcedureConfig* config) {
  if (drawables.empty()) {
    return end(procedure, GIMP_PDB_CALLING_ERROR, _("There is no layer to denoise."));
  }
  const std::string why = first_refusal(drawables);
  if (!why.empty()) return end(procedure, GIMP_PDB_EXECUTION_ERROR, why);
  Engine engine({module_dir(), gimp_get_num_processors()});
  engine.prepare(params_from_config(config));
  gegl_init(nullptr, nullptr);  // takes 0.1 s, too
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
  set_translation([](const char* pattern) -> const char* { return _(pattern); });
  const auto count = gimp_core_object_array_get_length(reinterpret_cast<GObject**>(drawables));
  GimpValueArray* values = nullptr;
  const Status status = guard([&] {
    values = run(procedure, run_mode, image, Drawables(drawables, drawables + count), config);
  });
  return status.ok() ? values : end(procedure, GIMP_PDB_EXECUTION_ERROR, status.message());
}

}  // namespace grainless
