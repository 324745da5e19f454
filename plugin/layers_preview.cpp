// SPDX-License-Identifier: MIT
#include "layers_preview.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "coarse_preview.h"
#include "engine/noise/curve.h"
#include "engine/noise/impulses.h"
#include "engine/noise/layer_tones.h"
#include "picture_colours.h"

namespace grainless {
namespace {

int32_t halo_of(const Rect& part, const Rect& box) {
  return std::max({part.x - box.x, part.y - box.y, box.right() - part.right(),
                   box.bottom() - part.bottom(), 0});
}

// Microseconds that one load_some() may take, plus one chunk: a drag in the window must not wait
// for long. As long as there is no preview, there is nothing to drag.
constexpr int64_t kSlice = 4000, kFirstSlice = 12000;

constexpr int32_t kLooksAt = 3;  // layers of a stack in one look: GIMP takes 0.1 ms for an answer

// More than any picture has: what the filter may reach for when the noise is not known yet.
constexpr float kMostNoise = 100;

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

// Of a rectangle with more than `most` pixels, so many around its middle.
Rect middle_of(const Rect& rect, int64_t most) {
  const double share = std::sqrt(static_cast<double>(most) / static_cast<double>(rect.area()));
  if (share >= 1) return rect;
  const auto width = static_cast<int32_t>(rect.width * share);
  const auto height = static_cast<int32_t>(rect.height * share);
  return {rect.x + (rect.width - width) / 2, rect.y + (rect.height - height) / 2, width, height};
}

ui::NoiseConfidence confidence_of(const NoiseModel& noise) {
  const bool sure = noise.confidence == Confidence::kMeasured;  // goes without saying
  return {sure ? "" : confidence_text(noise.confidence), noise.confidence == Confidence::kUnsure};
}

// Whether they are measured while they pass, so that they need not be held whole.
bool may_pass(const Drawables& layers, LayerFilter& filter) {
  return layers.size() == 1 && filter.measure_survey();
}

std::vector<std::unique_ptr<LoadedLayer>> open_layers(const Drawables& layers,
                                                      LayerFilter& filter) {
  std::vector<std::unique_ptr<LoadedLayer>> opened;
  for (GimpDrawable* layer : layers) {
    opened.push_back(std::make_unique<LoadedLayer>(layer, may_pass(layers, filter)));
  }
  return opened;
}

}  // namespace

LayersPreview::LayersPreview(Engine& engine, LayerFilter& filter, const Drawables& layers,
                             int32_t shown)
    : engine_(engine),
      filter_(filter),
      layers_(open_layers(layers, filter)),
      shown_(shown),
      known_(filter.measures_given()) {
  if (in_parts()) survey_.emplace(format(), width(), height());
  noise_layers_ = filter.noise_layers({format(), width(), height(), count()});
  if (may_pass(layers, filter) && !in_parts()) {
    measured_parts_ = Engine::looked_at(format(), width(), height());
  }
  next_selection_ = std::make_shared<LayerSelection>(layers.front());
  shown_layer().show(&screen_);
}

void LayersPreview::show(int32_t layer) {
  shown_layer().show(nullptr);
  shown_ = layer;
  shown_layer().show(&screen_);
  wanted_.reset();
}

const ui::Bitmap& LayersPreview::original(int32_t level, const Rect& part) const {
  const LoadedLayer& layer = shown_layer();
  const std::tuple wanted{level, part, layer.reads()};
  if (!original_ || layer.has_level(level) || original_of_ != wanted) {
    original_ = layer.level_part(level, part);
    original_of_ = wanted;
  }
  return *original_;
}

ui::PictureColours LayersPreview::colours() const {
  const DrawableIo& io = shown_layer().io();
  if (!gimp_item_is_valid(GIMP_ITEM(io.drawable()))) return {};
  return picture_colours(io.drawable(), io.encoding());
}

// First what shows, then what its result needs, nearest layers first, and the rest.
bool LayersPreview::load_some(const Rect& first, int32_t level) {
  const int64_t end = g_get_monotonic_time() + (job_pixels_ ? kSlice : kFirstSlice);
  bool done = true;
  if (!unreadable_.ok()) return false;
  const Status status = guard([&] {
    done =
        load_shown(first, level, end) && load_selection(end) && load_wanted(end) && load_rest(end);
    complete_ = complete_ || done;
    done = done && check_some(end);
  });
  if (!status.ok()) {
    const std::lock_guard lock(mutex_);
    unreadable_ = status;
  }
  return !done;
}

void LayersPreview::read_ahead(const Params& params, int64_t end) {
  if (count() > 1 || in_parts()) return;
  const Status status = guard([&] {
    if (load_measured(end)) measure_aside(params);
  });
  if (status.ok()) return;
  const std::lock_guard lock(mutex_);
  unreadable_ = status;
}

// Whatever fails here, a job that needs it tells what is wrong.
void LayersPreview::measure_aside(const Params& params) {
  (void)guard([&] {
    ahead_ = std::jthread([this, params] {
      NoiseModel noise;
      (void)guard([&] { (void)noise_for(params, noise); });
    });
  });
}

// Of a layer in parts, what is asked for now stays until all of it has been used.
bool LayersPreview::load_shown(const Rect& first, int32_t level, int64_t end) {
  LoadedLayer& layer = shown_layer();
  if (!in_parts()) return layer.load(first, end);
  std::vector<Rect> kept{survey_->band()};
  if (wanted_ && !wanted_->reduced) kept.push_back(wanted_->box.rect);
  if (!layer.has_level(level)) kept.push_back(first);
  layer.keep(std::move(kept));
  return layer.has_level(level) ? layer.look_at(first, end) : layer.load(first, end);
}

bool LayersPreview::load_rest(int64_t end) {
  if (in_parts()) return survey_->go_on(shown_layer(), end);
  return load_whole({shown_}, end) && load_whole(noise_layers_, end);
}

bool LayersPreview::load_measured(int64_t end) {
  if (measured_parts_.empty()) return load_rest(end);
  return shown_layer().fetch(measured_parts_, end);
}

bool LayersPreview::is_measurable() const {
  if (in_parts()) return survey_->done();
  if (measured_parts_.empty()) return have_read(noise_layers_);
  return shown_layer().has_fetched(measured_parts_);
}

bool LayersPreview::shows(const Rect& visible, int32_t level) const {
  return !in_parts() || shown_layer().has_level(level) || shown_layer().is_loaded(visible);
}

// Of a stack all layers have the same.
bool LayersPreview::load_selection(int64_t end) {
  if (!next_selection_) return true;
  layers_.front()->io().expect_accessible();
  if (!next_selection_->load(end)) return false;
  if (selection_ && !(*selection_ == *next_selection_)) selection_changed_ = true;
  // The new one in any case: that it covers the same pixels doesn't say that the layer lies where
  // it lay, and look() compares that, too.
  const std::lock_guard lock(mutex_);
  selection_ = std::move(next_selection_);
  return true;
}

bool LayersPreview::check_some(int64_t end) {
  if (!check_) return true;
  if (!check_->go_on(end)) return false;
  pixels_changed_ = pixels_changed_ || check_->found_change();
  check_.reset();
  return true;
}

void LayersPreview::look() {
  GimpDrawable* layer = layers_.front()->io().drawable();
  const auto* known = next_selection_ ? next_selection_.get() : selection_.get();
  if (known == nullptr || !known->covers_the_same(layer)) {
    next_selection_ = std::make_shared<LayerSelection>(layer);
  }
  pixels_changed_ = pixels_changed_ || shown_layer().found_change();
  for (int32_t i = 0; i < std::min(count(), kLooksAt); ++i) {
    looked_at_ = (looked_at_ + 1) % count();
    if (!this->layer(looked_at_).io().is_as_opened()) pixels_changed_ = true;
  }
}

void LayersPreview::expect_changes() {
  if (check_ || !complete_) return;
  std::vector<const LoadedLayer*> layers;
  for (const auto& layer : layers_) layers.push_back(layer.get());
  check_ = std::make_unique<PixelCheck>(std::move(layers));
  next_selection_ = std::make_shared<LayerSelection>(layers_.front()->io().drawable());
}

const ui::Selection& LayersPreview::selection() const {
  static const ui::Selection unknown;
  return selection_ ? selection_->shown() : unknown;
}

std::shared_ptr<const LayerSelection> LayersPreview::selected() const {
  const std::lock_guard lock(mutex_);
  return selection_;
}

bool LayersPreview::load_wanted(int64_t end) {
  if (!wanted_) return true;
  std::vector<int32_t> layers(static_cast<size_t>(wanted_->box.layers));
  std::iota(layers.begin(), layers.end(), wanted_->box.first);
  std::sort(layers.begin(), layers.end(),
            [this](int32_t a, int32_t b) { return std::abs(a - shown_) < std::abs(b - shown_); });
  const bool done = std::all_of(layers.begin(), layers.end(), [&](int32_t layer) {
    LoadedLayer& one = *layers_[static_cast<size_t>(layer)];
    return wanted_->reduced ? one.look_at(wanted_->box.rect, end)
                            : one.load(wanted_->box.rect, end);
  });
  if (!done || (wanted_->noise && !load_measured(end))) return false;
  wanted_.reset();
  return true;
}

bool LayersPreview::load_whole(const std::vector<int32_t>& layers, int64_t end) {
  return std::all_of(layers.begin(), layers.end(), [&](int32_t layer) {
    return layers_[static_cast<size_t>(layer)]->load(shown_layer().io().whole(), end);
  });
}

bool LayersPreview::have_read(const std::vector<int32_t>& layers) const {
  return std::all_of(layers.begin(), layers.end(),
                     [this](int32_t index) { return layer(index).left() == 0; });
}

double LayersPreview::loaded() const {
  std::vector<int32_t> layers = noise_layers_;
  if (std::find(layers.begin(), layers.end(), shown_) == layers.end()) layers.push_back(shown_);
  const double done =
      std::accumulate(layers.begin(), layers.end(), 0.0,
                      [this](double sum, int32_t index) { return sum + layer(index).progress(); });
  return done / static_cast<double>(layers.size());
}

bool LayersPreview::ready(const ui::PreviewJob& job) {
  if (!unreadable_.ok()) return true;  // denoise() says why
  bool is_ready = true;
  const Status status = guard([&] { is_ready = get_ready(job); });
  if (!status.ok()) {
    const std::lock_guard lock(mutex_);
    unreadable_ = status;
  }
  return is_ready;
}

bool LayersPreview::get_ready(const ui::PreviewJob& job) {
  const std::optional<NoiseModel> known = known_.of(job.params);
  const double most = job.params.auto_sigma ? kMostNoise : job.params.sigma;
  const NoiseModel noise =
      known ? *known : white_noise(format().colours(), static_cast<float>(most));
  const Params params = job.coarse ? coarse_params(job.params, job.reduction) : job.params;
  const Rect whole = ui::at_level(shown_layer().io().whole(), job.reduction);
  const Rect rect = ui::at_level(job.rect, job.reduction);
  VolumeBox box;
  const Status status =
      filter_.needed(params, reduced_noise(noise, job.reduction),
                     {format(), whole.width, whole.height, count()}, {rect, job.layer, 1}, box);
  if (!status.ok()) return true;
  const int32_t shift = job.reduction;
  const VolumeBox level_box = box;
  box.rect = {box.rect.x << shift, box.rect.y << shift, box.rect.width << shift,
              box.rect.height << shift};
  const bool reduced = in_parts() && shift > 0 && shown_layer().has_level(shift);
  wanted_ = Wanted{box, !known, reduced};
  bool read = selection_ && (!wanted_->noise || is_measurable());
  for (int32_t z = box.first; z < box.first + box.layers; ++z) {
    read = read && (reduced ? layer(z).has_seen(box.rect) : layer(z).is_loaded(box.rect));
  }
  if (!read || !shows(job.rect, ui::coarse_level(job))) return false;
  wanted_.reset();
  hand_over(job, level_box, box.rect);
  return true;
}

void LayersPreview::hand_over(const ui::PreviewJob& job, const VolumeBox& level_box,
                              const Rect& box) {
  auto pixels = std::make_shared<JobPixels>(JobPixels{job, level_box, {}, {}, {}});
  const LoadedLayer& layer = this->layer(job.layer);
  if (job.reduction == 0) {
    pixels->full = layer.part(intersect(box, layer.io().whole()));
  } else {
    const int32_t level = ui::coarse_level(job);
    pixels->reduced = layer.level_part(job.reduction, level_box.rect);
    if (level > 0) pixels->shown = layer.level_part(level, ui::at_level(job.rect, level));
  }
  const std::lock_guard lock(mutex_);
  job_pixels_ = std::move(pixels);
}

SharedPixels LayersPreview::measured_pixels() const {
  SharedPixels pixels;
  if (in_parts() || !have_read(noise_layers_)) return pixels;
  for (const int32_t index : noise_layers_) {
    pixels.push_back(layer(index).part(layer(index).io().whole()));
  }
  return pixels;
}

// The measurement is made once and outlives the job that asked for it: slider moves don't start it
// again.
Status LayersPreview::noise_for(const Params& params, NoiseModel& noise) {
  const std::lock_guard one(measuring_);
  if (const std::optional<NoiseModel> known = known_.of(params)) {
    noise = *known;
    return validate(params);
  }
  Callbacks callbacks;
  callbacks.cancel = &stopped_;
  const Params asked = known_.asked(params);
  const Status status = measure(asked, callbacks, noise);
  if (!status.ok()) return status;
  known_.note(asked, noise);
  if (const std::optional<NoiseModel> known = known_.of(params)) noise = *known;
  return status;
}

Status LayersPreview::measure(const Params& params, const Callbacks& callbacks, NoiseModel& noise) {
  if (in_parts())
    return filter_.measure_survey()(params, survey_->survey(), callbacks, noise, nullptr);
  std::vector<ConstImage> layers;
  for (const int32_t index : noise_layers_) layers.push_back(layer(index).pixels().image());
  return filter_.measure(params, count(), layers, callbacks, noise, nullptr);
}

Status LayersPreview::denoise(const ui::PreviewJob& job, const Callbacks& callbacks,
                              ui::PreviewResult& result) {
  if (stopped_.cancelled()) return {ErrorCode::kCancelled, "cancelled"};
  std::shared_ptr<const JobPixels> pixels;
  {
    const std::lock_guard lock(mutex_);
    if (!unreadable_.ok()) return unreadable_;
    pixels = job_pixels_;
  }
  // ready() was asked about another one since.
  if (!pixels || pixels->job.rect != job.rect || pixels->job.layer != job.layer ||
      pixels->job.reduction != job.reduction || pixels->job.level != job.level) {
    return {ErrorCode::kCancelled, "cancelled"};
  }
  NoiseModel noise;
  if (Status status = noise_for(job.params, noise); !status.ok()) return status;
  Report report;
  const std::shared_ptr<const LayerSelection> selection = selected();
  const Status status =
      PreviewFilter(filter_, layers_)
          .run(job, noise, callbacks, {*pixels, *selection, result.bitmap, report});
  if (!status.ok()) return status;
  ui::PreviewInfo& info = result.info;
  info.spared = intersect(job.rect, selection->rect()).empty();
  const NoiseModel shown = noise_of_layer(noise, job.layer, count());
  const NoiseModel told = report.changed ? told_noise(shown) : shown;
  info.sigma.assign(told.sigma[0], told.sigma[0] + told.channels);
  info.measured = job.params.auto_sigma;
  info.confidence = confidence_of(told);
  info.corners = in_corners(noise);
  info.impulses = impulses_text(noise.impulses);
  info.device = report.device_description.empty() ? report.device : report.device_description;
  info.fallbacks = report.fallbacks;
  info.note = report.note;
  info.seconds = report.total;
  if (job.reduction == 0) info.halo = halo_of(job.rect, pixels->box.rect);
  return {};
}

bool LayersPreview::has_selection() const {
  return shown_layer().io().has_selection();
}

void LayersPreview::pick_area(const Rect& visible) {
  const bool selection = has_selection();
  Rect area = selection ? shown_layer().io().selected() : visible;
  std::shared_ptr<const PixelBuffer> pixels;
  if (in_parts() && !area.empty()) {
    area = middle_of(area, LayerSurvey::kMostInDetail);
    const Status status = guard([&] { shown_layer().load(area, G_MAXINT64); });
    if (!status.ok()) area = {};
    pixels = shown_layer().part(area);
  }
  std::vector<uint8_t> picked;
  if (selection && !area.empty()) picked = shown_layer().io().selection(area);
  const std::lock_guard lock(mutex_);
  area_layer_ = shown_;
  area_ = area;
  picked_ = std::move(picked);
  area_pixels_ = std::move(pixels);
}

Status LayersPreview::measure_area(ui::AreaMeasurement& measured) {
  if (!complete_) return {ErrorCode::kCancelled, "cancelled"};
  int32_t index = 0;
  Rect rect;
  std::vector<uint8_t> picked;
  std::shared_ptr<const PixelBuffer> pixels;
  {
    const std::lock_guard lock(mutex_);
    index = area_layer_;
    rect = area_;
    picked = picked_;
    pixels = area_pixels_;
  }
  if (rect.empty()) {
    measured.remark = _("The selection is outside the layer.");
    return {};
  }
  Callbacks callbacks;
  callbacks.cancel = &stopped_;
  const NoiseArea area{rect, picked.empty() ? nullptr : picked.data(), rect.width};
  AreaNoise noise;
  const ConstImage image = pixels ? pixels->image() : layer(index).pixels().image();
  Status status = engine_.area_noise(image, area, callbacks, noise);
  if (!status.ok()) return status;
  measured.remark = remark_on(noise);
  measured.brightness = noise.brightness;
  if (noise.verdict == AreaVerdict::kGood || noise.verdict == AreaVerdict::kNotFlat) {
    if (noise.sigma[0] > 0) measured.sigma.assign(noise.sigma, noise.sigma + noise.channels);
  }
  return {};
}

Status LayersPreview::measure_layer(int32_t index, ui::NoisePicture& picture) {
  if (!complete_) return {ErrorCode::kCancelled, "cancelled"};
  Params params;
  params.auto_sigma = true;
  NoiseModel noise;
  if (Status status = noise_for(params, noise); !status.ok()) return status;
  noise = noise_of_layer(noise, index, count());
  Callbacks callbacks;
  callbacks.cancel = &stopped_;
  NoiseCurve curve;
  const ConstImage image = in_parts() ? survey_->middle().image() : layer(index).pixels().image();
  const NoiseArea area = in_parts() ? NoiseArea{survey_->middle().rect(), nullptr, 0} : NoiseArea{};
  Status status = engine_.noise_curve(image, area, noise, callbacks, curve);
  if (!status.ok()) return status;
  picture.sigma.assign(noise.sigma[0], noise.sigma[0] + noise.channels);
  picture.confidence = confidence_of(noise);
  picture.corners = in_corners(noise);
  picture.impulses = impulses_text(noise.impulses);
  const NoiseModel even = evened_noise(noise);  // as the mean of still layers is filtered
  if (even.bend.enabled != 0) {
    constexpr int32_t kStep = 15;
    for (int32_t tone = 0; tone <= 255; tone += kStep) {
      const auto brightness = static_cast<float>(tone);
      picture.removed.push_back({brightness, sigma_at(even, 0, brightness)});
    }
  }
  for (int32_t c = 0; c < curve.channels; ++c) {
    auto& points = picture.curves.emplace_back();
    for (int32_t i = 0; i < curve.channel[c].count; ++i) {
      points.push_back({curve.channel[c].point[i].brightness, curve.channel[c].point[i].sigma});
    }
  }
  return {};
}

}  // namespace grainless
