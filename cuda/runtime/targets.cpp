// SPDX-License-Identifier: MIT
#include "targets.h"

#include <cstdlib>
#include <sstream>

#include "engine/boundary/status.h"

namespace grainless::cuda {

CodeTargets parse_targets(const std::string& text) {
  CodeTargets targets{};
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t plus = item.find('+');
    const int version = std::atoi(item.c_str());
    if (version < 50) throw Error(ErrorCode::kInternal, "bad code target: " + item);
    targets.machine.push_back(version);
    if (plus != std::string::npos) targets.ptx = version;
  }
  return targets;
}

bool has_code_for(const CodeTargets& targets, int major, int minor) {
  const int device = 10 * major + minor;
  for (int version : targets.machine) {
    if (version / 10 == major && version % 10 <= minor) return true;
  }
  return targets.ptx != 0 && targets.ptx <= device;
}

}  // namespace grainless::cuda
