// SPDX-License-Identifier: MIT
#include "files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "engine/boundary/status.h"

namespace grainless::tools {
namespace {

// What the process takes off a new file's permissions. umask() tells only by changing it, for all
// threads at once.
mode_t process_umask() {
  static const mode_t mask = [] {
    constexpr mode_t kStrict = 077;
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (!line.starts_with("Umask:")) continue;
      return static_cast<mode_t>(std::strtoul(line.c_str() + 6, nullptr, 8));
    }
    return kStrict;
  }();
  return mask;
}

mode_t permissions_for(const std::string& target) {
  struct stat info;
  if (stat(target.c_str(), &info) == 0) return info.st_mode & 07777;
  return 0666 & ~process_umask();
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

constexpr std::string_view kTemporary = ".grainless-", kPattern = "XXXXXX";

// Whether a file is one that a killed run has left: a run that lives holds a lock on its own.
bool is_left_over(const std::string& name, int descriptor) {
  struct stat info;
  return name.size() == kTemporary.size() + kPattern.size() && name.starts_with(kTemporary) &&
         fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
         flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

// Once a folder.
void remove_left_over(const std::string& folder) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kTemporary)) continue;
    const int descriptor =
        open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (is_left_over(name, descriptor)) unlink(entry.path().c_str());
    close(descriptor);
  }
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

std::string disk_reason(int error) {
  constexpr int kOfDisks[] = {ENOSPC, EDQUOT, EFBIG, EIO, EROFS};
  const bool known =
      std::find(std::begin(kOfDisks), std::end(kOfDisks), error) != std::end(kOfDisks);
  return known ? std::strerror(error) : "";
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

void check_worth(const InputFile& file, uint64_t bytes, uint64_t ratio) {
  if (bytes / ratio > file.size()) fail_file(file.path(), "is truncated");
}

// A dangling link counts as missing: its target's folder is where the file goes.
std::string resolve_links(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;
  std::error_code error;
  fs::path current = fs::absolute(path, error);
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(current, error)); ++i) {
    const fs::path next = fs::read_symlink(current, error);
    if (error) break;
    current = current.parent_path() / next;
  }
  const fs::path resolved = fs::weakly_canonical(current, error);
  return error ? path : resolved.string();
}

OutputFile::OutputFile(const std::string& path) : path_(path), target_(resolve_links(path)) {
  struct stat info;
  if (stat(target_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    fail_file(path_, S_ISDIR(info.st_mode) ? "is a folder" : "is not a regular file");
  }
  remove_left_over(folder_of(target_));
  open_temporary();
}

// Another run may take the new file for one that was left, in the moment before its lock.
void OutputFile::open_temporary() {
  const std::string begin = folder_of(target_) + "/" + std::string(kTemporary);
  struct stat info{};
  do {
    std::string name = begin + std::string(kPattern);
    const int descriptor = mkostemp(name.data(), O_CLOEXEC);  // readable by the owner alone
    if (descriptor < 0) fail_errno(path_, "written");
    file_.reset(fdopen(descriptor, "w+b"));
    if (file_ == nullptr) {
      const int error = std::exchange(errno, 0);
      close(descriptor);
      unlink(name.c_str());
      errno = error;
      fail_errno(path_, "written");
    }
    temporary_ = name;
    flock(descriptor, LOCK_EX);
    fstat(descriptor, &info);
  } while (info.st_nlink == 0);
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stream()) != bytes) fail_errno(path_, "written");
}

void OutputFile::restart() {
  std::rewind(stream());
  if (ftruncate(fileno(stream()), 0) != 0) fail_errno(path_, "written");
}

void OutputFile::commit() {
  const int descriptor = fileno(stream());
  if (std::fflush(stream()) != 0) fail_errno(path_, "written");
  // Not every file system knows permissions: what it makes of them is no reason to lose a picture.
  (void)!fchmod(descriptor, permissions_for(target_));
  if (fsync(descriptor) != 0) fail_errno(path_, "written");
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
