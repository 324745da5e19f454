// SPDX-License-Identifier: MIT
// The formats that need no library: PGM and PPM (plain and raw), PAM, and PFM of either byte order.
#pragma once

#include "engine/progress.h"
#include "files.h"
#include "image.h"

namespace grainless::tools {

// Samples of up to 255 become 8-bit, larger ones 16-bit, scaled from the file's maxval to the full
// range.
Image read_pnm(const InputFile& file, const CancelToken* cancel);
Image read_pfm(const InputFile& file, const CancelToken* cancel);

// Raw PGM or PPM of 8 or 16 bits, without alpha.
void write_pnm(OutputFile& file, const Image& image, const CancelToken* cancel);
void write_pam(OutputFile& file, const Image& image, const CancelToken* cancel);
// Little-endian floats, without alpha.
void write_pfm(OutputFile& file, const Image& image, const CancelToken* cancel);

}  // namespace grainless::tools
