// SPDX-License-Identifier: MIT
#include "report.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace grainless {

namespace {

using nlohmann::ordered_json;

// A line of JSON, member by member. nlohmann's arrays and objects ask for memory in their
// destructors and end the process where there is none, so only single values are made with it.
class JsonLine {
 public:
  void open(const char* name, char bracket) {
    begin(name);
    text += bracket;
    first_ = true;
  }
  void close(char bracket) {
    text += bracket;
    first_ = false;
  }
  // A member of an object; an array's has no name.
  void add(const char* name, const ordered_json& value) {
    begin(name);
    // Names of layers may be anything.
    text += value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  }

  std::string text;

 private:
  void begin(const char* name) {
    if (!first_) text += ',';
    first_ = false;
    if (name != nullptr) text.append("\"").append(name).append("\":");
  }

  bool first_ = true;
};

void add_seconds(JsonLine& line, const RunReport& report) {
  const Report& engine = report.engine;
  line.open("seconds", '{');
  line.add("read", report.read);
  line.add("estimate", engine.estimate);
  line.add("upload", engine.upload);
  line.add("kernels", engine.kernels);
  line.add("download", engine.download);
  line.add("write", report.write);
  line.add("total", report.total);
  line.close('}');
}

std::string json_line(const RunReport& report) {
  const Report& engine = report.engine;
  JsonLine line;
  line.open(nullptr, '{');
  line.add("drawable", report.drawable);
  if (report.layers > 0) {
    line.add("layers", report.layers);
    line.add("depth", report.params.depth);
  }
  line.add("device", engine.device);
  line.open("fallback", '[');
  for (const std::string& reason : engine.fallbacks) line.add(nullptr, reason);
  line.close(']');
  line.add("method", param_text(report.params, *find_param("method")));
  line.open("sigma", '[');
  for (int32_t c = 0; c < engine.noise.channels; ++c) {
    line.add(nullptr, engine.noise.sigma[0][c]);
  }
  line.close(']');
  add_seconds(line, report);
  line.add("bands", report.bands);
  line.add("tiles", engine.tiles);
  line.add("peak_memory", engine.peak_memory);
  line.add("replaced_pixels", engine.replaced_pixels);
  line.add("changed", engine.changed);
  line.add("note", engine.note);
  line.close('}');
  return line.text;
}

}  // namespace

bool append_report(const RunReport& report) {
  const char* path = std::getenv("GRAINLESS_REPORT");
  if (path == nullptr || *path == '\0') return true;
  const std::string line = json_line(report);
  std::ofstream file(path, std::ios::app);
  file << line << '\n';
  return static_cast<bool>(file.flush());
}

}  // namespace grainless
