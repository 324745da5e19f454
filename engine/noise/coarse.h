// SPDX-License-Identifier: MIT
// What tells noise that is not white from texture in colour pictures: a camera's, which its own
// processing has made coarse, and that of photographs that were edited.
#pragma once

#include "flat_blocks.h"
#include "shades.h"
#include "weak_texture.h"

namespace grainless {

// What was measured of one channel.
struct Measured {
  WeakTexture fine;   // white noise of the finest band, level 0
  double halved = 0;  // the same at half resolution
  FlatNoise flat;
  RegionNoise region;
  Shades luma_blocks = {}, chroma_blocks = {};  // of luma alone, in blocks as large as either's
};

// Flat blocks', of both.
double mean_chroma(const Measured* m);

// The finest band of both colour channels holds white noise, faintly, and flat blocks not much
// more: no camera has reduced noise there, and none is coarse.
bool chroma_is_intact(const Measured* m);

enum class Coarse { kNone, kSome, kSure };

// Whether a colour picture has a camera's coarse noise in luma: certainly, perhaps (a little of it
// is taken), or not: what flat blocks show is texture.
Coarse judge_coarse(const Measured* m);

// Whether much of that may be texture for all that is known: luma's V falls where luma rises, and
// the flattest blocks differ much, or luma follows from both colours. Of 97 such crops of
// coarse.cpp's 55 lost 132 dB by NLM as it takes a camera's noise.
bool may_be_texture(const Measured* m);

// Strong noise behind a good demosaicing, sharpened and compressed or not: colours follow green's
// edges, so luma holds more of it than chroma, and luma's is white but for the finest diagonals. So
// it halves with resolution, a good part of it is in the finest band, and no block or tone is
// without; that of V = R - 2G + B falls, too, as the mosaic has it, unless JPEG has coarsened V and
// luma shows it plainly. Clean pictures miss at least one of that (629 of tools/dev/
// harm_pictures.py, of Kodak24 and of what makes it smaller and sharper): those that have it all, a
// scan's sharpened grain, stay under 7.5. What comes nearest is wild water at half size, whose V
// stays at 0.79 and more; noise's has up to 0.75.
bool is_demosaiced(const Measured* m);

// The noise was white, and the picture straightened, resized or smoothed afterwards: a good part of
// the colours' is left in the finest band, which demosaicing and cameras' noise reduction empty; or
// some, and the calmest patches hold far more than white noise of that strength would; or texture
// leaves luma a smaller part of it.
bool was_white(const Measured* m);

}  // namespace grainless
