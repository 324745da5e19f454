// SPDX-License-Identifier: MIT
// The sentences under the preview.
#pragma once

#include <string>

#include "preview_source.h"

namespace grainless::ui {

// "Measured noise: 7.3 in lightness, 4.1 and 3.9 in colour"
std::string noise_text(const PreviewResult& result);
// "Preview by AMD EPYC in 0.52 s", and why not on another device.
std::string device_text(const PreviewResult& result);

}  // namespace grainless::ui
