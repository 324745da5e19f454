// SPDX-License-Identifier: MIT
#include "engine/platform/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string_view>

namespace grainless {
namespace {

// What the process takes off a new file's permissions. umask() tells only by changing it, for all
// threads at once.
mode_t process_umask() {
  constexpr mode_t kStrict = 077;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("Umask:")) continue;
    return static_cast<mode_t>(std::strtoul(line.c_str() + 6, nullptr, 8));
  }
  return kStrict;
}

// Gives a file that is to replace the one at `target` what a program that writes into that would
// leave as it is: its owner and group, as far as this user may give files away, and its
// permissions; or those of any new file. Not every file system knows them: that is no reason to
// lose a picture.
void take_after(const std::string& target, int descriptor) {
  struct stat info;
  if (stat(target.c_str(), &info) != 0) {
    (void)!fchmod(descriptor, 0666 & ~process_umask());
    return;
  }
  constexpr auto kSameOwner = static_cast<uid_t>(-1);
  if (fchown(descriptor, info.st_uid, info.st_gid) != 0) {
    (void)!fchown(descriptor, kSameOwner, info.st_gid);
  }
  (void)!fchmod(descriptor, info.st_mode & 0777);
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
bool is_left_over(std::string_view name, int descriptor) {
  struct stat info;
  return name.size() == kTemporary.size() + kPattern.size() && name.starts_with(kTemporary) &&
         fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
         flock(descriptor, LOCK_EX | LOCK_NB) == 0;
}

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using FolderPointer = std::unique_ptr<DIR, CloseFolder>;

// Once a folder.
void remove_left_over(const std::string& folder) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  const FolderPointer entries(opendir(folder.c_str()));
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kTemporary)) continue;
    const int descriptor =
        openat(dirfd(entries.get()), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (is_left_over(name, descriptor)) unlinkat(dirfd(entries.get()), entry->d_name, 0);
    close(descriptor);
  }
}

// A new file that is open, readable by the owner alone, under a name made of `name`.
FilePointer make_private(std::string& name) {
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  FilePointer stream(fdopen(descriptor, "w+b"));
  if (stream != nullptr) return stream;
  const int error = std::exchange(errno, 0);
  close(descriptor);
  unlink(name.c_str());
  errno = error;
  return nullptr;
}

}  // namespace

std::optional<FileInfo> file_info(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  const FileKind kind = S_ISREG(info.st_mode)   ? FileKind::kRegular
                        : S_ISDIR(info.st_mode) ? FileKind::kFolder
                                                : FileKind::kOther;
  const int64_t changed = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return FileInfo{kind, static_cast<uint64_t>(info.st_size), {info.st_dev, info.st_ino}, changed};
}

FilePointer open_to_read(const std::string& path) {
  return FilePointer(std::fopen(path.c_str(), "rbe"));
}

Reading read_standard_input(std::string& text) {
  constexpr int kMilliseconds = 100;
  const auto unless_interrupted = [] {
    return errno == EINTR || errno == EAGAIN ? Reading::kNoneYet : Reading::kFailed;
  };
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const int ready = poll(&input, 1, kMilliseconds);
  if (ready < 0) return unless_interrupted();
  if (ready == 0) return Reading::kNoneYet;
  char bytes[4096];
  const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
  if (got < 0) return unless_interrupted();
  text.append(bytes, static_cast<size_t>(got));
  return got > 0 ? Reading::kSome : Reading::kEnd;
}

// Without waiting for who writes into it: a signal could not end that.
bool become_standard_input(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat info;
  const bool pipe = fstat(descriptor, &info) == 0 && S_ISFIFO(info.st_mode);
  const bool done = pipe && dup2(descriptor, STDIN_FILENO) >= 0;
  close(descriptor);
  return done;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const FolderPointer entries(opendir(folder.c_str()));
  if (entries == nullptr && errno == ENOMEM) throw std::bad_alloc();
  while (const dirent* entry = entries != nullptr ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

bool can_write_into(const std::string& folder) {
  return access(folder.c_str(), W_OK | X_OK) == 0;
}

bool is_about_disks(int error) {
  constexpr int kOfDisks[] = {ENOSPC, EDQUOT, EFBIG, EIO, EROFS};
  return std::find(std::begin(kOfDisks), std::end(kOfDisks), error) != std::end(kOfDisks);
}

NewFile::NewFile(std::string target) : target_(std::move(target)) {
  remove_left_over(folder_of(target_));
  const std::string pattern =
      folder_of(target_) + "/" + std::string(kTemporary) + std::string(kPattern);
  // Another run may take the new file for one that was left, in the moment before its lock.
  struct stat info{};
  do {
    name_ = pattern;
    stream_ = make_private(name_);
    if (stream_ == nullptr) {
      name_.clear();
      return;
    }
    flock(fileno(stream()), LOCK_EX);
    fstat(fileno(stream()), &info);
  } while (info.st_nlink == 0);
}

NewFile::~NewFile() {
  if (!name_.empty()) unlink(name_.c_str());
}

bool NewFile::clear() {
  std::rewind(stream());
  return ftruncate(fileno(stream()), 0) == 0;
}

bool NewFile::give_name() {
  if (std::fflush(stream()) != 0) return false;
  const int descriptor = fileno(stream());
  const std::string folder = folder_of(target_);  // while there is time to fail
  take_after(target_, descriptor);
  if (fsync(descriptor) != 0) return false;
  // Closing gives up the lock: by then no other run may take the file for one that was left.
  if (std::rename(name_.c_str(), target_.c_str()) != 0) return false;
  name_.clear();
  stream_.reset();
  sync_folder(folder);
  return true;
}

}  // namespace grainless
