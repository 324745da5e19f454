// SPDX-License-Identifier: MIT
// The part of an image that the noise estimate looks at: square tiles spread evenly over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/boundary/pixels.h"
#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "picture_noise.h"

namespace grainless {

inline constexpr int32_t kSampleLevels = 3;  // full, half, quarter resolution

// What a pixel is, besides its colour.
enum PixelState : uint8_t {
  kInvalid = 1,   // transparent, not finite, or far beyond the picture's range
  kClipped = 2,   // a colour is exactly black or white: its noise was cut off
  kFlat = 4,      // the centre of 3 x 3 equal pixels, which noise would not leave
  kRepeated = 8,  // equals a pixel one or two before it in its row or column
};

// Pixels of one tile. Level l holds means of 2^l x 2^l pixels, rows are (width >> l) apart.
struct SampleTile {
  int32_t x = 0, y = 0, width = 0, height = 0;  // full resolution; sides are multiples of 4
  std::vector<float> plane[kSampleLevels][kMaxChannels];
  std::vector<uint8_t> state;  // PixelState bits, full resolution

  int32_t width_at(int32_t level) const { return width >> level; }
  int32_t height_at(int32_t level) const { return height >> level; }
};

// The tile's part of an image, as an image of its own.
ConstImage part_of(const ConstImage& image, const SampleTile& tile);

struct Sample {
  int32_t channels = 0;
  int32_t fixed_colours = 0;   // of R, G and B, those that are one value all over (fixed_colours.h)
  double clipped_share = 0.1;  // a square with a larger share of clipped pixels is left out
  std::vector<SampleTile> tiles;
};

// The states that pixels of the tile have: no square need be searched for others.
uint8_t states_of(const SampleTile& tile);

// How many pixels of the square at (x, y) of full resolution have any of `bits`.
int32_t count_state(const SampleTile& tile, int32_t x, int32_t y, int32_t side, uint8_t bits);

// Whether noise can be measured in that square: all of its pixels are valid, and at most that share
// is clipped. (With more, too little of the noise shows; with none allowed, only pixels would be
// left that noise pushed away from the limit.) `states`: states_of() the tile, where it is known.
bool measurable(const SampleTile& tile, int32_t x, int32_t y, int32_t side, double clipped_share,
                uint8_t states = 0xff);

inline constexpr int32_t kSampleTiles = 96;  // of 128 x 128 pixels: about 1.5 megapixels

// Tiles that cover a small image, and at most `most_tiles` of a large one.
Sample take_sample(const ConstImage& image, ThreadPool& pool, const Callbacks& callbacks,
                   int32_t most_tiles = kSampleTiles);

// The places of those tiles, without pixels.
std::vector<SampleTile> sample_tiles(int32_t width, int32_t height, int32_t most);

// The same from parts of the picture: part(i) holds at least the i-th tile. `range` is that of the
// whole picture.
Sample take_sample(int32_t channels, const std::vector<SampleTile>& tiles,
                   const std::function<ConstImage(size_t)>& part, const PictureRange& range,
                   ThreadPool& pool, const Callbacks& callbacks);

// Fills a tile's coarser levels from its first one.
void make_levels(SampleTile& tile, int32_t channels);

// Makes pixels invalid for which `selected` is 0. It starts at the image's first pixel; rows are
// row_bytes apart.
void keep_selected(Sample& sample, const uint8_t* selected, ptrdiff_t row_bytes);

}  // namespace grainless
