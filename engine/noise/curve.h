// SPDX-License-Identifier: MIT
// What a picture shows of its noise: sigma over brightness, and the sigma of an area that somebody
// has picked. Nothing of it enters the filter by itself; a host draws it, or offers it as sigma.
// Called through Engine (denoise.h), which turns errors into a Status.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/boundary/pixels.h"
#include "engine/boundary/rect.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "picture_noise.h"

namespace grainless {

// Where to look. An empty rect means all that the image holds. selected: a byte a pixel of rect,
// rows selected_row_bytes apart, 0 where the pixel isn't selected; null: all are.
struct NoiseArea {
  Rect rect;
  const uint8_t* selected = nullptr;
  ptrdiff_t selected_row_bytes = 0;
};

inline constexpr int32_t kCurveTones = 16;

// Brightness is that of a grey pixel, 0..255. Sigma is in 8-bit steps of the channel in the
// orthonormal luma/chroma space, as in PictureNoise.
struct TonePoint {
  float brightness;  // mean of the blocks measured
  float sigma;
  int32_t blocks;  // that were measured: how much the point can be trusted
};

// From dark to bright; classes of brightness without enough blocks are left out, so that count may
// be 0.
struct ToneCurve {
  int32_t count = 0;
  TonePoint point[kCurveTones] = {};
};

struct NoiseCurve {
  int32_t channels = 0;  // 1 or 3
  ToneCurve channel[kMaxChannels];
};

// Of the flattest blocks of each sixteenth of the brightness range, over model.corners. Where the
// whole picture is textured a point is too high. A camera's noise reduction cleans flat blocks
// best: where `model.white[c]` is false the points are lifted as the automatic estimate is
// (kFlatShare), so that both can be drawn in one diagram. Looks at 1.5 megapixels of a large area.
NoiseCurve measure_noise_curve(const ConstImage& image, const NoiseArea& area,
                               const PictureNoise& model, ThreadPool& pool,
                               const Callbacks& callbacks);

enum class AreaVerdict : int32_t {
  kGood = 0,
  kTooSmall = 1,  // fewer than 256 pixels, or eight squares of 8 x 8: nothing was measured
  kClipped = 2,   // mostly black or white, where noise is cut off: nothing was measured
  kNotFlat = 3,   // edges or texture: sigma was measured, but is not noise alone
};

struct AreaNoise {
  AreaVerdict verdict = AreaVerdict::kTooSmall;
  int32_t channels = 0;
  float sigma[kMaxChannels] = {};  // luma and chroma; 0: no noise found, or not measured
  float brightness = 0;            // 0..255, mean of the area
  int64_t pixels = 0;              // of the area
};

// Sigma of an area that is flat but for slow changes of brightness, of any spectrum.
AreaNoise measure_area_noise(const ConstImage& image, const NoiseArea& area, ThreadPool& pool,
                             const Callbacks& callbacks);

}  // namespace grainless
