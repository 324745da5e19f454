// SPDX-License-Identifier: MIT
#include "devices_command.h"

#include <nlohmann/json.hpp>

#include "engine_setup.h"
#include "json_report.h"

namespace grainless::tools {
namespace {

nlohmann::ordered_json json_of(const DeviceInfo& device) {
  return {{"name", device.name},
          {"description", device.description},
          {"usable", device.usable},
          {"reason", device.reason},
          {"total_memory", device.total_memory},
          {"free_memory", device.free_memory}};
}

std::string line_of(const DeviceInfo& device) {
  std::string line = device.name;
  if (!device.description.empty()) line += ": " + device.description;
  if (device.total_memory > 0) {
    line += ", " + std::to_string(device.free_memory >> 20) + " of " +
            std::to_string(device.total_memory >> 20) + " MiB free";
  }
  return line + (device.usable ? "" : ": not usable, " + device.reason) + "\n";
}

}  // namespace

void run_devices(bool json) {
  Engine engine(engine_options(0));
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  std::string text;
  for (const DeviceInfo& device : engine.devices(Engine::Ask::kFreeMemory)) {
    list.push_back(json_of(device));
    text += line_of(device);
  }
  if (json) {
    print_json({{"devices", list}});
  } else {
    print_text(text);
  }
}

}  // namespace grainless::tools
