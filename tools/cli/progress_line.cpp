// SPDX-License-Identifier: MIT
#include "progress_line.h"

#include <cstdio>

#include "engine/platform/system.h"

namespace grainless::tools {
namespace {

constexpr char kErase[] = "\r\033[K";

}  // namespace

ProgressLine::ProgressLine() : terminal_(is_terminal(stderr)) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::start(const std::string& what) {
  {
    const std::lock_guard lock(mutex_);
    what_ = what;
  }
  update(0);
}

void ProgressLine::update(double fraction) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  const int percent = static_cast<int>(100 * fraction);
  if (percent == shown_) return;
  shown_ = percent;
  std::fprintf(stderr, "%s%s %3d %%", kErase, what_.c_str(), percent);
  std::fflush(stderr);
}

void ProgressLine::say(const std::string& text) {
  clear();
  std::fprintf(stderr, "grainless: %s\n", text.c_str());
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  if (shown_ >= 0) std::fputs(kErase, stderr);
  shown_ = -1;
}

}  // namespace grainless::tools
