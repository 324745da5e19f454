// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <string>
#include <vector>

namespace grainless::tools {

// Whether a name of a file, which may hold any, would end a line by it or give the terminal an
// order.
inline bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == 0x7f;
}

// With blanks for such.
std::string one_line(std::string text);

// What was odd about the pictures of a command that only tells about them: a line each, on stderr.
void print_notes(const std::vector<std::string>& notes);

// What happens, on stderr: a line that renews itself on a terminal, and lines that stay.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();

  void start(std::string what);  // what the following update()s belong to
  void update(double fraction);  // from any thread
  void say(std::string text);    // "grainless: TEXT" and stays
  void clear();

 private:
  bool terminal_;
  std::mutex mutex_;
  std::string what_;
  int shown_ = -1;  // per cent on the line, or none
};

}  // namespace grainless::tools
