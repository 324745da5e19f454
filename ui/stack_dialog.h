// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dialog.h"

namespace grainless::ui {

struct StackFacts {
  std::string what;  // which layers are denoised, a sentence
  std::vector<DeviceChoice> devices;
};

// Shows the dialog of the filter for stacks of layers, without a preview, and does the work when
// the user wants it. A work that the user stops leads back to the dialog; none: the user has left
// it.
std::optional<Status> run_stack_dialog(GimpProcedure* procedure, GimpProcedureConfig* config,
                                       const std::function<Params()>& params,
                                       const StackFacts& facts, const Places& places,
                                       const Work& work);

}  // namespace grainless::ui
