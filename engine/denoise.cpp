// SPDX-License-Identifier: MIT
#include "denoise.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>

#include "checks.h"
#include "engine/boundary/pixel_math.h"
#include "engine/boundary/plan.h"
#include "engine/plan/make_plan.h"
#include "engine_impl.h"
#include "sentence.h"
#include "stopwatch.h"

namespace grainless {
namespace {

bool is_integer(Component component) {
  return component == Component::kU8 || component == Component::kU16;
}

void await_all(const PictureFlow& picture) {
  if (picture.flow.await_rows) picture.flow.await_rows(picture.source.rect.bottom());
}

int64_t count_replaced_in_bands(const ConstImage& image, const Rect& rect, ValueRange valid,
                                ThreadPool& pool) {
  constexpr int32_t kRows = 64;
  std::atomic<int64_t> count{0};
  pool.parallel_for((rect.height + kRows - 1) / kRows, [&](int32_t i, int32_t) {
    const int32_t y = rect.y + i * kRows;
    const Rect band{rect.x, y, rect.width, std::min(kRows, rect.bottom() - y)};
    count += count_replaced(image, band, valid);
  });
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

}  // namespace

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

RunPicture Engine::Impl::on_the_processor() {
  return [this](const Plan& plan, const ConstImage& source, const MutableImage& target,
                const Callbacks& callbacks) {
    Report report;
    std::vector<std::string> failed;
    run_tiles(ImageWork(plan, source, target, callbacks), {}, registry.cpu(), report, failed);
  };
}

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
  report.replaced_pixels = count_replaced_in_bands(source, target.rect, plan.valid, pool);
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
