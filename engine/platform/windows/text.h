// SPDX-License-Identifier: MIT
// Windows counts in UTF-16, all of our own strings are UTF-8.
#pragma once

#include <string>

namespace grainless {

std::wstring wide(const std::string& text);
std::string utf8(const std::wstring& text);

// What Windows says of one of its error codes, on one line.
std::string windows_message(unsigned long error);

// The errno that says about the same as GetLastError().
int errno_of_last_error();

}  // namespace grainless
