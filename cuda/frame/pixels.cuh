// SPDX-License-Identifier: MIT
// Between a host's interleaved pixels and the planes that the methods work on; the twin of
// engine/cpu/frame/pixel_planes.h, to the bit.
#pragma once

#include "method.cuh"

namespace grainless::cuda {

// A pixel of all planes.
struct Colour {
  float plane[kMaxChannels];
};

// Interleaved pixels of one rectangle of the image, in device memory.
struct DevicePixels {
  PixelFormat format;
  Rect image;  // the whole image
  Rect rect;   // what data holds
  void* data;  // of (rect.x, rect.y)
  size_t row_bytes;
  ValueRange valid;  // Plan::valid
  GainField field;   // of Plan::corners
  ToneBend bend;     // Plan::bend
  Colour hidden;     // Plan::hidden
};

// What pixels_from_planes() fills.
struct PixelOutput {
  DevicePixels pixels;
  float detail;          // share of the source's luma that is given back
  unsigned* not_finite;  // becomes 1 when a result is no number
};

// Layers of one size that follow each other in memory: what lies between one and the next.
struct LayerSteps {
  int layers = 1;
  size_t pixel_bytes = 0, source_floats = 0, result_floats = 0;
};

// Fills planes, whose rectangle lies in pixels.rect. An invalid pixel (transparent, not within
// `valid`) becomes, plane by plane, the mean of the valid pixels within kFillRadius (of sums in
// double), or `hidden` without any.
void planes_from_pixels(const DevicePixels& pixels, const DevicePlanes& planes, cudaStream_t stream,
                        const LayerSteps& steps = {});

// A byte a pixel of the rectangle, in device memory.
struct DeviceBits {
  uint8_t* data;
  Rect rect;
};

// What of the image impulse bits are needed for planes over `rect`.
Rect impulse_rect(const Rect& rect, const Rect& image);

// Replaces in planes, made by planes_from_pixels(), what `rule` says are impulses. bits, over
// impulse_rect() of them, is room for what was found.
void replace_impulses(const DevicePixels& pixels, const ImpulseRule& rule, const DeviceBits& bits,
                      const DevicePlanes& planes, cudaStream_t stream);

// Fills the output from result, over the same rectangle: gives back `detail` of the luma that
// source has over result, keeps alpha, leaves invalid pixels as they were. The output's pixels may
// be `pixels`. Of source only luma is read.
void pixels_from_planes(const DevicePixels& pixels, const DevicePlanes& source,
                        const DevicePlanes& result, const PixelOutput& output, cudaStream_t stream,
                        const LayerSteps& steps = {});

}  // namespace grainless::cuda
