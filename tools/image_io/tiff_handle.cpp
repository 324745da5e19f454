// SPDX-License-Identifier: MIT
#include "tiff_handle.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "engine/status.h"
#include "files.h"

namespace grainless::tools {
namespace {

std::string one_line(const char* format, va_list values) {
  char text[300];
  std::vsnprintf(text, sizeof text, format, values);
  std::string line = text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

struct OptionsCloser {
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

}  // namespace

int TiffHandle::on_error(TIFF*, void* user, const char*, const char* format, va_list values) {
  TiffHandle* self = static_cast<TiffHandle*>(user);
  if (self->error_.empty()) self->error_ = one_line(format, values);
  return 1;  // handled: nothing goes to stderr
}

int TiffHandle::on_warning(TIFF*, void* user, const char*, const char* format, va_list values) {
  TiffHandle* self = static_cast<TiffHandle*>(user);
  const std::string text = one_line(format, values);
  // Every camera's and editor's private tags; they never touch the pixels.
  if (text.starts_with("Unknown field")) return 1;
  const std::string note = "'" + self->path_ + "': " + text;
  // libtiff says it again each time it comes by the directory.
  if (std::find(self->notes_.begin(), self->notes_.end(), note) == self->notes_.end()) {
    self->notes_.push_back(note);
  }
  return 1;
}

TiffHandle::TiffHandle(const std::string& path, int descriptor, const char* mode) : path_(path) {
  const std::unique_ptr<TIFFOpenOptions, OptionsCloser> options(TIFFOpenOptionsAlloc());
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, this);
  const int copy = dup(descriptor);
  if (copy < 0) fail_errno(path, "opened");
  lseek(copy, 0, SEEK_SET);
  tiff_.reset(TIFFFdOpenExt(copy, path.c_str(), mode, options.get()));
  if (tiff_ == nullptr) {
    close(copy);
    fail("is damaged");
  }
}

void TiffHandle::fail(const std::string& why) const {
  fail_file(path_, error_.empty() ? why : why + ": " + error_);
}

}  // namespace grainless::tools
