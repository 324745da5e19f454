// SPDX-License-Identifier: MIT
#include "module_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/boundary/status.h"
#include "engine/sentence.h"
#include "engine/trusted_program.h"

// Marks a string for translation.
#define N_(text) text

namespace grainless {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorCode::kDeviceUnavailable, why);
}

bool others_can_write(const struct stat& info) {
  const bool shared_folder = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  return (info.st_mode & S_IWOTH) != 0 && !shared_folder;
}

void check_writers(const fs::path& file) {
  struct stat info{};
  if (stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    refuse(sentence("%s is no file", {file.string()}));
  }
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    refuse(sentence("%s is not loaded: it belongs to another user", {file.string()}));
  }
  for (fs::path place = file;; place = place.parent_path()) {
    if (stat(place.c_str(), &info) != 0 || others_can_write(info)) {
      refuse(sentence("%1$s is not loaded: others can write to %2$s",
                      {file.string(), place.string()}));
    }
    if (place == place.parent_path()) return;
  }
}

// The file's bytes at an offset; false beyond its end.
template <typename Part>
bool read_at(std::ifstream& file, uint64_t offset, Part& part) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(&part), sizeof part));
}

// Whether all that the file says it holds lies within its size.
bool is_whole(const fs::path& path) {
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

std::string trusted_file(const std::string& path, const char* missing) {
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  if (error) refuse(sentence(missing));
  check_writers(file);
  if (!is_whole(file)) refuse(sentence("%s is damaged: install Grainless again", {file.string()}));
  return file.string();
}

}  // namespace

std::string trusted_module(const std::string& path) {
  return trusted_file(path, N_("GPU support (grainless-cuda.so) is not installed"));
}

std::string trusted_program(const std::string& path) {
  return trusted_file(path, N_("The engine of the effect (grainless-engine) is not installed"));
}

}  // namespace grainless
