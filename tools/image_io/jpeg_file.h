// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "engine/progress.h"
#include "files.h"
#include "image.h"

namespace grainless::tools {

// Grey and colour of 8 bits, baseline and progressive.
Image read_jpeg(const InputFile& file, const CancelToken* cancel);

// 8 bits without alpha: quality 95, colour at full resolution, as a picture that was just cleaned
// should not get new artefacts. Returns what had to be left out, a sentence each.
std::vector<std::string> write_jpeg(OutputFile& file, const Image& image,
                                    const CancelToken* cancel);

}  // namespace grainless::tools
