// SPDX-License-Identifier: MIT
// The sentences beside the preview.
#pragma once

#include <string>
#include <vector>

#include "preview_model.h"

namespace grainless::ui {

// The engine's sentences are made to follow a file's name or a colon: as one that stands alone.
std::string capitalized(const std::string& sentence);

// "Measured noise: 7.3 in lightness, 4.1 and 3.9 in colour", what to do when unsure, how strong it
// is in the corners, where that differs from 1, and which impulses are replaced, if any.
std::string noise_text(const std::vector<double>& sigma, const NoiseConfidence& confidence,
                       double corners, const std::string& impulses);
// The same of a part of the layer.
std::string area_text(const std::vector<double>& sigma);
// "Preview by AMD EPYC in 0.52 s", and why not on another device, unless that was `told`; or what
// is going on.
std::string device_text(const PreviewModel& model, double loaded, const std::string& told = {});
// Why not on another device; empty when it was the right one.
std::string fallback_text(const PreviewModel& model);

}  // namespace grainless::ui
