// SPDX-License-Identifier: MIT
#include "preset_option.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "engine/params/preset_folder.h"
#include "engine/platform/file.h"
#include "engine/platform/system.h"
#include "json_report.h"

namespace grainless::tools {
namespace {

namespace fs = std::filesystem;

// The variable's value when it is an absolute path, as GIMP and the XDG specification want it.
std::optional<fs::path> folder_in(const char* variable) {
  const fs::path folder = environment(variable).value_or("");
  return folder.is_absolute() ? std::optional(folder) : std::nullopt;
}

// GIMP's folders of the user, the newest version first; a Flatpak's after them.
std::vector<fs::path> gimp_folders() {
  if (const auto chosen = folder_in("GIMP3_DIRECTORY")) return {*chosen};
  const auto home = folder_in("HOME");
  std::vector<fs::path> parents, folders;
  if (const auto roaming = folder_in("APPDATA")) {  // Windows'
    parents.push_back(*roaming);
  } else if (const auto config = folder_in("XDG_CONFIG_HOME")) {
    parents.push_back(*config);
  } else if (home) {
    parents.push_back(*home / ".config");
  }
  if (home) parents.push_back(*home / ".var/app/org.gimp.GIMP/config");
  for (const fs::path& parent : parents) {
    const size_t begin = folders.size();
    const fs::path gimp = parent / "GIMP";
    for (const std::string& version : names_in(gimp.string())) {
      if (version.starts_with("3.")) folders.push_back(gimp / version);
    }
    std::sort(folders.begin() + static_cast<ptrdiff_t>(begin), folders.end(), std::greater<>());
  }
  return folders;
}

struct SavedPreset {
  std::string name, file;
};

// Of two with one name, that of the newest GIMP.
std::vector<SavedPreset> saved_presets() {
  std::vector<SavedPreset> all;
  for (const fs::path& gimp : gimp_folders()) {
    const PresetFolder folder((gimp / kPresetFolder).string());
    for (const std::string& name : folder.names()) {
      const auto same = [&](const SavedPreset& preset) { return preset.name == name; };
      if (std::none_of(all.begin(), all.end(), same)) all.push_back({name, folder.file_of(name)});
    }
  }
  return all;
}

// `member` tells what the preset has beside its name.
void add_preset(JsonLine& line, const std::string& name, const char* member,
                const std::string& value) {
  line.open(nullptr, '{');
  line.add("name", name);
  line.add(member, value);
  line.close('}');
}

void print_presets_json() {
  JsonLine line;
  line.open(nullptr, '{');
  line.open("presets", '[');
  for (const BuiltInPreset& preset : built_in_presets()) {
    add_preset(line, preset.id, "description", preset.description);
  }
  for (const SavedPreset& preset : saved_presets()) {
    add_preset(line, preset.name, "file", preset.file);
  }
  line.close(']');
  line.close('}');
  print_json(line);
}

Settings read_file(const std::string& path) {
  Settings settings;
  throw_if_failed(read_preset(path, settings));
  return settings;
}

}  // namespace

std::string preset_file(const std::string& wanted) {
  if (fs::path(wanted).has_parent_path() || wanted.ends_with(kPresetExtension)) return wanted;
  if (find_built_in_preset(wanted) != nullptr) return {};
  for (const SavedPreset& preset : saved_presets()) {
    if (preset.name == wanted) return preset.file;
  }
  throw Error(ErrorCode::kBadParameter,
              "there is no preset '" + wanted +
                  "': 'grainless presets' lists them, and a file is named by its path");
}

Settings find_preset(const std::string& wanted) {
  const std::string file = preset_file(wanted);
  return file.empty() ? find_built_in_preset(wanted)->settings() : read_file(file);
}

void run_presets(bool json) {
  if (json) return print_presets_json();
  std::string text;
  for (const BuiltInPreset& preset : built_in_presets()) {
    text += std::string(preset.id) + ": " + preset.description + "\n";
  }
  for (const SavedPreset& preset : saved_presets()) {
    text += preset.name + ": " + preset.file + "\n";
  }
  print_text(text);
}

}  // namespace grainless::tools
