// SPDX-License-Identifier: MIT
#include "sentence.h"

#include <cstring>
#include <span>
#include <vector>

#include "engine/boundary/packed_sentence.h"

namespace grainless {
namespace {

Translation current = nullptr;

// Reads what follows a '%' at `at`: "s", "2$s" or "%". Returns its length, 0 for anything else;
// index becomes the value's number, from 0, and stays where the pattern names none.
size_t directive(const char* at, bool& percent, size_t& index, bool& named) {
  percent = at[0] == '%';
  named = at[0] >= '1' && at[0] <= '9' && at[1] == '$' && at[2] == 's';
  if (named) index = static_cast<size_t>(at[0] - '1');
  if (percent || at[0] == 's') return 1;
  return named ? 3 : 0;
}

std::string compose(const char* pattern, std::span<const std::string> values) {
  if (current != nullptr) pattern = current(pattern);
  std::string text;
  size_t next = 0;
  while (const char* mark = std::strchr(pattern, '%')) {
    text.append(pattern, mark);
    bool percent = false, named = false;
    size_t index = next;
    const size_t length = directive(mark + 1, percent, index, named);
    if (percent || length == 0) text += '%';
    if (!percent && length > 0) {
      if (index < values.size()) text += values[index];
      if (!named) ++next;
    }
    pattern = mark + 1 + length;
  }
  return text + pattern;
}

}  // namespace

void set_translation(Translation translation) {
  current = translation;
}

std::string sentence(const char* pattern, std::initializer_list<std::string> values) {
  return compose(pattern, {values.begin(), values.end()});
}

std::string unpacked_sentence(const std::string& packed) {
  const size_t end = packed.find(kValueMark);
  // What is no pattern, a driver's own words, may hold a percent sign.
  if (end == std::string::npos) return current != nullptr ? current(packed.c_str()) : packed;
  std::vector<std::string> values;
  for (size_t mark = end; mark != std::string::npos;) {
    const size_t next = packed.find(kValueMark, mark + 1);
    values.push_back(packed.substr(mark + 1, next - mark - 1));
    mark = next;
  }
  return compose(packed.substr(0, end).c_str(), {values.data(), values.size()});
}

}  // namespace grainless
