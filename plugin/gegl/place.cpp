// SPDX-License-Identifier: MIT
#include "place.h"

#include <dlfcn.h>

#include "engine/trusted_program.h"

namespace grainless::effect {
namespace {

namespace fs = std::filesystem;

constexpr char kHelper[] = "grainless-engine";

const char kAnchor = 0;  // lies in this module

}  // namespace

fs::path own_folder() {
  Dl_info info{};
  if (dladdr(&kAnchor, &info) == 0 || info.dli_fname == nullptr) return {};
  const fs::path named = info.dli_fname;
  std::error_code error;
  if (!named.is_absolute()) return {};
  const fs::path modules = fs::canonical(named, error).parent_path();
  if (error) return {};
  for (const fs::path& beside : {modules.parent_path(), modules.parent_path().parent_path()}) {
    if (fs::exists(beside / "grainless" / kHelper, error)) return beside / "grainless";
  }
  return {};
}

std::string helper_program() {
  const fs::path folder = own_folder();
  return trusted_program(folder.empty() ? std::string() : (folder / kHelper).string());
}

}  // namespace grainless::effect
