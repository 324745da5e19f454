// SPDX-License-Identifier: MIT
// Which pictures of a large batch this run works on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "outputs.h"

namespace grainless::tools {

// The names in a file, one a line, "-" for standard input. Empty lines count as none. Throws
// Error(kBadInput).
std::vector<std::string> read_list(const std::string& path);

// "I/N": the I-th of N parts, from 1.
struct Part {
  int64_t number = 1, parts = 1;
};

// Throws Error(kBadParameter). An empty text is the whole.
Part parse_part(const std::string& text);

// Every N-th job, so that parts of a sorted list take about as long as each other.
std::vector<Job> part_of(const std::vector<Job>& jobs, const Part& part);

// The jobs whose output is missing, or no newer than its input or one of `settings`, which are
// files.
std::vector<Job> unfinished(const std::vector<Job>& jobs, const std::vector<std::string>& settings);

}  // namespace grainless::tools
