// SPDX-License-Identifier: MIT
// How strong the noise of an image is: a standard deviation a channel and a level of resolution.
#pragma once

#include "engine/boundary/pixels.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "neutral.h"
#include "picture_noise.h"
#include "sample.h"
#include "tone_profile.h"

namespace grainless {

// Measures the whole image (image.rect must cover it). The same bits for any number of threads. All
// sigmas are 0 when no noise is found: flat graphics, gradients, fewer pixels than a few patches.
// Where texture and noise can't be told apart, kSure finds so little that neither suffers, and
// says so. `most_tiles` as in take_sample(): several images measured together need fewer each.
PictureNoise estimate_noise(const ConstImage& image, NoiseKind kind, ThreadPool& pool,
                            const Callbacks& callbacks, int32_t most_tiles = kSampleTiles);

// The same from a sample of the picture, and its range.
PictureNoise estimate_noise(const Sample& sample, const PictureRange& range, NoiseKind kind,
                            ThreadPool& pool, const Callbacks& callbacks);

// What is measured of the grey picture that a toned or black-and-white one was made of, as that
// one's noise.
PictureNoise as_toned(const PictureNoise& grey, const Toning& toning);

// As estimate_noise(), and where the noise surely depends on brightness, of colours that are bent
// so that it doesn't (PictureNoise::bend).
PictureNoise estimate_even_noise(Sample sample, const PictureRange& range, NoiseKind kind,
                                 ThreadPool& pool, const Callbacks& callbacks);

// What `bend`, by which noise of that profile surely becomes even, makes of a sample whose noise
// was measured: false where the noise that is then found contradicts what was found before.
bool estimate_bent_noise(const ToneProfile& profile, const ToneBend& bend, Sample sample,
                         const PictureNoise& noise, NoiseKind kind, ThreadPool& pool,
                         const Callbacks& callbacks, PictureNoise& even);

// The strength of a profile that noise so strong can be trusted to show.
double trusted_share(const PictureNoise& noise);

}  // namespace grainless
