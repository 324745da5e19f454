// SPDX-License-Identifier: MIT
// How a stack that is averaged first (engine/stack.h) is denoised: which layers are averaged, and
// which filter removes the noise that is left.
#pragma once

#include "engine/boundary/plan.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"
#include "fusion_plan.h"

namespace grainless {

// last_run() + 1 for 31 layers: kMaxDepth on either side.
inline constexpr int32_t kMostRuns = 6;

struct StackPlan {
  FusionPlan fusion;
  Params params;     // of the picture filter
  NoiseModel noise;  // of a layer alone
  int32_t halo;      // of the picture filter, in pixels: the largest of its plans
};

// Whether a stack is averaged first. BM3D always does. Non-Local Means can also search through the
// unchanged neighbouring layers, which expects white noise of the same strength at every
// brightness. It averages layers that are known to stand still, since no search removes more noise
// than their mean. For others it takes the way that was found to be better (engine/stack_trial.h);
// where that can't be tried, it averages frames in colour, which come from cameras, if their noise
// is sure (docs/quality.md). Only averaging takes lone layers, and noise that differs in the
// corners, into account.
bool fuses_stack(const Params& params, const NoiseModel& noise);

// The noise that params ask to remove from a stack whose noise was measured. With an automatic
// sigma it is what was measured. With a given one it is white noise of that sigma, which the filter
// removes, while what the layers surely differ by still decides which of them show the same: by a
// sigma smaller than theirs none would, and by a larger one what has moved would be averaged. Where
// the given sigma is much smaller than theirs, only a share of what the mean removes is removed.
NoiseModel asked_noise(const Params& params, const NoiseModel& measured);

// Shapes and settings as Engine::denoise_volume() takes them.
StackPlan make_stack_plan(const Params& params, int32_t depth, int32_t channels,
                          const NoiseModel& noise);

// With n layers in the window that are worth m layers as noisy as the filtered one, there are runs
// 0..last_run(n); run i is for m^(1 - i / last) such layers. As a rule all hold the same noise, and
// m is n. Where m is smaller, worth_layers() is the n to be used.
int32_t last_run(int32_t layers);
int32_t worth_layers(int32_t layers, double worth);
double run_count(int32_t run, int32_t layers, double worth);

// For the mean of `count` independent layers whose noise is `strength` times the stack's: the noise
// that is left in it, and the plan of the picture filter for that.
PictureNoise left_noise(const StackPlan& stack, double count, double strength = 1);
Plan left_plan(const StackPlan& stack, double count, double strength = 1);

// The plan of a layer that is denoised as a picture of its own.
Plan lone_plan(const StackPlan& stack, PixelFormat format, const PictureNoise& lone);

// Which share of what the filter would remove from such a mean is removed (StackNoise::means).
float share_of_noise(const StackPlan& stack, double count, int32_t channel);

}  // namespace grainless
