// SPDX-License-Identifier: MIT
#include "conversation.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "engine/sentence.h"

namespace grainless::cards {
namespace {

using namespace std::chrono_literals;

constexpr auto kSignOfLife = 100ms;
constexpr auto kLong = 24h;

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kDeviceFailed, sentence("what it said makes no sense"));
}

// What this side throws is said as what the module says is.
template <typename Body>
void guarded(Answer& answer, const Body& body) {
  const Status status = guard(body);
  if (status.ok()) return;
  answer.code = static_cast<int32_t>(status.code());
  std::snprintf(answer.message.text, sizeof answer.message.text, "%s", status.message().c_str());
}

ptrdiff_t row_bytes(const Plan& plan, int32_t width) {
  return ptrdiff_t{width} * plan.format.pixel_bytes();
}

}  // namespace

void Conversation::serve() {
  answer(Hello{.process = getpid()});
  while (true) {
    std::optional<helper::RawPacket> packet = socket_.receive(kLong);
    if (!packet) continue;
    const Message message = decode(packet->bytes);
    if (const auto* pixels = std::get_if<UsePixels>(&message)) {
      use(*pixels, std::move(packet->file));
    } else {
      std::visit([this](const auto& request) { take(request); }, message);
    }
  }
}

template <typename Request>
void Conversation::take(const Request& request) {
  if constexpr (requires { this->reply(request); }) {
    reply(request);
  } else if constexpr (std::is_same_v<Request, Hello>) {
    const Hello own;
    if (request.version != own.version || request.abi_version != own.abi_version ||
        request.plan_size != own.plan_size) {
      refuse();
    }
  } else if constexpr (!std::is_same_v<Request, Cancel>) {  // of a run that has come to its end
    refuse();
  }
}

template <typename Body>
void Conversation::answer(const Body& body) {
  if constexpr (std::is_same_v<Body, Answer>) {
    if (body.code == static_cast<int32_t>(ErrorCode::kDeviceFailed)) failed_();
  }
  socket_.send(encode(body));
}

void Conversation::reply(const ListCards& request) {
  CardList list;
  Answer failure;
  guarded(failure, [&] {
    const std::vector<AbiDevice> found = shelf_.module().devices(request.ask != 0);
    list.count = static_cast<uint32_t>(std::min<size_t>(found.size(), kMostCards));
    std::copy_n(found.begin(), list.count, list.cards.begin());
  });
  if (failure.code != 0) return answer(failure);
  answer(list);
}

void Conversation::reply(const OpenCard& request) {
  Opened opened;
  Answer failure;
  guarded(failure, [&] {
    sessions_.push_back(shelf_.open(request.device, request.memory_limit));
    opened.session = static_cast<uint32_t>(sessions_.size() - 1);
    opened.concurrency = static_cast<int32_t>(shelf_.module().table().concurrency);
    std::memcpy(opened.description, sessions_.back()->device().name, sizeof opened.description);
  });
  if (failure.code != 0) return answer(failure);
  answer(opened);
}

void Conversation::reply(const Supports& request) {
  Answer result;
  result.code =
      shelf_.module().table().supports(session(request.session), &request.plan, &result.message);
  answer(result);
}

void Conversation::reply(const SupportsVolume& request) {
  Answer result;
  result.code =
      shelf_.module().table().supports_volume(&request.plan, &request.volume, &result.message);
  answer(result);
}

void Conversation::reply(const TileBytes& request) {
  Answer result;
  result.value = shelf_.module().table().tile_bytes(&request.plan, request.width, request.height);
  answer(result);
}

void Conversation::reply(const SlabBytes& request) {
  Answer result;
  result.value =
      shelf_.module().table().slab_bytes(&request.plan, &request.volume, request.width,
                                         request.height, request.in_layers, request.out_layers);
  answer(result);
}

void Conversation::reply(const Budget& request) {
  Answer result;
  result.code =
      shelf_.module().table().budget(session(request.session), &result.value, &result.message);
  answer(result);
}

void Conversation::reply(const RunTile& request) {
  answer_run([&](Answer& result) {
    uint8_t* source = pixels(pixels_of(request));
    const AbiTile tile{request.image_width,
                       request.image_height,
                       request.in,
                       request.out,
                       source,
                       row_bytes(request.plan, request.in.width),
                       source + target_offset(request),
                       row_bytes(request.plan, request.out.width)};
    const AbiCallbacks callbacks{this, cancelled, progress};
    return shelf_.module().table().run(session(request.session), &request.plan, &tile, &callbacks,
                                       &result.timing, &result.message);
  });
}

void Conversation::reply(const RunSlab& request) {
  answer_run([&](Answer& result) {
    uint8_t* at = pixels(pixels_of(request));
    const int64_t layer = layer_offset(request);
    const ptrdiff_t rows = row_bytes(request.plan, request.width);
    std::vector<AbiLayer> layers;
    for (int32_t z = 0; z < request.in_layers + request.out_layers; ++z) {
      layers.push_back({at + z * layer, rows});
    }
    const AbiSlab slab{request.width,      request.height,    request.layers,
                       request.in_first,   request.in_layers, request.out_first,
                       request.out_layers, layers.data(),     layers.data() + request.in_layers};
    const AbiCallbacks callbacks{this, cancelled, progress};
    return shelf_.module().table().run_slab(session(request.session), &request.plan,
                                            &request.volume, &slab, &callbacks, &result.timing,
                                            &result.message);
  });
}

void Conversation::answer_run(const std::function<int32_t(Answer&)>& run) {
  cancelled_ = false;
  fraction_ = 0;
  said_ = std::chrono::steady_clock::now();
  Answer result;
  guarded(result, [&] { result.code = run(result); });
  answer(result);
}

void Conversation::use(UsePixels request, helper::Descriptor file) {
  pixels_.reset();
  pixels_ = helper::SharedMemory::adopt(std::move(file), request.bytes,
                                        helper::SharedMemory::Access::kWrite);
}

AbiSession* Conversation::session(uint32_t number) const {
  if (number >= sessions_.size()) refuse();
  return sessions_[number]->get();
}

uint8_t* Conversation::pixels(uint64_t bytes) {
  if (!pixels_ || pixels_->bytes() < bytes) refuse();
  return pixels_->writable();
}

int32_t Conversation::cancelled(void* self) {
  auto& conversation = *static_cast<Conversation*>(self);
  const std::lock_guard lock(conversation.run_mutex_);
  conversation.say_alive();
  if (!conversation.cancelled_) conversation.cancelled_ = conversation.hears_cancel();
  return conversation.cancelled_ ? 1 : 0;
}

void Conversation::progress(void* self, double fraction) {
  static_cast<Conversation*>(self)->fraction_ = fraction;
}

void Conversation::say_alive() {
  const auto now = std::chrono::steady_clock::now();
  if (now - said_ < kSignOfLife) return;
  said_ = now;
  (void)guard([&] { answer(Progress{fraction_}); });  // a lost end is heard of below
}

// Nothing but that is said to a run; all else, the end of the connection too, is a reason to stop.
bool Conversation::hears_cancel() {
  bool heard = false;
  const Status status = guard([&] { heard = socket_.receive(0ms).has_value(); });
  return heard || !status.ok();
}

}  // namespace grainless::cards
