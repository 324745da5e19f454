// SPDX-License-Identifier: MIT
#include "preview_layer.h"

#include <algorithm>

namespace grainless {
namespace {

// A multiple of GIMP's tiles; one takes about 2 ms where GEGL has to convert (87 ns a pixel, gimp.md).
// gimp.md).
constexpr int32_t kChunkWidth = 128, kChunkHeight = 128;
constexpr int64_t kSlice = 4000;  // microseconds that one load_some() may take, plus one chunk

}  // namespace

PreviewLayer::PreviewLayer(Engine& engine, GimpDrawable* drawable)
    : engine_(engine),
      io_(drawable),
      target_(io_.selected()),
      pixels_(io_.encoding().format, io_.width(), io_.height(), io_.whole()),
      display_(size_t(io_.whole().area())),
      to_display_(babl_fish(io_.encoding().engine, display_format())),
      columns_((io_.width() + kChunkWidth - 1) / kChunkWidth),
      rows_((io_.height() + kChunkHeight - 1) / kChunkHeight),
      chunk_loaded_(size_t(columns_) * rows_),
      chunks_left_(columns_ * rows_) {}

Rect PreviewLayer::chunk(int32_t index) const {
  return intersect(
      {index % columns_ * kChunkWidth, index / columns_ * kChunkHeight, kChunkWidth, kChunkHeight},
      io_.whole());
}

void PreviewLayer::load_chunk(int32_t index) {
  if (chunk_loaded_[index]) return;
  const Rect rect = chunk(index);
  io_.read(rect, pixels_);
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    babl_process(to_display_, pixels_.at(rect.x, y),
                 display_.data() + size_t(y) * io_.width() + rect.x, rect.width);
  }
  chunk_loaded_[index] = 1;
  --chunks_left_;
}

bool PreviewLayer::load_some(const Rect& first) {
  const int64_t end = g_get_monotonic_time() + kSlice;
  const Rect wanted = intersect(first, io_.whole());
  for (int32_t row = wanted.y / kChunkHeight; row * kChunkHeight < wanted.bottom(); ++row) {
    for (int32_t column = wanted.x / kChunkWidth; column * kChunkWidth < wanted.right(); ++column) {
      load_chunk(row * columns_ + column);
      if (g_get_monotonic_time() > end) return chunks_left_ > 0;
    }
  }
  while (chunks_left_ > 0 && g_get_monotonic_time() <= end) load_chunk(next_chunk_++);
  return chunks_left_ > 0;
}

double PreviewLayer::loaded() const {
  return 1.0 - static_cast<double>(chunks_left_) / static_cast<double>(chunk_loaded_.size());
}

bool PreviewLayer::is_loaded(const Rect& rect) const {
  if (chunks_left_ == 0) return true;
  for (int32_t i = 0; i < columns_ * rows_; ++i) {
    if (!chunk_loaded_[i] && !intersect(chunk(i), rect).empty()) return false;
  }
  return true;
}

bool PreviewLayer::ready(const Params& params, const Rect& rect) const {
  if (params.auto_sigma) return chunks_left_ == 0;
  const PixelFormat format = io_.encoding().format;
  const NoiseModel noise = white_noise(format.colours(), static_cast<float>(params.sigma));
  Rect source;
  const Status status = engine_.source_rect(params, format, noise, rect, width(), height(), source);
  return status.ok() ? is_loaded(source) : chunks_left_ == 0;
}

std::optional<NoiseModel> PreviewLayer::measured() const {
  const std::lock_guard lock(mutex_);
  return measured_;
}

// The measurement is made once and outlives the job that asked for it: slider moves don't start it
// again.
Status PreviewLayer::noise_for(const Params& params, NoiseModel& noise) {
  if (params.auto_sigma) {
    if (const std::optional<NoiseModel> known = measured()) {
      noise = *known;
      return {};
    }
  }
  Callbacks callbacks;
  callbacks.cancel = &stopped_;
  const Status status = engine_.noise_for(params, pixels_.image(), callbacks, noise, nullptr);
  if (status.ok() && params.auto_sigma) {
    const std::lock_guard lock(mutex_);
    measured_ = noise;
  }
  return status;
}

Status PreviewLayer::denoise(const Params& params, const Rect& rect, const Callbacks& callbacks,
                             ui::PreviewResult& result) {
  if (stopped_.cancelled()) return {ErrorCode::kCancelled, "cancelled"};
  NoiseModel noise;
  if (Status status = noise_for(params, noise); !status.ok()) return status;
  PixelBuffer output(io_.encoding().format, width(), height(), rect);
  Report report;
  const Status status =
      engine_.denoise(params, noise, pixels_.image(), output.writable(), callbacks, report);
  if (!status.ok()) return status;
  result.rect = rect;
  result.pixels.resize(size_t(rect.area()));
  babl_process(to_display_, output.at(rect.x, rect.y), result.pixels.data(),
               static_cast<long>(rect.area()));
  result.sigma.assign(noise.sigma[0], noise.sigma[0] + noise.channels);
  result.measured = params.auto_sigma;
  result.device = report.device_description.empty() ? report.device : report.device_description;
  result.fallbacks = report.fallbacks;
  result.note = report.note;
  result.seconds = report.total;
  return {};
}

std::vector<ui::DeviceChoice> PreviewLayer::devices() {
  std::vector<ui::DeviceChoice> choices;
  for (const DeviceInfo& device : engine_.devices()) {
    if (device.usable && device.name != "cpu") {
      choices.push_back({device.name, device.description + " (" + device.name + ")"});
    }
  }
  return choices;
}

}  // namespace grainless
