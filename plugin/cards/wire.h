// SPDX-License-Identifier: MIT
// What a program and the process that holds its graphics cards say to each other: the module
// boundary (engine/boundary/abi.h), a call at a time on a connection, with the pixels in memory
// that both see. Both ends are one program file, so that plain data stand as they are.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/boundary/abi.h"
#include "plugin/helper/packets.h"

namespace grainless::cards {

inline constexpr uint32_t kProtocolVersion = 1;
inline constexpr uint32_t kMostCards = 64;

// The first message in each direction; the server's has its process.
struct Hello {
  uint32_t version = kProtocolVersion, abi_version = kAbiVersion, plan_size = kAbiPlanSize;
  int32_t process = 0;
};

// What a program asks for. A session is one opened card, of this connection alone.
struct ListCards {
  int32_t ask;
};
struct OpenCard {
  uint64_t memory_limit;
  uint32_t device;
};
struct Supports {
  uint32_t session;
  Plan plan;
};
struct SupportsVolume {
  Plan plan;
  VolumePlan volume;
};
struct TileBytes {
  Plan plan;
  int32_t width, height;
};
struct SlabBytes {
  Plan plan;
  VolumePlan volume;
  int32_t width, height, in_layers, out_layers;
};
struct Budget {
  uint32_t session;
};
// Comes with a file in memory for the pixels of this connection's runs from now on.
struct UsePixels {
  uint64_t bytes;
};
// An AbiTile whose source is the start of the pixels, rows without gaps, and its target follows.
struct RunTile {
  uint32_t session;
  int32_t image_width, image_height;
  Rect in, out;
  Plan plan;
};
// An AbiSlab in the same way: the source's layers, then the target's.
struct RunSlab {
  uint32_t session;
  int32_t width, height, layers;
  int32_t in_first, in_layers, out_first, out_layers;
  Plan plan;
  VolumePlan volume;
};
// The run that goes on shall end early; it answers all the same.
struct Cancel {
  int32_t unused = 0;
};

// What is answered: a Progress now and then while a run goes on, and one of the others.
struct Progress {
  double fraction;
};
struct Answer {
  int32_t code = 0;
  uint64_t value = 0;  // bytes, or a new session
  AbiTiming timing = {};
  AbiMessage message = {};  // as the module says it
};
struct Opened {
  uint32_t session = 0;
  int32_t concurrency = 0;
  char description[sizeof(AbiDevice::name)] = {};
};
struct CardList {
  uint32_t count = 0;
  std::array<AbiDevice, kMostCards> cards = {};
};

using Message =
    std::variant<Hello, ListCards, OpenCard, Supports, SupportsVolume, TileBytes, SlabBytes, Budget,
                 UsePixels, RunTile, RunSlab, Cancel, Progress, Answer, Opened, CardList>;

template <typename Body>
std::vector<uint8_t> encode(const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  const auto kind = static_cast<uint32_t>(Message(std::in_place_type<Body>).index());
  static_assert(sizeof kind + sizeof body <= helper::kMostMessageBytes);
  std::vector<uint8_t> bytes(sizeof kind + sizeof body);
  std::memcpy(bytes.data(), &kind, sizeof kind);
  std::memcpy(bytes.data() + sizeof kind, &body, sizeof body);
  return bytes;
}

// Throws Error(kDeviceFailed) unless the bytes are a message.
Message decode(std::span<const uint8_t> bytes);

// Bytes of a run's pixels. Throws Error(kBadInput) for what no picture or volume can be.
uint64_t pixels_of(const RunTile& run);
uint64_t pixels_of(const RunSlab& run);

// Where the target begins, and how far apart a slab's layers are.
uint64_t target_offset(const RunTile& run);
uint64_t target_offset(const RunSlab& run);
int64_t layer_offset(const RunSlab& run);

}  // namespace grainless::cards
