// SPDX-License-Identifier: MIT
#include "engine/platform/system.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <sstream>

#include "control_groups.h"
#include "system_text.h"

namespace grainless {
namespace {

uint64_t available_to_all() {
  std::istringstream info(system_text("/proc/meminfo"));
  std::string key, unit;
  uint64_t kibibytes = 0;
  while (info >> key >> kibibytes) {
    if (key == "MemAvailable:") return kibibytes * 1024;
    std::getline(info, unit);
  }
  return std::numeric_limits<uint64_t>::max();
}

}  // namespace

// The first file that is opened takes the lowest free number: that of a closed standard output,
// too, and what is printed would go into a picture. As before nothing can be written there.
char** start_program(int&, char** arguments) {
  int number = 0;
  while (number >= 0 && number <= STDERR_FILENO) number = open("/dev/null", O_RDONLY);
  if (number > STDERR_FILENO) close(number);
  return arguments;
}

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::filesystem::path program_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

void on_stop(void (*handler)(int)) {
  struct sigaction action{}, before{};
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) {
    // What nohup and shells' background jobs ignore stays ignored.
    sigaction(signal, nullptr, &before);
    action.sa_handler = before.sa_handler == SIG_IGN ? SIG_IGN : handler;
    sigaction(signal, &action, nullptr);
  }
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, nullptr);
}

bool is_terminal(FILE* stream) {
  return isatty(fileno(stream)) != 0;
}

std::string processor_name() {
  std::istringstream info(system_text("/proc/cpuinfo"));
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "processor";
}

uint64_t available_memory() {
  return std::min(available_to_all(), left_by_groups("/proc/self/cgroup", "/sys/fs/cgroup"));
}

void prefer_large_pages(void* memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  (void)madvise(memory, bytes / kLargePage * kLargePage, MADV_HUGEPAGE);
#endif
}

}  // namespace grainless
