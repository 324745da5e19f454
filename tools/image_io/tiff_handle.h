// SPDX-License-Identifier: MIT
// libtiff's object with its messages caught.
#pragma once

#include <tiffio.h>

#include <cstdarg>
#include <memory>
#include <string>

#include "notes.h"

namespace grainless::tools {

class TiffHandle {
 public:
  // The descriptor is duplicated. Where libtiff can, what a file makes it hold in memory beside
  // pixels is bounded by the file's size. Throws Error(kBadInput) when libtiff refuses the file.
  TiffHandle(const std::string& path, int descriptor, const char* mode);

  TIFF* get() const { return tiff_.get(); }
  const std::string& path() const { return path_; }
  NoteList& notes() { return notes_; }
  const std::string& error() const { return error_; }  // libtiff's first reason
  void forget_error() { error_.clear(); }

  // With libtiff's first reason after `why`. Throws Error(kBadInput).
  [[noreturn]] void fail(const std::string& why) const;

 private:
  static int on_error(TIFF*, void* user, const char* module, const char* format, va_list values);
  static int on_warning(TIFF*, void* user, const char* module, const char* format, va_list values);

  struct Closer {
    void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  };

  std::string path_, error_;
  NoteList notes_;
  std::unique_ptr<TIFF, Closer> tiff_;  // last: closing it still calls the handlers
};

// Tags of text that are copied from input to output.
inline constexpr uint32_t kTiffTexts[] = {
    TIFFTAG_DOCUMENTNAME, TIFFTAG_PAGENAME, TIFFTAG_IMAGEDESCRIPTION, TIFFTAG_MAKE,
    TIFFTAG_MODEL,        TIFFTAG_SOFTWARE, TIFFTAG_DATETIME,         TIFFTAG_ARTIST,
    TIFFTAG_HOSTCOMPUTER, TIFFTAG_COPYRIGHT};

// Tags of opaque blocks that are copied, too.
inline constexpr uint32_t kTiffBlocks[] = {TIFFTAG_RICHTIFFIPTC, TIFFTAG_PHOTOSHOP};

// Where the picture lies on a map (GeoTIFF, OGC 19-008) and what GDAL says of it: tags that libtiff
// doesn't know.
struct MapTag {
  uint32_t tag;
  TIFFDataType type;
  const char* name;
};
inline constexpr MapTag kMapTags[] = {
    {33550, TIFF_DOUBLE, "ModelPixelScale"},     {33922, TIFF_DOUBLE, "ModelTiepoint"},
    {34264, TIFF_DOUBLE, "ModelTransformation"}, {34735, TIFF_SHORT, "GeoKeyDirectory"},
    {34736, TIFF_DOUBLE, "GeoDoubleParams"},     {34737, TIFF_ASCII, "GeoAsciiParams"},
    {42112, TIFF_ASCII, "GDAL_METADATA"},        {42113, TIFF_ASCII, "GDAL_NODATA"}};

}  // namespace grainless::tools
