// SPDX-License-Identifier: MIT
#include "fault_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace grainless::test {
namespace {

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    char code[8];
    std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned char>(c));
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) {
      json += code;
    } else {
      json += c;
    }
  }
  return json + '"';
}

}  // namespace

void log_fault(const FaultCase& fault) {
  EXPECT_TRUE(fault.ok) << fault.fault << ", " << fault.stage << ": " << fault.seen;
  const char* path = std::getenv("GRAINLESS_FAULT_LOG");
  if (path == nullptr || *path == '\0') return;
  const std::string line =
      "{\"fault\":" + quoted(fault.fault) + ",\"stage\":" + quoted(fault.stage) +
      ",\"front_end\":" + quoted(fault.front_end) + ",\"expected\":" + quoted(fault.expected) +
      ",\"seen\":" + quoted(fault.seen) + ",\"ok\":" + (fault.ok ? "true" : "false") + "}\n";
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const ssize_t written = file >= 0 ? write(file, line.data(), line.size()) : -1;
  EXPECT_EQ(written, static_cast<ssize_t>(line.size())) << path;
  if (file >= 0) close(file);
}

}  // namespace grainless::test
