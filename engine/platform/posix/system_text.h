// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace grainless {

// What the system says in a file of its own (/proc, /sys); empty where it says nothing. Throws
// std::bad_alloc without memory, where std::ifstream crashes as it closes the file without a
// buffer.
std::string system_text(const std::string& path);

}  // namespace grainless
