// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "target.h"

namespace grainless {

// What one call of a procedure works on.
struct JobSubject {
  GimpImage* image = nullptr;
  // Each is filtered together: one stack of layers, or drawables that are denoised one by one.
  std::vector<Drawables> groups = {};
  int32_t shown = 0;      // what the dialog shows first: a layer of the stack, or a group
  std::string what = {};  // which layers a stack is made of, a sentence; else empty
  // Why the work can't begin, or its result not be written any more; empty when it can.
  std::function<std::string()> refusal = {};

  bool is_stack() const { return !what.empty(); }
};

}  // namespace grainless
