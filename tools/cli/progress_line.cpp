// SPDX-License-Identifier: MIT
#include "progress_line.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/platform/system.h"

namespace grainless::tools {
namespace {

constexpr char kErase[] = "\r\033[K";
// What is longer than the screen is wide is cut: a line that wraps can't be erased.
constexpr char kCut[] = "\033[?7l", kWrap[] = "\033[?7h";

}  // namespace

std::string one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), is_control, ' ');
  return text;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fprintf(stderr, "note: %s\n", one_line(note).c_str());
}

ProgressLine::ProgressLine() : terminal_(is_terminal(stderr)) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::start(std::string what) {
  {
    const std::lock_guard lock(mutex_);
    what_ = one_line(std::move(what));
  }
  update(0);
}

void ProgressLine::update(double fraction) {
  if (!terminal_) return;
  const std::lock_guard lock(mutex_);
  const int percent = static_cast<int>(100 * fraction);
  if (percent == shown_) return;
  shown_ = percent;
  std::fprintf(stderr, "%s%s%3d %% %s%s", kErase, kCut, percent, what_.c_str(), kWrap);
  std::fflush(stderr);
}

void ProgressLine::say(std::string text) {
  clear();
  std::fprintf(stderr, "grainless: %s\n", one_line(std::move(text)).c_str());
}

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  if (shown_ >= 0) std::fputs(kErase, stderr);
  shown_ = -1;
}

}  // namespace grainless::tools
