// SPDX-License-Identifier: MIT
// The module boundary: what a run-time backend module (grainless-cuda.so) exports and the engine
// calls. One C symbol, plain data, no exceptions, no allocation handed across.
#pragma once

#include <cstdint>
#include <type_traits>

#include "plan.h"
#include "status.h"
#include "volume_plan.h"

namespace grainless {

inline constexpr uint32_t kAbiVersion = 12;
inline constexpr char kAbiSymbol[] = "grainless_backend";

struct AbiMessage {
  char text[512];  // one sentence, zero-terminated; empty on success
};

struct AbiDevice {
  char name[128];
  int32_t usable;
  char reason[256];  // why not usable; empty otherwise
  int32_t major, minor, multiprocessors;
  uint64_t total_memory;
  uint64_t free_memory;  // bytes, both; 0: not asked for
};

// One tile: pixels of Plan::format. `in` holds every pixel that `out` depends on: it is `out` grown
// by Plan::halo and clipped to the image. A side of `in` that is not the image's border is a halo.
struct AbiTile {
  int32_t image_width, image_height;
  Rect in, out;
  const void* source;  // at in.x, in.y
  int64_t source_row_bytes;
  void* target;  // at out.x, out.y; never overlaps source
  int64_t target_row_bytes;
};

// One slab of a volume: whole layers of Plan::format, all of one size. The layers of `source` are
// those of the volume from in_first on: all within VolumePlan::reach() of the slab, as far as there
// are any. The volume's ends reflect, as the borders of its layers do. For a part of larger layers,
// they are cut out of those at a multiple of kVolumeCut, and only pixels count that see no border.
struct AbiLayer {
  void* data;  // of a source only read
  int64_t row_bytes;
};
struct AbiSlab {
  int32_t width, height, layers;  // of the volume
  int32_t in_first, in_layers;
  int32_t out_first, out_layers;
  const AbiLayer* source;  // in_layers
  const AbiLayer* target;  // out_layers; never overlap source
};

struct AbiCallbacks {
  void* user;
  int32_t (*cancelled)(void* user);               // polled at least every 50 ms
  void (*progress)(void* user, double fraction);  // of this tile
};

struct AbiTiming {
  double upload, kernels, download;  // seconds, measured on the device
  uint64_t peak_memory;              // bytes of device memory held
};

struct AbiSession;  // one opened device

// Functions return ErrorCode as a number and fill message when it is not 0.
struct AbiBackend {
  uint32_t abi_version;  // == kAbiVersion
  uint32_t struct_size;  // sizeof(AbiBackend): entries may be appended
  uint32_t plan_size;    // sizeof(Plan) + sizeof(VolumePlan)
  uint32_t concurrency;  // run() and run_slab() calls at once on one session that overlap transfers
                         // and kernels

  // Writes up to capacity devices, usable or refused with a reason, and how many there are. `ask`
  // not 0: asks each of them for its free memory, for which it has to be opened. That takes as long
  // as open() and keeps some memory of every device.
  int32_t (*devices)(int32_t ask, AbiDevice* out, uint32_t capacity, uint32_t* count,
                     AbiMessage* message);
  // memory_limit in bytes; 0: all that is free, less a reserve.
  int32_t (*open)(uint32_t device, uint64_t memory_limit, AbiSession** out, AbiMessage* message);
  // kOk when run() on the session can do what the plan asks for, as far as that is known before;
  // otherwise one sentence says what it can't. Without a session: what no device could do here.
  int32_t (*supports)(AbiSession* session, const Plan* plan, AbiMessage* message);
  // Device bytes that one run() of a tile whose `in` is width x height needs, and the bytes that
  // the session may use now, all its runs together.
  uint64_t (*tile_bytes)(const Plan* plan, int32_t width, int32_t height);
  int32_t (*budget)(AbiSession* session, uint64_t* bytes, AbiMessage* message);
  int32_t (*run)(AbiSession* session, const Plan* plan, const AbiTile* tile,
                 const AbiCallbacks* callbacks, AbiTiming* timing, AbiMessage* message);
  void (*close)(AbiSession* session);
  // The same three for volumes. Of the Plan, all but its levels applies.
  int32_t (*supports_volume)(const Plan* plan, const VolumePlan* volume, AbiMessage* message);
  uint64_t (*slab_bytes)(const Plan* plan, const VolumePlan* volume, int32_t width, int32_t height,
                         int32_t in_layers, int32_t out_layers);
  int32_t (*run_slab)(AbiSession* session, const Plan* plan, const VolumePlan* volume,
                      const AbiSlab* slab, const AbiCallbacks* callbacks, AbiTiming* timing,
                      AbiMessage* message);
};
static_assert(std::is_standard_layout_v<AbiBackend> && std::is_standard_layout_v<AbiTile>);

inline constexpr uint32_t kAbiPlanSize = sizeof(Plan) + sizeof(VolumePlan);

using AbiEntry = const AbiBackend* (*)();

}  // namespace grainless
