// SPDX-License-Identifier: MIT
#include "files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "engine/boundary/status.h"

namespace grainless::tools {

void fail_file(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::kBadInput, "'" + path + "' " + why);
}

void fail_errno(const std::string& path, const std::string& doing) {
  const int error = errno;
  fail_file(path, "can't be " + doing + ": " + std::strerror(error));
}

std::string disk_reason(int error) {
  return is_about_disks(error) ? std::strerror(error) : "";
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  const std::optional<FileInfo> info = file_info(path_);
  if (!info) fail_errno(path_, "read");
  if (info->kind == FileKind::kFolder) fail_file(path_, "is a folder, not a picture");
  if (info->kind != FileKind::kRegular) fail_file(path_, "is not a regular file");
  if (info->bytes == 0) fail_file(path_, "is empty");
  file_ = open_to_read(path_);
  if (file_ == nullptr) fail_errno(path_, "read");
  size_ = info->bytes;
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

OutputFile::OutputFile(const std::string& path) : path_(path) {
  const std::string target = resolve_links(path);
  const std::optional<FileInfo> info = file_info(target);
  if (info && info->kind != FileKind::kRegular) {
    fail_file(path_, info->kind == FileKind::kFolder ? "is a folder" : "is not a regular file");
  }
  file_.emplace(target);
  if (file_->stream() == nullptr) fail_errno(path_, "written");
}

void OutputFile::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, stream()) != bytes) fail_errno(path_, "written");
}

void OutputFile::restart() {
  if (!file_->clear()) fail_errno(path_, "written");
}

void OutputFile::commit() {
  if (!file_->give_name()) fail_errno(path_, "written");
}

std::optional<FileId> file_id(const std::string& path) {
  const std::optional<FileInfo> info = file_info(path);
  return info ? std::optional(info->id) : std::nullopt;
}

}  // namespace grainless::tools
