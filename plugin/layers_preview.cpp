// SPDX-License-Identifier: MIT
#include "layers_preview.h"

#include <glib/gi18n.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "coarse_preview.h"
#include "engine/noise/curve.h"
#include "engine/noise/impulses.h"
#include "engine/noise/layer_tones.h"
#include "picture_colours.h"
#include "preview_conversion.h"

namespace grainless {
namespace {

constexpr int32_t kSurveyRows = 128;      // measured at once: a row of chunks
constexpr int64_t kMostOfArea = 1 << 24;  // pixels of a layer in parts that are measured in detail
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

bool holds(const VolumeBox& outer, const VolumeBox& inner) {
  return outer.rect.contains(inner.rect) && outer.first <= inner.first &&
         outer.first + outer.layers >= inner.first + inner.layers;
}

// A job that was begun before its noise was known was given what white noise asks for; coarse noise
// and layers that stand still may ask for more. The job is planned again, and knows it then.
Status more_is_needed() {
  return {ErrorCode::kCancelled, "cancelled"};
}

}  // namespace

LayersPreview::LayersPreview(Engine& engine, LayerFilter& filter, const Drawables& layers,
                             int32_t shown)
    : engine_(engine), filter_(filter), shown_(shown) {
  const bool in_parts = layers.size() == 1 && filter.measure_survey();
  for (GimpDrawable* layer : layers) {
    layers_.push_back(std::make_unique<LoadedLayer>(layer, in_parts));
  }
  noise_layers_ = filter.noise_layers({format(), width(), height(), count()});
  if (layers.size() == 1 && filter.measure_survey() && !this->in_parts()) {
    Params params;
    params.auto_sigma = true;
    measured_parts_ = Engine::looked_at(params, format(), width(), height());
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
  std::vector<Rect> kept{survey_band()};
  if (wanted_ && !wanted_->reduced) kept.push_back(wanted_->box.rect);
  if (!layer.has_level(level)) kept.push_back(first);
  layer.keep(std::move(kept));
  return layer.has_level(level) ? layer.look_at(first, end) : layer.load(first, end);
}

bool LayersPreview::load_rest(int64_t end) {
  if (in_parts()) return survey_some(end);
  return load_whole({shown_}, end) && load_whole(noise_layers_, end);
}

Rect LayersPreview::survey_band() const {
  const int32_t above = std::max(0, surveyed_ - Survey::kMargin);
  const int32_t below = std::min(height(), surveyed_ + kSurveyRows + Survey::kMargin);
  return {0, above, width(), std::max(0, below - above)};
}

// The layer passes once, and what is measured of it is kept.
bool LayersPreview::survey_some(int64_t end) {
  if (!survey_) {
    Params params;
    params.auto_sigma = true;
    survey_ = std::make_unique<Survey>(params, format(), width(), height());
  }
  while (surveyed_ < height()) {
    const Rect band = survey_band();
    if (!shown_layer().load(band, end)) return false;
    const Rect rows{0, surveyed_, width(), std::min(kSurveyRows, height() - surveyed_)};
    const std::shared_ptr<const PixelBuffer> pixels = shown_layer().part(band);
    survey_->add(pixels->image(), rows.y, rows.bottom());
    keep_middle(*pixels, rows);
    surveyed_ = rows.bottom();
  }
  return true;
}

// The curve of the noise is measured on whole rows in the middle.
void LayersPreview::keep_middle(const PixelBuffer& band, const Rect& rows) {
  if (!middle_) {
    const auto most = static_cast<int32_t>(std::max<int64_t>(kSurveyRows, kMostOfArea / width()));
    const int32_t count = std::min(height(), most);
    middle_ = std::make_shared<PixelBuffer>(format(), width(), height(),
                                            Rect{0, (height() - count) / 2, width(), count});
  }
  const Rect part = intersect(rows, middle_->rect());
  for (int32_t y = part.y; y < part.bottom(); ++y) {
    std::memcpy(middle_->at(0, y), band.at(0, y), static_cast<size_t>(band.row_bytes()));
  }
}

bool LayersPreview::load_measured(int64_t end) {
  if (measured_parts_.empty()) return load_rest(end);
  return shown_layer().fetch(measured_parts_, end);
}

bool LayersPreview::is_measurable() const {
  if (in_parts()) return surveyed_ == height();
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
  const std::optional<NoiseModel> known = known_noise(job.params);
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

std::optional<NoiseModel> LayersPreview::measured(const Params& params) const {
  const std::lock_guard lock(mutex_);
  return measured_.at(static_cast<size_t>(params.noise));
}

SharedPixels LayersPreview::measured_pixels() const {
  SharedPixels pixels;
  if (in_parts() || !have_read(noise_layers_)) return pixels;
  for (const int32_t index : noise_layers_) {
    pixels.push_back(layer(index).part(layer(index).io().whole()));
  }
  return pixels;
}

// Of a sigma that is given for a picture, the range has to be known, and what impulses there are.
std::optional<NoiseModel> LayersPreview::known_noise(const Params& params) const {
  if (params.auto_sigma || filter_.measures_given()) {
    std::optional<NoiseModel> noise = measured(params);
    if (noise) noise = Engine::asked_noise(params, *noise);
    return noise;
  }
  NoiseModel noise = white_noise(format().colours(), static_cast<float>(params.sigma));
  if (!Engine::looks_at_whole(params, format())) return noise;
  const std::lock_guard lock(mutex_);
  if (!range_ || (asks_for_impulses(params) && !impulses_)) return std::nullopt;
  noise.range = *range_;
  noise.impulses = impulses_.value_or(Impulses::kNone);
  return noise;
}

// The measurement is made once and outlives the job that asked for it: slider moves don't start it
// again.
Status LayersPreview::noise_for(const Params& params, NoiseModel& noise) {
  const std::lock_guard one(measuring_);
  if (const std::optional<NoiseModel> known = known_noise(params)) {
    noise = *known;
    return validate(params);
  }
  Callbacks callbacks;
  callbacks.cancel = &stopped_;
  Params asked = params;
  asked.auto_sigma = params.auto_sigma || filter_.measures_given();
  const Status status = measure(asked, callbacks, noise);
  if (!status.ok()) return status;
  {
    const std::lock_guard lock(mutex_);
    range_ = noise.range;
    if (asked.auto_sigma || asks_for_impulses(params)) impulses_ = noise.impulses;
    if (asked.auto_sigma) measured_.at(static_cast<size_t>(params.noise)) = noise;
  }
  if (asked.auto_sigma) noise = Engine::asked_noise(params, noise);
  return status;
}

Status LayersPreview::measure(const Params& params, const Callbacks& callbacks, NoiseModel& noise) {
  if (in_parts()) return filter_.measure_survey()(params, *survey_, callbacks, noise, nullptr);
  std::vector<ConstImage> layers;
  for (const int32_t index : noise_layers_) layers.push_back(layer(index).pixels().image());
  return filter_.measure(params, count(), layers, callbacks, noise, nullptr);
}

Status LayersPreview::denoise_part(const ui::PreviewJob& job, const NoiseModel& noise,
                                   const Callbacks& callbacks, const MutableImage& into,
                                   const Outcome& outcome) {
  const Params params = job.coarse ? coarse_params(job.params, 0) : job.params;
  VolumeBox box;
  const Status status = filter_.needed(params, noise, {format(), width(), height(), count()},
                                       {into.rect, job.layer, 1}, box);
  if (!status.ok()) return status;
  if (!holds(outcome.pixels.box, box)) return more_is_needed();
  std::vector<ConstImage> sources;
  for (int32_t z = box.first; z < box.first + box.layers; ++z) {
    const PixelBuffer& pixels = z == job.layer ? *outcome.pixels.full : layer(z).pixels();
    sources.push_back(pixels.image());
  }
  return filter_.run(params, noise, {count(), box.first, sources}, {count(), job.layer, {&into, 1}},
                     callbacks, outcome.report);
}

// Pixels outside of the selection are the layer's own.
Status LayersPreview::denoise_full(const ui::PreviewJob& job, const NoiseModel& noise,
                                   const Callbacks& callbacks, const Outcome& outcome) {
  const Rect part = intersect(job.rect, outcome.selection.rect());
  PixelBuffer output(format(), width(), height(), job.rect);
  if (part != job.rect) {
    const PixelBuffer& source = *outcome.pixels.full;
    for (int32_t y = job.rect.y; y < job.rect.bottom(); ++y) {
      std::memcpy(output.at(job.rect.x, y), source.at(job.rect.x, y),
                  static_cast<size_t>(output.row_bytes()));
    }
  }
  if (!part.empty()) {
    const MutableImage into{format(),          width(), height(), part, output.at(part.x, part.y),
                            output.row_bytes()};
    const Status status = denoise_part(job, noise, callbacks, into, outcome);
    if (!status.ok()) return status;
  }
  outcome.target = ui::Bitmap(job.rect);
  finish_full(job, outcome, output);
  return {};
}

// Through the layer's own format, whose steps may be coarser than the screen's, and the selection.
void LayersPreview::finish_full(const ui::PreviewJob& job, const Outcome& outcome,
                                PixelBuffer& output) const {
  const Encoding& encoding = layer(job.layer).io().encoding();
  const LayerSelection& selection = outcome.selection;
  const PixelBuffer& source = *outcome.pixels.full;
  const Rect& rect = job.rect;
  std::vector<uint8_t> original(size_t(rect.width) * encoding.native_bytes());
  std::vector<uint8_t> result(original.size());
  const PreviewConversion to_preview(encoding, encoding.native);
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    const uint8_t* row = output.at(rect.x, y);
    if (!encoding.direct() || !selection.replaces()) {
      babl_process(babl_fish(encoding.engine, encoding.native), source.at(rect.x, y),
                   original.data(), rect.width);
      restore_native(encoding, original.data(), source.at(rect.x, y), row, result.data(),
                     rect.width);
      if (!selection.replaces()) {
        selection.merge(encoding.native, rect.x, y, rect.width, original.data(), result.data());
      }
      row = result.data();
    }
    to_preview.convert(row, outcome.target.at(rect.x, y), rect.width);
  }
}

// A reduced view has little noise left and all its sharpness to lose; at 100 % it is the other way
// round.
ui::Bitmap LayersPreview::as_shown(const JobPixels& pixels, ui::Bitmap reduced) const {
  const ui::PreviewJob& job = pixels.job;
  const int32_t level = ui::coarse_level(job);
  if (level == job.reduction) return reduced;
  const Rect part = ui::at_level(job.rect, level);
  if (level == 0) return ui::enlarge(reduced, job.reduction, level, part);
  return ui::apply_at(*pixels.shown, *pixels.reduced, reduced, job.reduction, level, part);
}

Status LayersPreview::denoise_reduced(const ui::PreviewJob& job, const NoiseModel& noise,
                                      const Callbacks& callbacks, const Outcome& outcome) {
  const Params params = coarse_params(job.params, job.reduction);
  const NoiseModel reduced = reduced_noise(noise, job.reduction);
  const Rect whole = ui::at_level(layer(job.layer).io().whole(), job.reduction);
  ScreenPixels pixels(layer(job.layer).io().encoding().format.colours());
  ui::Bitmap target(ui::at_level(job.rect, job.reduction));
  VolumeBox box;
  Status status =
      filter_.needed(params, reduced, {pixels.format(), whole.width, whole.height, count()},
                     {target.rect, job.layer, 1}, box);
  if (!status.ok()) return status;
  if (!holds(outcome.pixels.box, box)) return more_is_needed();
  std::vector<ConstImage> sources;
  for (int32_t z = box.first; z < box.first + box.layers; ++z) {
    const std::shared_ptr<const ui::Bitmap> level =
        z == job.layer ? outcome.pixels.reduced : layer(z).level_part(job.reduction, box.rect);
    sources.push_back(pixels.image(*level, whole.width, whole.height, box.rect));
  }
  const MutableImage into = pixels.target(target, whole.width, whole.height);
  status = filter_.run(params, reduced, {count(), box.first, sources},
                       {count(), job.layer, {&into, 1}}, callbacks, outcome.report);
  if (!status.ok()) return status;
  pixels.finish(target);
  if (!outcome.selection.replaces()) {
    outcome.selection.merge(job.reduction, *outcome.pixels.reduced, target);
  }
  outcome.target = as_shown(outcome.pixels, std::move(target));
  return {};
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
  const Outcome outcome{*pixels, *selection, result.bitmap, report};
  const Status status = job.reduction > 0 ? denoise_reduced(job, noise, callbacks, outcome)
                                          : denoise_full(job, noise, callbacks, outcome);
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
    area = middle_of(area, kMostOfArea);
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
  const ConstImage image = in_parts() ? middle_->image() : layer(index).pixels().image();
  const NoiseArea area = in_parts() ? NoiseArea{middle_->rect(), nullptr, 0} : NoiseArea{};
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
