// SPDX-License-Identifier: MIT
// How far clipped noise has moved the tones next to black and white, where a picture shows it.
#pragma once

#include <span>

#include "engine/boundary/tone_bend.h"
#include "sample.h"

namespace grainless {

// A sensor's noise is added to linear light, cut off at black and then encoded (sRGB). Of a tone x
// with noise s the share Phi(-x / s) comes out as exactly 0, and the mean of what is left is higher
// than x; further up it is lower, since the encoding is concave. Dark blocks show both shares and
// means (dark_tones.h). What is fitted is s^2 = read^2 + shot * x, as sensors have it; the map to
// the tones themselves is the expected one of the scene's tones that a filter's result may come
// from, by how often each is in the picture.
//
// Nothing (step 0) where too few blocks show it, where it is less than a step, or where such noise
// does not explain it: letterboxes and cut-outs, blacks of other makes. `samples` are of one
// picture, or of frames of one scene; `bend` is what its filter will work in.
ClipCurve measure_sensor_clip(std::span<const Sample> samples, const ToneBend& bend,
                              ThreadPool& pool);

// The same of even noise, which was added to the tones themselves before they were cut off: the
// inverse of the mean of max(0, x + noise) (Foi 2009), at black, white or both. `sigma` is its
// deviation in each colour, in steps, as measured; what the tones show may ask for a tenth more or
// less.
ClipCurve measure_even_clip(std::span<const Sample> samples, double sigma, ThreadPool& pool);

// Whether there is any sigma for which measure_even_clip() finds a curve: much quicker than a
// measurement of the noise, and false of nearly all pictures.
bool may_show_even_clip(const Sample& sample, ThreadPool& pool);

// The curve that leads back by those shares, 0..1, of what `curve` does: in the darker half of the
// tones, and in the brighter one.
ClipCurve part_of(const ClipCurve& curve, double dark, double bright);

}  // namespace grainless
