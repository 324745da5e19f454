// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace grainless::tools {

// What is odd about one file, for people: each thing once, and not more of it than they read. A
// damaged file can give thousands of reasons.
class NoteList {
 public:
  explicit NoteList(std::string path) : path_(std::move(path)) {}

  void add(const std::string& text);  // becomes "'PATH': TEXT"
  std::vector<std::string> take();

 private:
  std::string path_;
  std::vector<std::string> notes_;
  bool more_ = false;  // there were than notes_ has
};

}  // namespace grainless::tools
