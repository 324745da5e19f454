// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace grainless::test {

// A cell of docs/reliability.md: what was done to the program, when, and what came of it.
struct FaultCase {
  std::string fault, stage, front_end, expected, seen;
  bool ok;
};

// Appends the case as a line of JSON to the file $GRAINLESS_FAULT_LOG, if that is set, and fails
// the running test unless it is ok.
void log_fault(const FaultCase& fault);

}  // namespace grainless::test
