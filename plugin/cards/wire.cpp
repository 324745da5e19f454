// SPDX-License-Identifier: MIT
#include "wire.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/sentence.h"
#include "plugin/helper/message.h"

namespace grainless::cards {
namespace {

constexpr uint64_t kAlignment = 64;

template <size_t kIndex>
void read(std::span<const uint8_t> bytes, Message& message) {
  using Body = std::variant_alternative_t<kIndex, Message>;
  if (bytes.size() != sizeof(Body)) {
    throw Error(ErrorCode::kDeviceFailed, sentence("what it said makes no sense"));
  }
  std::memcpy(&message.emplace<kIndex>(), bytes.data(), sizeof(Body));
}

template <size_t... kIndices>
Message read_any(uint32_t kind, std::span<const uint8_t> bytes, std::index_sequence<kIndices...>) {
  using Read = void (*)(std::span<const uint8_t>, Message&);
  constexpr Read kRead[] = {read<kIndices>...};
  if (kind >= std::size(kRead)) {
    throw Error(ErrorCode::kDeviceFailed, sentence("what it said makes no sense"));
  }
  Message message;
  kRead[kind](bytes, message);
  return message;
}

void check(bool possible) {
  if (!possible) throw Error(ErrorCode::kBadInput, sentence("the image is too large"));
}

// Whatever the numbers are.
bool is_part(const Rect& part, const Rect& whole) {
  const auto within = [](int64_t first, int64_t count, int64_t whole_first, int64_t whole_count) {
    return count > 0 && first >= whole_first && first + count <= whole_first + whole_count;
  };
  return within(part.x, part.width, whole.x, whole.width) &&
         within(part.y, part.height, whole.y, whole.height);
}

uint64_t aligned(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

uint64_t layer_bytes(const Plan& plan, int32_t width, int32_t height) {
  const uint64_t bytes = helper::pixel_bytes(plan.format, width, height);
  check(bytes != 0);
  return aligned(bytes);
}

// Of so many layers from the first-th on, which have to be the volume's.
uint64_t layers_bytes(const RunSlab& run, int32_t first, int32_t count) {
  check(first >= 0 && count > 0 && run.layers > 0 && first <= run.layers - count);
  const uint64_t one = layer_bytes(run.plan, run.width, run.height);
  check(one <= std::numeric_limits<int64_t>::max() / (2 * static_cast<uint64_t>(count)));
  return one * static_cast<uint64_t>(count);
}

}  // namespace

Message decode(std::span<const uint8_t> bytes) {
  uint32_t kind = std::numeric_limits<uint32_t>::max();
  if (bytes.size() >= sizeof kind) std::memcpy(&kind, bytes.data(), sizeof kind);
  return read_any(kind, bytes.subspan(std::min(bytes.size(), sizeof kind)),
                  std::make_index_sequence<std::variant_size_v<Message>>());
}

uint64_t target_offset(const RunTile& run) {
  const Rect image{0, 0, run.image_width, run.image_height};
  check(is_part(run.in, image) && is_part(run.out, run.in));
  return layer_bytes(run.plan, run.in.width, run.in.height);
}

uint64_t target_offset(const RunSlab& run) {
  return layers_bytes(run, run.in_first, run.in_layers);
}

int64_t layer_offset(const RunSlab& run) {
  return static_cast<int64_t>(layer_bytes(run.plan, run.width, run.height));
}

uint64_t pixels_of(const RunTile& run) {
  return target_offset(run) + layer_bytes(run.plan, run.out.width, run.out.height);
}

uint64_t pixels_of(const RunSlab& run) {
  return target_offset(run) + layers_bytes(run, run.out_first, run.out_layers);
}

}  // namespace grainless::cards
