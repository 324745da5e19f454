// SPDX-License-Identifier: MIT
// How fast a batch goes, how far it reads ahead, and what came of it, in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace grainless::tools {

// "4 s", "7:35", "1:02:03".
std::string duration_text(double seconds);

// Of `done` pictures that took `seconds` and `left` that follow: "0.5 a second, 7:35 left"; empty
// as long as that says too little.
std::string rate_text(size_t done, size_t left, double seconds);

// A picture of a batch, and what it took.
struct PictureCost {
  double bytes = 0;             // of its pixels
  double read = 0, filter = 0;  // seconds
};

// How many pictures like that one a batch reads ahead, and how many it writes beside the filter:
// as many as keep the filter busy, and as `memory`, what the batch began with, has room for.
size_t pictures_ahead(const PictureCost& picture, uint64_t memory);

struct BatchResult {
  size_t done = 0, skipped = 0;
  double seconds = 0;                 // wall time
  std::vector<std::string> failures;  // a sentence each
};

// The lines that end a batch: numbers, then the failures, of very many the first.
std::vector<std::string> result_lines(const BatchResult& result);

}  // namespace grainless::tools
