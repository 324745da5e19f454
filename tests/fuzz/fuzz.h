// SPDX-License-Identifier: MIT
// What the fuzz targets share. A target turns bytes into calls; what must hold is said by expect(),
// and the sanitizers say the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tools/image_io/image.h"

namespace grainless::fuzz {

// Ends the process with `what` when it does not hold.
void expect(bool holds, const std::string& what);

// Said before `what` from now on: what is being tried.
void trying(const std::string& text);

// A regular file that lies in memory alone and goes away with the object.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const uint8_t> bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

// New memory is full of `value` until this goes: what is read before it was written differs from
// one value to another.
class FilledMemory {
 public:
  explicit FilledMemory(uint8_t value);
  ~FilledMemory();
  FilledMemory(const FilledMemory&) = delete;
  FilledMemory& operator=(const FilledMemory&) = delete;
};

// The reader takes the bytes or refuses them with one sentence; it gives the same picture both
// times, and what was read can be written as a file of that extension and read again. Without loss:
// the pixels are the same then.
void check_reader(std::span<const uint8_t> bytes, const std::string& extension, bool lossless);

}  // namespace grainless::fuzz
