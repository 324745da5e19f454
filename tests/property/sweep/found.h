// SPDX-License-Identifier: MIT
// Every draw that ever broke a promise, as the sweep printed it: each once ruined a picture or
// differed where nothing may, and none does any more.
#pragma once

namespace grainless::sweep {

inline constexpr const char* kFound[] = {
    // Issue 12, points 1 and 9: the ridge filter inverted float's rounding at weak noise.
    "quality=high sigma=0.05 width=96 height=80",
    "quality=high sigma=0.01 width=96 height=80",
    "quality=high sigma=0.0001 width=96 height=80 channels=3",
    "quality=high sigma=0.3 scales=4 width=128 height=96 channels=3 format=u8",
    "quality=high auto-sigma=yes strength=10 width=128 height=128 channels=3 grain=2",
    "quality=high luma=5 width=96 height=80 channels=3 grain=10",
    "quality=high chroma=10 sigma=3 width=96 height=80 channels=3 grain=3",
    "quality=high strength=1 sigma=0.0001 width=64 height=64 content=checkerboard",
    // Transposed: the order in which a coarse level's pixels are summed.
    "method=nlm patch=15 centre=max weights=classic scales=3 height=15 format=u16 channels=3 "
    "content=lines seed=931065 grain=10",
    // Two weights of 16 x 16 patches, patch-wise: more shared memory than an H200 has.
    "method=nlm quality=high chroma=87.578583 patch=16 width=9 height=8 channels=3",
    "method=nlm quality=high luma=12.043681 patch=15 width=9 height=8 channels=3 content=white",
    // Transposed: a filled pixel's last bits, and the order of a card's sums.
    "method=nlm depth=1 width=42 height=42 layers=2 channels=4 content=gradient alpha=holes "
    "seed=985175 grain=10",
    "method=nlm weights=classic width=139 height=15 channels=4 alpha=holes seed=786714",
    "method=sw-nlm scales=4 width=96 height=55 channels=4 alpha=mixed seed=458557 grain=10",
    // Floats far below black: PSNR is of all that the picture spans.
    "quality=fast sigma=100 chroma=0.005223 patch=4 centre=max noise=camera scales=3 width=48 "
    "height=14 format=half channels=3 content=black seed=94536 grain=100",
    // Of four pixels one half is rounded the other way: 69 dB.
    "method=sw-nlm sigma=85.373327 centre=zero width=2 height=2 format=half seed=5753 "
    "grain=45.740012",
    // Few visible pixels, each alone.
    "method=nlm luma=187.98327 centre=one depth=4 width=18 height=20 layers=2 channels=2 "
    "content=noise alpha=clear spoiled=9 seed=994823 grain=10",
    // Layers averaged by what they differ by, far more than the sigma that was given.
    "sigma=0.00029 depth=15 width=16 height=36 layers=2 seed=748363 grain=59.776934",
    "depth=15 width=16 height=36 layers=2 content=noise seed=983229 grain=0.505185",
    "depth=3 width=56 height=14 layers=5 content=noise seed=955665",
    // Issue 12, point 8: values beyond white, and single ones beyond measure.
    "width=40 height=40 range=wide grain=10",
    "method=sw-nlm width=40 height=40 range=wide grain=10",
    "method=sw-nlm scales=3 width=48 height=48 content=constant range=far grain=10",
    "method=nlm width=40 height=40 channels=3 range=far grain=10",
    "quality=high width=40 height=40 channels=3 range=far grain=10",
    // Luma that is given back is no mean of colours.
    "method=nlm sigma=94.448846 detail=40.978213 width=2 height=1 channels=3 content=lines "
    "seed=262096",
    // What has no visible pixel near is black to its neighbours' windows.
    "method=nlm width=4 height=23 channels=2 content=black alpha=clear spoiled=4 seed=383008 "
    "grain=0.02322",
    "width=11 height=8 channels=2 content=constant alpha=clear spoiled=2 seed=229504",
    // Impulses alone, of a picture with a range of its own: all of that takes part.
    "method=nlm impulse=normal patch=12 centre=one width=14 height=6 range=wide seed=364677",
    "method=nlm sigma=75.354882 search=31 depth=2 width=6 height=25 layers=4 format=u16 channels=3",
    // Noisy pixels that are next to nothing where the pilot's are not (cards before sm_80).
    "auto-sigma=yes patch=2 group=2 width=49 height=14 format=half channels=3 seed=488562 "
    "grain=0.007618",
    "quality=fast luma=0.031799 step=3 depth=1 width=15 height=60 layers=1 format=float channels=3 "
    "seed=843950",
    // Few neighbours, whose shares a card keeps in 16 bits.
    "method=nlm quality=high sigma=100 strength=123.927694 luma=22.442373 chroma=162.408313 "
    "patch=2 "
    "matching=prefiltered centre=max width=20 height=276 format=u8 channels=3 seed=177895 "
    "grain=100",
    // So little noise that one step of the distance takes most of a weight, where no patch has an
    // equal: a card counts the same ones as the processor, and none so much that sums overflow.
    "method=nlm quality=high sigma=0.004617 patch=2 centre=zero width=6 height=28 channels=3 "
    "range=wide seed=612084",
    "method=nlm quality=high sigma=0.004617 patch=2 centre=zero width=6 height=28 channels=3 "
    "range=wide seed=612085",
    "method=nlm sigma=0.004617 patch=2 centre=zero width=6 height=28 channels=3 range=wide "
    "seed=612084",
    "method=nlm quality=high sigma=0.0369 centre=zero width=44 height=17 content=gradient "
    "seed=131488",
    // Much noise of which next to nothing is removed: match values go by what is.
    "method=nlm sigma=29.151651 strength=0.003077 centre=one weights=classic depth=4 width=1 "
    "height=3 layers=1 format=u8 content=pixel seed=787420 grain=0.197388",
    // A frame of one colour, whose edges beside noise are as plain as each other.
    "method=nlm auto-sigma=yes depth=4 width=62 height=26 layers=2 format=u16 content=noise "
    "frame=colour seed=302276 grain=24.10063",
    // Dark tones are led back before a corner is brightened again.
    "method=nlm width=1 height=2 content=noise bend=74 corners=58 seed=799487",
    // What stands for a hidden pixel is the same when the picture is turned: to the last bit, or
    // pairs of the Shapiro-Wilk test are won and lost.
    "method=sw-nlm sigma=53.441969 width=28 height=133 channels=4 alpha=mixed frame=colour bend=18 "
    "seed=569823 grain=53.441969",
    // Denormal numbers, which took some processors minutes.
    "quality=high strength=0.138341 luma=84.254035 chroma=57.79985 impulse=weak search=5 patch=13 "
    "centre=zero weights=classic noise=camera scales=1 depth=2 width=65 height=252 layers=5 "
    "channels=2 content=noise range=tiny alpha=mixed seed=770388",
};

}  // namespace grainless::sweep
