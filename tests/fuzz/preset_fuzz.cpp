// SPDX-License-Identifier: MIT
// Presets: what is read is what is written, and a name never leads out of its folder.
#include <filesystem>

#include "engine/params/preset_folder.h"
#include "fuzz.h"

using namespace grainless;

namespace {

Settings parsed(const std::string& text) {
  Settings settings;
  const Status status = parse_preset(text, "written", settings);
  fuzz::expect(status.ok(), "what was written is refused: " + status.message());
  return settings;
}

void check_settings(const Settings& settings) {
  Params params;
  fuzz::expect(apply_settings(settings, params).ok(), "a preset that can't be applied");
  fuzz::expect(validate(params).ok(), "parameters that are out of range");
  fuzz::expect(has_settings(params, settings), "applied twice it does something else");
  fuzz::expect(parsed(preset_text(settings)) == settings, "another preset after writing");
  const Settings all = settings_of(params);
  fuzz::expect(parsed(preset_text(all)) == all, "other settings after writing");
  Params stack = stack_defaults();
  fuzz::expect(apply_settings(stack_settings(settings), stack).ok() && validate(stack).ok(),
               "a preset that a stack can't take");
}

void check_name(const std::string& name) {
  if (!check_preset_name(name).ok()) return;
  const std::filesystem::path file = PresetFolder("/presets").file_of(name);
  fuzz::expect(file.parent_path() == "/presets" && file == file.lexically_normal(),
               "a name that leads out of its folder");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Settings settings;
  if (parse_preset(text, "fuzz", settings).ok()) check_settings(settings);
  const fuzz::MemoryFile file({data, size});
  (void)read_preset(file.path(), settings);
  check_name(text);
  (void)find_built_in_preset(text);
  return 0;
}
