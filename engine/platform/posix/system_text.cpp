// SPDX-License-Identifier: MIT
#include "system_text.h"

#include <fcntl.h>
#include <unistd.h>

namespace grainless {

std::string system_text(const std::string& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[4096];
  try {
    for (ssize_t bytes; (bytes = read(file, part, sizeof part)) > 0;) {
      text.append(part, static_cast<size_t>(bytes));
    }
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
  return text;
}

}  // namespace grainless
