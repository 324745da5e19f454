// SPDX-License-Identifier: MIT
// Files as POSIX and Windows have them. Names are UTF-8; what fails says why in errno.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace grainless {

struct FileCloser {
  void operator()(FILE* file) const { std::fclose(file); }
};
using FilePointer = std::unique_ptr<FILE, FileCloser>;

enum class FileKind { kRegular, kFolder, kOther };
using FileId = std::pair<uint64_t, uint64_t>;  // the same for all names of one file

struct FileInfo {
  FileKind kind;
  uint64_t bytes;
  FileId id;
  int64_t changed;  // when its content was last written, as finely as the system keeps it
};

// Of what stands at the path, behind links.
std::optional<FileInfo> file_info(const std::string& path);

// Not handed on to programs that this one starts. nullptr on failure.
FilePointer open_to_read(const std::string& path);

// Appends to `text` what standard input has, and waits a moment for it where there is nothing yet:
// who waits can look for a wish to stop in between. On Windows it waits for as long as it takes: a
// console gives up waiting at Ctrl+C.
enum class Reading { kSome, kNoneYet, kEnd, kFailed };
Reading read_standard_input(std::string& text);

// Makes the pipe of that name, as bash's <(…) has one, the standard input. False where it is none,
// and on Windows.
bool become_standard_input(const std::string& path);

// The names of what lies in a folder, in no order, without '.' and '..'. None of a folder that
// can't be read. Throws std::bad_alloc without memory, where std::filesystem's iterator ends the
// program.
std::vector<std::string> names_in(const std::string& folder);

// Whether files can be made in a folder, as far as the system tells beforehand.
bool can_write_into(const std::string& folder);

// Whether an errno says that a disk is full, broken or not to be written to.
bool is_about_disks(int error);

// A file that is to stand at `target` once it is complete. Until then it has a name beside it that
// nobody can guess, is open to nobody else, and goes away with this object. One that a killed
// process has left goes away with the next one in that folder.
class NewFile {
 public:
  explicit NewFile(std::string target);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  // To write and read; nullptr when it could not be made.
  FILE* stream() const { return stream_.get(); }
  bool clear();  // as if nothing had been written
  // Brings all to the disk and gives it its name at once, and owner and permissions of the file
  // that it replaces or else those of any new file. stream() is closed then.
  bool give_name();

 private:
  std::string target_, name_;
  FilePointer stream_;
};

}  // namespace grainless
