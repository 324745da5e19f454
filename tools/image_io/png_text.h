// SPDX-License-Identifier: MIT
// The texts of a PNG file: tEXt, zTXt and iTXt chunks (PNG 3rd edition, 11.3.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "image.h"

namespace grainless::tools {

// Takes the content of chunks as they come. All texts together, once inflated, have a bound: a few
// bytes can stand for gigabytes.
class PngTextReader {
 public:
  explicit PngTextReader(uint64_t file_bytes);

  // Of a chunk that is none of the three nothing is taken. What can't be had is left out: libpng,
  // which calls this, can't pass exceptions on.
  void take(std::string_view type, std::span<const uint8_t> content) noexcept;

  std::vector<PngText>& texts() { return texts_; }
  bool complete() const { return complete_; }  // no text was damaged or too large

 private:
  bool take_plain(std::span<const uint8_t> content);
  bool take_compressed(std::span<const uint8_t> content);
  bool take_international(std::span<const uint8_t> content);
  bool inflate(std::span<const uint8_t> stream, std::string& text);

  uint64_t left_;  // bytes that texts may still have
  bool complete_ = true;
  std::vector<PngText> texts_;
};

// Whether libpng can make a key of it: not of blanks and control characters alone.
bool is_writable_key(const std::string& key);

}  // namespace grainless::tools
