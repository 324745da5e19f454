// SPDX-License-Identifier: MIT
// What the engine takes from a host. Whatever is wrong is thrown as an Error.
#pragma once

#include <cstdint>
#include <span>

#include "engine/boundary/pixels.h"
#include "engine/boundary/rect.h"
#include "engine/params/params.h"

namespace grainless {

void check_image(PixelFormat format, int32_t width, int32_t height, const Rect& rect,
                 const void* data);

// For a measurement.
void check_whole(const ConstImage& image);

void check_volume_params(const Params& params, int32_t depth);
void check_layers(std::span<const ConstImage> layers, std::span<const MutableImage> targets);

}  // namespace grainless
