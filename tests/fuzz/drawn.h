// SPDX-License-Identifier: MIT
// Parameters and small pictures out of bytes.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include "engine/params/params.h"
#include "fuzz.h"

namespace grainless::fuzz {

// Any that are valid, on `device`.
Params drawn_params(FuzzedDataProvider& bytes, const std::string& device);

// Of at most `most_side` pixels a side and any format. Floats have any bits.
tools::Image drawn_picture(FuzzedDataProvider& bytes, int32_t most_side);

// What was drawn, in one line: the settings that are not the default, the picture's format, size
// and span.
std::string text_of(const Params& params, const tools::Image& image);

// What holds for every result: it is finite wherever the picture is, and transparency and samples
// that are not finite are as they were.
void expect_sound(const tools::Image& before, const tools::Image& after);

}  // namespace grainless::fuzz
