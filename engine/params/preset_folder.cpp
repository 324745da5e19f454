// SPDX-License-Identifier: MIT
#include "preset_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "engine/platform/file.h"
#include "engine/sentence.h"

namespace grainless {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kLargestFile = 65536;  // bytes; a preset has a few hundred
constexpr size_t kLongestName = 100;       // bytes; file systems take 255 and the extension

Status bad(const std::string& text) {
  return {ErrorCode::kBadParameter, text};
}

bool forbidden(unsigned char c) {
  return c < 32 || c == 127 || std::string_view("/\\:*?\"<>|").find(char(c)) != std::string::npos;
}

Status not_written(const std::string& path, const std::error_code& error) {
  return {ErrorCode::kBadInput, error
                                    ? sentence("'%s' can't be written: %s", {path, error.message()})
                                    : sentence("'%s' can't be written", {path})};
}

}  // namespace

Status check_preset_name(const std::string& name) {
  if (name.empty()) return bad(sentence("a preset needs a name"));
  if (name.size() > kLongestName) return bad(sentence("the preset's name is too long"));
  if (std::any_of(name.begin(), name.end(), forbidden)) {
    return bad(sentence("a preset's name can't contain any of the characters %s",
                        {"/ \\ : * ? \" < > |"}));
  }
  if (name.front() == '.' || name.front() == ' ' || name.back() == '.' || name.back() == ' ') {
    return bad(sentence("a preset's name can't begin or end with a space or a full stop"));
  }
  if (find_built_in_preset(name) != nullptr) {
    return bad(sentence("'%s' is the name of a built-in preset", {name}));
  }
  return {};
}

Status read_preset(const std::string& path, Settings& settings) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) {
    return {ErrorCode::kBadInput, sentence("'%s' can't be read: %s", {path, error.message()})};
  }
  std::ifstream file(fs::path(path), std::ios::binary);
  std::string text;
  if (size <= kLargestFile) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file) return {ErrorCode::kBadInput, sentence("'%s' can't be read", {path})};
  if (size > kLargestFile || text.find('\0') != std::string::npos) {
    return {ErrorCode::kBadInput, sentence("'%s' is not a preset of Grainless", {path})};
  }
  Settings read;
  if (Status status = parse_preset(text, path, read); !status.ok()) return status;
  if (read.empty()) {
    return {ErrorCode::kBadInput, sentence("'%s' is not a preset: it sets nothing", {path})};
  }
  settings = std::move(read);
  return {};
}

Status write_preset(const std::string& path, const Settings& settings) {
  const fs::path target(path);
  std::error_code error;
  if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
  if (error) return not_written(path, error);
  const std::string text = preset_text(settings);
  NewFile file(path);
  if (file.stream() != nullptr &&
      std::fwrite(text.data(), 1, text.size(), file.stream()) == text.size() && file.give_name()) {
    return {};
  }
  return not_written(path, std::error_code(errno, std::generic_category()));
}

std::vector<std::string> PresetFolder::names() const {
  std::vector<std::string> names;
  for (const std::string& file : names_in(path_)) {
    const std::string name = fs::path(file).stem().string();
    if (fs::path(file).extension() == kPresetExtension && check_preset_name(name).ok()) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string PresetFolder::file_of(const std::string& name) const {
  return (fs::path(path_) / (name + kPresetExtension)).string();
}

bool PresetFolder::has(const std::string& name) const {
  std::error_code error;
  return check_preset_name(name).ok() && fs::exists(file_of(name), error);
}

Status PresetFolder::load(const std::string& name, Settings& settings) const {
  const Status named = check_preset_name(name);
  return named.ok() ? read_preset(file_of(name), settings) : named;
}

Status PresetFolder::save(const std::string& name, const Settings& settings) const {
  const Status named = check_preset_name(name);
  return named.ok() ? write_preset(file_of(name), settings) : named;
}

Status PresetFolder::rename(const std::string& name, const std::string& to) const {
  for (const std::string& one : {name, to}) {
    if (Status named = check_preset_name(one); !named.ok()) return named;
  }
  std::error_code error;
  fs::rename(file_of(name), file_of(to), error);
  if (!error) return {};
  return {ErrorCode::kBadInput,
          sentence("'%s' can't be renamed: %s", {file_of(name), error.message()})};
}

Status PresetFolder::remove(const std::string& name) const {
  const Status named = check_preset_name(name);
  if (!named.ok()) return named;
  std::error_code error;
  if (fs::remove(file_of(name), error)) return {};
  return {ErrorCode::kBadInput,
          error ? sentence("'%s' can't be deleted: %s", {file_of(name), error.message()})
                : sentence("there is no preset '%s'", {name})};
}

}  // namespace grainless
