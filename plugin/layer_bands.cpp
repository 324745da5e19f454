// SPDX-License-Identifier: MIT
#include "layer_bands.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "engine/methods.h"
#include "engine/noise/survey.h"
#include "engine/sentence.h"
#include "engine/stopwatch.h"
#include "layer_flow.h"
#include "run_beside.h"
#include "target.h"

namespace grainless {
namespace {

constexpr char kVariable[] = "GRAINLESS_HOST_MEMORY";
constexpr uint64_t kMebibyte = 1 << 20;
constexpr uint64_t kHostMemory = 512 * kMebibyte;
constexpr uint64_t kSurveyBytes = 64 * kMebibyte;  // of a band that is only looked at
constexpr int32_t kFewestRows = 64;                // fewer would be nearly all halo
// Layers that the engine turns into floats at once (run_volume_slab() and run_stack()).
constexpr size_t kVolumeFloats = 20, kFusionFloats = 5;

// Shares of a band's progress.
constexpr double kReadShare = 0.04, kWriteShare = 0.03;

Rect rows_of(const Rect& rect, int32_t first, int32_t end) {
  return {rect.x, first, rect.width, end - first};
}

// In MiB; none where the user says none, or what is no number of them.
std::optional<uint64_t> given_memory() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return std::nullopt;
  uint64_t mebibytes = 0;
  const char* end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, mebibytes);
  const bool whole = error == std::errc() && stopped == end;
  if (!whole || mebibytes == 0 || mebibytes >= UINT64_MAX / kMebibyte) return std::nullopt;
  return mebibytes;
}

}  // namespace

uint64_t host_memory() {
  return given_memory().value_or(kHostMemory / kMebibyte) * kMebibyte;
}

std::string strange_host_memory() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr || *text == '\0' || given_memory()) return {};
  return sentence("%1$s is not a value of %2$s: %3$s is taken",
                  {text, kVariable, std::to_string(kHostMemory / kMebibyte)});
}

uint64_t held_bytes(const Params& params, PixelFormat format, size_t layers) {
  const bool averages = method_row(params.method).stack == StackWay::kFusion;
  const size_t floats = layers > 1 ? std::min(layers, averages ? kFusionFloats : kVolumeFloats) : 0;
  return layers * static_cast<uint64_t>(format.pixel_bytes()) +
         floats * static_cast<uint64_t>(format.colours()) * sizeof(float);
}

LayerBands::LayerBands(LayerFilter& filter, const Params& params, std::vector<BandLayer> layers,
                       RunReport& report)
    : filter_(filter), params_(params), layers_(std::move(layers)), report_(report) {}

PixelBuffer LayerBands::buffer(const Rect& rect) const {
  return {io().encoding().format, io().width(), io().height(), rect};
}

PixelBuffer LayerBands::read(const BandLayer& layer, const Rect& rect, const CallMonitor& monitor) {
  const Stopwatch stopwatch;
  PixelBuffer pixels = buffer(rect);
  layer.io->read_all(pixels, *layer.read, monitor);
  report_.read += stopwatch.seconds();
  return pixels;
}

NoiseModel LayerBands::measure(const CallMonitor& monitor) {
  return filter_.measure_survey() ? measure_survey(monitor) : measure_whole(monitor);
}

NoiseModel LayerBands::measure_whole(const CallMonitor& monitor) {
  const PixelFormat format = io().encoding().format;
  const auto all = static_cast<int32_t>(count());
  const std::vector<int32_t> measured =
      filter_.noise_layers({format, io().width(), io().height(), all});
  std::vector<PixelBuffer> whole;
  for (size_t i = 0; i < measured.size(); ++i) {
    whole.push_back(read(layers_[static_cast<size_t>(measured[i])], io().whole(),
                         part_of(within(monitor, 0, 0.5), i, measured.size())));
  }
  NoiseModel noise;
  const auto measure = [&](const Callbacks& callbacks) {
    return filter_.measure(params_, all, images(whole), callbacks, noise, &report_.engine.estimate);
  };
  run_beside(measure, within(monitor, 0.5, 0.5));
  return noise;
}

NoiseModel LayerBands::measure_survey(const CallMonitor& monitor) {
  Survey survey(io().encoding().format, io().width(), io().height());
  survey_rows(survey, within(monitor, 0, 0.5));
  NoiseModel noise;
  const auto measure = [&](const Callbacks& callbacks) {
    return filter_.measure_survey()(params_, survey, callbacks, noise, &report_.engine.estimate);
  };
  run_beside(measure, within(monitor, 0.5, 0.5));
  return noise;
}

void LayerBands::survey_rows(Survey& survey, const CallMonitor& monitor) {
  const auto row = static_cast<uint64_t>(buffer(rows_of(sums().rect, 0, 0)).row_bytes());
  const uint64_t most = std::min(host_memory(), kSurveyBytes) / row;
  const auto height = static_cast<uint64_t>(io().height());
  const auto rows = static_cast<int32_t>(std::min(std::max<uint64_t>(most, kFewestRows), height));
  for (int32_t y = 0; y < io().height(); y += rows) {
    const int32_t end = y + std::min(rows, io().height() - y);
    const double share = 1.0 / io().height();
    const Rect around = sums().stripes_around(std::max(0, y - Survey::kMargin),
                                              std::min(io().height(), end + Survey::kMargin));
    const PixelBuffer pixels =
        read(layers_.front(), around, within(monitor, y * share, (end - y) * share));
    survey.add(pixels.image(), y, end);
  }
}

Rect LayerBands::source_of(const NoiseModel& noise, const Rect& band) const {
  VolumeBox source;
  const auto layers = static_cast<int32_t>(count());
  const LayersShape shape{io().encoding().format, io().width(), io().height(), layers};
  throw_if_failed(filter_.needed(params_, noise, shape, {band, 0, layers}, source));
  return sums().stripes_around(source.rect.y, source.rect.bottom());
}

int32_t LayerBands::band_rows(const NoiseModel& noise, const Rect& target) const {
  const int32_t middle = target.y + target.height / 2;
  const Rect around = source_of(noise, rows_of(target, middle, middle + 1));
  const uint64_t pixel = held_bytes(params_, io().encoding().format, count());
  const uint64_t held = static_cast<uint64_t>(around.width) * pixel;
  const uint64_t made = static_cast<uint64_t>(target.width) * pixel;
  const uint64_t halo = static_cast<uint64_t>(around.height) * held;
  const uint64_t room = host_memory() > halo ? host_memory() - halo : 0;
  const uint64_t least = std::max(kFewestRows, around.height - 1);
  const uint64_t most = std::max(room / (held + made), least);
  // Of about one height, so that the last one is no sliver.
  const auto height = static_cast<uint64_t>(target.height);
  const uint64_t bands = (height - 1) / most + 1;
  return static_cast<int32_t>((height - 1) / bands + 1);
}

void LayerBands::filter(const NoiseModel& noise, const Rect& target, const CallMonitor& monitor) {
  const double outside = 0.01;
  prepare_outside(target, within(monitor, 0, outside));
  const int32_t rows = band_rows(noise, target);
  report_.engine.noise = noise;
  report_.bands = 0;
  for (int32_t y = target.y; y < target.bottom(); y += rows) {
    const Rect band = rows_of(target, y, y + std::min(rows, target.bottom() - y));
    const double share = (1 - outside) / target.height;
    filter_band(noise, band,
                within(monitor, outside + (y - target.y) * share, band.height * share));
    if (!report_.engine.changed) return;  // nor would any other band
    report_.engine.noise = told_noise(noise);
  }
}

void LayerBands::filter_band(const NoiseModel& noise, const Rect& band,
                             const CallMonitor& monitor) {
  const Report one =
      filter_.run_flow() ? flow_band(noise, band, monitor) : pass_band(noise, band, monitor);
  add_part(one, report_.engine);
  report_.engine.note = one.note;
  report_.engine.changed = one.changed;
  ++report_.bands;
}

Report LayerBands::flow_band(const NoiseModel& noise, const Rect& band,
                             const CallMonitor& monitor) {
  PixelBuffer source = buffer(source_of(noise, band)), result = buffer(band);
  LayerFlow flow(io(), report_, source, result);
  flow.read_into(*layers_.front().read);
  const auto compute = [&](const PictureFlow& picture, const Callbacks& callbacks, Report& report) {
    return filter_.run_flow()(params_, noise, picture, callbacks, report);
  };
  return flow.run(compute, monitor);
}

Report LayerBands::pass_band(const NoiseModel& noise, const Rect& band,
                             const CallMonitor& monitor) {
  const Rect around = source_of(noise, band);
  const CallMonitor reading = within(monitor, 0, kReadShare);
  std::vector<PixelBuffer> sources, results;
  for (size_t i = 0; i < count(); ++i) {
    sources.push_back(read(layers_[i], around, part_of(reading, i, count())));
    results.push_back(buffer(band));
  }
  const Report one =
      run(noise, sources, results, within(monitor, kReadShare, 1 - kReadShare - kWriteShare));
  if (one.changed) prepare(sources, results, within(monitor, 1 - kWriteShare, kWriteShare));
  return one;
}

void LayerBands::prepare_outside(const Rect& target, const CallMonitor& monitor) {
  for (size_t i = 0; i < count(); ++i) {
    if (!layers_[i].io->prepare_outside(target, part_of(monitor, i, count()))) {
      throw Error(ErrorCode::kBadInput, not_taken_sentence());
    }
  }
}

void LayerBands::prepare(const std::vector<PixelBuffer>& sources,
                         const std::vector<PixelBuffer>& results, const CallMonitor& monitor) {
  const Stopwatch stopwatch;
  for (size_t i = 0; i < count(); ++i) {
    if (!layers_[i].io->prepare(sources[i], results[i], part_of(monitor, i, count()))) {
      throw Error(ErrorCode::kBadInput, not_taken_sentence());
    }
  }
  report_.write += stopwatch.seconds();
}

Report LayerBands::run(const NoiseModel& noise, const std::vector<PixelBuffer>& sources,
                       std::vector<PixelBuffer>& results, const CallMonitor& monitor) {
  Report report;
  const std::vector<ConstImage> from = images(sources);
  const std::vector<MutableImage> to = writable_images(results);
  const auto layers = static_cast<int32_t>(count());
  const auto compute = [&](const Callbacks& callbacks) {
    return filter_.run(params_, noise, {layers, 0, from}, {layers, 0, to}, callbacks, report);
  };
  run_beside(compute, monitor);
  return report;
}

}  // namespace grainless
