// SPDX-License-Identifier: MIT
#include "engine_setup.h"

#include <filesystem>

#include "engine/module_version.h"
#include "engine/platform/system.h"

namespace grainless::tools {
namespace {

CancelToken token;  // a lock-free flag: may be set inside a signal handler

void on_signal(int) {
  token.cancel();
}

std::string module_folder() {
  const std::string chosen = environment("GRAINLESS_MODULE_DIR").value_or("");
  if (!chosen.empty()) {
    if (!std::filesystem::path(chosen).is_absolute()) {
      throw Error(ErrorCode::kBadParameter,
                  "GRAINLESS_MODULE_DIR needs an absolute path: nothing is loaded from the working "
                  "directory");
    }
    return chosen;
  }
  std::error_code error;
  const std::filesystem::path folder = program_folder();
  const std::filesystem::path installed = folder.parent_path() / GRAINLESS_LIBDIR / "grainless";
  return std::filesystem::is_directory(installed, error) ? installed.string() : folder.string();
}

}  // namespace

EngineOptions engine_options(int32_t threads) {
  return {module_folder(), threads};
}

std::string version_text() {
  std::string module;
  try {
    module = module_version(module_folder());
  } catch (const Error& error) {
    module = error.what();
  }
  return "grainless " GRAINLESS_VERSION "\nCUDA module: " + module;
}

const CancelToken& cancel_token() {
  return token;
}

void catch_signals() {
  on_stop(on_signal);
}

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk:
      return 0;
    case ErrorCode::kBadInput:
    case ErrorCode::kBadParameter:
      return 1;
    case ErrorCode::kCancelled:
      return 3;
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kDeviceUnavailable:
    case ErrorCode::kDeviceFailed:
    case ErrorCode::kInternal:
    case ErrorCode::kUnsupported:
      break;
  }
  return 2;
}

}  // namespace grainless::tools
