// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace grainless {

// The canonical path of a program that may be started: a whole ELF file of the user's or root's,
// which others can't write to, nor to a folder on the way to it. Throws Error with the sentence for
// the user otherwise.
std::string trusted_program(const std::string& path);

}  // namespace grainless
