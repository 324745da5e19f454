// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>

namespace grainless::tools {

// What happens, on stderr: a line that renews itself on a terminal, and lines that stay.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();

  void start(const std::string& what);  // what the following update()s belong to
  void update(double fraction);         // from any thread
  void say(const std::string& text);    // "grainless: TEXT" and stays
  void clear();

 private:
  bool terminal_;
  std::mutex mutex_;
  std::string what_;
  int shown_ = -1;  // per cent on the line, or none
};

}  // namespace grainless::tools
