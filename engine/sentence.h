// SPDX-License-Identifier: MIT
// Sentences for the user that a host may translate. The engine knows no language but the English of
// its patterns; the plug-in hands in gettext, the command line hands in nothing.
#pragma once

#include <initializer_list>
#include <string>

namespace grainless {

// Returns the translation of an English pattern, or the pattern itself. Called from any thread.
using Translation = const char* (*)(const char* pattern);

// Before anything else of the engine is used, and once.
void set_translation(Translation translation);

// The pattern, translated, with its %s replaced by the values in their order (%1$s, %2$s… name
// one). Patterns are found by xgettext (keyword "sentence") and checked like printf's.
std::string sentence(const char* pattern, std::initializer_list<std::string> values = {});

// What packed_sentence() wrote, translated; other text comes back as it is.
std::string unpacked_sentence(const std::string& packed);

}  // namespace grainless
