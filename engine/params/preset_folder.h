// SPDX-License-Identifier: MIT
// The user's own presets: a folder with a file NAME.preset each.
#pragma once

#include <string>
#include <vector>

#include "engine/boundary/status.h"
#include "preset.h"

namespace grainless {

inline constexpr char kPresetExtension[] = ".preset";
// Below the user's folder of GIMP.
inline constexpr char kPresetFolder[] = "grainless/presets";

// kBadParameter when the name can't be a file's everywhere, or is a built-in preset's.
Status check_preset_name(const std::string& name);

Status read_preset(const std::string& path, Settings& settings);

// The file appears whole or not at all; missing folders are made.
Status write_preset(const std::string& path, const Settings& settings);

class PresetFolder {
 public:
  explicit PresetFolder(std::string path) : path_(std::move(path)) {}

  // Sorted; none when there is no such folder. Files that can't be read are listed, too: load()
  // tells why.
  std::vector<std::string> names() const;
  bool has(const std::string& name) const;
  std::string file_of(const std::string& name) const;

  Status load(const std::string& name, Settings& settings) const;
  // Replaces a preset of that name.
  Status save(const std::string& name, const Settings& settings) const;
  // Replaces a preset of the new name.
  Status rename(const std::string& name, const std::string& to) const;
  Status remove(const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace grainless
