// SPDX-License-Identifier: MIT
#include "tiff_handle.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "engine/boundary/status.h"
#include "files.h"

namespace grainless::tools {
namespace {

// Bytes that libtiff may take: entries of a directory may share theirs in the file.
constexpr tmsize_t kAlways = 256 << 20, kTimesTheFile = 4;

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
  const std::string disk = disk_reason(errno);  // libtiff has no word of it
  TiffHandle* self = static_cast<TiffHandle*>(user);
  if (self->error_.empty()) self->error_ = disk.empty() ? one_line(format, values) : disk;
  return 1;  // handled: nothing goes to stderr
}

int TiffHandle::on_warning(TIFF*, void* user, const char*, const char* format, va_list values) {
  TiffHandle* self = static_cast<TiffHandle*>(user);
  const std::string text = one_line(format, values);
  // Every camera's and editor's private tags; they never touch the pixels. libtiff says the others
  // again each time it comes by the directory.
  if (!text.starts_with("Unknown field")) self->notes_.add(text);
  return 1;
}

TiffHandle::TiffHandle(const std::string& path, int descriptor, const char* mode)
    : path_(path), notes_(path) {
  const std::unique_ptr<TIFFOpenOptions, OptionsCloser> options(TIFFOpenOptionsAlloc());
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_error, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, this);
#if TIFFLIB_VERSION >= 20240911
  struct stat info;
  if (mode[0] == 'r' && fstat(descriptor, &info) == 0) {
    TIFFOpenOptionsSetMaxCumulatedMemAlloc(options.get(), kAlways + kTimesTheFile * info.st_size);
  }
#endif
  const int copy = dup(descriptor);
  if (copy < 0) fail_errno(path, "opened");
  lseek(copy, 0, SEEK_SET);
  errno = 0;
  tiff_.reset(TIFFFdOpenExt(copy, path.c_str(), mode, options.get()));
  if (tiff_ == nullptr) {
    close(copy);
    fail(mode[0] == 'r' ? "is damaged" : "can't be written");
  }
}

void TiffHandle::fail(const std::string& why) const {
  fail_file(path_, error_.empty() ? why : why + ": " + error_);
}

}  // namespace grainless::tools
