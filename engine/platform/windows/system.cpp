// SPDX-License-Identifier: MIT
#include "engine/platform/system.h"

#include <io.h>
#include <windows.h>

#include <csignal>
#include <cstdlib>
#include <limits>
#include <memory>
#include <vector>

#include "text.h"

struct StartInfo {
  int new_mode;
};

// Of the C library, which is what reads the command line; `patterns` other than 0 asks it to put
// the names of files in place of patterns.
extern "C" int __wgetmainargs(int* count, wchar_t*** arguments, wchar_t*** environment,
                              int patterns, StartInfo* start);

namespace grainless {
namespace {

void (*stop_handler)(int) = nullptr;

// In a thread of its own. The process ends soon after a return from CTRL_CLOSE_EVENT and the like.
BOOL WINAPI on_console_event(DWORD) {
  stop_handler(SIGINT);
  return TRUE;
}

}  // namespace

char** start_program(int& count, char** arguments) {
  SetConsoleOutputCP(CP_UTF8);
  int wide_count = 0;
  wchar_t **wide_arguments = nullptr, **wide_environment = nullptr;
  StartInfo start{};
  if (__wgetmainargs(&wide_count, &wide_arguments, &wide_environment, 1, &start) != 0) {
    return arguments;
  }
  // They live as long as the process, as main()'s own do.
  static std::vector<std::string> texts;
  static std::vector<char*> pointers;
  for (int i = 0; i < wide_count; ++i) texts.push_back(utf8(wide_arguments[i]));
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  count = wide_count;
  return pointers.data();
}

std::optional<std::string> environment(const char* name) {
  const wchar_t* value = _wgetenv(wide(name).c_str());
  return value != nullptr ? std::optional(utf8(value)) : std::nullopt;
}

std::filesystem::path program_folder() {
  std::vector<wchar_t> path(32768);  // the longest that there is
  const DWORD units = GetModuleFileNameW(nullptr, path.data(), static_cast<DWORD>(path.size()));
  return std::filesystem::path(std::wstring(path.data(), units)).parent_path();
}

void on_stop(void (*handler)(int)) {
  stop_handler = handler;
  SetConsoleCtrlHandler(on_console_event, TRUE);
}

bool is_terminal(FILE* stream) {
  const auto console = reinterpret_cast<HANDLE>(_get_osfhandle(_fileno(stream)));
  DWORD mode = 0;
  return GetConsoleMode(console, &mode) != 0 &&
         SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0;
}

std::string processor_name() {
  wchar_t name[256];
  DWORD bytes = sizeof name;
  if (RegGetValueW(HKEY_LOCAL_MACHINE, L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                   L"ProcessorNameString", RRF_RT_REG_SZ, nullptr, name, &bytes) != ERROR_SUCCESS) {
    return "processor";
  }
  return utf8(name);
}

uint64_t available_memory() {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof status;
  return GlobalMemoryStatusEx(&status) != 0 ? status.ullAvailPhys
                                            : std::numeric_limits<uint64_t>::max();
}

void prefer_large_pages(void*, size_t) {}

}  // namespace grainless
