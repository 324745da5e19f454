// SPDX-License-Identifier: MIT
// Pictures in files: PNG, TIFF and JPEG where the build has their libraries, PNM, PAM and PFM
// always.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/progress.h"
#include "files.h"
#include "image.h"
#include "rows.h"

namespace grainless::tools {

enum class FileKind { kPng, kTiff, kJpeg, kPgm, kPpm, kPnm, kPam, kPfm };

// By the name's extension, as outputs are. Throws Error(kBadInput) when it is none of ours or this
// build lacks the library.
FileKind kind_of_output(const std::string& path);

// Inputs are told apart by what they hold, never by their names. Throws Error(kBadInput) with one
// sentence about a file that is missing, damaged, of no known kind, or too large.
Image read_image(const std::string& path, const CancelToken* cancel = nullptr);

// The same, of all pages of a TIFF file, and of the one picture of another.
std::vector<Image> read_layers(const std::string& path, const CancelToken* cancel = nullptr);

// A picture that can be read row by row: a TIFF file's. Null for other kinds of files.
std::unique_ptr<RowReader> read_rows(const std::string& path, const CancelToken* cancel = nullptr);

// Whether write_rows() can write such a file of such a picture: TIFF, and PNG where nothing is to
// be converted.
bool can_write_rows(FileKind kind, const Image& picture);

// For a picture without pixels of its own, whose rows come one after the other; the file is the
// caller's to commit().
std::unique_ptr<RowWriter> write_rows(OutputFile& file, FileKind kind, const Image& picture,
                                      const CancelToken* cancel = nullptr);

// Writes a TIFF file with a page a layer. Throws Error(kBadInput); nothing is left of a file that
// fails.
std::vector<std::string> write_layers(const std::string& path, std::span<const Image> layers,
                                      const CancelToken* cancel = nullptr);

// The samples that a file of this kind holds for such a picture: the same, if it can. Throws
// Error(kBadInput) when colour or transparency would be lost.
Component component_for(FileKind kind, PixelFormat format, const std::string& path);

// Throws Error(kBadInput) when such a file can't hold so many pixels.
void check_size(FileKind kind, const Image& image, const std::string& path);

// One sentence for each thing that such a file can't hold and that the picture has: a precision, a
// profile.
std::vector<std::string> losses(FileKind kind, const Image& image, const std::string& path);

// Whether there was a caption by which tifffile, OME or ImageJ tell how the file's pages make a
// volume.
bool leave_out_structure(Metadata& metadata);

// Writes the whole file or nothing, see OutputFile. The picture is converted to component_for() and
// unpremultiplied where need be. Returns one sentence for each thing that the library had to leave
// out.
std::vector<std::string> write_image(const std::string& path, Image image,
                                     const CancelToken* cancel = nullptr);

}  // namespace grainless::tools
