// SPDX-License-Identifier: MIT
#include "png_text.h"

#include <zlib.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace grainless::tools {
namespace {

constexpr uint64_t kAlways = 8 << 20, kTimesTheFile = 4;  // bytes of all texts
constexpr size_t kStep = 64 << 10;
constexpr uint8_t kDeflate = 0;  // the only method

std::string string_of(std::span<const uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

// Cuts off what stands before the next zero byte, and the zero. False: there is none.
bool cut_string(std::span<const uint8_t>& bytes, std::string& text) {
  const auto zero = std::find(bytes.begin(), bytes.end(), uint8_t{0});
  if (zero == bytes.end()) return false;
  text.assign(bytes.begin(), zero);
  bytes = bytes.subspan(text.size() + 1);
  return true;
}

struct Inflater {
  z_stream stream{};
  bool ready = inflateInit(&stream) == Z_OK;
  Inflater() = default;
  ~Inflater() {
    if (ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

}  // namespace

PngTextReader::PngTextReader(uint64_t file_bytes) : left_(kAlways + kTimesTheFile * file_bytes) {}

void PngTextReader::take(std::string_view type, std::span<const uint8_t> content) noexcept {
  try {
    const bool good = type == "tEXt"   ? take_plain(content)
                      : type == "zTXt" ? take_compressed(content)
                      : type == "iTXt" ? take_international(content)
                                       : true;
    complete_ = complete_ && good;
  } catch (const std::exception&) {  // no memory
    complete_ = false;
  }
}

bool PngTextReader::take_plain(std::span<const uint8_t> content) {
  PngText text;
  if (!cut_string(content, text.key)) return false;
  text.text = string_of(content);
  texts_.push_back(std::move(text));
  return true;
}

bool PngTextReader::take_compressed(std::span<const uint8_t> content) {
  PngText text;
  if (!cut_string(content, text.key) || content.empty() || content[0] != kDeflate) return false;
  if (!inflate(content.subspan(1), text.text)) return false;
  texts_.push_back(std::move(text));
  return true;
}

bool PngTextReader::take_international(std::span<const uint8_t> content) {
  PngText text;
  text.international = true;
  if (!cut_string(content, text.key) || content.size() < 2) return false;
  const bool compressed = content[0] != 0;
  if (compressed && content[1] != kDeflate) return false;
  content = content.subspan(2);
  if (!cut_string(content, text.language) || !cut_string(content, text.translated_key)) {
    return false;
  }
  if (!compressed) {
    text.text = string_of(content);
  } else if (!inflate(content, text.text)) {
    return false;
  }
  texts_.push_back(std::move(text));
  return true;
}

// What was inflated in vain counts, too: the time is bounded as the memory is.
bool PngTextReader::inflate(std::span<const uint8_t> from, std::string& text) {
  Inflater inflater;
  if (!inflater.ready) return false;
  z_stream& stream = inflater.stream;
  stream.next_in = const_cast<Bytef*>(from.data());  // the member lacks its const
  stream.avail_in = static_cast<uInt>(from.size());
  int status = Z_OK;
  while (status == Z_OK && left_ > 0) {
    const size_t done = text.size(), step = std::min<uint64_t>(kStep, left_);
    text.resize(done + step);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + done);
    stream.avail_out = static_cast<uInt>(step);
    status = ::inflate(&stream, Z_NO_FLUSH);
    const size_t made = step - stream.avail_out;
    text.resize(done + made);
    left_ -= made;
    if (made == 0 && stream.avail_in == 0) break;
  }
  return status == Z_STREAM_END;
}

bool is_writable_key(const std::string& key) {
  return std::any_of(key.begin(), key.end(), [](char c) {
    const auto letter = static_cast<unsigned char>(c);
    return (letter > 32 && letter <= 126) || letter >= 161;
  });
}

}  // namespace grainless::tools
