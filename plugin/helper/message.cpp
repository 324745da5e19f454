// SPDX-License-Identifier: MIT
#include "message.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "engine/sentence.h"

namespace grainless::helper {
namespace {

constexpr uint32_t kMagic = 0x4c4e5247;  // "GRNL"
constexpr int64_t kMostPixels = int64_t{1} << 31;

// Numbers stand in the machine's own order: both ends run on one.
class Writer {
 public:
  template <typename Number>
  void number(Number value) {
    static_assert(std::is_trivially_copyable_v<Number>);
    const size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void text(std::string_view value) {
    const std::string_view kept = value.substr(0, kMostTextBytes);
    number(static_cast<uint32_t>(kept.size()));
    bytes_.insert(bytes_.end(), kept.begin(), kept.end());
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kBadInput, sentence("what it said makes no sense"));
}

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : left_(bytes) {}

  template <typename Number>
  void number(Number& value) {
    if (left_.size() < sizeof value) refuse();
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
  }
  void boolean(bool& value) {
    uint8_t byte = 0;
    number(byte);
    if (byte > 1) refuse();
    value = byte == 1;
  }
  void text(std::string& value) {
    uint32_t size = 0;
    number(size);
    if (size > kMostTextBytes || size > left_.size()) refuse();
    value.assign(reinterpret_cast<const char*>(left_.data()), size);
    left_ = left_.subspan(size);
  }
  void end() const {
    if (!left_.empty()) refuse();
  }

 private:
  std::span<const uint8_t> left_;
};

void write(Writer&, const Hello&) {}

void write(Writer& out, const OpenInput& it) {
  out.number(it.input);
  out.number(static_cast<int32_t>(it.format.component));
  out.number(it.format.channels);
  out.number(it.width);
  out.number(it.height);
}

void write(Writer& out, const CloseInput& it) {
  out.number(it.input);
}

void write(Writer& out, const Render& it) {
  out.number(it.request);
  out.number(it.input);
  out.number(it.rect.x);
  out.number(it.rect.y);
  out.number(it.rect.width);
  out.number(it.rect.height);
  out.text(it.params);
}

void write(Writer& out, const Progress& it) {
  out.number(it.request);
}

void write(Writer& out, const Done& it) {
  out.number(it.request);
  out.number(static_cast<int32_t>(it.code));
  out.text(it.message);
  out.text(it.device);
  out.text(it.note);
  const size_t count = std::min(it.fallbacks.size(), kMostTexts);
  out.number(static_cast<uint32_t>(count));
  for (size_t i = 0; i < count; ++i) out.text(it.fallbacks[i]);
  out.number(static_cast<uint8_t>(it.changed));
}

void read(Reader&, Hello&) {}

void read(Reader& in, OpenInput& it) {
  int32_t component = 0;
  in.number(it.input);
  in.number(component);
  in.number(it.format.channels);
  in.number(it.width);
  in.number(it.height);
  if (component < 0 || component > static_cast<int32_t>(Component::kFloat)) {
    refuse();
  }
  it.format.component = static_cast<Component>(component);
  if (pixel_bytes(it.format, it.width, it.height) == 0) refuse();
}

void read(Reader& in, CloseInput& it) {
  in.number(it.input);
}

void read(Reader& in, Render& it) {
  in.number(it.request);
  in.number(it.input);
  in.number(it.rect.x);
  in.number(it.rect.y);
  in.number(it.rect.width);
  in.number(it.rect.height);
  in.text(it.params);
  // Its edges can be computed; whether it lies in the image, only who has the image can tell.
  if (it.rect.x < 0 || it.rect.y < 0 || it.rect.width < 1 || it.rect.height < 1 ||
      it.rect.x > INT32_MAX - it.rect.width || it.rect.y > INT32_MAX - it.rect.height) {
    refuse();
  }
}

void read(Reader& in, Progress& it) {
  in.number(it.request);
}

void read(Reader& in, Done& it) {
  int32_t code = 0;
  uint32_t count = 0;
  in.number(it.request);
  in.number(code);
  if (code < 0 || code > static_cast<int32_t>(kLastErrorCode)) refuse();
  it.code = static_cast<ErrorCode>(code);
  in.text(it.message);
  in.text(it.device);
  in.text(it.note);
  in.number(count);
  if (count > kMostTexts) refuse();
  it.fallbacks.resize(count);
  for (std::string& text : it.fallbacks) in.text(text);
  in.boolean(it.changed);
}

template <size_t kKind = 0>
void read_kind(Reader& in, uint16_t kind, Message& message) {
  if constexpr (kKind < std::variant_size_v<Message>) {
    if (kind != kKind) return read_kind<kKind + 1>(in, kind, message);
    read(in, message.emplace<kKind>());
    in.end();
  } else {
    refuse();
  }
}

}  // namespace

std::vector<uint8_t> encode(const Message& message) {
  Writer out;
  out.number(kMagic);
  out.number(kProtocolVersion);
  out.number(static_cast<uint16_t>(message.index()));
  std::visit([&](const auto& it) { write(out, it); }, message);
  return out.take();
}

Status decode(std::span<const uint8_t> bytes, Message& message) {
  return guard([&] {
    Reader in(bytes);
    uint32_t magic = 0;
    uint16_t version = 0, kind = 0;
    in.number(magic);
    if (magic != kMagic) refuse();
    in.number(version);
    if (version != kProtocolVersion) {
      throw Error(ErrorCode::kUnsupported, sentence("it is of another version"));
    }
    in.number(kind);
    read_kind(in, kind, message);
  });
}

uint64_t pixel_bytes(PixelFormat format, int32_t width, int32_t height) {
  if (format.channels < 1 || format.channels > 4 || width < 1 || height < 1) return 0;
  const int64_t pixels = int64_t{width} * height;
  return pixels > kMostPixels ? 0 : static_cast<uint64_t>(pixels) * format.pixel_bytes();
}

}  // namespace grainless::helper
