// SPDX-License-Identifier: MIT
// Which file is made of which, settled before any work begins.
#pragma once

#include <string>
#include <vector>

namespace grainless::tools {

struct Job {
  std::string input, output;
  std::string new_folder;  // to be made before writing, or empty
};

// `output` is a file (for one input), a folder (one that exists, or any name that ends in '/'), or
// a pattern in which {} stands for the input's name without its extension. Throws Error(kBadInput)
// when an output has no known extension, can't be created, is meant twice, or is one of the inputs
// or the reference by whatever name.
std::vector<Job> plan_outputs(const std::vector<std::string>& inputs, const std::string& output,
                              const std::string& reference);

}  // namespace grainless::tools
