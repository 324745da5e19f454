// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/status.h"
#include "tests/support/system.h"
#include "tools/image_io/image.h"

namespace grainless::tools {

// A folder that goes away with its content.
class Folder {
 public:
  Folder() : path_(test::new_folder()) {}
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }
  size_t entries() const {
    return size_t(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::vector<uint8_t> file_bytes(const std::string& path) {
  std::ifstream stream(std::filesystem::path(path), std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A new file each time: cutting an old one to nothing makes some file systems wait for the disk.
inline void write_bytes(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::filesystem::remove(path);
  std::ofstream stream(std::filesystem::path(path), std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()), std::streamsize(bytes.size()));
}

inline void write_text(const std::string& path, const std::string& text) {
  write_bytes(path, {text.begin(), text.end()});
}

// Every bit pattern of integers; floats between -0.5 and 1.5.
inline Image random_image(PixelFormat format, int32_t width, int32_t height, uint32_t seed = 1) {
  Image image = make_image(format, width, height, "test");
  std::mt19937 random(seed);
  const size_t step = size_t(format.component_bytes());
  for (size_t at = 0; at < image.bytes(); at += step) {
    const auto bits = static_cast<uint32_t>(random());
    const float real = float(bits & 0xffffu) / 32768.0f - 0.5f;
    const uint16_t half = half_from_float(real);
    const bool is_half = format.component == Component::kHalf;
    const void* value = &bits;
    if (format.component == Component::kFloat) value = &real;
    if (is_half) value = &half;
    std::memcpy(image.pixels.get() + at, value, step);
  }
  return image;
}

inline bool same_pixels(const Image& a, const Image& b) {
  return a.format == b.format && a.width == b.width && a.height == b.height &&
         std::memcmp(a.pixels.get(), b.pixels.get(), a.bytes()) == 0;
}

// The message of the Error that body throws; fails the test when it throws none.
template <typename Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace grainless::tools
