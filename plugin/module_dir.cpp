// SPDX-License-Identifier: MIT
#include "module_dir.h"

#include <libgimp/gimp.h>

#include <filesystem>

namespace grainless {

// GIMP starts plug-ins by their absolute path, on every system, and keeps it as the program's name.
// Any other name would lead to the working directory, from which nothing is loaded.
std::string module_dir() {
  const std::filesystem::path program = gimp_get_progname();
  return program.is_absolute() ? program.parent_path().string() : std::string();
}

}  // namespace grainless
