// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/progress.h"
#include "files.h"
#include "image.h"
#include "rows.h"

namespace grainless::tools {

// Grey, RGB, palette and JPEG's YCbCr of 8 or 16-bit integers, half or float, with at most one
// extra sample (alpha), in strips or tiles, interleaved or in planes. Fewer than 8 bits are
// expanded.
Image read_tiff(const InputFile& file, const CancelToken* cancel);
// All pages, without the smaller copies of one. read_tiff refuses more than one.
std::vector<Image> read_tiff_pages(const InputFile& file, const CancelToken* cancel);

// The one page of a file, row by row. Memory for it all is not needed.
std::unique_ptr<RowReader> read_tiff_rows(const std::string& path, const CancelToken* cancel);

// Any pixel format; strips, Deflate with a predictor where libtiff has it. Returns what libtiff
// complained about, a sentence each.
std::vector<std::string> write_tiff(OutputFile& file, const Image& image,
                                    const CancelToken* cancel);
std::vector<std::string> write_tiff_pages(OutputFile& file, std::span<const Image> pages,
                                          const CancelToken* cancel);

// The same of a picture without pixels, whose rows come one after the other.
std::unique_ptr<RowWriter> write_tiff_rows(OutputFile& file, const Image& picture,
                                           const CancelToken* cancel);

}  // namespace grainless::tools
