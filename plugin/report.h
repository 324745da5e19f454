// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "engine/denoise.h"

namespace grainless {

struct RunReport {
  Report engine;
  Params params;
  std::string drawable;                   // its name, the first layer's of a stack
  int32_t layers = 0;                     // of a stack
  int32_t bands = 1;                      // in which the layer passed
  double read = 0, write = 0, total = 0;  // seconds, of the plug-in's own
};

// Appends one line of JSON, with the command line's keys, to the file that GRAINLESS_REPORT names.
// False: it is set, and the file can't be written.
bool append_report(const RunReport& report);

}  // namespace grainless
