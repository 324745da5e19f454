// SPDX-License-Identifier: MIT
#include "report.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "engine/json_line.h"

namespace grainless {

namespace {

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
  line.add_each("fallback", engine.fallbacks);
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
  return line.text();
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
