// SPDX-License-Identifier: MIT
// grainless-engine: the engine in a process of its own, for effects in GIMP. Started by them with
// one end of a socket pair as descriptor 3; it is of no use from a shell.
//
//     grainless-engine [--processor] [--threads N] [--idle SECONDS]
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "process.h"
#include "server.h"

namespace {

using namespace grainless;

constexpr int kSocket = 3;

int usage() {
  std::fputs("grainless-engine: started-by-GIMP\n", stderr);
  return 1;
}

bool number(const char* text, int32_t& value) {
  if (text == nullptr) return false;
  const std::string_view all = text;
  const auto result = std::from_chars(all.data(), all.data() + all.size(), value);
  return result.ec == std::errc() && result.ptr == all.data() + all.size() && value >= 0;
}

bool parse(char** arguments, helper::ServerOptions& options) {
  for (; *arguments != nullptr; ++arguments) {
    const std::string_view option = *arguments;
    int32_t value = 0;
    if (option == "--processor") {
      options.processor_only = true;
      continue;
    }
    if (!number(*++arguments, value)) return false;
    if (option == "--threads") {
      options.engine.threads = value;
    } else if (option == "--idle") {
      options.idle = std::chrono::seconds(value);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int, char** arguments) {
  helper::ServerOptions options;
  if (!parse(arguments + 1, options) || !helper::is_packet_socket(kSocket)) return usage();
  std::signal(SIGINT, SIG_IGN);  // Ctrl+C is meant for GIMP, which takes this process along
  helper::offer_to_the_kernel();
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) options.engine.module_dir = program.parent_path();
  helper::translate();
  const Status status = guard([&] {
    helper::Server server(helper::Channel(helper::Descriptor(kSocket)), options);
    const Status served = guard([&] { server.serve(); });
    // Work for nobody need not come to its end, and the system takes back what a card holds.
    if (!served.ok()) std::_Exit(served.code() == ErrorCode::kDeviceFailed ? 0 : 1);
  });
  std::_Exit(status.ok() ? 0 : 1);
}
