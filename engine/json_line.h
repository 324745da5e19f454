// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace grainless {

// A line of JSON, written member by member. nlohmann's arrays and objects ask for memory in their
// destructors and end the process where there is none, so only single values are made with it.
// Any member may throw std::bad_alloc. All of it stands here: the engine links no JSON library.
class JsonLine {
 public:
  // An object ('{') or an array ('['), to be closed with '}' or ']'. The outermost one and an
  // array's elements have no name.
  void open(const char* name, char bracket) {
    begin(name);
    text_ += bracket;
    first_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  // A number that is not finite is null, and so is nullptr. Of a text that is not UTF-8 (names of
  // files and layers may be anything) the wrong bytes are replaced.
  void add(const char* name, const nlohmann::ordered_json& value) {
    begin(name);
    text_ += value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
  // An array of what `values` holds.
  template <typename Range>
  void add_each(const char* name, const Range& values) {
    open(name, '[');
    for (const auto& value : values) add(nullptr, value);
    close(']');
  }

  // What was written; whole when each bracket is closed.
  const std::string& text() const { return text_; }

 private:
  void begin(const char* name) {
    if (!first_) text_ += ',';
    first_ = false;
    if (name != nullptr) text_.append("\"").append(name).append("\":");
  }

  std::string text_;
  bool first_ = true;
};

}  // namespace grainless
