// SPDX-License-Identifier: MIT
#include "devices_command.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

// Apart from the text: JSON takes memory when it goes, too, and ends the program without.
void print_devices_json(const std::vector<DeviceInfo>& devices) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const DeviceInfo& device : devices) list.push_back(json_of(device));
  print_json({{"devices", list}});
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
  const std::vector<DeviceInfo> devices = engine.devices(Engine::Ask::kFreeMemory);
  if (json) return print_devices_json(devices);
  std::string text;
  for (const DeviceInfo& device : devices) text += line_of(device);
  print_text(text);
}

}  // namespace grainless::tools
