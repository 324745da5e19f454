// SPDX-License-Identifier: MIT
#include "run.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "card_process.h"
#include "config.h"
#include "engine/sentence.h"
#include "job.h"
#include "layer_bands.h"
#include "layer_effects.h"
#include "module_dir.h"
#include "run_support.h"
#include "stack_layers.h"
#include "ui/text.h"
#include "work_progress.h"

namespace grainless {
namespace {

// What GIMP called a procedure with.
struct Call {
  GimpProcedure* procedure;
  GimpRunMode mode;
  GimpProcedureConfig* config;
  Params defaults;  // of what the procedure has no argument for

  Params params() const { return params_from_config(config, defaults); }
};

Status compute(const Tasks& tasks, WorkProgress& progress) {
  const CallMonitor monitor{[&](double fraction) { progress.update(fraction); }, progress.cancel()};
  for (size_t i = 0; i < tasks.size(); ++i) {
    progress.begin(i, tasks[i]->name());
    Status status = tasks[i]->compute(monitor);
    if (!status.ok()) return status;
  }
  return {};
}

// Whether places, formats and selections are as agreed.
Status check_state(const Job& job, const Tasks& tasks) {
  const std::string why = job.refusal();
  if (!why.empty()) return {ErrorCode::kBadInput, why};
  for (const auto& task : tasks) {
    Status status = task->check_state();
    if (!status.ok()) return status;
  }
  return {};
}

// One pass over all tasks.
Status check_each(const Tasks& tasks, const CallMonitor& monitor,
                  const std::function<Status(DenoiseTask&)>& check) {
  for (const auto& task : tasks) {
    Status status = check(*task);
    if (!status.ok()) return status;
  }
  if (monitor.cancel == nullptr || !monitor.cancel->cancelled()) return {};
  return {ErrorCode::kCancelled, "cancelled"};
}

Status foresee_merge(const Tasks& tasks, const CallMonitor& monitor) {
  uint64_t left = DrawableIo::kForesight;
  for (const auto& task : tasks) {
    Status status = task->foresee_merge(left, monitor);
    if (!status.ok()) return status;
  }
  return {};
}

// The pixels take a while: the user's own come last, and what is looked at again after them is
// right before the first merge.
Status check(const Job& job, const Tasks& tasks, WorkProgress& progress) {
  const CallMonitor monitor{[&](double) { progress.update(1); }, progress.cancel()};
  Status status = check_state(job, tasks);
  if (status.ok()) status = foresee_merge(tasks, monitor);
  const auto check_all = [&](const std::function<Status(DenoiseTask&)>& one) {
    if (status.ok()) status = check_each(tasks, monitor, one);
  };
  check_all([&](const DenoiseTask& task) { return task.check_prepared(monitor); });
  check_all([&](DenoiseTask& task) { return task.check_pixels(monitor); });
  if (status.ok()) status = check_state(job, tasks);
  check_all([&](DenoiseTask& task) { return task.check_at_a_glance(monitor); });
  return status;
}

Status merge(GimpImage* image, const Tasks& tasks) {
  size_t all = 0, merged = 0;
  for (const auto& task : tasks) all += task->prepared();
  const UndoGroup undo(image, all > 1);
  for (const auto& task : tasks) {
    if (task->merge(merged)) continue;
    if (merged == 0) {
      return {ErrorCode::kBadInput, not_taken_sentence()};
    }
    return {ErrorCode::kBadInput,
            ui::format(_("GIMP took the new pixels of %d of %d layers and refused the others: "
                         "Edit > Undo takes them back."),
                       static_cast<int>(merged), static_cast<int>(all))};
  }
  return {};
}

// All is done by then: what fails here is no failure of the filter.
void report(const Tasks& tasks, bool talk) {
  for (const auto& task : tasks) {
    bool written = false;
    const Status status = guard([&] {
      written = append_report(task->report());
      if (talk) tell(task->report());
    });
    if (!status.ok() || !written) g_message("%s", _("The report could not be written."));
  }
}

// As a sentence, where there is memory for one.
Status said(Status status) {
  if (status.code() != ErrorCode::kOutOfMemory) return status;
  (void)guard([&] {
    status = {status.code(), _("There is not enough memory for that, so nothing was denoised.")};
  });
  return status;
}

// Computes everything before the first drawable changes: an error, a cancel or a change of the
// image leaves every one as it was.
Status denoise(Job& job, const Params& params, const ui::WorkMonitor* monitor, bool talk) {
  Status status;
  const Status guarded = guard([&] {
    const std::string why = job.refusal();
    if (!why.empty()) throw Error(ErrorCode::kBadInput, why);
    const Tasks tasks = job.tasks(params);
    {
      WorkProgress progress(tasks.size(), monitor);
      status = compute(tasks, progress);
      if (status.ok()) status = check(job, tasks, progress);
    }
    if (status.ok()) status = merge(job.image(), tasks);
    if (status.ok()) report(tasks, talk);
  });
  return said(guarded.ok() ? status : guarded);
}

Status add_effects(const Job& job, const Params& params, bool talk) {
  const std::string why = job.refusal();
  if (!why.empty()) return {ErrorCode::kBadInput, why};
  std::string note;
  Status status = add_effects(job.image(), job.drawables(), params, note);
  if (status.ok() && talk && !note.empty()) g_message("%s", note.c_str());
  return status;
}

// The dialog stays open while the filter works: none when the user leaves it without.
std::optional<Status> run_in_dialog(const Call& call, Job& job) {
  if (!ui::initialise()) {
    return Status(ErrorCode::kBadParameter,
                  _("There is no display for the dialog: run the filter non-interactively."));
  }
  const auto params = [&] { return call.params(); };
  const auto work = [&](const ui::WorkMonitor& monitor) {
    if (wants_effect(call.config)) return add_effects(job, call.params(), true);
    return denoise(job, call.params(), &monitor, true);
  };
  ui::Subject subject = job.open_preview(call.params());
  subject.no_effect = refusal_of_effect(job.drawables());
  return ui::run_dialog(call.procedure, call.config, params, subject, places(), work);
}

Status run_without_dialog(const Call& call, Job& job) {
  const Params params = call.params();
  Status status = validate(params);
  if (!status.ok()) return status;
  const bool talk = call.mode != GIMP_RUN_NONINTERACTIVE;
  if (wants_effect(call.config)) return add_effects(job, params, talk);
  return denoise(job, params, nullptr, talk);
}

using MakeJob = std::function<std::unique_ptr<Job>(Engine&)>;

GimpValueArray* run(const Call& call, const MakeJob& make_job) {
  Engine engine({module_dir(), gimp_get_num_processors(), card_process(module_dir())});
  engine.prepare(call.params());
  const std::string strange = strange_host_memory();
  if (!strange.empty()) g_message("%s", strange.c_str());
  gegl_init(nullptr, nullptr);  // takes 0.1 s, too
  const std::unique_ptr<Job> job = make_job(engine);
  if (call.mode != GIMP_RUN_INTERACTIVE) {
    const Status status = run_without_dialog(call, *job);
    return answer(call.procedure, pdb_status(status.code()), status.message());
  }
  const std::optional<Status> status = run_in_dialog(call, *job);
  if (!status) return answer(call.procedure, GIMP_PDB_CANCEL, {});
  return answer(call.procedure, pdb_status(status->code()), said(*status).message());
}

// Drawables that are denoised one by one; the topmost visible one is shown.
JobSubject subject_of(GimpImage* image, const Drawables& drawables, Use use) {
  const Drawables chosen = from_the_bottom(image, drawables);
  JobSubject subject{.image = image, .refusal = [=] { return refusal(image, chosen, use); }};
  for (GimpDrawable* drawable : chosen) subject.groups.push_back({drawable});
  const auto seen = std::find_if(chosen.rbegin(), chosen.rend(), is_seen);
  subject.shown = static_cast<int32_t>((seen != chosen.rend() ? seen.base() : chosen.end()) -
                                       chosen.begin() - 1);
  return subject;
}

JobSubject subject_of(GimpImage* image, const StackLayers& stack) {
  return {.image = image,
          .groups = {stack.layers},
          .shown = stack.chosen,
          .what = stack.what,
          .refusal = [image, layers = stack.layers] { return stack_refusal(image, layers); }};
}

// The barrier before GIMP, with everything said in the user's language. body gets drawables of the
// image, each once.
template <typename Body>
GimpValueArray* guarded(GimpProcedure* procedure, GimpImage* image, GimpDrawable** drawables,
                        const Body& body) {
  set_translation([](const char* pattern) -> const char* { return _(pattern); });
  const auto count = gimp_core_object_array_get_length(reinterpret_cast<GObject**>(drawables));
  GimpValueArray* values = nullptr;
  const Status status = guard([&] {
    const Drawables chosen = each_once(Drawables(drawables, drawables + count));
    const std::string why = stranger_refusal(image, chosen);
    values = why.empty() ? body(chosen) : answer(procedure, GIMP_PDB_CALLING_ERROR, why);
  });
  if (status.ok()) return values;
  return answer(procedure, GIMP_PDB_EXECUTION_ERROR, said(status).message());
}

}  // namespace

GimpValueArray* run_procedure(GimpProcedure* procedure, GimpRunMode run_mode, GimpImage* image,
                              GimpDrawable** drawables, GimpProcedureConfig* config, gpointer) {
  return guarded(procedure, image, drawables, [&](const Drawables& chosen) {
    if (chosen.empty()) {
      return answer(procedure, GIMP_PDB_CALLING_ERROR, _("There is no layer to denoise."));
    }
    // The dialog's preview is one of pixels, and there it can be chosen to change those.
    const bool dialog = run_mode == GIMP_RUN_INTERACTIVE;
    const Use use = !dialog && wants_effect(config) ? Use::kEffect : Use::kPixels;
    const std::string why = refusal(image, chosen, use);
    if (!why.empty()) return answer(procedure, GIMP_PDB_EXECUTION_ERROR, why);
    return run({procedure, run_mode, config, {}}, [&](Engine& engine) {
      return std::make_unique<Job>(engine, picture_filter(engine), subject_of(image, chosen, use));
    });
  });
}

GimpValueArray* run_stack_procedure(GimpProcedure* procedure, GimpRunMode run_mode,
                                    GimpImage* image, GimpDrawable** drawables,
                                    GimpProcedureConfig* config, gpointer) {
  return guarded(procedure, image, drawables, [&](const Drawables& chosen) {
    const StackLayers stack = stack_layers(image, chosen);
    if (!stack.refusal.empty()) return answer(procedure, GIMP_PDB_EXECUTION_ERROR, stack.refusal);
    return run({procedure, run_mode, config, stack_defaults()}, [&](Engine& engine) {
      return std::make_unique<Job>(engine, stack_filter(engine), subject_of(image, stack));
    });
  });
}

}  // namespace grainless
