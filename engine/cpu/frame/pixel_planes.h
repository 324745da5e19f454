// SPDX-License-Identifier: MIT
// Between a host's interleaved pixels and the planes that the algorithms work on.
#pragma once

#include "engine/boundary/abi.h"
#include "engine/thread_pool.h"
#include "planes.h"

namespace grainless {

// All that an image holds, to be read.
AbiTile source_tile(const ConstImage& image);

// Planes over rect, which lies in tile.in, of colours over plan.corners, bent by plan.bend. An
// invalid pixel (transparent, not within plan.valid) becomes, plane by plane, the mean of the valid
// pixels within kFillRadius, or plan.hidden without any: what a host left under transparent pixels
// never reaches a patch. Sums are double, so that a turned picture has the same ones.
Planes planes_from_pixels(const Plan& plan, const AbiTile& tile, const Rect& rect,
                          ThreadPool& pool);

// Fills tile.target from result (over tile.out): gives back plan.detail of the luma that `source`
// has over result, bends colours back, keeps alpha, leaves invalid pixels as they were.
void pixels_from_planes(const Plan& plan, const AbiTile& tile, const Planes& source,
                        const Planes& result, ThreadPool& pool);

}  // namespace grainless
