// SPDX-License-Identifier: MIT
#include "preview_layer.h"

#include <glib/gi18n.h>

#include <algorithm>

#include "engine/noise_curve.h"

namespace grainless {
namespace {

// A multiple of GIMP's tiles and of every level's pixels; one takes about 2 ms where GEGL has to
// convert (87 ns a pixel).
constexpr int32_t kChunkWidth = 128, kChunkHeight = 128;
constexpr int64_t kSlice = 4000;  // microseconds that one load_some() may take, plus one chunk

// What a coarse answer is computed with, at 1/2^reduction of the resolution.
Params coarse_params(Params params, int32_t reduction) {
  params.quality = static_cast<int32_t>(Quality::kFast);
  params.search = params.patch = params.step = params.group = 0;
  if (params.scales > 0) params.scales = std::max(1, params.scales - reduction);
  return params;
}

// The same noise, seen at 1/2^reduction of the resolution. Where it was not measured there it is
// taken for white, which halves from level to level.
NoiseModel reduced_noise(const NoiseModel& noise, int32_t reduction) {
  NoiseModel reduced = noise;
  const int32_t shift = std::min(reduction, noise.levels - 1);
  reduced.levels = noise.levels - shift;
  for (int32_t level = 0; level < reduced.levels; ++level) {
    for (int32_t c = 0; c < noise.channels; ++c) {
      reduced.sigma[level][c] =
          noise.sigma[level + shift][c] / static_cast<float>(1 << (reduction - shift));
    }
  }
  return reduced;
}

const char* remark_on(const AreaNoise& noise) {
  switch (noise.verdict) {
    case AreaVerdict::kGood:
      return noise.sigma[0] > 0 ? "" : _("No noise was found there.");
    case AreaVerdict::kTooSmall:
      return _("That part is too small to measure: take at least 32 × 32 pixels.");
    case AreaVerdict::kClipped:
      return _("That part is almost black or white, where noise is cut off: take another one.");
    case AreaVerdict::kNotFlat:
      return _("That part has edges or texture, which count as noise here: a flat one is better.");
  }
  return "";
}

// Grey pixels for the screen have three equal channels: one of them and alpha, and back.
void grey_from_display(const ui::Bitmap& display, PixelBuffer& grey) {
  for (int32_t y = grey.rect().y; y < grey.rect().bottom(); ++y) {
    const uint32_t* from = display.at(grey.rect().x, y);
    uint8_t* to = grey.at(grey.rect().x, y);
    for (int32_t x = 0; x < grey.rect().width; ++x) {
      to[2 * x] = static_cast<uint8_t>(from[x]);
      to[2 * x + 1] = static_cast<uint8_t>(from[x] >> 24);
    }
  }
}

void grey_to_display(const PixelBuffer& grey, ui::Bitmap& display) {
  for (int32_t y = grey.rect().y; y < grey.rect().bottom(); ++y) {
    const uint8_t* from = grey.at(grey.rect().x, y);
    uint32_t* to = display.at(grey.rect().x, y);
    for (int32_t x = 0; x < grey.rect().width; ++x) {
      to[x] = from[2 * x] * 0x010101u | uint32_t{from[2 * x + 1]} << 24;
    }
  }
}

}  // namespace

PreviewLayer::PreviewLayer(Engine& engine, GimpDrawable* drawable)
    : engine_(engine),
      io_(drawable),
      target_(io_.selected()),
      pixels_(io_.encoding().format, io_.width(), io_.height(), io_.whole()),
      to_display_(babl_fish(io_.encoding().engine, display_format())),
      columns_((io_.width() + kChunkWidth - 1) / kChunkWidth),
      rows_((io_.height() + kChunkHeight - 1) / kChunkHeight),
      chunk_loaded_(size_t(columns_) * rows_),
      chunks_left_(columns_ * rows_) {
  for (int32_t level = 0; level < ui::kLevels; ++level) {
    display_[level] = ui::Bitmap(ui::at_level(io_.whole(), level));
  }
}

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
    babl_process(to_display_, pixels_.at(rect.x, y), display_[0].at(rect.x, y), rect.width);
  }
  for (int32_t level = 1; level < ui::kLevels; ++level) {
    ui::halve(display_[level - 1], ui::at_level(rect, level), display_[level]);
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

bool PreviewLayer::ready(const ui::PreviewJob& job) const {
  if (job.params.auto_sigma) return chunks_left_ == 0;
  const PixelFormat format = io_.encoding().format;
  const NoiseModel noise = white_noise(format.colours(), static_cast<float>(job.params.sigma));
  const Params params = job.coarse ? coarse_params(job.params, job.reduction) : job.params;
  const Rect whole = ui::at_level(io_.whole(), job.reduction);
  const Rect rect = ui::at_level(job.rect, job.reduction);
  Rect source;
  const Status status = engine_.source_rect(params, format, reduced_noise(noise, job.reduction),
                                            rect, whole.width, whole.height, source);
  if (!status.ok()) return chunks_left_ == 0;
  const int32_t shift = job.reduction;
  return is_loaded(
      {source.x << shift, source.y << shift, source.width << shift, source.height << shift});
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

Status PreviewLayer::denoise_full(const ui::PreviewJob& job, const NoiseModel& noise,
                                  const Callbacks& callbacks, ui::Bitmap& target, Report& report) {
  PixelBuffer output(io_.encoding().format, width(), height(), job.rect);
  const Params params = job.coarse ? coarse_params(job.params, 0) : job.params;
  const Status status =
      engine_.denoise(params, noise, pixels_.image(), output.writable(), callbacks, report);
  if (!status.ok()) return status;
  target = ui::Bitmap(job.rect);
  babl_process(to_display_, output.at(job.rect.x, job.rect.y), target.pixels.data(),
               static_cast<long>(job.rect.area()));
  return {};
}

// A coarse answer is made from the pixels for the screen: they are there at every level, in steps
// of 8 bits that sigma is counted in, too.
Status PreviewLayer::denoise_reduced(const ui::PreviewJob& job, const NoiseModel& noise,
                                     const Callbacks& callbacks, ui::Bitmap& target,
                                     Report& report) {
  const ui::Bitmap& display = display_[job.reduction];
  const Params params = coarse_params(job.params, job.reduction);
  const NoiseModel reduced = reduced_noise(noise, job.reduction);
  const int32_t width = display.rect.width, height = display.rect.height;
  target = ui::Bitmap(ui::at_level(job.rect, job.reduction));
  if (io_.encoding().format.colours() == 3) {
    // Blue comes first, which changes nothing but the sign of a colour difference.
    const PixelFormat format{Component::kU8, 4};
    const ptrdiff_t row = ptrdiff_t{width} * 4;
    return engine_.denoise(params, reduced,
                           {format, width, height, display.rect, display.pixels.data(), row},
                           {format, width, height, target.rect, target.pixels.data(),
                            ptrdiff_t{target.rect.width} * 4},
                           callbacks, report);
  }
  const PixelFormat format{Component::kU8, 2};
  Rect reach;
  Status status = engine_.source_rect(params, format, reduced, target.rect, width, height, reach);
  if (!status.ok()) return status;
  PixelBuffer source(format, width, height, reach), output(format, width, height, target.rect);
  grey_from_display(display, source);
  status = engine_.denoise(params, reduced, source.image(), output.writable(), callbacks, report);
  if (status.ok()) grey_to_display(output, target);
  return status;
}

Status PreviewLayer::denoise(const ui::PreviewJob& job, const Callbacks& callbacks,
                             ui::PreviewResult& result) {
  if (stopped_.cancelled()) return {ErrorCode::kCancelled, "cancelled"};
  NoiseModel noise;
  if (Status status = noise_for(job.params, noise); !status.ok()) return status;
  Report report;
  const Status status = job.reduction > 0
                            ? denoise_reduced(job, noise, callbacks, result.bitmap, report)
                            : denoise_full(job, noise, callbacks, result.bitmap, report);
  if (!status.ok()) return status;
  ui::PreviewInfo& info = result.info;
  info.sigma.assign(noise.sigma[0], noise.sigma[0] + noise.channels);
  info.measured = job.params.auto_sigma;
  info.device = report.device_description.empty() ? report.device : report.device_description;
  info.fallbacks = report.fallbacks;
  info.note = report.note;
  info.seconds = report.total;
  return {};
}

bool PreviewLayer::has_selection() const {
  return io_.has_selection();
}

void PreviewLayer::pick_area(const Rect& visible) {
  const bool selection = has_selection();
  const Rect area = selection ? io_.selected() : visible;
  std::vector<uint8_t> picked;
  if (selection && !area.empty()) picked = io_.selection(area);
  const std::lock_guard lock(mutex_);
  area_ = area;
  picked_ = std::move(picked);
}

Status PreviewLayer::measure_area(ui::AreaMeasurement& measured) {
  Rect rect;
  std::vector<uint8_t> picked;
  {
    const std::lock_guard lock(mutex_);
    rect = area_;
    picked = picked_;
  }
  if (rect.empty()) {
    measured.remark = _("The selection lies beside the layer.");
    return {};
  }
  Callbacks callbacks;
  callbacks.cancel = &stopped_;
  const NoiseArea area{rect, picked.empty() ? nullptr : picked.data(), rect.width};
  AreaNoise noise;
  Status status = engine_.area_noise(pixels_.image(), area, callbacks, noise);
  if (!status.ok()) return status;
  measured.remark = remark_on(noise);
  measured.brightness = noise.brightness;
  if (noise.verdict == AreaVerdict::kGood || noise.verdict == AreaVerdict::kNotFlat) {
    if (noise.sigma[0] > 0) measured.sigma.assign(noise.sigma, noise.sigma + noise.channels);
  }
  return {};
}

Status PreviewLayer::measure_layer(ui::NoisePicture& picture) {
  Params params;
  params.auto_sigma = true;
  NoiseModel noise;
  if (Status status = noise_for(params, noise); !status.ok()) return status;
  Callbacks callbacks;
  callbacks.cancel = &stopped_;
  NoiseCurve curve;
  Status status = engine_.noise_curve(pixels_.image(), {}, noise, callbacks, curve);
  if (!status.ok()) return status;
  picture.sigma.assign(noise.sigma[0], noise.sigma[0] + noise.channels);
  for (int32_t c = 0; c < curve.channels; ++c) {
    auto& points = picture.curves.emplace_back();
    for (int32_t i = 0; i < curve.channel[c].count; ++i) {
      points.push_back({curve.channel[c].point[i].brightness, curve.channel[c].point[i].sigma});
    }
  }
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
