// SPDX-License-Identifier: MIT
// What an effect in GIMP and its helper say to each other: one message a packet of a socket pair,
// pixels beside it as a file in memory. Both ends come from one installation, and yet neither
// believes the other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "engine/boundary/pixels.h"
#include "engine/boundary/rect.h"
#include "engine/boundary/status.h"

namespace grainless::helper {

inline constexpr uint16_t kProtocolVersion = 1;
inline constexpr size_t kMostTextBytes = 4 * 1024;  // longer texts are cut
inline constexpr size_t kMostTexts = 8;             // so are longer lists

// The first message in each direction.
struct Hello {
  bool operator==(const Hello&) const = default;
};

// Comes with a sealed file: a whole image, rows without gaps.
struct OpenInput {
  uint64_t input = 0;
  PixelFormat format;
  int32_t width = 0, height = 0;
  bool operator==(const OpenInput&) const = default;
};

struct CloseInput {
  uint64_t input = 0;
  bool operator==(const CloseInput&) const = default;
};

// Comes with a file for the pixels of rect, rows without gaps.
struct Render {
  uint64_t request = 0, input = 0;
  Rect rect;
  std::string params;  // "key=value", one a line
  bool operator==(const Render&) const = default;
};

struct Progress {
  uint64_t request = 0;
  bool operator==(const Progress&) const = default;
};

struct Done {
  uint64_t request = 0;
  ErrorCode code = ErrorCode::kOk;
  std::string message = {};                 // why not kOk
  std::string device = {}, note = {};       // as in Report
  std::vector<std::string> fallbacks = {};  // as in Report
  bool changed = false;
  bool operator==(const Done&) const = default;
};

using Message = std::variant<Hello, OpenInput, CloseInput, Render, Progress, Done>;

std::vector<uint8_t> encode(const Message& message);

// kUnsupported: another version of the protocol; kBadInput: no message at all, or a size, a
// rectangle or a format that no image has.
Status decode(std::span<const uint8_t> bytes, Message& message);

// Bytes of width × height pixels; at most 2^31 pixels of 16 bytes. 0: there is no such image.
uint64_t pixel_bytes(PixelFormat format, int32_t width, int32_t height);

}  // namespace grainless::helper
