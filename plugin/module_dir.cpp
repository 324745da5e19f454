// SPDX-License-Identifier: MIT
#include "module_dir.h"

#include <libgimp/gimp.h>

#include <filesystem>
#include <system_error>

namespace grainless {

// GIMP starts plug-ins by their absolute path, on every system, and keeps it as the program's name.
std::string module_dir() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::absolute(gimp_get_progname(), error);
  return error ? std::string() : program.parent_path().string();
}

}  // namespace grainless
