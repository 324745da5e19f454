// SPDX-License-Identifier: MIT
#include "layer_bands.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "engine/noise/survey.h"
#include "engine/stopwatch.h"
#include "run_beside.h"
#include "target.h"

namespace grainless {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;
constexpr uint64_t kHostMemory = 512 * kMebibyte;
constexpr uint64_t kSurveyBytes = 64 * kMebibyte;  // of a band that is only looked at
constexpr int32_t kFewestRows = 64;                // fewer would be nearly all halo

// Shares of a band's progress.
constexpr double kReadShare = 0.04, kWriteShare = 0.03;

Rect rows_of(const Rect& rect, int32_t first, int32_t end) {
  return {rect.x, first, rect.width, end - first};
}

}  // namespace

uint64_t host_memory() {
  const char* text = std::getenv("GRAINLESS_HOST_MEMORY");
  const uint64_t mebibytes = text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
  const bool usable = mebibytes > 0 && mebibytes < UINT64_MAX / kMebibyte;
  return usable ? mebibytes * kMebibyte : kHostMemory;
}

LayerBands::LayerBands(LayerFilter& filter, const Params& params, const DrawableIo& io,
                       PixelSums& read, RunReport& report)
    : filter_(filter), params_(params), io_(io), read_(read), report_(report) {}

PixelBuffer LayerBands::buffer(const Rect& rect) const {
  return {io_.encoding().format, io_.width(), io_.height(), rect};
}

PixelBuffer LayerBands::read(const Rect& rect, const CallMonitor& monitor) {
  const Stopwatch stopwatch;
  PixelBuffer pixels = buffer(rect);
  io_.read_all(pixels, read_, monitor);
  report_.read += stopwatch.seconds();
  return pixels;
}

NoiseModel LayerBands::measure(const CallMonitor& monitor) {
  Survey survey(params_, io_.encoding().format, io_.width(), io_.height());
  if (survey.looks_at_pixels()) survey_rows(survey, within(monitor, 0, 0.5));
  NoiseModel noise;
  const auto measure = [&](const Callbacks& callbacks) {
    return filter_.measure_survey()(params_, survey, callbacks, noise, &report_.engine.estimate);
  };
  run_beside(measure, within(monitor, 0.5, 0.5));
  return noise;
}

void LayerBands::survey_rows(Survey& survey, const CallMonitor& monitor) {
  const auto row = static_cast<uint64_t>(buffer(rows_of(read_.rect, 0, 0)).row_bytes());
  const uint64_t most = std::min(host_memory(), kSurveyBytes) / row;
  const auto height = static_cast<uint64_t>(io_.height());
  const auto rows = static_cast<int32_t>(std::min(std::max<uint64_t>(most, kFewestRows), height));
  for (int32_t y = 0; y < io_.height(); y += rows) {
    const int32_t end = y + std::min(rows, io_.height() - y);
    const double share = 1.0 / io_.height();
    const Rect around = read_.stripes_around(std::max(0, y - Survey::kMargin),
                                             std::min(io_.height(), end + Survey::kMargin));
    const PixelBuffer pixels = read(around, within(monitor, y * share, (end - y) * share));
    survey.add(pixels.image(), y, end);
  }
}

Rect LayerBands::source_of(const NoiseModel& noise, const Rect& band) const {
  VolumeBox source;
  const LayersShape shape{io_.encoding().format, io_.width(), io_.height(), 1};
  throw_if_failed(filter_.needed(params_, noise, shape, {band, 0, 1}, source));
  return read_.stripes_around(source.rect.y, source.rect.bottom());
}

int32_t LayerBands::band_rows(const NoiseModel& noise, const Rect& target) const {
  const int32_t middle = target.y + target.height / 2;
  const Rect around = source_of(noise, rows_of(target, middle, middle + 1));
  const auto pixel = static_cast<uint64_t>(io_.encoding().format.pixel_bytes());
  const uint64_t held = static_cast<uint64_t>(around.width) * pixel;
  const uint64_t made = static_cast<uint64_t>(target.width) * pixel;
  const uint64_t halo = static_cast<uint64_t>(around.height) * held;
  const uint64_t room = host_memory() > halo ? host_memory() - halo : 0;
  const auto most = std::max<uint64_t>(room / (held + made), kFewestRows);
  // Of about one height, so that the last one is no sliver.
  const auto height = static_cast<uint64_t>(target.height);
  const uint64_t bands = (height - 1) / most + 1;
  return static_cast<int32_t>((height - 1) / bands + 1);
}

void LayerBands::filter(const NoiseModel& noise, const Rect& target, const CallMonitor& monitor) {
  const double outside = 0.01;
  if (!io_.prepare_outside(target, within(monitor, 0, outside))) {
    throw Error(ErrorCode::kBadInput, not_taken_sentence());
  }
  const int32_t rows = band_rows(noise, target);
  report_.engine.noise = noise;
  report_.bands = 0;
  for (int32_t y = target.y; y < target.bottom(); y += rows) {
    const Rect band = rows_of(target, y, y + std::min(rows, target.bottom() - y));
    const double share = (1 - outside) / target.height;
    filter_band(noise, band,
                within(monitor, outside + (y - target.y) * share, band.height * share));
    if (!report_.engine.changed) return;  // nor would any other band
  }
}

void LayerBands::filter_band(const NoiseModel& noise, const Rect& band,
                             const CallMonitor& monitor) {
  const PixelBuffer source = read(source_of(noise, band), within(monitor, 0, kReadShare));
  PixelBuffer result = buffer(band);
  const Report one =
      run(noise, source, result, within(monitor, kReadShare, 1 - kReadShare - kWriteShare));
  add_part(one, report_.engine);
  report_.engine.note = one.note;
  report_.engine.changed = one.changed;
  ++report_.bands;
  if (!one.changed) return;
  const Stopwatch stopwatch;
  if (!io_.prepare(source, result, within(monitor, 1 - kWriteShare, kWriteShare))) {
    throw Error(ErrorCode::kBadInput, not_taken_sentence());
  }
  report_.write += stopwatch.seconds();
}

Report LayerBands::run(const NoiseModel& noise, const PixelBuffer& source, PixelBuffer& result,
                       const CallMonitor& monitor) {
  Report report;
  const std::vector<ConstImage> from{source.image()};
  const std::vector<MutableImage> to{result.writable()};
  const auto compute = [&](const Callbacks& callbacks) {
    return filter_.run(params_, noise, {1, 0, from}, {1, 0, to}, callbacks, report);
  };
  run_beside(compute, monitor);
  return report;
}

}  // namespace grainless
