// SPDX-License-Identifier: MIT
#include "cpu_backend.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>
#include <thread>

#include "engine/cpu/frame/impulses.h"
#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/frame/pyramid.h"
#include "engine/cpu/volume/slab.h"
#include "engine/platform/system.h"
#include "methods.h"

namespace grainless {
namespace {

// Larger tiles waste less on halos and need more memory, and what they compute with leaves the
// caches: BM3D normal, halo 90, gains nothing beyond 1024. High, halo 445, takes 1.3 times as long
// in such tiles as in tiles of nine halos.
constexpr int32_t kTileSide = 1024, kTileHalos = 9;
constexpr uint64_t kMostTileBytes = uint64_t{2} << 30;

constexpr auto kAsk = std::chrono::milliseconds(10);  // between questions whether to stop

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(ThreadPool& pool) : pool_(pool) {}

  std::string name() const override { return "cpu"; }
  std::string description() const override { return processor_name(); }
  int32_t concurrency() const override { return 1; }
  int32_t preferred_side(const Plan& plan) const override {
    return std::max(kTileSide, kTileHalos * plan.halo);
  }
  Status supports(const Plan& plan) const override {
    return guard([&] { (void)cpu_method(plan.method); });
  }
  uint64_t budget() const override { return std::numeric_limits<uint64_t>::max(); }
  // A third of what can be had; and more if tiles of the usual side need it.
  uint64_t tile_budget(const Plan& plan) const override {
    return std::max(std::min(available_memory() / 3, kMostTileBytes), usual_bytes(plan));
  }

  uint64_t tile_bytes(const Plan& plan, int32_t width, int32_t height) const override {
    return 2 * Planes::bytes(plan.channels, width, height) +
           std::max(levels_bytes(plan, width, height, pool_.size()),
                    impulse_bytes(plan, width, height));
  }

  void run(const Plan& plan, const AbiTile& tile, const Callbacks& callbacks,
           AbiTiming* timing) override {
    const Rect needed = levels_source(plan, tile.image_width, tile.image_height, tile.out);
    const uint64_t bytes = tile_bytes(plan, needed.width, needed.height);
    const auto turn = await_turn(bytes > usual_bytes(plan), callbacks);
    const auto start = std::chrono::steady_clock::now();
    Planes source = planes_from_pixels(plan, tile, needed, pool_);
    if (plan.impulse.enabled != 0) replace_impulses(plan, tile, source, pool_);
    Planes target(plan.channels, tile.out);
    run_levels(
        plan, {nullptr, tile.image_width, tile.image_height, &source, &target, &pool_, &callbacks});
    throw_if_cancelled(callbacks);
    pixels_from_planes(plan, tile, source, target, pool_);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    *timing = {0, seconds.count(), 0, bytes};
  }

  Status supports_volume(const Plan&, const VolumePlan&) const override { return {}; }
  uint64_t slab_bytes(const Plan& plan, const VolumePlan& volume, int32_t width, int32_t height,
                      int32_t in_layers, int32_t out_layers) const override {
    return volume_slab_bytes(plan, volume, {width, height, in_layers, out_layers}, pool_.size());
  }
  void run_slab(const Plan& plan, const VolumePlan& volume, const AbiSlab& slab,
                const Callbacks& callbacks, AbiTiming* timing) override {
    const auto start = std::chrono::steady_clock::now();
    run_volume_slab(plan, volume, slab, pool_, callbacks);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    *timing = {0, seconds.count(), 0,
               slab_bytes(plan, volume, slab.width, slab.height, slab.in_layers, slab.out_layers)};
  }

 private:
  uint64_t usual_bytes(const Plan& plan) const {
    const int32_t side = kTileSide + 2 * plan.halo;
    return tile_bytes(plan, side, side);
  }

  // Pictures at once share the threads: what is large need not be there at the same time.
  std::unique_lock<std::mutex> await_turn(bool large, const Callbacks& callbacks) {
    std::unique_lock turn(large_, std::defer_lock);
    while (large && !turn.try_lock()) {
      throw_if_cancelled(callbacks);
      std::this_thread::sleep_for(kAsk);
    }
    return turn;
  }

  ThreadPool& pool_;
  std::mutex large_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(ThreadPool& pool) {
  return std::make_unique<CpuBackend>(pool);
}

}  // namespace grainless
