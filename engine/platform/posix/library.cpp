// SPDX-License-Identifier: MIT
#include "engine/platform/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>

namespace grainless {
namespace {

namespace fs = std::filesystem;

bool others_can_write(const struct stat& info) {
  const bool shared_folder = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  return (info.st_mode & S_IWOTH) != 0 && !shared_folder;
}

// The file's bytes at an offset; false beyond its end.
template <typename Part>
bool read_at(std::ifstream& file, uint64_t offset, Part& part) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&part), sizeof part));
}

}  // namespace

// Whoever forks waits for who holds it.
std::mutex& loading_mutex() {
  static std::mutex mutex;
  static const int guarded =
      pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  (void)guarded;
  return mutex;
}

void* load_library(const std::string& path, std::string& why) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* reason = library == nullptr ? dlerror() : nullptr;
  why = reason != nullptr ? reason : "";
  return library;
}

void* library_symbol(void* library, const char* name) {
  return dlsym(library, name);
}

Writers writers_of(const fs::path& file, fs::path& place) {
  struct stat info{};
  if (stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return Writers::kNoFile;
  if (info.st_uid != 0 && info.st_uid != geteuid()) return Writers::kForeignOwner;
  for (place = file;; place = place.parent_path()) {
    if (stat(place.c_str(), &info) != 0 || others_can_write(info)) return Writers::kOthers;
    if (place == place.parent_path()) return Writers::kOwnerAlone;
  }
}

bool is_whole_program(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const uint64_t size = fs::file_size(path);
  const auto within = [size](uint64_t offset, uint64_t bytes) {
    return offset <= size && bytes <= size - offset;
  };
  Elf64_Ehdr header;
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
      !within(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize)) {
    return false;
  }
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(file, header.e_phoff + i * sizeof segment, segment) ||
        !within(segment.p_offset, segment.p_filesz)) {
      return false;
    }
  }
  return true;
}

}  // namespace grainless
