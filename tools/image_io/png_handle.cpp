// SPDX-License-Identifier: MIT
#include "png_handle.h"

#include <cstdio>

#include "engine/boundary/status.h"

namespace grainless::tools {

PngHandle::PngHandle(const std::string& path, Use use, NoteList& notes)
    : path_(path), use_(use), notes_(notes) {
  png_ = use == Use::kRead
             ? png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning)
             : png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
  if (png_ != nullptr) info_ = png_create_info_struct(png_);
  if (info_ == nullptr) {
    destroy();
    throw Error(ErrorCode::kInternal, "libpng could not be started");
  }
}

void PngHandle::on_error(png_structp png, png_const_charp text) {
  PngHandle* self = static_cast<PngHandle*>(png_get_error_ptr(png));
  std::snprintf(self->error_, sizeof self->error_, "%s", text);
  png_longjmp(png, 1);
}

void PngHandle::on_warning(png_structp png, png_const_charp text) {
  static_cast<PngHandle*>(png_get_error_ptr(png))->notes_.add(text);
}

void PngHandle::destroy() {
  if (use_ == Use::kRead) {
    png_destroy_read_struct(&png_, &info_, nullptr);
  } else {
    png_destroy_write_struct(&png_, &info_);
  }
}

}  // namespace grainless::tools
