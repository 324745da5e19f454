// SPDX-License-Identifier: MIT
// libpng's object with its messages caught. libpng leaves its functions by longjmp on errors.
// guarded() catches the jump in its own frame; what runs inside holds nothing with a destructor, so
// that the jump skips none.
#pragma once

#include <png.h>

#include <csetjmp>
#include <string>

#include "files.h"
#include "notes.h"

namespace grainless::tools {

class PngHandle {
 public:
  enum class Use { kRead, kWrite };
  // Warnings go into `notes`. Throws Error(kInternal) when libpng is another version than the one
  // compiled with.
  PngHandle(const std::string& path, Use use, NoteList& notes);
  ~PngHandle() { destroy(); }
  PngHandle(const PngHandle&) = delete;
  PngHandle& operator=(const PngHandle&) = delete;

  png_structp png() const { return png_; }
  png_infop info() const { return info_; }
  const std::string& path() const { return path_; }
  NoteList& notes() const { return notes_; }
  const char* error() const { return error_; }  // libpng's reason, once it gave one

  // Throws Error(kBadInput) with libpng's reason.
  template <typename Body>
  void guarded(const Body& body) {
    if (setjmp(png_jmpbuf(png_)) != 0) {
      fail_file(path_,
                std::string(use_ == Use::kRead ? "is damaged: " : "can't be written: ") + error_);
    }
    body();
  }

 private:
  [[noreturn]] static void on_error(png_structp png, png_const_charp text);
  static void on_warning(png_structp png, png_const_charp text);
  void destroy();

  std::string path_;
  Use use_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  char error_[256] = "";
  NoteList& notes_;
};

}  // namespace grainless::tools
