// SPDX-License-Identifier: MIT
// Files that are read, and files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "engine/platform/file.h"

namespace grainless::tools {

// "'PATH': WHY" as Error(kBadInput).
[[noreturn]] void fail_file(const std::string& path, const std::string& why);
// The same with the reason in errno.
[[noreturn]] void fail_errno(const std::string& path, const std::string& doing);

// Why writing failed, as far as the system says so in `error` (an errno) and it is about the disk;
// else empty.
std::string disk_reason(int error);

// A regular file opened for reading. Throws Error(kBadInput).
class InputFile {
 public:
  explicit InputFile(std::string path);

  FILE* stream() const { return file_.get(); }
  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }

 private:
  std::string path_;
  FilePointer file_;
  uint64_t size_ = 0;
};

// Throws Error(kBadInput) when the file's bytes can't make so many of samples, given that its
// compression makes at most `ratio` of one: before memory is asked for, that a few bytes name.
void check_worth(const InputFile& file, uint64_t bytes, uint64_t ratio);

// The name that a file has or will have behind symbolic links, also those that lead to nothing yet.
std::string resolve_links(const std::string& path);

// Writes beside `path` under a temporary name that nobody can guess, for nobody else to read;
// commit() brings the content to the disk and gives it its name. Without commit() the temporary
// file goes away and what stood at `path` is as it was; one that a killed run has left goes away
// with the next file that is written to the folder. Keeps owner and permissions of the file that
// it replaces, and symbolic links to it.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);

  FILE* stream() const { return file_->stream(); }
  const std::string& path() const { return path_; }
  void write(const void* data, size_t bytes);  // to stream()
  void restart();                              // as if nothing had been written
  void commit();

 private:
  std::string path_;
  std::optional<NewFile> file_;
};

// The same for all names that lead to one file, through whatever links. None when it is missing.
std::optional<FileId> file_id(const std::string& path);

}  // namespace grainless::tools
