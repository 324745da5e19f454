// SPDX-License-Identifier: MIT
#include "engine/platform/file.h"

#include <fcntl.h>
#include <io.h>
#include <windows.h>
// after windows.h
#include <aclapi.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <random>
#include <set>
#include <string_view>

#include "text.h"

namespace grainless {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporary = ".grainless-", kPattern = "XXXXXX";

fs::path folder_of(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

std::string random_name() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::uniform_int_distribution<size_t> letter(0, kLetters.size() - 1);
  std::string name(kTemporary);
  for (size_t i = 0; i < kPattern.size(); ++i) name += kLetters[letter(random)];
  return name;
}

struct CloseSearch {
  using pointer = HANDLE;
  void operator()(HANDLE search) const { FindClose(search); }
};

// A file that a run has open can't be deleted. Once a folder.
void remove_left_over(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> seen;
  {
    const std::lock_guard lock(mutex);
    if (!seen.insert(folder).second) return;
  }
  for (const std::string& name : names_in(folder.string())) {
    if (name.size() == kTemporary.size() + kPattern.size() && name.starts_with(kTemporary)) {
      DeleteFileW((folder / name).c_str());  // which leaves folders alone
    }
  }
}

// Open to nobody else: that is what keeps it private, and what says that its run lives.
FilePointer make_private(const fs::path& path) {
  const HANDLE file = CreateFileW(path.c_str(), GENERIC_READ | GENERIC_WRITE | WRITE_DAC, 0,
                                  nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    errno = errno_of_last_error();
    return nullptr;
  }
  const int descriptor =
      _open_osfhandle(reinterpret_cast<intptr_t>(file), _O_RDWR | _O_BINARY | _O_NOINHERIT);
  FILE* stream = descriptor >= 0 ? _fdopen(descriptor, "w+b") : nullptr;
  if (stream != nullptr) return FilePointer(stream);
  const int error = std::exchange(errno, 0);
  if (descriptor >= 0) {
    _close(descriptor);
  } else {
    CloseHandle(file);
  }
  DeleteFileW(path.c_str());
  errno = error;
  return nullptr;
}

// A file that replaces another has its list of rights; else it keeps those that its folder gives.
void take_rights(const fs::path& from, FILE* to) {
  PACL rights = nullptr;
  PSECURITY_DESCRIPTOR memory = nullptr;
  if (GetNamedSecurityInfoW(from.c_str(), SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, nullptr,
                            nullptr, &rights, nullptr, &memory) != ERROR_SUCCESS) {
    return;
  }
  const auto file = reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(to)));
  SetSecurityInfo(file, SE_FILE_OBJECT, DACL_SECURITY_INFORMATION, nullptr, nullptr, rights,
                  nullptr);
  LocalFree(memory);
}

FileKind kind_of(HANDLE file, DWORD attributes) {
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return FileKind::kFolder;
  return GetFileType(file) == FILE_TYPE_DISK ? FileKind::kRegular : FileKind::kOther;
}

}  // namespace

std::optional<FileInfo> file_info(const std::string& path) {
  // A folder is opened for what the flag calls a backup.
  const HANDLE file = CreateFileW(fs::path(path).c_str(), FILE_READ_ATTRIBUTES,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr);
  if (file == INVALID_HANDLE_VALUE) {
    errno = errno_of_last_error();
    return std::nullopt;
  }
  BY_HANDLE_FILE_INFORMATION info{};
  // Devices (NUL, a pipe) have none.
  GetFileInformationByHandle(file, &info);
  const FileKind kind = kind_of(file, info.dwFileAttributes);
  CloseHandle(file);
  const auto joined = [](DWORD high, DWORD low) { return uint64_t{high} << 32 | low; };
  // Of 100 ns, where std::filesystem tells seconds.
  const uint64_t changed =
      joined(info.ftLastWriteTime.dwHighDateTime, info.ftLastWriteTime.dwLowDateTime);
  return FileInfo{kind,
                  joined(info.nFileSizeHigh, info.nFileSizeLow),
                  {info.dwVolumeSerialNumber, joined(info.nFileIndexHigh, info.nFileIndexLow)},
                  static_cast<int64_t>(changed)};
}

FilePointer open_to_read(const std::string& path) {
  return FilePointer(_wfopen(fs::path(path).c_str(), L"rbN"));
}

Reading read_standard_input(std::string& text) {
  char bytes[4096];
  const int got = _read(_fileno(stdin), bytes, sizeof bytes);
  if (got < 0) return Reading::kFailed;
  text.append(bytes, static_cast<size_t>(got));
  return got > 0 ? Reading::kSome : Reading::kEnd;
}

bool become_standard_input(const std::string&) {
  return false;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  WIN32_FIND_DATAW entry;
  const HANDLE first = FindFirstFileW((fs::path(folder) / "*").c_str(), &entry);
  if (first == INVALID_HANDLE_VALUE) return names;
  const std::unique_ptr<HANDLE, CloseSearch> search(first);
  do {
    const std::string name = utf8(entry.cFileName);
    if (name != "." && name != "..") names.push_back(name);
  } while (FindNextFileW(search.get(), &entry) != 0);
  return names;
}

bool can_write_into(const std::string& folder) {
  return _waccess(fs::path(folder).c_str(), 2) == 0;
}

bool is_about_disks(int error) {
  constexpr int kOfDisks[] = {ENOSPC, EFBIG, EIO, EROFS};
  return std::find(std::begin(kOfDisks), std::end(kOfDisks), error) != std::end(kOfDisks);
}

NewFile::NewFile(std::string target) : target_(std::move(target)) {
  const fs::path folder = folder_of(target_);
  remove_left_over(folder);
  do {
    const fs::path path = folder / random_name();
    stream_ = make_private(path);
    name_ = stream_ != nullptr ? path.string() : "";
  } while (stream_ == nullptr && errno == EEXIST);
  if (stream_ != nullptr) take_rights(target_, stream());
}

NewFile::~NewFile() {
  stream_.reset();  // nothing open can be deleted
  if (!name_.empty()) DeleteFileW(fs::path(name_).c_str());
}

bool NewFile::clear() {
  std::rewind(stream());
  return _chsize_s(_fileno(stream()), 0) == 0;
}

bool NewFile::give_name() {
  if (std::fflush(stream()) != 0 || _commit(_fileno(stream())) != 0 ||
      std::fclose(stream_.release()) != 0) {
    return false;
  }
  if (MoveFileExW(fs::path(name_).c_str(), fs::path(target_).c_str(),
                  MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH) == 0) {
    errno = errno_of_last_error();
    return false;
  }
  name_.clear();
  return true;
}

}  // namespace grainless
