// SPDX-License-Identifier: MIT
#include "bench_table.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace grainless::tools {
namespace {

constexpr double kMilli = 1e3;

const Peer* best_peer(const BenchCase& bench) {
  const auto faster = [](const Peer& a, const Peer& b) { return a.milliseconds < b.milliseconds; };
  const auto best = std::min_element(bench.peers.begin(), bench.peers.end(), faster);
  return best == bench.peers.end() ? nullptr : &*best;
}

}  // namespace

std::string table_head() {
  char line[256];
  std::snprintf(line, sizeof line, "%-38s %-8s %10s %10s %10s %10s %6s %8s  %s\n",
                "work (ms, medians)", "device", "kernels", "upload", "download", "total", "tiles",
                "MiB", "best peer's kernels");
  return line;
}

std::string table_row(const BenchCase& bench, const BenchResult& result) {
  char line[512], peer[128] = "";
  if (const Peer* best = best_peer(bench)) {
    std::snprintf(peer, sizeof peer, "%s %g: %.2f times ours", best->name.c_str(),
                  best->milliseconds, best->milliseconds / (result.kernels * kMilli));
  }
  std::snprintf(line, sizeof line, "%-38s %-8s %10.3f %10.3f %10.3f %10.3f %6d %8.1f  %s\n",
                bench.name.c_str(), result.device.c_str(), result.kernels * kMilli,
                result.upload * kMilli, result.download * kMilli, result.total * kMilli,
                result.tiles, double(result.peak_memory) / (1 << 20), peer);
  return line;
}

nlohmann::ordered_json json_row(const BenchCase& bench, const BenchResult& result) {
  nlohmann::ordered_json parameters, peers = nlohmann::ordered_json::object();
  for (const ParamSpec& spec : param_specs()) {
    parameters[spec.key] = param_text(bench.params, spec);
  }
  for (const Peer& peer : bench.peers) peers[peer.name] = peer.milliseconds;
  return {{"work", bench.name},
          {"width", bench.width},
          {"height", bench.height},
          {"layers", bench.layers},
          {"depth", bench.depth},
          {"channels", bench.format.channels},
          {"bytes_a_component", bench.format.component_bytes()},
          {"parameters", parameters},
          {"device", result.device},
          {"device_description", result.device_description},
          {"fallback", result.fallbacks},
          {"kernels_ms", result.kernels * kMilli},
          {"fastest_kernels_ms", result.fastest_kernels * kMilli},
          {"slowest_kernels_ms", result.slowest_kernels * kMilli},
          {"upload_ms", result.upload * kMilli},
          {"download_ms", result.download * kMilli},
          {"total_ms", result.total * kMilli},
          {"tiles", result.tiles},
          {"peak_memory", result.peak_memory},
          {"result_hash", result.hash},
          {"peers_kernels_ms", peers}};
}

}  // namespace grainless::tools
