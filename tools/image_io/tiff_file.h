// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/progress.h"
#include "files.h"
#include "image.h"

namespace grainless::tools {

// Grey, RGB, palette and JPEG's YCbCr of 8 or 16-bit integers, half or float, with at most one
// extra sample (alpha), in strips or tiles, interleaved or in planes. Fewer than 8 bits are
// expanded.
Image read_tiff(const InputFile& file, const CancelToken* cancel);
// All pages, without the smaller copies of one. read_tiff refuses more than one.
std::vector<Image> read_tiff_pages(const InputFile& file, const CancelToken* cancel);

// Any pixel format; strips, Deflate with a predictor where libtiff has it. Returns what libtiff
// complained about, a sentence each.
std::vector<std::string> write_tiff(OutputFile& file, const Image& image,
                                    const CancelToken* cancel);
std::vector<std::string> write_tiff_pages(OutputFile& file, std::span<const Image> pages,
                                          const CancelToken* cancel);

}  // namespace grainless::tools
