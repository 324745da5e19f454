// SPDX-License-Identifier: MIT
// Impulses on the CPU (engine/boundary/impulse.h).
#pragma once

#include "engine/boundary/abi.h"
#include "engine/thread_pool.h"
#include "planes.h"

namespace grainless {

// Replaces in planes, made by planes_from_pixels(), what plan.impulse says are impulses. tile.in
// holds all of the image within kImpulseRing + kImpulseFill of them.
void replace_impulses(const Plan& plan, const AbiTile& tile, Planes& planes, ThreadPool& pool);

// Bytes that takes for planes of that size.
uint64_t impulse_bytes(const Plan& plan, int32_t width, int32_t height);

}  // namespace grainless
