// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "engine/boundary/status.h"
#include "pnm_file.h"

namespace grainless::tools {
namespace {

constexpr int32_t kMostMaxval = 65535;

struct Header {
  char kind = 0;  // the magic's second character
  int64_t width = 0, height = 0;
  int32_t maxval = 0;
  int32_t channels = 0;
  double scale = 0;  // PFM
};

bool is_space(int c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Next word of the header, with '#' comments skipped; the one blank after it is consumed too.
std::string next_word(const InputFile& file) {
  std::string word;
  for (int c = std::getc(file.stream()); c != EOF; c = std::getc(file.stream())) {
    if (c == '#') {
      while (c != '\n' && c != EOF) c = std::getc(file.stream());
    }
    if (c == EOF || (is_space(c) && !word.empty())) break;
    if (!is_space(c)) word.push_back(static_cast<char>(c));
    if (word.size() > 64) fail_file(file.path(), "is damaged: its header makes no sense");
  }
  if (word.empty()) fail_file(file.path(), "is truncated");
  return word;
}

template <typename Number>
Number parse(const InputFile& file, const std::string& word) {
  Number value{};
  const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
  if (result.ec != std::errc() || result.ptr != word.data() + word.size()) {
    fail_file(file.path(), "is damaged: '" + word + "' stands where a number belongs");
  }
  return value;
}

void read_pam_header(const InputFile& file, Header& header) {
  std::string tuple_type;
  for (std::string key = next_word(file); key != "ENDHDR"; key = next_word(file)) {
    const std::string value = next_word(file);
    if (key == "WIDTH") header.width = parse<int64_t>(file, value);
    if (key == "HEIGHT") header.height = parse<int64_t>(file, value);
    if (key == "DEPTH") header.channels = parse<int32_t>(file, value);
    if (key == "MAXVAL") header.maxval = parse<int32_t>(file, value);
    if (key == "TUPLTYPE") tuple_type = value;
  }
  if (tuple_type.find("CMYK") != std::string::npos) fail_file(file.path(), "is in CMYK colours");
  if (header.channels < 1 || header.channels > 4) {
    fail_file(file.path(),
              "has " + std::to_string(header.channels) + " channels; 1 to 4 are known");
  }
}

Header read_header(const InputFile& file) {
  Header header;
  const std::string magic = next_word(file);
  header.kind = magic.size() == 2 && magic[0] == 'P' ? magic[1] : '\0';
  if (header.kind == '7') {
    read_pam_header(file, header);
  } else {
    header.width = parse<int64_t>(file, next_word(file));
    header.height = parse<int64_t>(file, next_word(file));
    if (header.kind == 'F' || header.kind == 'f') {
      header.scale = parse<double>(file, next_word(file));
      header.channels = header.kind == 'F' ? 3 : 1;
      return header;
    }
    header.maxval = parse<int32_t>(file, next_word(file));
    header.channels = header.kind == '3' || header.kind == '6' ? 3 : 1;
  }
  if (header.maxval < 1 || header.maxval > kMostMaxval) {
    fail_file(file.path(),
              "is damaged: its largest sample can't be " + std::to_string(header.maxval));
  }
  return header;
}

// Samples begin behind one blank. A header whose lines end as Windows' do has two there, and its
// file is longer by just that.
void skip_line_feed(const InputFile& file) {
  std::fseek(file.stream(), -1, SEEK_CUR);
  const bool returned = std::getc(file.stream()) == '\r';
  const int next = std::getc(file.stream());
  if (!returned || next != '\n') std::ungetc(next, file.stream());
}

// Before memory is asked for: a header alone can't make us take gigabytes. A sample of a plain file
// is a digit and, but for the last, a blank at least.
void check_length(const InputFile& file, const Header& header) {
  check_pixels(header.width, header.height, file.path());
  const bool plain = header.kind == '2' || header.kind == '3';
  const bool floats = header.kind == 'F' || header.kind == 'f';
  const auto samples = uint64_t(header.width) * uint64_t(header.height) * uint64_t(header.channels);
  const uint64_t bytes = floats ? 4 : plain || header.maxval > 255 ? 2 : 1;
  const uint64_t rest = file.size() - std::min(file.size(), uint64_t(std::ftell(file.stream())));
  const uint64_t needed = samples * bytes - (plain ? 1 : 0);
  if (rest < needed) fail_file(file.path(), "is truncated");
  if (!plain && rest == needed + 1) skip_line_feed(file);
}

void read_bytes(const InputFile& file, void* to, size_t bytes) {
  if (std::fread(to, 1, bytes, file.stream()) != bytes) fail_file(file.path(), "is truncated");
}

// Streams of several pictures are legal; all but the first would be lost.
void refuse_second_picture(const InputFile& file) {
  int c = std::getc(file.stream());
  while (is_space(c)) c = std::getc(file.stream());
  if (c == 'P') fail_file(file.path(), "holds more than one picture");
}

int32_t next_plain_sample(const InputFile& file) {
  return parse<int32_t>(file, next_word(file));
}

int32_t next_raw_sample(const uint8_t*& from, bool wide) {
  const int32_t value = wide ? from[0] << 8 | from[1] : from[0];
  from += wide ? 2 : 1;
  return value;
}

void store_sample(Image& image, const InputFile& file, size_t index, int32_t value,
                  int32_t maxval) {
  if (value < 0 || value > maxval) {
    fail_file(file.path(), "is damaged: a sample of " + std::to_string(value) + " is not in 0 to " +
                               std::to_string(maxval));
  }
  const bool deep = image.format.component == Component::kU16;
  const int64_t full = deep ? 65535 : 255;
  const int64_t scaled = (int64_t{value} * full * 2 + maxval) / (int64_t{maxval} * 2);
  if (deep) {
    const uint16_t sample = static_cast<uint16_t>(scaled);
    std::memcpy(image.pixels.get() + index * 2, &sample, 2);
  } else {
    image.pixels[index] = static_cast<uint8_t>(scaled);
  }
}

// Samples that use all values of their bytes, most significant byte first.
void read_whole_bytes(const InputFile& file, Image& image, const CancelToken* cancel) {
  const bool swap =
      image.format.component == Component::kU16 && std::endian::native == std::endian::little;
  for (int32_t y = 0; y < image.height; ++y) {
    throw_if_cancelled(cancel);
    uint8_t* row = image.row(y);
    read_bytes(file, row, image.row_bytes());
    for (size_t i = 0; swap && i < image.row_bytes(); i += 2) std::swap(row[i], row[i + 1]);
  }
}

void read_samples(const InputFile& file, const Header& header, Image& image,
                  const CancelToken* cancel) {
  const bool plain = header.kind == '2' || header.kind == '3';
  const bool wide = header.maxval > 255;
  const size_t row_samples = size_t(image.width) * size_t(image.format.channels);
  if (!plain && header.maxval == (wide ? 65535 : 255)) {
    read_whole_bytes(file, image, cancel);
    return refuse_second_picture(file);
  }
  std::vector<uint8_t> row(plain ? 0 : row_samples * (wide ? 2 : 1));
  for (int32_t y = 0; y < image.height; ++y) {
    throw_if_cancelled(cancel);
    if (!plain) read_bytes(file, row.data(), row.size());
    const uint8_t* raw = row.data();
    for (size_t i = 0; i < row_samples; ++i) {
      const int32_t value = plain ? next_plain_sample(file) : next_raw_sample(raw, wide);
      store_sample(image, file, size_t(y) * row_samples + i, value, header.maxval);
    }
  }
  refuse_second_picture(file);
}

}  // namespace

Image read_pnm(const InputFile& file, const CancelToken* cancel) {
  const Header header = read_header(file);
  check_length(file, header);
  const PixelFormat format{header.maxval > 255 ? Component::kU16 : Component::kU8, header.channels};
  Image image = make_image(format, header.width, header.height, file.path());
  read_samples(file, header, image, cancel);
  return image;
}

Image read_pfm(const InputFile& file, const CancelToken* cancel) {
  const Header header = read_header(file);
  if (!(std::abs(header.scale) > 0) || !std::isfinite(header.scale)) {
    fail_file(file.path(), "is damaged: its scale can't be " + std::to_string(header.scale));
  }
  check_length(file, header);
  Image image =
      make_image({Component::kFloat, header.channels}, header.width, header.height, file.path());
  image.metadata.pfm_scale = std::abs(header.scale);
  const bool swap = (header.scale < 0) != (std::endian::native == std::endian::little);
  for (int32_t y = image.height - 1; y >= 0; --y) {  // the bottom row comes first
    throw_if_cancelled(cancel);
    uint8_t* row = image.row(y);
    read_bytes(file, row, image.row_bytes());
    for (size_t i = 0; swap && i < image.row_bytes(); i += 4) std::reverse(row + i, row + i + 4);
  }
  refuse_second_picture(file);
  return image;
}

}  // namespace grainless::tools
