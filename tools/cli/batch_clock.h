// SPDX-License-Identifier: MIT
// How fast a batch goes, and what came of it, in words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace grainless::tools {

// "4 s", "7:35", "1:02:03".
std::string duration_text(double seconds);

// Of `done` pictures that took `seconds` and `left` that follow: "0.5 a second, 7:35 left"; empty
// as long as that says too little.
std::string rate_text(size_t done, size_t left, double seconds);

struct BatchResult {
  size_t done = 0, skipped = 0;
  double seconds = 0;                 // wall time
  std::vector<std::string> failures;  // a sentence each
};

// The lines that end a batch: numbers, then the failures, of very many the first.
std::vector<std::string> result_lines(const BatchResult& result);

}  // namespace grainless::tools
