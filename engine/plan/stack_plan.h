// SPDX-License-Identifier: MIT
// How a stack is denoised that is averaged first (engine/stack.h): by which layers, and with which
// picture filter for what noise is left.
#pragma once

#include "engine/boundary/plan.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"
#include "fusion_plan.h"

namespace grainless {

// For 31 layers, kMaxDepth on either side.
inline constexpr int32_t kMostRuns = 6;

struct StackPlan {
  FusionPlan fusion;
  Params params;     // of the picture filter
  NoiseModel noise;  // of a layer alone
  int32_t halo;      // of the picture filter, whatever it runs for
};

// Whether a stack is averaged first. Always for some methods. Non-Local Means, which looks into the
// layers beside as they are, expects white noise that is the same at every brightness. It averages
// layers that are known to stand still, since then nothing finds more noise than their mean
// removes; of others it takes what was found to be better (engine/stack_trial.h), or, where that
// can't be tried, averages frames in colour, which come from cameras, where their noise is sure
// (docs/quality.md). Corners of noise, and lone layers, are known to what averages alone.
bool fuses_stack(const Params& params, const NoiseModel& noise);

// What params ask for of a stack whose noise was measured, as with an automatic sigma: of one that
// is given, white noise of it. The filter takes that, and what layers surely differ by tells which
// of them show the same: a smaller sigma than theirs would keep all of them apart, and a larger one
// would average what has moved. Where much less than theirs is given, less of what the mean removes
// is taken.
NoiseModel asked_noise(const Params& params, const NoiseModel& measured);

// Shapes and settings as Engine::denoise_volume() takes them.
StackPlan make_stack_plan(const Params& params, int32_t depth, int32_t channels,
                          const NoiseModel& noise);

// With n layers in the window that are worth m as noisy as the filtered one there are runs
// 0..last_run(n), run i being for m^(1 - i / last) of these. As a rule all hold the same noise, and
// m is n; where it is less, so is n (worth_layers()).
int32_t last_run(int32_t layers);
int32_t worth_layers(int32_t layers, double worth);
double run_count(int32_t run, int32_t layers, double worth);

// What is left in a mean of `count` independent layers as noisy as one whose noise is so many times
// the stack's: its noise, and the picture filter's plan.
NoiseModel left_noise(const StackPlan& stack, double count, double strength = 1);
Plan left_plan(const StackPlan& stack, double count, double strength = 1);

// The plan of a layer that is denoised as a picture of its own.
Plan lone_plan(const StackPlan& stack, PixelFormat format, const NoiseModel& lone);

// How much of what the filter takes out of such a mean is taken (NoiseModel::means).
float share_of_noise(const StackPlan& stack, double count, int32_t channel);

}  // namespace grainless
