// SPDX-License-Identifier: MIT
// What a program asks its system for. Text is UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

namespace grainless {

// To be called first in main(): returns the arguments in UTF-8, and makes a console show it.
// Windows' shells leave patterns (*.tif) to the program; there `count` may grow. Files that are
// opened later never get the number of a standard stream that is closed.
char** start_program(int& count, char** arguments);

// The value of an environment variable.
std::optional<std::string> environment(const char* name);

// The folder of the running program, without links; empty where the system doesn't tell.
std::filesystem::path program_folder();

// From now on `handler` is called when the user or the system asks the process to stop, or nobody
// reads any more what it prints. Writing above a limit of a file's size is an error then, like a
// full disk.
void on_stop(void (*handler)(int));

// Whether what is written there is seen at once on a screen that knows the usual control sequences.
bool is_terminal(FILE* stream);

std::string processor_name();

// Bytes that can be had without swapping, and without the end that a container or a batch system
// has for who takes too many; or no bound where the system doesn't say.
uint64_t available_memory();

// Asks for large pages where memory that nobody has touched begins with one: the system clears each
// at once, instead of 512 small ones when each is first touched, and a processor finds more of it
// without a walk through tables. Changes nothing where there are none.
inline constexpr size_t kLargePage = size_t{2} << 20;  // bytes
void prefer_large_pages(void* memory, size_t bytes);

}  // namespace grainless
