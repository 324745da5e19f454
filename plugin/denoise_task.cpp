// SPDX-License-Identifier: MIT
#include "denoise_task.h"

#include <algorithm>
#include <utility>

#include "bands.h"
#include "engine/stopwatch.h"
#include "glimpse.h"
#include "layer_bands.h"
#include "layer_flow.h"
#include "run_beside.h"

namespace grainless {
namespace {

constexpr uint64_t kSmallTileCache = 8 << 20;  // bytes, at least

int64_t area_of(const std::vector<Rect>& parts) {
  int64_t area = 0;
  for (const Rect& part : parts) area += part.area();
  return area;
}

// Shares of the progress bar on the processor; a graphics card is done before anybody looks.
constexpr double kReadShare = 0.04, kWriteShare = 0.03;

}  // namespace

DenoiseTask::DenoiseTask(LayerFilter& filter, const Drawables& drawables, const Params& params,
                         Known known)
    : filter_(filter), params_(params), known_(std::move(known)) {
  for (GimpDrawable* drawable : drawables) parts_.emplace_back(drawable);
  report_.drawable = item_name(GIMP_ITEM(drawables.front()));
  report_.params = params;
  if (count() > 1) report_.layers = static_cast<int32_t>(count());
}

DenoiseTask::~DenoiseTask() {
  for (size_t i = 0; i < prepared_; ++i) io(i).discard();
}

Status DenoiseTask::compute(const CallMonitor& monitor) {
  const Stopwatch stopwatch;
  const Status status = guard([&] {
    if (target().empty()) {
      report_.engine.note = nothing_selected_sentence(count());
    } else if (parts_.front().start.channels().none()) {
      report_.engine.note = no_channel_sentence();
    } else {
      run(monitor);
    }
  });
  report_.total = stopwatch.seconds();
  return status;
}

LayersShape DenoiseTask::shape() const {
  return {io(0).encoding().format, io(0).width(), io(0).height(), static_cast<int32_t>(count())};
}

Rect DenoiseTask::source_rect(const NoiseModel& noise) const {
  VolumeBox source;
  throw_if_failed(filter_.needed(params_, noise, shape(), {target(), 0, shape().count}, source));
  return source.rect;
}

std::vector<PixelBuffer> DenoiseTask::buffers(const Rect& rect) const {
  std::vector<PixelBuffer> buffers;
  for (const Part& part : parts_) {
    buffers.emplace_back(part.io.encoding().format, part.io.width(), part.io.height(), rect);
  }
  return buffers;
}

void DenoiseTask::read_layers(std::vector<PixelBuffer>& sources, const CallMonitor& monitor) {
  const Stopwatch stopwatch;
  for (size_t i = 0; i < count(); ++i) {
    io(i).read_all(sources[i], parts_[i].read, part_of(monitor, i, count()));
  }
  report_.read += stopwatch.seconds();
}

void DenoiseTask::read_first(const std::vector<Rect>& parts, std::vector<PixelBuffer>& sources,
                             const CallMonitor& monitor) {
  if (parts.empty()) return read_layers(sources, monitor);
  const Stopwatch stopwatch;
  for (size_t i = 0; i < parts.size(); ++i) {
    for_each_band(parts[i], part_of(monitor, i, parts.size()), [&](const Rect& band) {
      io(0).expect_accessible();
      (void)io(0).read(band, sources.front());
    });
  }
  report_.read += stopwatch.seconds();
}

bool DenoiseTask::is_known(const std::vector<PixelBuffer>& sources,
                           const std::vector<Rect>& parts) const {
  if (!known_.noise) return false;
  const std::vector<int32_t> measured = filter_.noise_layers(shape());
  if (measured.size() != known_.pixels.size()) return false;  // of another precision since
  for (size_t i = 0; i < measured.size(); ++i) {
    const PixelBuffer& known = *known_.pixels[i];
    const PixelBuffer& now = sources[static_cast<size_t>(measured[i])];
    const auto same = [&](const Rect& part) { return same_pixels(known, now, part); };
    if (!std::all_of(parts.begin(), parts.end(), same)) return false;
  }
  return true;
}

NoiseModel DenoiseTask::noise_of(const std::vector<PixelBuffer>& sources,
                                 const std::vector<Rect>& parts, const CallMonitor& monitor,
                                 double& seconds) const {
  if (is_known(sources, parts)) return *known_.noise;
  std::vector<ConstImage> measured;
  for (const int32_t i : filter_.noise_layers(shape())) {
    measured.push_back(sources[static_cast<size_t>(i)].image());
  }
  NoiseModel noise;
  const auto measure = [&](const Callbacks& callbacks) {
    return filter_.measure(params_, shape().count, measured, callbacks, noise, &seconds);
  };
  run_beside(measure, monitor);
  return noise;
}

void DenoiseTask::filter_layers(const NoiseModel& noise, const std::vector<PixelBuffer>& sources,
                                std::vector<PixelBuffer>& results, const CallMonitor& monitor) {
  const std::vector<ConstImage> from = images(sources);
  const std::vector<MutableImage> to = writable_images(results);
  const int32_t layers = shape().count;
  const auto compute = [&](const Callbacks& callbacks) {
    return filter_.run(params_, noise, {layers, 0, from}, {layers, 0, to}, callbacks,
                       report_.engine);
  };
  run_beside(compute, monitor);
}

void DenoiseTask::prepare(const std::vector<PixelBuffer>& sources,
                          const std::vector<PixelBuffer>& results, const CallMonitor& monitor) {
  const Stopwatch stopwatch;
  for (size_t i = 0; i < count(); ++i) {
    prepared_ = i + 1;
    const CallMonitor one = part_of(monitor, i, count());
    if (!io(i).prepare_outside(target(), part_of(one, 0, 2)) ||
        !io(i).prepare(sources[i], results[i], part_of(one, 1, 2))) {
      throw Error(ErrorCode::kBadInput, not_taken_sentence());
    }
  }
  report_.write += stopwatch.seconds();
}

bool DenoiseTask::too_large() const {
  const auto pixels = static_cast<uint64_t>(io(0).whole().area() + target().area());
  return pixels * held_bytes(params_, shape().format, count()) > host_memory();
}

void DenoiseTask::run_in_bands(const CallMonitor& monitor) {
  limit_tile_cache(std::max(kTileCache, io(0).tile_rows_bytes()));
  std::vector<BandLayer> layers;
  for (Part& part : parts_) {
    part.read = PixelSums(part.io.whole());
    layers.push_back({&part.io, &part.read});
  }
  LayerBands bands(filter_, params_, std::move(layers), report_);
  const double start = kReadShare + filter_.measured_share();
  const NoiseModel noise = bands.measure(within(monitor, 0, start));
  prepared_ = count();
  bands.filter(noise, target(), within(monitor, start, 1 - start));
  forget_if_unchanged();
}

void DenoiseTask::forget_if_unchanged() {
  if (report_.engine.changed) return;
  for (size_t i = 0; i < count(); ++i) io(i).discard();
  prepared_ = 0;
}

void DenoiseTask::run_in_flow(const CallMonitor& monitor) {
  // Where pixels are converted GIMP's own are looked up once more when the new ones are written.
  if (io(0).encoding().direct()) {
    limit_tile_cache(std::max(kSmallTileCache, io(0).tile_rows_bytes()));
  }
  const Rect whole = io(0).whole();
  std::vector<PixelBuffer> sources = buffers(whole), results = buffers(target());
  const std::vector<Rect> parts = Engine::looked_at(shape().format, whole.width, whole.height);
  PixelSums& read = parts_.front().read = PixelSums(whole);
  const bool in_parts = area_of(parts) < whole.area() / 4;  // read twice, and little of all
  read_first(in_parts ? parts : std::vector<Rect>(), sources, within(monitor, 0, kReadShare));
  double estimate = 0;
  const NoiseModel noise =
      noise_of(sources, parts, within(monitor, kReadShare, filter_.measured_share()), estimate);
  const double start = kReadShare + filter_.measured_share();
  if (const Rect source = source_rect(noise); in_parts && source != whole) {
    sources = buffers(source);
    read = PixelSums(source);
  }
  LayerFlow flow(io(0), report_, sources.front(), results.front());
  if (in_parts) flow.read_into(read);
  prepared_ = 1;
  flow.prepare_outside(target());
  const auto compute = [&](const PictureFlow& picture, const Callbacks& callbacks, Report& report) {
    return filter_.run_flow()(params_, noise, picture, callbacks, report);
  };
  report_.engine = flow.run(compute, within(monitor, start, 1 - start));
  report_.engine.estimate = estimate;
  forget_if_unchanged();
}

void DenoiseTask::run(const CallMonitor& monitor) {
  if (too_large()) return run_in_bands(monitor);
  return filter_.run_flow() ? run_in_flow(monitor) : run_together(monitor);
}

void DenoiseTask::run_together(const CallMonitor& monitor) {
  const Rect whole = io(0).whole();
  std::vector<PixelBuffer> sources = buffers(whole);
  for (Part& part : parts_) part.read = PixelSums(whole);
  read_layers(sources, within(monitor, 0, kReadShare));
  double estimate = 0;
  const NoiseModel noise =
      noise_of(sources, {whole}, within(monitor, kReadShare, filter_.measured_share()), estimate);
  std::vector<PixelBuffer> results = buffers(target());
  const double start = kReadShare + filter_.measured_share(), end = 1 - kWriteShare;
  filter_layers(noise, sources, results, within(monitor, start, end - start));
  report_.engine.estimate = estimate;
  if (report_.engine.changed) prepare(sources, results, within(monitor, end, kWriteShare));
}

Status DenoiseTask::foresee_merge(uint64_t& left, const CallMonitor& monitor) {
  return guard([&] {
    for (size_t i = 0; i < prepared_; ++i) io(i).foresee_merge(left, monitor);
  });
}

Status DenoiseTask::check_prepared(const CallMonitor& monitor) const {
  return guard([&] {
    for (size_t i = 0; i < prepared_; ++i) {
      if (!io(i).still_prepared(monitor)) {
        throw Error(ErrorCode::kBadInput, crossed_sentence(io(i).drawable()));
      }
    }
  });
}

// The glimpse comes first: whatever is painted from then on, either the comparison sees it or the
// next glimpse.
void DenoiseTask::expect_unchanged(Part& part, const CallMonitor& monitor) {
  part.io.expect_accessible();
  part.glimpse = glimpse_of(part.io.drawable());
  if (!part.io.unchanged(part.read, monitor)) {
    throw Error(ErrorCode::kBadInput, repainted_sentence(part.io.drawable()));
  }
}

Status DenoiseTask::check_pixels(const CallMonitor& monitor) {
  return guard([&] {
    for (size_t i = 0; i < prepared_; ++i) expect_unchanged(parts_[i], monitor);
  });
}

Status DenoiseTask::check_at_a_glance(const CallMonitor& monitor) {
  return guard([&] {
    for (size_t i = 0; i < prepared_; ++i) {
      io(i).expect_accessible();
      if (glimpse_of(io(i).drawable()) != parts_[i].glimpse) expect_unchanged(parts_[i], monitor);
    }
  });
}

Status DenoiseTask::check_state() const {
  for (size_t i = 0; i < prepared_; ++i) {
    const std::string difference = parts_[i].start.difference();
    if (!difference.empty()) return {ErrorCode::kBadInput, difference};
  }
  return {};
}

bool DenoiseTask::merge(size_t& merged) {
  const Stopwatch stopwatch;
  for (size_t i = 0; i < prepared_; ++i, ++merged) {
    if (!io(i).merge(target())) return false;
  }
  prepared_ = 0;
  report_.write += stopwatch.seconds();
  report_.total += stopwatch.seconds();
  return true;
}

}  // namespace grainless
