// SPDX-License-Identifier: MIT
// What the design promises of every setting and every picture (promises 1 to 4 and 8), tried on one
// draw.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw.h"
#include "engine/denoise.h"

namespace grainless::sweep {

struct Failure {
  std::string check;  // a word, the same for all failures of its kind
  std::string what;
};

// What a worker computes with.
struct Engines {
  std::string device;                  // "cpu", "cuda", …
  Engine& tested;                      // which has that device; workers may share it
  Engine one{{"", 1}}, many{{"", 5}};  // of so many threads
};

// How device and CPU differ on 8-bit pictures, over all draws: on tiny ones a share says nothing.
struct Agreement {
  int64_t samples = 0, different = 0;
  double lowest_psnr = 1e9;  // of the others
  int64_t left_out = 0;      // draws that the device can't do, and says so
  int64_t flipped = 0;       // draws that agree but for one group of BM3D
};

std::vector<Failure> failures_of(const Draw& draw, Engines& engines, Agreement& agreement);

}  // namespace grainless::sweep
