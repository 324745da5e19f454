// SPDX-License-Identifier: MIT
// A sentence on its way through the module boundary (abi.h): pattern and values apart, so that the
// engine's side can translate it.
#pragma once

#include <initializer_list>
#include <string>

namespace grainless {

inline constexpr char kValueMark = '\x1f';  // ASCII's unit separator, before each value

// What the module writes where a reason is wanted; see sentence() for the pattern.
inline std::string packed_sentence(const char* pattern,
                                   std::initializer_list<std::string> values = {}) {
  std::string text = pattern;
  for (const std::string& value : values) text += kValueMark + value;
  return text;
}

}  // namespace grainless
