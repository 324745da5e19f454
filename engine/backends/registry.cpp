// SPDX-License-Identifier: MIT
#include "registry.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "engine/cpu/cpu_backend.h"
#include "engine/module_version.h"
#include "engine/platform/library.h"
#include "engine/sentence.h"
#include "module_backend.h"

namespace grainless {
namespace {

// "cuda:0,2" -> {0, 2}; validate() has checked the form.
std::vector<uint32_t> card_numbers(std::string_view device) {
  std::vector<uint32_t> numbers;
  device.remove_prefix(std::string_view("cuda:").size());
  while (!device.empty()) {
    uint32_t number = 0;
    const auto end = std::from_chars(device.data(), device.data() + device.size(), number).ptr;
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
      numbers.push_back(number);
    }
    device.remove_prefix(end - device.data());
    if (!device.empty()) device.remove_prefix(1);
  }
  return numbers;
}

DeviceInfo describe(const AbiDevice& device, size_t index) {
  return {"cuda:" + std::to_string(index),  device.name,         device.usable != 0,
          unpacked_sentence(device.reason), device.total_memory, device.free_memory};
}

std::string module_path(const std::string& module_dir) {
  return module_dir + "/" + kModuleFile;
}

Error without_gpu() {
  return {ErrorCode::kDeviceUnavailable, sentence("built without GPU support")};
}

}  // namespace

std::string module_version(const std::string& module_dir) {
  if (module_dir.empty()) throw without_gpu();
  return Module::load(module_path(module_dir)).version();
}

Registry::Registry(std::shared_ptr<Cards> cards, ThreadPool& pool)
    : cards_(std::move(cards)), cpu_(make_cpu_backend(pool)) {}

Cards& Registry::cards() const {
  if (!cards_) throw without_gpu();
  return *cards_;
}

std::vector<DeviceInfo> Registry::devices(bool ask) {
  std::vector<DeviceInfo> all;
  const Status status = guard([&] {
    const std::vector<AbiDevice> found = cards().devices(ask);
    for (size_t i = 0; i < found.size(); ++i) all.push_back(describe(found[i], i));
    if (found.empty()) {
      throw Error(ErrorCode::kDeviceUnavailable, sentence("there is no NVIDIA graphics card"));
    }
  });
  if (!status.ok()) all.push_back({"cuda", "", false, status.message(), 0, 0});
  all.push_back({"cpu", cpu_->description(), true, "", 0, 0});
  return all;
}

std::vector<std::shared_ptr<Backend>> Registry::accelerators(const Params& params,
                                                             std::vector<std::string>& fallbacks) {
  std::vector<std::shared_ptr<Backend>> backends;
  if (params.device == "cpu" || (params.device == "auto" && !cards_)) return backends;
  std::vector<uint32_t> wanted;
  const Status listed = guard([&] {
    if (params.device.starts_with("cuda:")) {
      wanted = card_numbers(params.device);
      return;
    }
    const std::vector<DeviceInfo> all = devices(false);
    for (size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i].usable) wanted.push_back(static_cast<uint32_t>(i));
    }
    if (wanted.empty()) throw Error(ErrorCode::kDeviceUnavailable, all.front().reason);
  });
  if (!listed.ok()) fallbacks.push_back(listed.message());
  for (uint32_t card : wanted) {
    if (params.device == "auto" && !backends.empty()) break;
    const Status status =
        guard([&] { backends.push_back(open(card, uint64_t(params.memory) << 20)); });
    if (!status.ok()) fallbacks.push_back(status.message());
  }
  return backends;
}

std::shared_ptr<Backend> Registry::open(uint32_t device, uint64_t memory_limit) {
  std::lock_guard lock(mutex_);
  const auto found = opened_.find(device);
  if (found != opened_.end() && found->second.memory_limit == memory_limit) {
    return found->second.backend;
  }
  opened_.erase(device);
  std::shared_ptr<Backend> backend = cards().open(device, memory_limit);
  opened_[device] = {memory_limit, backend};
  return backend;
}

void Registry::drop(const std::string& name) {
  std::lock_guard lock(mutex_);
  std::erase_if(opened_, [&](const auto& entry) { return entry.second.backend->name() == name; });
}

}  // namespace grainless
