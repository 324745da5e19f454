// SPDX-License-Identifier: MIT
#include "module_backend.h"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "engine/boundary/module_version.h"
#include "engine/platform/library.h"
#include "engine/sentence.h"
#include "module_file.h"

namespace grainless {
namespace {

[[noreturn]] void unavailable(const std::string& why) {
  throw Error(ErrorCode::kDeviceUnavailable, why);
}

// What this engine does not know is a failure like any other.
ErrorCode known_code(int32_t code) {
  const bool known = code > 0 && code <= static_cast<int32_t>(kLastErrorCode);
  return known ? static_cast<ErrorCode>(code) : ErrorCode::kDeviceFailed;
}

// A field of the boundary, which its writer may have filled to the last byte.
template <size_t kBytes>
std::string text_of(const char (&field)[kBytes]) {
  return {field, strnlen(field, kBytes)};
}

const AbiBackend* load_table(const std::string& path) {
  const std::string file = trusted_module(path);
  std::string why;
  void* library = load_library(file, why);
  if (library == nullptr) {
    unavailable(sentence("GPU support can't be loaded: %s", {why.empty() ? path : why}));
  }
  const auto entry = reinterpret_cast<AbiEntry>(library_symbol(library, kAbiSymbol));
  if (entry == nullptr)
    unavailable(sentence("%s is not a Grainless module of this version", {path}));
  const AbiBackend* table = entry();
  if (table == nullptr || table->abi_version != kAbiVersion ||
      table->struct_size < sizeof(AbiBackend) || table->plan_size != kAbiPlanSize) {
    unavailable(sentence("%s belongs to another version of Grainless", {path}));
  }
  return table;
}

// Far beyond what a card's memory holds of an ordinary picture, and within the bounds of its grids
// for one that is a few pixels wide.
constexpr int32_t kLargestSide = 1 << 16;

class ModuleBackend final : public Backend {
 public:
  ModuleBackend(const AbiBackend* table, uint32_t device, const AbiDevice& info, uint64_t limit)
      : table_(table), name_("cuda:" + std::to_string(device)), description_(info.name) {
    AbiMessage message{};
    check_answer(table_->open(device, limit, &session_, &message), message);
  }
  ~ModuleBackend() override { table_->close(session_); }
  ModuleBackend(const ModuleBackend&) = delete;
  ModuleBackend& operator=(const ModuleBackend&) = delete;

  std::string name() const override { return name_; }
  std::string description() const override { return description_; }
  int32_t concurrency() const override { return static_cast<int32_t>(table_->concurrency); }
  int32_t preferred_side(const Plan&) const override { return kLargestSide; }
  Status supports(const Plan& plan) const override {
    AbiMessage message{};
    return guard([&] { check_answer(table_->supports(session_, &plan, &message), message); });
  }
  uint64_t budget() const override {
    uint64_t bytes = 0;
    AbiMessage message{};
    check_answer(table_->budget(session_, &bytes, &message), message);
    return bytes;
  }
  uint64_t tile_bytes(const Plan& plan, int32_t width, int32_t height) const override {
    return table_->tile_bytes(&plan, width, height);
  }

  void run(const Plan& plan, const AbiTile& tile, const Callbacks& callbacks,
           AbiTiming* timing) override {
    AbiCallbacks plain{const_cast<Callbacks*>(&callbacks), cancelled, progress};
    AbiMessage message{};
    check_answer(table_->run(session_, &plan, &tile, &plain, timing, &message), message);
  }

  Status supports_volume(const Plan& plan, const VolumePlan& volume) const override {
    AbiMessage message{};
    return guard([&] { check_answer(table_->supports_volume(&plan, &volume, &message), message); });
  }
  uint64_t slab_bytes(const Plan& plan, const VolumePlan& volume, int32_t width, int32_t height,
                      int32_t in_layers, int32_t out_layers) const override {
    return table_->slab_bytes(&plan, &volume, width, height, in_layers, out_layers);
  }
  void run_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                const Callbacks& callbacks, AbiTiming* timing) override {
    AbiCallbacks plain{const_cast<Callbacks*>(&callbacks), cancelled, progress};
    AbiMessage message{};
    check_answer(table_->run_slab(session_, &plan, &volume, &slab, &plain, timing, &message),
                 message);
  }

 private:
  static int32_t cancelled(void* user) {
    return static_cast<Callbacks*>(user)->cancelled() ? 1 : 0;
  }
  static void progress(void* user, double fraction) {
    static_cast<Callbacks*>(user)->report(fraction);
  }

  const AbiBackend* table_;
  std::string name_, description_;
  AbiSession* session_ = nullptr;
};

class ModuleCards final : public Cards {
 public:
  explicit ModuleCards(std::string path) : path_(std::move(path)) {}

  std::vector<AbiDevice> devices(bool ask) override { return Module::load(path_).devices(ask); }
  std::shared_ptr<Backend> open(uint32_t device, uint64_t memory_limit) override {
    return Module::load(path_).open(device, memory_limit);
  }

 private:
  std::string path_;
};

}  // namespace

void check_answer(int32_t code, const AbiMessage& message) {
  if (code == 0) return;
  const std::string text = text_of(message.text);
  throw Error(known_code(code),
              text.empty() ? sentence("the GPU module failed") : unpacked_sentence(text));
}

std::shared_ptr<Cards> module_cards(const std::string& module_dir) {
  if (module_dir.empty()) return nullptr;
  return std::make_shared<ModuleCards>(module_dir + "/" + kModuleFile);
}

const Module& Module::load(const std::string& path) {
  static std::map<std::string, Module>* modules = new std::map<std::string, Module>();
  const std::lock_guard lock(loading_mutex());
  const auto found = modules->find(path);
  if (found != modules->end()) return found->second;
  return modules->emplace(path, Module(load_table(path))).first->second;
}

std::string Module::version() const {
  if (table_->struct_size < sizeof(AbiVersionedBackend)) return {};
  const char* version = reinterpret_cast<const AbiVersionedBackend*>(table_)->version;
  return version != nullptr ? version : "";
}

std::vector<AbiDevice> Module::devices(bool ask) const {
  constexpr uint32_t kUsual = 16, kMost = 1024;
  AbiMessage message{};
  uint32_t count = kUsual;
  std::vector<AbiDevice> devices;
  do {
    devices.resize(count);
    const auto places = static_cast<uint32_t>(devices.size());
    check_answer(table_->devices(ask ? 1 : 0, devices.data(), places, &count, &message), message);
    if (count > kMost) unavailable(sentence("the GPU module failed"));
  } while (count > devices.size());
  devices.resize(count);
  for (AbiDevice& device : devices) {
    device.name[sizeof device.name - 1] = device.reason[sizeof device.reason - 1] = '\0';
  }
  return devices;
}

AbiDevice Module::usable_device(uint32_t device) const {
  const std::vector<AbiDevice> known = devices(false);
  if (device >= known.size()) {
    unavailable(sentence("there is no graphics card cuda:%s", {std::to_string(device)}));
  }
  if (!known[device].usable) unavailable(unpacked_sentence(known[device].reason));
  return known[device];
}

std::unique_ptr<Backend> Module::open(uint32_t device, uint64_t memory_limit) const {
  return std::make_unique<ModuleBackend>(table_, device, usable_device(device), memory_limit);
}

}  // namespace grainless
