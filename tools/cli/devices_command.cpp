// SPDX-License-Identifier: MIT
#include "devices_command.h"

#include <string>
#include <vector>

#include "engine_setup.h"
#include "json_report.h"

namespace grainless::tools {
namespace {

void add_device(JsonLine& line, const DeviceInfo& device) {
  line.open(nullptr, '{');
  line.add("name", device.name);
  line.add("description", device.description);
  line.add("usable", device.usable);
  line.add("reason", device.reason);
  line.add("total_memory", device.total_memory);
  line.add("free_memory", device.free_memory);
  line.close('}');
}

void print_devices_json(const std::vector<DeviceInfo>& devices) {
  JsonLine line;
  line.open(nullptr, '{');
  line.open("devices", '[');
  for (const DeviceInfo& device : devices) add_device(line, device);
  line.close(']');
  line.close('}');
  print_json(line);
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
