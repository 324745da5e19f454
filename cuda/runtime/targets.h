// SPDX-License-Identifier: MIT
// Which devices a module's code runs on. No CUDA, so that it is tested without.
#pragma once

#include <string>
#include <vector>

namespace grainless::cuda {

// Machine code runs on devices of the same major and no lower minor version, PTX on every device
// from its version on.
struct CodeTargets {
  std::vector<int> machine;  // 90 for sm_90
  int ptx;                   // 0: none
};

// "75,80,90+PTX", as the build passes it. Throws Error(kInternal).
CodeTargets parse_targets(const std::string& text);
bool has_code_for(const CodeTargets& targets, int major, int minor);

}  // namespace grainless::cuda
