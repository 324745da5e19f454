// SPDX-License-Identifier: MIT
#include "process.h"

#include <libintl.h>
#include <sys/socket.h>

#include <clocale>
#include <filesystem>
#include <fstream>

#include "engine/sentence.h"

namespace grainless::helper {

bool is_packet_socket(int descriptor) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

void offer_to_the_kernel() {
  std::ofstream("/proc/self/oom_score_adj") << 500;
}

void translate() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::setlocale(LC_ALL, "");
  std::setlocale(LC_NUMERIC, "C");
  bindtextdomain("grainless", (program.parent_path() / "locale").c_str());
  bind_textdomain_codeset("grainless", "UTF-8");
  set_translation(
      [](const char* pattern) -> const char* { return dgettext("grainless", pattern); });
}

}  // namespace grainless::helper
