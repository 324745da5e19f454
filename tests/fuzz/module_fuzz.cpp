// SPDX-License-Identifier: MIT
// What a module says of itself and of its cards, and how it fails. Its code runs in our process and
// could do anything; what it answers must do no harm, and where it fails the CPU takes over.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "drawn.h"
#include "engine/boundary/abi.h"
#include "engine/denoise.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"

using namespace grainless;

namespace {

FuzzedDataProvider* answers = nullptr;
std::mutex turn;  // of the threads that serve the cards
std::string folder;
AbiBackend table{};

int32_t code(AbiMessage* message) {
  std::lock_guard lock(turn);
  if (answers->ConsumeProbability<float>() < 0.7f) return 0;
  answers->ConsumeData(message->text, sizeof message->text);
  return answers->ConsumeBool() ? answers->ConsumeIntegral<int32_t>()
                                : answers->ConsumeIntegralInRange(0, 8);
}

uint64_t number() {
  std::lock_guard lock(turn);
  return answers->ConsumeBool() ? answers->ConsumeIntegral<uint64_t>()
                                : answers->ConsumeIntegralInRange<uint64_t>(0, 1 << 20);
}

int32_t devices(int32_t, AbiDevice* out, uint32_t capacity, uint32_t* count, AbiMessage* message) {
  *count = answers->ConsumeBool() ? answers->ConsumeIntegral<uint32_t>()
                                  : answers->ConsumeIntegralInRange<uint32_t>(0, 20);
  for (uint32_t i = 0; i < std::min({*count, capacity, 20u}); ++i) {
    answers->ConsumeData(&out[i], sizeof out[i]);
    if (answers->ConsumeBool()) out[i].usable = 1;
  }
  return code(message);
}

int32_t open(uint32_t, uint64_t, AbiSession** out, AbiMessage* message) {
  static char session;
  *out = reinterpret_cast<AbiSession*>(&session);
  return code(message);
}

int32_t supports(AbiSession*, const Plan*, AbiMessage* message) {
  return code(message);
}

uint64_t tile_bytes(const Plan*, int32_t, int32_t) {
  return number();
}

int32_t budget(AbiSession*, uint64_t* bytes, AbiMessage* message) {
  *bytes = number();
  return code(message);
}

int32_t run(AbiSession*, const Plan* plan, const AbiTile* tile, const AbiCallbacks* callbacks,
            AbiTiming* timing, AbiMessage* message) {
  const double progress = static_cast<double>(number()) * 1e-6;
  timing->upload = progress;
  timing->peak_memory = number();
  callbacks->progress(callbacks->user, progress);
  const int32_t failure = code(message);
  if (failure != 0) return failure;
  const size_t bytes = size_t(tile->out.width) * size_t(plan->format.pixel_bytes());
  for (int32_t y = 0; y < tile->out.height; ++y) {
    std::memset(static_cast<uint8_t*>(tile->target) + y * tile->target_row_bytes, 0, bytes);
  }
  return 0;
}

void close(AbiSession*) {}

int32_t supports_volume(const Plan*, const VolumePlan*, AbiMessage* message) {
  return code(message);
}

uint64_t slab_bytes(const Plan*, const VolumePlan*, int32_t, int32_t, int32_t, int32_t) {
  return number();
}

int32_t run_slab(AbiSession*, const Plan*, const VolumePlan*, const AbiSlab*, const AbiCallbacks*,
                 AbiTiming*, AbiMessage* message) {
  const int32_t failure = code(message);
  return failure != 0 ? failure : static_cast<int32_t>(ErrorCode::kDeviceFailed);
}

constexpr AbiBackend kGood = {kAbiVersion, sizeof(AbiBackend), kAbiPlanSize, 1,       devices,
                              open,        supports,           tile_bytes,   budget,  run,
                              close,       supports_volume,    slab_bytes,   run_slab};

// Modules are kept by their path once they are accepted: a header that is wrong has its own.
void check_header(FuzzedDataProvider& bytes) {
  table = kGood;
  table.abi_version = bytes.ConsumeIntegral<uint32_t>();
  table.struct_size = bytes.ConsumeIntegral<uint32_t>();
  table.plan_size = bytes.ConsumeIntegral<uint32_t>();
  const bool good = table.abi_version == kAbiVersion && table.struct_size >= sizeof table &&
                    table.plan_size == kAbiPlanSize;
  if (good) return;
  const std::vector<DeviceInfo> found = Engine({folder + "/.", 1}).devices();
  fuzz::expect(found.size() == 2 && !found.front().usable, "another version's module is taken");
}

void check_devices(Engine& engine) {
  const std::vector<DeviceInfo> found = engine.devices();
  fuzz::expect(!found.empty() && found.back().name == "cpu", "the processor is missing");
  for (const DeviceInfo& device : found) {
    fuzz::expect(device.description.size() < 1024 && device.reason.size() < 4096,
                 "a text beyond its field");
  }
}

void check_picture(Engine& engine, FuzzedDataProvider& bytes) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.search = 3, params.patch = 3, params.scales = 1;
  params.auto_sigma = false;
  params.device = bytes.ConsumeBool() ? "cuda" : "cuda:0,3";
  const tools::Image image = tools::make_image({Component::kU8, 1}, 150, 90, "drawn");
  std::memset(image.pixels.get(), 100, image.bytes());
  tools::Image result = tools::make_image(image.format, image.width, image.height, "result");
  Report report;
  const Status status =
      engine.denoise(params, white_noise(1, 10), image.view(), result.mutable_view(), {}, report);
  fuzz::expect(status.ok(), "no fall-back: " + status.message());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const AbiBackend* grainless_fuzz_table() {
  return &table;
}

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  const std::filesystem::path program = std::filesystem::absolute((*arguments)[0]);
  folder = (program.parent_path() / "module").string();
  // Only the library is looked for beside the program: the processor's turn needs no answers.
  FuzzedDataProvider none(nullptr, 0);
  answers = &none;
  table = kGood;
  Engine engine({folder, 1});
  const std::string reason = engine.devices().front().reason;
  fuzz::expect(reason.find("NVIDIA") != std::string::npos,
               "no module in " + folder + ": " + reason);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  answers = &bytes;
  if (bytes.ConsumeIntegralInRange(0, 7) == 0) check_header(bytes);
  table = kGood;
  table.concurrency =
      bytes.ConsumeIntegralInRange(0, 3) == 0 ? bytes.ConsumeIntegral<uint32_t>() : 1;
  Engine engine({folder, 1});
  check_devices(engine);
  check_picture(engine, bytes);
  return 0;
}
