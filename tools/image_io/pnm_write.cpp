// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <vector>

#include "pnm_file.h"

namespace grainless::tools {
namespace {

// PNM's samples are big-endian, PFM's as we write them little-endian.
void write_row(OutputFile& file, const Image& image, int32_t y, std::endian order,
               std::vector<uint8_t>& scratch) {
  const uint8_t* row = image.row(y);
  const size_t step = size_t(image.format.component_bytes());
  if (step == 1 || order == std::endian::native) {
    file.write(row, image.row_bytes());
    return;
  }
  scratch.assign(row, row + image.row_bytes());
  for (size_t i = 0; i < scratch.size(); i += step) {
    std::reverse(scratch.begin() + ptrdiff_t(i), scratch.begin() + ptrdiff_t(i + step));
  }
  file.write(scratch.data(), scratch.size());
}

void write_rows(OutputFile& file, const Image& image, const CancelToken* cancel) {
  std::vector<uint8_t> scratch;
  for (int32_t y = 0; y < image.height; ++y) {
    throw_if_cancelled(cancel);
    write_row(file, image, y, std::endian::big, scratch);
  }
}

std::string maxval(const Image& image) {
  return image.format.component == Component::kU8 ? "255" : "65535";
}

void write_text(OutputFile& file, const std::string& text) {
  file.write(text.data(), text.size());
}

}  // namespace

void write_pnm(OutputFile& file, const Image& image, const CancelToken* cancel) {
  write_text(file, std::string(image.format.channels == 3 ? "P6" : "P5") + "\n" +
                       std::to_string(image.width) + " " + std::to_string(image.height) + "\n" +
                       maxval(image) + "\n");
  write_rows(file, image, cancel);
}

void write_pam(OutputFile& file, const Image& image, const CancelToken* cancel) {
  static constexpr const char* kTypes[] = {"GRAYSCALE", "GRAYSCALE_ALPHA", "RGB", "RGB_ALPHA"};
  write_text(file, "P7\nWIDTH " + std::to_string(image.width) + "\nHEIGHT " +
                       std::to_string(image.height) + "\nDEPTH " +
                       std::to_string(image.format.channels) + "\nMAXVAL " + maxval(image) +
                       "\nTUPLTYPE " + kTypes[image.format.channels - 1] + "\nENDHDR\n");
  write_rows(file, image, cancel);
}

void write_pfm(OutputFile& file, const Image& image, const CancelToken* cancel) {
  char scale[32];
  const auto end = std::to_chars(std::begin(scale), std::end(scale), -image.metadata.pfm_scale);
  write_text(file, std::string(image.format.channels == 3 ? "PF" : "Pf") + "\n" +
                       std::to_string(image.width) + " " + std::to_string(image.height) + "\n" +
                       std::string(scale, end.ptr) + "\n");
  std::vector<uint8_t> scratch;
  for (int32_t y = image.height - 1; y >= 0; --y) {
    throw_if_cancelled(cancel);
    write_row(file, image, y, std::endian::little, scratch);
  }
}

}  // namespace grainless::tools
