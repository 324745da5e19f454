// SPDX-License-Identifier: MIT
#include "sentence.h"

#include <cstring>

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

}  // namespace

void set_translation(Translation translation) {
  current = translation;
}

std::string sentence(const char* pattern, std::initializer_list<std::string> values) {
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
      if (index < values.size()) text += values.begin()[index];
      if (!named) ++next;
    }
    pattern = mark + 1 + length;
  }
  return text + pattern;
}

}  // namespace grainless
