// SPDX-License-Identifier: MIT
#include "run_stack.h"

#include <glib/gi18n.h>

#include <optional>

#include "config.h"
#include "denoise_stack.h"
#include "engine/sentence.h"
#include "module_dir.h"
#include "preview_stack.h"
#include "stack_layers.h"
#include "work_progress.h"

namespace grainless {
namespace {

// Computes all layers before the first one changes.
Status denoise(Engine& engine, GimpImage* image, const Drawables& layers, const Params& params,
               const KnownStack& known, const ui::WorkMonitor* monitor, bool talk) {
  DenoiseStack stack(engine, layers, params);
  {
    WorkProgress progress(1, monitor);
    const Watch watch{[&](double fraction) { progress.update(fraction); }, progress.cancel()};
    Status status = stack.compute(known, watch);
    if (!status.ok()) return status;
  }
  // Somebody may have locked or scaled one meanwhile.
  const std::string why = stack_refusal(layers);
  if (!why.empty()) return {ErrorCode::kBadInput, why};
  if (stack.report().engine.changed) {
    const UndoGroup undo(image, true);
    Status status = stack.merge();
    if (!status.ok()) return status;
  }
  if (!append_report(stack.report())) g_message(_("The report could not be written."));
  if (talk) tell(stack.report());
  return {};
}

std::optional<Status> run_in_dialog(GimpProcedure* procedure, GimpImage* image,
                                    const StackLayers& stack, GimpProcedureConfig* config,
                                    Engine& engine) {
  ui::initialise();
  PreviewStack preview(engine, stack.layers, stack.chosen);
  const auto params = [&] { return params_from_config(config, stack_defaults()); };
  const auto work = [&](const ui::WorkMonitor& monitor) {
    const std::optional<NoiseModel> noise = preview.measured();
    const KnownStack known = noise ? KnownStack{preview.measured_pixels(), &*noise} : KnownStack();
    return denoise(engine, image, stack.layers, params(), known, &monitor, true);
  };
  return ui::run_dialog(procedure, config, params, {preview, &preview, stack.what}, places(), work);
}

GimpValueArray* run(GimpProcedure* procedure, GimpRunMode run_mode, GimpImage* image,
                    const Drawables& drawables, GimpProcedureConfig* config) {
  const StackLayers stack = stack_layers(image, drawables);
  if (!stack.refusal.empty()) return end(procedure, GIMP_PDB_EXECUTION_ERROR, stack.refusal);
  Engine engine({module_dir(), gimp_get_num_processors()});
  engine.prepare(params_from_config(config, stack_defaults()));
  gegl_init(nullptr, nullptr);  // takes 0.1 s, too
  if (run_mode == GIMP_RUN_INTERACTIVE) {
    const auto status = run_in_dialog(procedure, image, stack, config, engine);
    if (!status) return end(procedure, GIMP_PDB_CANCEL, {});
    return end(procedure, pdb_status(status->code()), status->message());
  }
  const Params params = params_from_config(config, stack_defaults());
  Status status = validate(params);
  if (status.ok()) {
    status = denoise(engine, image, stack.layers, params, {}, nullptr,
                     run_mode != GIMP_RUN_NONINTERACTIVE);
  }
  return end(procedure, pdb_status(status.code()), status.message());
}

}  // namespace

GimpValueArray* run_stack_procedure(GimpProcedure* procedure, GimpRunMode run_mode,
                                    GimpImage* image, GimpDrawable** drawables,
                                    GimpProcedureConfig* config, gpointer) {
  set_translation([](const char* pattern) -> const char* { return _(pattern); });
  const auto count = gimp_core_object_array_get_length(reinterpret_cast<GObject**>(drawables));
  GimpValueArray* values = nullptr;
  const Status status = guard([&] {
    values = run(procedure, run_mode, image, Drawables(drawables, drawables + count), config);
  });
  return status.ok() ? values : end(procedure, GIMP_PDB_EXECUTION_ERROR, status.message());
}

}  // namespace grainless
