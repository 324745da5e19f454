// SPDX-License-Identifier: MIT
// Code that is loaded at run time, and whether it may be.
#pragma once

#include <filesystem>
#include <mutex>
#include <string>

namespace grainless {

// The file of the CUDA module.
#ifdef _WIN32
inline constexpr char kModuleFile[] = "grainless-cuda.dll";
#else
inline constexpr char kModuleFile[] = "grainless-cuda.so";
#endif

// Stays loaded until the process ends. nullptr with the system's words in `why`, which are empty
// where it has none.
void* load_library(const std::string& path, std::string& why);
// To be held while libraries are loaded. A process forked by another thread meanwhile finds it
// free.
std::mutex& loading_mutex();
void* library_symbol(void* library, const char* name);  // nullptr: there is none

enum class Writers { kOwnerAlone, kNoFile, kForeignOwner, kOthers };

// Who can write to a file or to the folders on the way to it. For kOthers `place` is what they can
// write to.
Writers writers_of(const std::filesystem::path& file, std::filesystem::path& place);

// Whether all that a program or library says it holds lies within its size.
bool is_whole_program(const std::filesystem::path& file);

}  // namespace grainless
