// SPDX-License-Identifier: MIT
// The part of make_plan() that Non-Local Means needs, over a plane or a volume.
#pragma once

#include "engine/boundary/plan.h"
#include "engine/params/params.h"
#include "level_request.h"
#include "match_scale.h"

namespace grainless {

// Patches of correlated noise hold few independent values: their distances spread widely, and more
// of them are alike by chance. There normal quality averages whole patches, too, of one size, and
// next to nothing is taken off the distance, with more strength instead. PolyU's 20 pairs,
// automatic, mean and least gain: pixel-wise with half the strength +1.80 and +0.37 dB; patch-wise,
// 5 x 5, so much taken off and times such strengths (luma, chroma): 1.0 and 0.7, 1.0 +2.12 -0.05;
// 0.2 and 0.9, 1.8 +2.10 +0.44; 0 and 1.0, 1.8 +2.12 +0.34.
enum class NlmNoise { kWhite, kCorrelated };

// See MethodRow::set_level and MethodRow::smallest.
double set_nlm_level(LevelPlan& level, const LevelRequest& request);
int32_t nlm_smallest(const LevelPlan& level);

// What patches are made of. `noise` a channel is what distances are measured in, in 8-bit steps;
// `compared` as in set_match_planes().
struct NlmSignal {
  const MatchSpan& span;
  NlmNoise kind;
  const double* noise;
  int32_t channels, compared;
};

// Sets the match planes' scale and centre, and the weights, for patches of so many voxels.
void set_nlm_weights(NlmPlan& nlm, const Params& params, const NlmSignal& signal, int32_t voxels);

// `sigma`: the noise of a grey value or of luma. Shapiro-Wilk NLM has the pixel-wise one.
CentreWeight nlm_centre(const Params& params, const MatchSpan& span, NlmNoise kind, double sigma,
                        bool patchwise);

// h / sigma of WeightRule::kLessNoise.
double nlm_h(int32_t voxels, bool colour, bool patchwise);

}  // namespace grainless
