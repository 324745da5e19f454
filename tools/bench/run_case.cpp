// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench_case.h"
#include "engine/boundary/pixel_math.h"
#include "engine/thread_pool.h"
#include "tools/image_io/image.h"
#include "tools/noise.h"

namespace grainless::tools {
namespace {

constexpr uint64_t kSeed = 7;
constexpr int32_t kNoiseSide = 1021;  // prime: the noise's repetition meets no search window

// Edges, slopes and fine texture, so that matching finds what it finds in photographs.
float scene(int32_t x, int32_t y, int32_t channel) {
  const float slope = 40.0f + 100.0f * float((x + 2 * y) % 1500) / 1500.0f;
  const float texture = 12.0f * std::sin(0.35f * float(x)) * std::sin(0.27f * float(y));
  const float edge = (x / 97 + y / 61) % 2 == 0 ? 35.0f : 0.0f;
  return slope + texture + edge + 10.0f * float(channel);
}

std::vector<float> noise_tile(double sigma) {
  std::vector<float> tile(size_t(kNoiseSide) * kNoiseSide);
  for (size_t i = 0; i < tile.size(); ++i) {
    tile[i] = static_cast<float>(sigma * normal_noise(kSeed, i));
  }
  return tile;
}

// A volume's scene moves by a pixel from layer to layer.
Image noisy_scene(const BenchCase& bench, const std::vector<float>& noise, int32_t layer) {
  Image image = make_image(bench.format, bench.width, bench.height, bench.name);
  const size_t step = size_t(bench.format.pixel_bytes());
  for (int32_t y = 0; y < image.height; ++y) {
    for (int32_t x = 0; x < image.width; ++x) {
      uint8_t* pixel = image.row(y) + size_t(x) * step;
      for (int32_t c = 0; c < bench.format.channels; ++c) {
        const bool alpha = bench.format.has_alpha() && c == bench.format.channels - 1;
        const size_t row = size_t(layer) * size_t(image.height) + size_t(y);
        const size_t at = (row * size_t(image.width) + size_t(x)) * 3 + size_t(c);
        const float value = alpha ? 255.0f : scene(x + layer, y, c) + noise[at % noise.size()];
        store_component(pixel, bench.format.component, c, value);
      }
    }
  }
  return image;
}

double median_of(const std::vector<Report>& reports, double Report::* member) {
  std::vector<double> values;
  for (const Report& report : reports) values.push_back(report.*member);
  const auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

BenchResult summarise(const std::vector<Report>& reports) {
  const Report& last = reports.back();
  BenchResult result;
  result.device = last.device;
  result.device_description = last.device_description;
  result.fallbacks = last.fallbacks;
  result.upload = median_of(reports, &Report::upload);
  result.kernels = median_of(reports, &Report::kernels);
  result.download = median_of(reports, &Report::download);
  result.total = median_of(reports, &Report::total);
  const auto by_kernels = [](const Report& a, const Report& b) { return a.kernels < b.kernels; };
  const auto [fastest, slowest] = std::minmax_element(reports.begin(), reports.end(), by_kernels);
  result.fastest_kernels = fastest->kernels;
  result.slowest_kernels = slowest->kernels;
  result.tiles = last.tiles;
  result.peak_memory = last.peak_memory;
  return result;
}

// FNV-1a over words of 8 bytes.
uint64_t hash_of(const std::vector<Image>& images) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const Image& image : images) {
    const size_t row_bytes = size_t(image.width) * size_t(image.format.pixel_bytes());
    for (int32_t y = 0; y < image.height; ++y) {
      const uint8_t* row = image.row(y);
      for (size_t i = 0; i < row_bytes; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, row + i, std::min(sizeof word, row_bytes - i));
        hash = (hash ^ word) * 0x100000001b3u;
      }
    }
  }
  return hash;
}

}  // namespace

BenchResult run_case(Engine& engine, const BenchCase& bench, int32_t repeat,
                     const CancelToken& cancel) {
  const std::vector<float> tile = noise_tile(bench.params.sigma);
  std::vector<Image> sources(size_t(bench.layers)), results(sources.size());
  std::vector<ConstImage> layers;
  std::vector<MutableImage> targets;
  ThreadPool(0).parallel_for(bench.layers, [&](int32_t z, int32_t) {
    sources[size_t(z)] = noisy_scene(bench, tile, z);
    results[size_t(z)] = make_image(bench.format, bench.width, bench.height, bench.name);
  });
  for (const Image& source : sources) layers.push_back(source.view());
  for (Image& result : results) targets.push_back(result.mutable_view());
  const NoiseModel noise =
      white_noise(bench.format.colours(), static_cast<float>(bench.params.sigma));
  const Callbacks callbacks{&cancel, {}};
  std::vector<Report> reports(size_t(repeat) + 1);
  for (Report& report : reports) {
    throw_if_failed(
        bench.depth > 0
            ? engine.denoise_volume(bench.params, bench.depth, layers, targets, callbacks, report)
            : engine.denoise(bench.params, noise, layers[0], targets[0], callbacks, report));
  }
  reports.erase(reports.begin());  // opened the device and loaded the kernels
  BenchResult result = summarise(reports);
  result.hash = hash_of(results);
  return result;
}

}  // namespace grainless::tools
