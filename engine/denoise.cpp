// SPDX-License-Identifier: MIT
#include "denoise.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <future>

#include "cards.h"
#include "engine/backends/registry.h"
#include "engine/backends/tile_scheduler.h"
#include "engine/boundary/pixel_math.h"
#include "engine/boundary/plan.h"
#include "engine/boundary/volume_plan.h"
#include "engine/methods.h"
#include "engine/noise/corner_gain.h"
#include "engine/noise/estimate.h"
#include "engine/noise/impulses.h"
#include "engine/noise/model.h"
#include "engine/noise/picture_range.h"
#include "engine/noise/volume_noise.h"
#include "engine/params/params.h"
#include "engine/plan/fusion_plan.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/make_volume_plan.h"
#include "lone_layers.h"
#include "mean_shares.h"
#include "registration.h"
#include "sentence.h"
#include "stack.h"
#include "stack_trial.h"
#include "stopwatch.h"
#include "thread_pool.h"
#include "volume.h"

namespace grainless {
namespace {

// Coordinates grown by any halo stay far from the largest int32_t.
constexpr int32_t kMostSide = 1 << 30;

void check_image(PixelFormat format, int32_t width, int32_t height, const Rect& rect,
                 const void* data) {
  const auto bad = [](const char* text) { throw Error(ErrorCode::kBadInput, text); };
  if (format.channels < 1 || format.channels > 4) bad("pixels need 1 to 4 channels");
  if (width < 1 || height < 1) bad("the image has no pixels");
  if (std::max(width, height) > kMostSide) bad("the image is too large");
  if (rect.empty() || !Rect{0, 0, width, height}.contains(rect))
    bad("the area is not in the image");
  if (data == nullptr) bad("the image has no data");
}

bool is_integer(Component component) {
  return component == Component::kU8 || component == Component::kU16;
}

void await_all(const PictureFlow& picture) {
  if (picture.flow.await_rows) picture.flow.await_rows(picture.source.rect.bottom());
}

// In rect, of the pixels that stay as they are for their colours.
int64_t count_replaced(const ConstImage& image, const Rect& rect, ValueRange valid) {
  const PixelFormat format = image.format;
  if (is_integer(format.component)) return 0;
  const PixelFormat opaque{format.component, format.colours()};
  int64_t count = 0;
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      count += pixel_is_valid(pixel_at(image, x, y), opaque, valid) ? 0 : 1;
    }
  }
  return count;
}

// Why the picture stays as it is; empty when it changes.
std::string nothing_to_do(const Params& params, const PictureNoise& noise, const Plan& plan,
                          const ConstImage& source) {
  if (std::min(source.width, source.height) < plan.smallest) {
    return sentence("the image is smaller than a patch (%s pixels)",
                    {std::to_string(plan.smallest)});
  }
  if (!changes_nothing(params, noise)) return {};
  bool noisy = false;
  for (int32_t c = 0; c < noise.channels; ++c) noisy = noisy || noise.sigma[0][c] > 0;
  return noisy ? sentence("these settings remove nothing")
               : sentence("little or no noise was found");
}

void check_volume_params(const Params& params, int32_t depth) {
  throw_if_failed(validate(params));
  if (method_row(params.method).stack == StackWay::kNone) {
    throw Error(ErrorCode::kBadParameter, sentence("depth takes method bm3d or nlm"));
  }
  if (depth < 1 || depth > kMaxDepth) {
    throw Error(ErrorCode::kBadParameter, sentence("depth takes a number from 1 to 15"));
  }
}

void check_layers(std::span<const ConstImage> layers, std::span<const MutableImage> targets) {
  if (layers.empty() || targets.empty()) {
    throw Error(ErrorCode::kBadInput, sentence("a volume needs layers, and a target for each"));
  }
  const auto fits = [&first = layers.front()](const auto& image) {
    check_image(image.format, image.width, image.height, image.rect, image.data);
    return image.format == first.format && image.width == first.width &&
           image.height == first.height;
  };
  if (!std::all_of(layers.begin(), layers.end(), fits) ||
      !std::all_of(targets.begin(), targets.end(), fits)) {
    throw Error(ErrorCode::kBadInput,
                sentence("the layers of a volume need the same size and format"));
  }
}

bool are_those_measured(std::span<const ConstImage> layers, int32_t count) {
  if (layers.empty()) return false;
  const ConstImage& one = layers.front();
  return layers.size() == measured_layers({one.format, one.width, one.height, count}).size();
}

bool is_whole(const ConstImage& image) {
  return image.rect == Rect{0, 0, image.width, image.height};
}

void check_whole(const ConstImage& image) {
  check_image(image.format, image.width, image.height, image.rect, image.data);
  if (!is_whole(image)) {
    throw Error(ErrorCode::kInternal, "noise is measured on whole images only");
  }
}

Sample whole_sample(const ConstImage& image, const PictureRange& range, ThreadPool& pool,
                    const Callbacks& callbacks) {
  const std::vector<SampleTile> tiles = sample_tiles(image.width, image.height, kSampleTiles);
  return take_sample(
      image.format.colours(), tiles, [&](size_t) { return image; }, range, pool, callbacks);
}

PictureNoise measured_noise(Sample sample, const Rect& whole, const PictureRange& range,
                            NoiseKind kind, ThreadPool& pool, const Callbacks& callbacks) {
  const Impulses impulses = mend_impulses(sample, range, pool);
  PictureNoise noise = estimate_cornered_noise(sample, whole, range, kind, pool, callbacks);
  noise.impulses = impulses;
  noise.range = range;
  return noise;
}

PictureNoise picture_noise(const ConstImage& whole, NoiseKind kind, ThreadPool& pool,
                           const Callbacks& callbacks) {
  const PictureRange range = picture_range({&whole, 1});
  return measured_noise(whole_sample(whole, range, pool, callbacks), whole.rect, range, kind, pool,
                        callbacks);
}

struct VolumeRequest {
  const Params* params;
  int32_t depth;
  const NoiseModel* noise;
  VolumePixels pixels;

  bool fuses() const { return fuses_stack(*params, *noise); }
  VolumePlan plan() const {
    return make_volume_plan(*params, depth, shape().format.colours(), *noise);
  }
  StackPlan stack_plan() const {
    return make_stack_plan(*params, depth, shape().format.colours(), *noise);
  }
  LayersShape shape() const {
    const ConstImage& one = pixels.source.layers.front();
    return {one.format, one.width, one.height, pixels.source.count};
  }
  VolumeBox source_box(const VolumeBox& box) const {
    return fuses() ? stack_source_box(stack_plan(), box, shape())
                   : volume_source_box(plan(), box, shape());
  }
  const ConstImage& under_target(int32_t i) const {
    return pixels.source.layers[static_cast<size_t>(pixels.target.first - pixels.source.first + i)];
  }
};

void check_part(const VolumeRequest& request) {
  const auto& [source, target] = request.pixels;
  check_volume_params(*request.params, request.depth);
  check_layers(source.layers, target.layers);
  const MutableImage& one = target.layers.front();
  const VolumeBox box{one.rect, target.first, static_cast<int32_t>(target.layers.size())};
  const VolumeBox needed = request.source_box(box);
  const auto held = static_cast<int32_t>(source.layers.size());
  const bool layers = target.count == source.count && target.first >= 0 &&
                      box.first + box.layers <= target.count && source.first <= needed.first &&
                      source.first + held >= needed.first + needed.layers;
  const bool pixels =
      std::all_of(source.layers.begin(), source.layers.end(),
                  [&](const ConstImage& image) { return image.rect.contains(needed.rect); }) &&
      std::all_of(target.layers.begin(), target.layers.end(),
                  [&](const MutableImage& image) { return image.rect == one.rect; });
  if (!layers || !pixels) {
    throw Error(ErrorCode::kInternal, "source and target don't fit each other");
  }
}

}  // namespace

void add_part(const Report& part, Report& whole) {
  for (const std::string& fallback : part.fallbacks) {
    const auto known = std::find(whole.fallbacks.begin(), whole.fallbacks.end(), fallback);
    if (known == whole.fallbacks.end()) whole.fallbacks.push_back(fallback);
  }
  // "cuda:0" may come to "cuda:0+cpu" on the way.
  if (part.device.size() >= whole.device.size()) {
    whole.device = part.device;
    whole.device_description = part.device_description;
  }
  whole.upload += part.upload;
  whole.kernels += part.kernels;
  whole.download += part.download;
  whole.tiles += part.tiles;
  whole.peak_memory = std::max(whole.peak_memory, part.peak_memory);
  whole.replaced_pixels += part.replaced_pixels;
}

struct Engine::Impl {
  explicit Impl(const EngineOptions& options)
      : pool(options.threads),
        registry(options.cards ? options.cards : module_cards(options.module_dir), pool) {}

  void denoise(const Params& params, const NoiseModel& noise, const PictureFlow& picture,
               const Callbacks& callbacks, Report& report);

  void denoise_volume(const VolumeRequest& request, const Callbacks& callbacks, Report& report);

  void denoise_stack(const VolumeRequest& request, const Callbacks& callbacks, Report& report);

  // Filters pictures without any card.
  RunPicture on_the_processor();
  RunVolume volumes_on_the_processor();

  using Supports = std::function<Status(const Backend&)>;
  void run(const TileWork& work, const Params& params, const Supports& supports, Report& report);

  int64_t count_replaced_in_bands(const ConstImage& image, const Rect& rect, ValueRange valid);

  ThreadPool pool;
  Registry registry;
  std::future<void> prepared;
};

int64_t Engine::Impl::count_replaced_in_bands(const ConstImage& image, const Rect& rect,
                                              ValueRange valid) {
  constexpr int32_t kRows = 64;
  std::atomic<int64_t> count{0};
  pool.parallel_for((rect.height + kRows - 1) / kRows, [&](int32_t i, int32_t) {
    const int32_t y = rect.y + i * kRows;
    const Rect band{rect.x, y, rect.width, std::min(kRows, rect.bottom() - y)};
    count += count_replaced(image, band, valid);
  });
  return count;
}

void Engine::Impl::denoise_volume(const VolumeRequest& request, const Callbacks& callbacks,
                                  Report& report) {
  check_part(request);
  const auto& [given, depth, noise, pixels] = request;
  const VolumePart<MutableImage>& target = pixels.target;
  const auto layers = static_cast<int32_t>(target.layers.size());
  report.noise = *noise;
  bool noisy = false;
  for (int32_t c = 0; c < noise->channels; ++c) noisy |= noise->sigma[0][c] > 0;
  const VolumePlan volume = request.plan();
  const ValueRange valid = request.fuses() ? request.stack_plan().fusion.valid : volume.valid;
  std::atomic<int64_t> replaced{0};
  pool.parallel_for(layers, [&](int32_t z, int32_t) {
    replaced += count_replaced(request.under_target(z), target.layers[z].rect, valid);
  });
  report.replaced_pixels = replaced;
  // What layers differ by may be taken out of them though each alone shows no noise.
  const bool fused = noise->stack.between.known &&
                     fuses_anything(request.stack_plan().fusion, given->detail < 100);
  const bool lone = noise->lone && !changes_nothing(*given, told_noise(*noise));
  report.changed = fused || lone || !changes_nothing(*given, *noise);
  if (!report.changed) {
    report.note = noisy ? sentence("these settings remove nothing")
                        : sentence("little or no noise was found");
    report.device = "none";
    for (int32_t z = 0; z < layers; ++z) copy_pixels(request.under_target(z), target.layers[z]);
    return callbacks.report(1.0);
  }
  report.noise = told_noise(*noise);
  if (request.fuses()) return denoise_stack(request, callbacks, report);
  Params params = *given;
  params.scales = 1;
  params.shadows = params.highlights = 100;
  Plan plan = make_plan(params, request.shape().format, *noise);
  set_bend(plan, {}, noise->range);
  plan.valid = volume.valid;
  run(
      VolumeWork(plan, volume, pixels, callbacks), params,
      [&](const Backend& backend) { return backend.supports_volume(plan, volume); }, report);
}

void Engine::Impl::denoise_stack(const VolumeRequest& request, const Callbacks& callbacks,
                                 Report& report) {
  const StackPlan stack = request.stack_plan();
  const auto run_picture = [&](const Plan& plan, const ConstImage& source,
                               const MutableImage& target, const Callbacks& part) {
    Report one;
    run(
        ImageWork(plan, source, target, part), *request.params,
        [&](const Backend& backend) { return backend.supports(plan); }, one);
    add_part(one, report);
  };
  run_stack(stack, request.pixels, static_cast<float>(request.params->detail / 100), pool,
            callbacks, run_picture);
  if (!report.device.empty()) return;
  // The layers' mean was all that was wanted.
  report.device = registry.cpu()->name();
  report.device_description = registry.cpu()->description();
}

RunPicture Engine::Impl::on_the_processor() {
  return [this](const Plan& plan, const ConstImage& source, const MutableImage& target,
                const Callbacks& callbacks) {
    Report report;
    std::vector<std::string> failed;
    run_tiles(ImageWork(plan, source, target, callbacks), {}, registry.cpu(), report, failed);
  };
}

RunVolume Engine::Impl::volumes_on_the_processor() {
  return [this](const Params& params, int32_t depth, const NoiseModel& noise,
                const VolumePixels& pixels, const Callbacks& callbacks) {
    Report report;
    denoise_volume({&params, depth, &noise, pixels}, callbacks, report);
  };
}

// On the cards that params ask for, as far as they can do it.
void Engine::Impl::run(const TileWork& work, const Params& params, const Supports& supports,
                       Report& report) {
  auto accelerators = registry.accelerators(params, report.fallbacks);
  std::erase_if(accelerators, [&](const auto& backend) {
    const Status supported = supports(*backend);
    if (!supported.ok()) report.fallbacks.push_back(supported.message());
    return !supported.ok();
  });
  std::vector<std::string> failed;
  const Status status =
      guard([&] { run_tiles(work, accelerators, registry.cpu(), report, failed); });
  for (const std::string& name : failed) {
    if (status.code() != ErrorCode::kCancelled) registry.drop(name);
  }
  throw_if_failed(status);
}

void Engine::Impl::denoise(const Params& params, const NoiseModel& noise,
                           const PictureFlow& picture, const Callbacks& callbacks, Report& report) {
  const ConstImage& source = picture.source;
  const MutableImage& target = picture.target;
  throw_if_failed(validate(params));
  check_image(source.format, source.width, source.height, source.rect, source.data);
  check_image(target.format, target.width, target.height, target.rect, target.data);
  const Plan plan = make_plan(params, source.format, noise);
  const Rect needed =
      intersect(expand(target.rect, plan.halo), {0, 0, source.width, source.height});
  if (source.format != target.format || source.width != target.width ||
      source.height != target.height || !source.rect.contains(needed)) {
    throw Error(ErrorCode::kInternal, "source and target don't fit each other");
  }
  report.noise = noise;
  report.note = nothing_to_do(params, noise, plan, source);
  report.changed = report.note.empty();
  if (!report.changed || !is_integer(source.format.component)) await_all(picture);
  report.replaced_pixels = count_replaced_in_bands(source, target.rect, plan.valid);
  if (!report.changed) {
    copy_pixels(source, target);
    report.device = "none";
    callbacks.report(1.0);
    return;
  }
  run(
      ImageWork(plan, source, target, callbacks, &picture.flow), params,
      [&](const Backend& backend) { return backend.supports(plan); }, report);
}

Status Engine::denoise_volume(const Params& params, int32_t depth,
                              std::span<const ConstImage> layers,
                              std::span<const MutableImage> targets, const Callbacks& callbacks,
                              Report& report) {
  report = {};
  double estimate = 0;
  Status status = guard([&] {
    check_volume_params(params, depth);
    check_layers(layers, targets);
    if (layers.size() != targets.size()) {
      throw Error(ErrorCode::kBadInput, sentence("a volume needs layers, and a target for each"));
    }
    NoiseModel noise;
    const Callbacks quiet{callbacks.cancel, {}};
    throw_if_failed(volume_noise(params, layers, quiet, noise, &estimate));
    const auto count = static_cast<int32_t>(layers.size());
    throw_if_failed(denoise_volume_part(
        params, depth, noise, {{count, 0, layers}, {count, 0, targets}}, callbacks, report));
  });
  report.estimate = estimate;
  return status;
}

std::vector<int32_t> measured_layers(const LayersShape& shape) {
  constexpr int32_t kSpread = 9;
  const int64_t count = shape.count, pixels = int64_t{shape.width} * shape.height;
  const bool all =
      count <= kMostMeasured && count * pixels <= kMeasuredBytes / shape.format.pixel_bytes();
  const int32_t measured = all ? shape.count : std::min(shape.count, kSpread);
  std::vector<int32_t> layers;
  for (int32_t i = 0; i < measured; ++i) {
    layers.push_back(static_cast<int32_t>((int64_t{2} * i + 1) * count / (2 * measured)));
  }
  return layers;
}

Status Engine::volume_noise(const Params& params, std::span<const ConstImage> layers,
                            const Callbacks& callbacks, NoiseModel& noise, double* seconds) {
  if (layers.empty()) {
    return {ErrorCode::kBadInput, sentence("a volume needs layers, and a target for each")};
  }
  const ConstImage& one = layers.front();
  const auto count = static_cast<int32_t>(layers.size());
  std::vector<ConstImage> measured;
  for (const int32_t z : measured_layers({one.format, one.width, one.height, count})) {
    measured.push_back(layers[static_cast<size_t>(z)]);
  }
  return volume_noise(params, count, measured, callbacks, noise, seconds);
}

Status Engine::volume_noise(const Params& params, int32_t count,
                            std::span<const ConstImage> measured, const Callbacks& callbacks,
                            NoiseModel& noise, double* seconds) {
  const Stopwatch watch;
  const Status status = guard([&] {
    throw_if_failed(validate(params));
    for (const ConstImage& layer : measured) check_whole(layer);
    if (!are_those_measured(measured, count)) {
      throw Error(ErrorCode::kInternal, "a volume's noise is measured on other layers");
    }
    const bool all = measured.size() == static_cast<size_t>(count);
    noise = estimate_volume_noise(measured, all, static_cast<NoiseKind>(params.noise), impl_->pool,
                                  callbacks);
    noise.range = picture_range(measured);
    if (all && follows_motion(noise)) register_layers(measured, impl_->pool, callbacks, noise);
    // Both look at parts, whose middle is not the layer's.
    if (noise.corners.enabled == 0) {
      if (noise.stack.strengths.count == 0) {
        measure_mean_shares(measured, impl_->pool, callbacks, impl_->on_the_processor(), noise);
      }
      try_ways(measured, all, impl_->pool, callbacks, impl_->volumes_on_the_processor(), noise);
    }
    // A sigma that is given is all layers'.
    if (all && params.auto_sigma) {
      const auto measure = [&](const ConstImage& layer) {
        return picture_noise(layer, static_cast<NoiseKind>(params.noise), impl_->pool,
                             {callbacks.cancel, {}});
      };
      find_lone_layers(measured, impl_->pool, callbacks, measure, noise);
    }
    noise = grainless::asked_noise(params, noise);
  });
  if (seconds != nullptr) *seconds = watch.seconds();
  return status;
}

NoiseModel Engine::asked_noise(const Params& params, const NoiseModel& measured) {
  return grainless::asked_noise(params, measured);
}

Status Engine::volume_source(const Params& params, int32_t depth, const NoiseModel& noise,
                             const LayersShape& shape, const VolumeBox& box, VolumeBox& source) {
  return guard([&] {
    check_volume_params(params, depth);
    if (fuses_stack(params, noise)) {
      source = stack_source_box(make_stack_plan(params, depth, shape.format.colours(), noise), box,
                                shape);
      return;
    }
    source = volume_source_box(make_volume_plan(params, depth, shape.format.colours(), noise), box,
                               shape);
  });
}

Status Engine::denoise_volume_part(const Params& params, int32_t depth, const NoiseModel& noise,
                                   const VolumePixels& pixels, const Callbacks& callbacks,
                                   Report& report) {
  const Stopwatch watch;
  report = {};
  Params own = params;
  own.impulse = static_cast<int32_t>(ImpulseWay::kOff);
  const Status status =
      guard([&] { impl_->denoise_volume({&own, depth, &noise, pixels}, callbacks, report); });
  report.total = watch.seconds();
  return status;
}

Engine::Engine(EngineOptions options) : impl_(std::make_unique<Impl>(options)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

void Engine::prepare(const Params& params) {
  (void)guard([&] {
    throw_if_failed(validate(params));
    impl_->prepared = std::async(std::launch::async, [&registry = impl_->registry, params] {
      std::vector<std::string> fallbacks;
      (void)guard([&] { registry.accelerators(params, fallbacks); });
    });
  });
}

std::vector<DeviceInfo> Engine::devices(Ask ask) {
  return impl_->registry.devices(ask == Ask::kFreeMemory);
}

Status Engine::estimate(const ConstImage& image, NoiseKind kind, const Callbacks& callbacks,
                        NoiseModel& noise) {
  return guard([&] {
    check_whole(image);
    noise = {picture_noise(image, kind, impl_->pool, callbacks)};
  });
}

Status Engine::noise_for(const Params& params, const ConstImage& whole, const Callbacks& callbacks,
                         NoiseModel& noise, double* seconds) {
  const Stopwatch watch;
  Status status = validate(params);
  if (status.ok() && params.auto_sigma) {
    status = estimate(whole, static_cast<NoiseKind>(params.noise), callbacks, noise);
  } else if (status.ok()) {
    noise = white_noise(whole.format.colours(), static_cast<float>(params.sigma));
    status = range(whole, noise.range);
    if (status.ok() && asks_for_impulses(params)) {
      status = guard([&] {
        check_whole(whole);
        noise.impulses = find_impulses(whole_sample(whole, noise.range, impl_->pool, callbacks),
                                       noise.range, impl_->pool);
      });
    }
  }
  if (seconds != nullptr) *seconds = watch.seconds();
  return status;
}

Status Engine::noise_for(const Params& params, Survey& survey, const Callbacks& callbacks,
                         NoiseModel& noise, double* seconds) {
  const Stopwatch watch;
  const Status status = guard([&] {
    throw_if_failed(validate(params));
    if (params.auto_sigma) {
      noise = {measured_noise(survey.sample(impl_->pool, callbacks), survey.whole(), survey.range(),
                              static_cast<NoiseKind>(params.noise), impl_->pool, callbacks)};
      return;
    }
    noise = white_noise(survey.format().colours(), static_cast<float>(params.sigma));
    noise.range = survey.range();
    if (!asks_for_impulses(params)) return;
    noise.impulses = find_impulses(survey.sample(impl_->pool, callbacks), noise.range, impl_->pool);
  });
  if (seconds != nullptr) *seconds = watch.seconds();
  return status;
}

Status Engine::range(const ConstImage& image, PictureRange& range) {
  return guard([&] {
    range = {};
    if (!has_range(image.format)) return;
    check_image(image.format, image.width, image.height, image.rect, image.data);
    if (!is_whole(image)) {
      throw Error(ErrorCode::kInternal, "a picture's range is measured on whole images only");
    }
    range = picture_range({&image, 1});
  });
}

bool Engine::looks_at_whole(const Params& params, PixelFormat format) {
  return params.auto_sigma || asks_for_impulses(params) || has_range(format);
}

std::vector<Rect> Engine::looked_at(const Params& params, PixelFormat format, int32_t width,
                                    int32_t height) {
  if (has_range(format)) return {{0, 0, width, height}};
  std::vector<Rect> parts;
  if (!looks_at_whole(params, format)) return parts;
  for (const SampleTile& tile : sample_tiles(width, height, kSampleTiles)) {
    parts.push_back({tile.x, tile.y, tile.width, tile.height});
  }
  return parts;
}

Status Engine::noise_curve(const ConstImage& image, const NoiseArea& area, const NoiseModel& model,
                           const Callbacks& callbacks, NoiseCurve& curve) {
  return guard([&] {
    check_image(image.format, image.width, image.height, image.rect, image.data);
    curve = measure_noise_curve(image, area, model, impl_->pool, callbacks);
  });
}

Status Engine::area_noise(const ConstImage& image, const NoiseArea& area,
                          const Callbacks& callbacks, AreaNoise& noise) {
  return guard([&] {
    check_image(image.format, image.width, image.height, image.rect, image.data);
    noise = measure_area_noise(image, area, impl_->pool, callbacks);
  });
}

Status Engine::source_rect(const Params& params, const NoiseModel& noise, const LayersShape& shape,
                           const Rect& rect, Rect& source) {
  return guard([&] {
    throw_if_failed(validate(params));
    source = intersect(expand(rect, make_plan(params, shape.format, noise).halo),
                       {0, 0, shape.width, shape.height});
  });
}

Status Engine::denoise(const Params& params, const NoiseModel& noise, const ConstImage& source,
                       const MutableImage& target, const Callbacks& callbacks, Report& report) {
  return denoise(params, noise, {source, target, {}}, callbacks, report);
}

Status Engine::denoise(const Params& params, const NoiseModel& noise, const PictureFlow& picture,
                       const Callbacks& callbacks, Report& report) {
  const Stopwatch watch;
  report = {};
  const Status status = guard([&] { impl_->denoise(params, noise, picture, callbacks, report); });
  report.total = watch.seconds();
  return status;
}

}  // namespace grainless
