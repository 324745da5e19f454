// SPDX-License-Identifier: MIT
// What an Engine is made of: shared by the files that measure, denoise pictures, and denoise
// volumes.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <future>

#include "cards.h"
#include "denoise.h"
#include "engine/backends/backend.h"
#include "engine/backends/registry.h"
#include "engine/backends/tile_scheduler.h"
#include "stack.h"
#include "stack_trial.h"
#include "thread_pool.h"

namespace grainless {

struct VolumeRequest;

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

  // On the cards that params ask for, as far as they can do it.
  using Supports = std::function<Status(const Backend&)>;
  void run(const TileWork& work, const Params& params, const Supports& supports, Report& report);

  ThreadPool pool;
  Registry registry;
  std::future<void> prepared;
};

// For a part of a call, which reports from 0 to 1 in it. `callbacks` outlives it.
inline Callbacks part_of(const Callbacks& callbacks, double from, double end) {
  return {callbacks.cancel,
          [&callbacks, from, end](double done) { callbacks.report(std::lerp(from, end, done)); }};
}

// In rect, of the pixels that stay as they are for their colours.
int64_t count_replaced(const ConstImage& image, const Rect& rect, ValueRange valid);

}  // namespace grainless
