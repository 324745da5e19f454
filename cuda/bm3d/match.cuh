// SPDX-License-Identifier: MIT
#pragma once

#include "stage.cuh"

namespace grainless::cuda {

// One launch of matching: references of the grid's rows from `row` on.
struct MatchArgs {
  const int16_t* plane;  // match values over rect
  Rect rect;
  ReferenceGrid grid;
  int row, rows;
  StagePart stage;
  int shift;  // Bm3dStage::distance_shift
  int limit;  // only sums of squares below it enter a group
  uint16_t* groups;
};

// Fills job.match_plane (prepare.cu).
void fill_match_plane(const StageJob& job);

// Patches up to 8 x 8, on the matrix units. False when the search window of even one warp does not
// fit in shared memory: nothing was queued then.
bool match_tensor(const StageJob& job, const MatchArgs& args);

}  // namespace grainless::cuda
