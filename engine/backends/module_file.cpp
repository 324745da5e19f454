// SPDX-License-Identifier: MIT
#include "module_file.h"

#include <filesystem>

#include "engine/boundary/status.h"
#include "engine/platform/library.h"
#include "engine/sentence.h"
#include "engine/trusted_program.h"

namespace grainless {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::kDeviceUnavailable, why);
}

void check_writers(const fs::path& file) {
  fs::path place;
  switch (writers_of(file, place)) {
    case Writers::kOwnerAlone:
      return;
    case Writers::kNoFile:
      refuse(sentence("%s is no file", {file.string()}));
    case Writers::kForeignOwner:
      refuse(sentence("%s is not loaded: it belongs to another user", {file.string()}));
    case Writers::kOthers:
      refuse(sentence("%1$s is not loaded: others can write to %2$s",
                      {file.string(), place.string()}));
  }
}

std::string trusted_file(const std::string& path, const std::string& missing) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (error) refuse(missing);
  check_writers(file);
  if (!is_whole_program(file))
    refuse(sentence("%s is damaged: install Grainless again", {file.string()}));
  return file.string();
}

}  // namespace

std::string trusted_module(const std::string& path) {
  return trusted_file(path, sentence("GPU support (%s) is not installed", {kModuleFile}));
}

std::string trusted_program(const std::string& path) {
  return trusted_file(path,
                      sentence("The engine of the effect (grainless-engine) is not installed"));
}

}  // namespace grainless
