// SPDX-License-Identifier: MIT
// What tests ask POSIX or Windows for.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#ifdef _WIN32
#include <windows.h>
#else
#include <sys/mman.h>
#endif

namespace grainless::test {

// Something with a name that is no regular file.
#ifdef _WIN32
inline constexpr char kDevice[] = "NUL";
#else
inline constexpr char kDevice[] = "/dev/full";
#endif

inline void set_variable(const std::string& name, const std::string& value) {
#ifdef _WIN32
  _putenv_s(name.c_str(), value.c_str());
#else
  setenv(name.c_str(), value.c_str(), 1);
#endif
}

inline void unset_variable(const std::string& name) {
#ifdef _WIN32
  _putenv_s(name.c_str(), "");
#else
  unsetenv(name.c_str());
#endif
}

// A new, empty folder for temporary files, which only this user can write to. Its name has letters
// that Windows knows in UTF-16 alone.
inline std::filesystem::path new_folder() {
  std::random_device random;
  std::filesystem::path folder;
  do {
    folder = std::filesystem::temp_directory_path() / ("grainless-жü-" + std::to_string(random()));
  } while (!std::filesystem::create_directory(folder));
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  return folder;
}

// Memory of zeros, which takes none where it is not written. nullptr where the system has no room.
inline void* map_zeros(size_t bytes) {
#ifdef _WIN32
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
#else
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory != MAP_FAILED ? memory : nullptr;
#endif
}

inline void unmap(void* memory, size_t bytes) {
#ifdef _WIN32
  (void)bytes;
  VirtualFree(memory, 0, MEM_RELEASE);
#else
  munmap(memory, bytes);
#endif
}

}  // namespace grainless::test
