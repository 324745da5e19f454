// SPDX-License-Identifier: MIT
// Compiled without contraction: the CPU's bits.
#include "pixels.cuh"

#include "cuda/runtime/launch.h"
#include "engine/boundary/impulse.h"
#include "engine/boundary/pixel_math.h"

namespace grainless::cuda {
namespace {

constexpr int kBlockX = 32, kBlockY = 8;
// A thread's pixels lie kBlockY apart: all are asked for before the first is used, as a small
// picture's time is that of loads one after the other.
constexpr int kRows = 4, kTallY = kRows * kBlockY;
constexpr int kWideX = kBlockX + 2 * kFillRadius, kWideY = kTallY + 2 * kFillRadius;

__device__ const uint8_t* pixel_at(const DevicePixels& pixels, int x, int y) {
  return static_cast<const uint8_t*>(pixels.data) + (y - pixels.rect.y) * pixels.row_bytes +
         static_cast<size_t>(x - pixels.rect.x) * pixels.format.pixel_bytes();
}

// A pixel as load_component() gives it.
struct Stored {
  float colour[kMaxChannels], alpha;  // 1 without
};

template <Component kComponent>
__device__ Stored load_stored(const DevicePixels& pixels, int x, int y) {
  const uint8_t* pixel = pixel_at(pixels, x, y);
  const int channels = pixels.format.channels;
  Stored stored{{load_component(pixel, kComponent, 0)}, 1.0f};
  if (channels >= 3) {
    stored.colour[1] = load_component(pixel, kComponent, 1);
    stored.colour[2] = load_component(pixel, kComponent, 2);
  }
  if (pixels.format.has_alpha()) stored.alpha = load_component(pixel, kComponent, channels - 1);
  return stored;
}

// pixel_is_valid() of what is loaded already.
template <Component kComponent>
__device__ bool is_valid(const DevicePixels& pixels, const Stored& stored) {
  bool valid = stored.alpha > 0.0f;
  if (kComponent == Component::kU8 || kComponent == Component::kU16) return valid;
#pragma unroll
  for (int c = 0; c < kMaxChannels; ++c) {
    const float value = stored.colour[c];
    const bool within = value >= pixels.valid.low && value <= pixels.valid.high;
    valid = valid && (within || c >= pixels.format.colours());
  }
  return valid;
}

// Kernels that bend are compiled apart: an argument that is indexed is copied to local memory,
// which costs a 24-megapixel picture a millisecond each way.
template <bool kBent>
__device__ float gain_of_pixel(const DevicePixels& pixels, int x, int y) {
  return kBent ? gain_at(pixels.field, x, y) : 1.0f;
}

template <bool kBent>
__device__ float straightened(const DevicePixels& pixels, float value, float gain) {
  return kBent ? bent(pixels.bend, value / gain) : value;
}

template <bool kBent>
__device__ Colour colour_of(const DevicePixels& pixels, int x, int y, const Stored& stored) {
  const float gain = gain_of_pixel<kBent>(pixels, x, y);
  const float first = straightened<kBent>(pixels, stored.colour[0], gain);
  if (pixels.format.colours() == 1) return {{first, 0, 0}};
  const Yuv yuv = yuv_from_rgb({first, straightened<kBent>(pixels, stored.colour[1], gain),
                                straightened<kBent>(pixels, stored.colour[2], gain)});
  return {{yuv.y, yuv.u, yuv.v}};
}

template <bool kBent, Component kComponent>
__device__ void store_value(const DevicePixels& pixels, void* pixel, int channel, float value,
                            float gain) {
  store_component(pixel, kComponent, channel, kBent ? gain * bent_back(pixels.bend, value) : value);
}

__device__ void put(const DevicePlanes& planes, int x, int y, const Colour& colour) {
  const size_t at = static_cast<size_t>(y - planes.rect.y) * planes.stride + (x - planes.rect.x);
  planes.plane(0)[at] = colour.plane[0];
  if (planes.channels == 1) return;
  planes.plane(1)[at] = colour.plane[1];
  planes.plane(2)[at] = colour.plane[2];
}

// Mean of the valid pixels round (x, y). `valid` holds the flags from (x, y) - kFillRadius on.
template <bool kBent, Component kComponent>
__device__ Colour mean_around(const DevicePixels& pixels, int x, int y, const uint8_t* valid) {
  double sum[kMaxChannels] = {};
  int count = 0;
  for (int dy = -kFillRadius; dy <= kFillRadius; ++dy) {
    for (int dx = -kFillRadius; dx <= kFillRadius; ++dx) {
      if (!valid[(dy + kFillRadius) * kWideX + dx + kFillRadius]) continue;
      const Stored stored = load_stored<kComponent>(pixels, x + dx, y + dy);
      const Colour colour = colour_of<kBent>(pixels, x + dx, y + dy, stored);
      for (int c = 0; c < kMaxChannels; ++c) sum[c] += colour.plane[c];
      ++count;
    }
  }
  if (count == 0) return pixels.hidden;
  Colour mean{};
  for (int c = 0; c < kMaxChannels; ++c) mean.plane[c] = static_cast<float>(sum[c] / count);
  return mean;
}

__device__ DevicePixels layer_of(DevicePixels pixels, const LayerSteps& steps, int layer) {
  pixels.data = static_cast<uint8_t*>(pixels.data) + layer * steps.pixel_bytes;
  return pixels;
}

constexpr int kBlocksAtOnce = 4;  // on a multiprocessor: what mean_around() needs costs one of them

// Most blocks have no invalid pixel and none of this is needed.
template <bool kBent, Component kComponent>
__global__ void __launch_bounds__(kBlockX* kBlockY, kBlocksAtOnce)
    planes_kernel(DevicePixels pixels, DevicePlanes planes, const LayerSteps steps,
                  int first_layer) {
  pixels = layer_of(pixels, steps, first_layer + blockIdx.z);
  planes.data += (first_layer + blockIdx.z) * steps.source_floats;
  __shared__ uint8_t valid[kWideY * kWideX];
  const int left = planes.rect.x + blockIdx.x * kBlockX, top = planes.rect.y + blockIdx.y * kTallY;
  const int x = left + threadIdx.x, right = planes.rect.right(), bottom = planes.rect.bottom();
  Stored stored[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int y = top + threadIdx.y + i * kBlockY;
    stored[i] = load_stored<kComponent>(pixels, min(x, right - 1), min(y, bottom - 1));
  }
  unsigned unusable = 0;  // a bit a pixel
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int y = top + threadIdx.y + i * kBlockY;
    if (x >= right || y >= bottom) continue;
    if (is_valid<kComponent>(pixels, stored[i])) {
      put(planes, x, y, colour_of<kBent>(pixels, x, y, stored[i]));
    } else {
      unusable |= 1u << i;
    }
  }
  if (!__syncthreads_or(unusable != 0)) return;
  const Rect& image = pixels.image;
  const Rect& rect = pixels.rect;
  bool any = false;
  for (int i = threadIdx.y * kBlockX + threadIdx.x; i < kWideX * kWideY; i += kBlockX * kBlockY) {
    const int wx = left - kFillRadius + i % kWideX, wy = top - kFillRadius + i / kWideX;
    // The image's pixels within reach of `planes` all lie in `rect`.
    const bool known = wx >= max(image.x, rect.x) && wy >= max(image.y, rect.y) &&
                       wx < min(image.right(), rect.right()) &&
                       wy < min(image.bottom(), rect.bottom());
    valid[i] = known && is_valid<kComponent>(pixels, load_stored<kComponent>(pixels, wx, wy));
    any = any || valid[i];
  }
  any = __syncthreads_or(any);
  for (int i = 0; i < kRows; ++i) {
    if ((unusable >> i & 1u) == 0) continue;
    const int below = threadIdx.y + i * kBlockY;
    const uint8_t* corner = valid + below * kWideX + threadIdx.x;
    put(planes, x, top + below,
        any ? mean_around<kBent, kComponent>(pixels, x, top + below, corner) : pixels.hidden);
  }
}

constexpr uint8_t kNoPixel = 0xff;  // bits of what is not there or not valid

// The image's bent colours, as impulse.h asks for them. What it asks for lies in pixels.rect.
template <bool kBent>
struct ImpulseSource {
  const DevicePixels& pixels;

  __device__ bool valid(int x, int y) const {
    return pixels.image.contains(x, y) &&
           pixel_is_valid(pixel_at(pixels, x, y), pixels.format, pixels.valid);
  }
  __device__ float value(int c, int x, int y) const {
    const float value = load_component(pixel_at(pixels, x, y), pixels.format.component, c);
    return straightened<kBent>(pixels, value, gain_of_pixel<kBent>(pixels, x, y));
  }
};

template <bool kBent>
__global__ void impulse_bits_kernel(const DevicePixels pixels, const ImpulseRule rule,
                                    const DeviceBits bits) {
  const int x = bits.rect.x + blockIdx.x * kBlockX + threadIdx.x;
  const int y = bits.rect.y + blockIdx.y * kBlockY + threadIdx.y;
  if (!bits.rect.contains(x, y)) return;
  const ImpulseSource<kBent> source{pixels};
  uint8_t found = kNoPixel;
  if (source.valid(x, y)) {
    found = static_cast<uint8_t>(impulse_bits(source, x, y, pixels.format.colours(), rule));
  }
  bits.data[static_cast<size_t>(y - bits.rect.y) * bits.rect.width + (x - bits.rect.x)] = found;
}

struct FoundBits {
  const DeviceBits& bits;

  __device__ uint32_t operator()(int x, int y) const {
    if (!bits.rect.contains(x, y)) return kNoPixel;
    return bits.data[static_cast<size_t>(y - bits.rect.y) * bits.rect.width + (x - bits.rect.x)];
  }
};

template <bool kBent>
__global__ void replace_impulses_kernel(const DevicePixels pixels, const ImpulseRule rule,
                                        const DeviceBits bits, const DevicePlanes planes) {
  const int x = planes.rect.x + blockIdx.x * kBlockX + threadIdx.x;
  const int y = planes.rect.y + blockIdx.y * kBlockY + threadIdx.y;
  if (!planes.rect.contains(x, y)) return;
  const FoundBits found{bits};
  const uint32_t own = found(x, y);
  if (own == 0 || own == kNoPixel) return;
  const ImpulseSource<kBent> source{pixels};
  float value[kMaxChannels] = {};
  for (int c = 0; c < planes.channels; ++c) {
    value[c] = (own >> c & 1u) != 0 ? impulse_replacement(source, found, c, x, y, rule.agree)
                                    : source.value(c, x, y);
  }
  const size_t at = static_cast<size_t>(y - planes.rect.y) * planes.stride + (x - planes.rect.x);
  if (planes.channels == 1) {
    if (rule.luma != 0) planes.plane(0)[at] = value[0];
    return;
  }
  const Yuv yuv = yuv_from_rgb({value[0], value[1], value[2]});
  if (rule.luma != 0) planes.plane(0)[at] = yuv.y;
  if (rule.chroma == 0) return;
  planes.plane(1)[at] = yuv.u;
  planes.plane(2)[at] = yuv.v;
}

__device__ void copy_bytes(uint8_t* to, const uint8_t* from, int bytes) {
  for (int i = 0; i < bytes; ++i) to[i] = from[i];
}

// A pixel of the results, and of the source's luma.
struct Result {
  float plane[kMaxChannels], source;
};

__device__ Result load_result(const DevicePlanes& source, const DevicePlanes& result, int x,
                              int y) {
  const size_t at = static_cast<size_t>(y - result.rect.y) * result.stride + (x - result.rect.x);
  const size_t source_at =
      static_cast<size_t>(y - source.rect.y) * source.stride + (x - source.rect.x);
  Result loaded{{result.plane(0)[at]}, source.plane(0)[source_at]};
  if (result.channels == 3) {
    loaded.plane[1] = result.plane(1)[at];
    loaded.plane[2] = result.plane(2)[at];
  }
  return loaded;
}

// Returns whether all values are numbers.
template <bool kBent, Component kComponent>
__device__ bool put_result(const DevicePixels& pixels, int x, int y, float detail,
                           const Result& result, void* to) {
  const float luma = result.plane[0];
  const float blended = luma + detail * (result.source - luma);
  const float gain = gain_of_pixel<kBent>(pixels, x, y);
  if (pixels.format.colours() == 1) {
    store_value<kBent, kComponent>(pixels, to, 0, blended, gain);
    return isfinite(blended);
  }
  const float u = result.plane[1], v = result.plane[2];
  const Rgb rgb = rgb_from_yuv({blended, u, v});
  store_value<kBent, kComponent>(pixels, to, 0, rgb.r, gain);
  store_value<kBent, kComponent>(pixels, to, 1, rgb.g, gain);
  store_value<kBent, kComponent>(pixels, to, 2, rgb.b, gain);
  return isfinite(blended) && isfinite(u) && isfinite(v);
}

template <bool kBent, Component kComponent>
__global__ void __launch_bounds__(kBlockX* kBlockY, kBlocksAtOnce)
    pixels_kernel(DevicePixels pixels, DevicePlanes source, DevicePlanes result,
                  const PixelOutput output, const LayerSteps steps, int first_layer) {
  const int layer = first_layer + blockIdx.z;
  pixels = layer_of(pixels, steps, layer);
  const DevicePixels target = layer_of(output.pixels, steps, layer);
  source.data += layer * steps.source_floats;
  result.data += layer * steps.result_floats;
  const int x = result.rect.x + blockIdx.x * kBlockX + threadIdx.x;
  const int top = result.rect.y + blockIdx.y * kTallY + threadIdx.y;
  const int right = result.rect.right(), bottom = result.rect.bottom();
  Stored stored[kRows];
  Result loaded[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int some_x = min(x, right - 1), y = min(top + i * kBlockY, bottom - 1);
    stored[i] = load_stored<kComponent>(pixels, some_x, y);
    loaded[i] = load_result(source, result, some_x, y);
  }
  const PixelFormat format = pixels.format;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int y = top + i * kBlockY;
    if (x >= right || y >= bottom) continue;
    const uint8_t* from = pixel_at(pixels, x, y);
    auto* to = const_cast<uint8_t*>(pixel_at(target, x, y));
    if (!is_valid<kComponent>(pixels, stored[i])) {
      copy_bytes(to, from, format.pixel_bytes());
      continue;
    }
    if (!put_result<kBent, kComponent>(pixels, x, y, output.detail, loaded[i], to)) {
      *output.not_finite = 1;
    }
    if (format.has_alpha()) {
      const int bytes = PixelFormat{kComponent}.component_bytes();
      const int alpha = (format.channels - 1) * bytes;
      copy_bytes(to + alpha, from + alpha, bytes);
    }
  }
}

constexpr int kMostLayers = 32768;  // of a grid

LaunchShape shape_of(const Rect& rect, int block_rows, int layers, cudaStream_t stream) {
  const dim3 grid((rect.width + kBlockX - 1) / kBlockX, (rect.height + block_rows - 1) / block_rows,
                  layers);
  return {grid, dim3(kBlockX, kBlockY), 0, stream};
}

template <Component kComponent>
struct Kernels {
  static auto planes(bool bent) {
    return bent ? planes_kernel<true, kComponent> : planes_kernel<false, kComponent>;
  }
  static auto pixels(bool bent) {
    return bent ? pixels_kernel<true, kComponent> : pixels_kernel<false, kComponent>;
  }
};

// What `choose` takes of a component type's kernels.
template <typename Choose>
auto for_component(Component component, const Choose& choose) {
  switch (component) {
    case Component::kU8:
      return choose(Kernels<Component::kU8>());
    case Component::kU16:
      return choose(Kernels<Component::kU16>());
    case Component::kHalf:
      return choose(Kernels<Component::kHalf>());
    case Component::kFloat:
      break;
  }
  return choose(Kernels<Component::kFloat>());
}

}  // namespace

void planes_from_pixels(const DevicePixels& pixels, const DevicePlanes& planes, cudaStream_t stream,
                        const LayerSteps& steps) {
  const bool bent = pixels.bend.enabled != 0;
  const auto kernel =
      for_component(pixels.format.component, [&](auto kernels) { return kernels.planes(bent); });
  for_bands(steps.layers, kMostLayers, [&](const Band& band) {
    launch("planes_from_pixels", kernel, shape_of(planes.rect, kTallY, band.count, stream), pixels,
           planes, steps, band.first);
  });
}

Rect impulse_rect(const Rect& rect, const Rect& image) {
  return intersect(expand(rect, kImpulseFill), image);
}

void replace_impulses(const DevicePixels& pixels, const ImpulseRule& rule, const DeviceBits& bits,
                      const DevicePlanes& planes, cudaStream_t stream) {
  const bool bent = pixels.bend.enabled != 0;
  launch("impulse_bits", bent ? impulse_bits_kernel<true> : impulse_bits_kernel<false>,
         shape_of(bits.rect, kBlockY, 1, stream), pixels, rule, bits);
  launch("replace_impulses", bent ? replace_impulses_kernel<true> : replace_impulses_kernel<false>,
         shape_of(planes.rect, kBlockY, 1, stream), pixels, rule, bits, planes);
}

void pixels_from_planes(const DevicePixels& pixels, const DevicePlanes& source,
                        const DevicePlanes& result, const PixelOutput& output, cudaStream_t stream,
                        const LayerSteps& steps) {
  const bool bent = pixels.bend.enabled != 0;
  const auto kernel =
      for_component(pixels.format.component, [&](auto kernels) { return kernels.pixels(bent); });
  for_bands(steps.layers, kMostLayers, [&](const Band& band) {
    launch("pixels_from_planes", kernel, shape_of(result.rect, kTallY, band.count, stream), pixels,
           source, result, output, steps, band.first);
  });
}

}  // namespace grainless::cuda
