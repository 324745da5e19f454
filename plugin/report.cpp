// SPDX-License-Identifier: MIT
#include "report.h"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace grainless {

bool append_report(const RunReport& report) {
  const char* path = std::getenv("GRAINLESS_REPORT");
  if (path == nullptr || *path == '\0') return true;
  const Report& engine = report.engine;
  nlohmann::ordered_json json;
  json["drawable"] = report.drawable;
  if (report.layers > 0) {
    json["layers"] = report.layers;
    json["depth"] = report.params.depth;
  }
  json["device"] = engine.device;
  json["fallback"] = engine.fallbacks;
  json["method"] = param_text(report.params, *find_param("method"));
  json["sigma"] = nlohmann::ordered_json::array();
  for (int32_t c = 0; c < engine.noise.channels; ++c) {
    json["sigma"].push_back(engine.noise.sigma[0][c]);
  }
  json["seconds"] = {{"read", report.read},         {"estimate", engine.estimate},
                     {"upload", engine.upload},     {"kernels", engine.kernels},
                     {"download", engine.download}, {"write", report.write},
                     {"total", report.total}};
  json["bands"] = report.bands;
  json["tiles"] = engine.tiles;
  json["peak_memory"] = engine.peak_memory;
  json["replaced_pixels"] = engine.replaced_pixels;
  json["changed"] = engine.changed;
  json["note"] = engine.note;
  // Names of layers may be anything.
  const std::string line =
      json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::ofstream file(path, std::ios::app);
  file << line << '\n';
  return static_cast<bool>(file.flush());
}

}  // namespace grainless
