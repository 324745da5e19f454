// SPDX-License-Identifier: MIT
#include "files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "engine/status.h"

namespace grainless::tools {
namespace {

// A dangling link counts as missing: its target's folder is where the file goes.
std::string resolve_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, error);
  return error ? path : resolved.string();
}

mode_t permissions_for(const std::string& target) {
  struct stat info;
  if (stat(target.c_str(), &info) == 0) return info.st_mode & 07777;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

void sync_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

std::string folder_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

void stop_if_cancelled(const CancelToken* cancel) {
  if (cancel != nullptr && cancel->cancelled()) throw Error(ErrorCode::kCancelled, "cancelled");
}

void fail_file(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::kBadInput, "'" + path + "' " + why);
}

void fail_errno(const std::string& path, const std::string& doing) {
  const int error = errno;
  fail_file(path, "can't be " + doing + ": " + std::strerror(error));
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  struct stat info;
  if (stat(path_.c_str(), &info) != 0) fail_errno(path_, "read");
  if (S_ISDIR(info.st_mode)) fail_file(path_, "is a folder, not a picture");
  if (!S_ISREG(info.st_mode)) fail_file(path_, "is not a regular file");
  if (info.st_size == 0) fail_file(path_, "is empty");
  file_.reset(std::fopen(path_.c_str(), "rbe"));
  if (file_ == nullptr) fail_errno(path_, "read");
  size_ = uint64_t(info.st_size);
}

OutputFile::OutputFile(const std::string& path) : path_(path), target_(resolve_links(path)) {
  struct stat info;
  if (stat(target_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    fail_file(path_, S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file");
  }
  const mode_t mode = permissions_for(target_);
  const std::string pattern = folder_of(target_) + "/.grainless-XXXXXX";
  std::vector<char> name(pattern.c_str(), pattern.c_str() + pattern.size() + 1);
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) fail_errno(path_, "written");
  temporary_ = name.data();
  file_.reset(fdopen(descriptor, "w+b"));
  if (file_ == nullptr || fchmod(descriptor, mode) != 0) {
    unlink(temporary_.c_str());
    fail_errno(path_, "written");
  }
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stream()) != bytes) fail_errno(path_, "written");
}

void OutputFile::commit() {
  if (std::fflush(stream()) != 0 || fsync(fileno(stream())) != 0) fail_errno(path_, "written");
  if (std::fclose(file_.release()) != 0) fail_errno(path_, "written");
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail_errno(path_, "written");
  temporary_.clear();
  sync_folder(folder_of(target_));
}

std::optional<FileId> file_id(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

}  // namespace grainless::tools
