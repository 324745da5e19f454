// SPDX-License-Identifier: MIT
#include <zlib.h>

#include <algorithm>
#include <random>

#include "fuzz.h"

using grainless::fuzz::check_reader;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

constexpr size_t kSignature = 8, kFrame = 12;  // bytes; of a chunk beside its content

uint32_t big_endian(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}

// libpng leaves out, or refuses, a chunk whose sum is wrong: nearly every changed one.
void repair_sums(uint8_t* data, size_t size) {
  for (size_t at = kSignature; at + kFrame <= size;) {
    const size_t bytes = std::min<size_t>(big_endian(data + at), size - at - kFrame);
    const auto sum = static_cast<uint32_t>(crc32(0, data + at + 4, static_cast<uInt>(bytes + 4)));
    uint8_t* place = data + at + 8 + bytes;
    for (int i = 0; i < 4; ++i) place[i] = static_cast<uint8_t>(sum >> (24 - 8 * i));
    at += kFrame + bytes;
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most,
                                          unsigned int seed) {
  const size_t changed = LLVMFuzzerMutate(data, size, most);
  if (std::minstd_rand(seed)() % 16 != 0) repair_sums(data, changed);
  return changed;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Other formats are read, too, whatever a file is called; floats don't fit into a PNG file.
  const bool is_png = size >= kSignature && data[0] == 0x89;
  if (size > 0) check_reader({data, size}, ".png", is_png);
  return 0;
}
