// SPDX-License-Identifier: MIT
// How the noise of one picture depends on brightness, where a picture shows it surely.
#pragma once

#include <functional>

#include "engine/boundary/tone_bend.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "picture_noise.h"
#include "sample.h"

namespace grainless {

inline constexpr int32_t kProfileKnots = kBendSegments / 2 + 1;
// Of a profile's logarithms: where next to no noise is left in bright tones, a rule took it out, no
// camera. In dark ones a tone curve did: a gamma of 2.2 takes 8 times as much from 5 as from 250.
inline constexpr double kMostDeviation = 0.8, kMostRisingDeviation = 1.2;

// Relative sigma at brightness 0..255 in equal steps, as natural logarithms about their mean.
struct ToneProfile {
  double log_sigma[kProfileKnots] = {};
  // Share of the measured tones' deviations from one sigma that the profile explains: up to 1, and
  // below 0 where it explains nothing.
  double explained = 0;
  int32_t tones = 0;  // that were measured, of all channels
};

// From the finest band of the flattest blocks of each tone, which texture hardly reaches, of all
// channels together: their shape is one, their levels are their own. What rises with brightness is
// measured by the colours alone, where there are any.
ToneProfile measure_profile(const Sample& sample, ThreadPool& pool);

// The curve of that slope at brightness 0..255 times a constant, which is returned in `scale`.
ToneBend bend_with(const std::function<double(double brightness)>& slope, double& scale);

// The curve whose slope is the inverse of the profile's sigma, or of that to the power of `share`.
ToneBend bend_of(const ToneProfile& profile, double share);

// Bends the sample's colours, at all resolutions.
void bend_sample(const ToneBend& bend, Sample& sample, ThreadPool& pool);

// Whether noise of this kind can be bent by the profile: dark tones hold clearly more of it than
// bright ones do, or far less, and it was not reduced, as a camera's JPEGs have it: flat and bright
// blocks lose most there, which looks like a profile and is none.
bool is_sure(const ToneProfile& profile, const PictureNoise& noise);

// How many times the sigma may be found in bent colours that was found before: beyond that the
// profile, though sure, was the texture's.
double most_change(const ToneProfile& profile, int32_t channels);

}  // namespace grainless
