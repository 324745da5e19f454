// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/progress.h"
#include "files.h"
#include "image.h"
#include "rows.h"

namespace grainless::tools {

inline constexpr uint32_t kMostPngSide = 0x7fffffff;
inline constexpr char kPngXmpKey[] = "XML:com.adobe.xmp";

// Palettes, fewer than 8 bits and transparent colours are expanded.
Image read_png(const InputFile& file, const CancelToken* cancel);

// 8 or 16 bits, not premultiplied. Returns what libpng complained about, a sentence each.
std::vector<std::string> write_png(OutputFile& file, const Image& image, const CancelToken* cancel);

// The same of a picture without pixels, whose rows come one after the other.
std::unique_ptr<RowWriter> write_png_rows(OutputFile& file, const Image& picture,
                                          const CancelToken* cancel);

}  // namespace grainless::tools
