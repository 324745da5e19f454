// SPDX-License-Identifier: MIT
#include "sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/boundary/pixel_math.h"
#include "engine/plan/match_scale.h"
#include "engine/progress.h"
#include "fixed_colours.h"
#include "picture_range.h"

namespace grainless {
namespace {

constexpr int32_t kTile = 128;  // pixels a side
constexpr int32_t kClipSquare = 8;
constexpr double kClippedShare = 0.1, kMostClippedShare = 0.6;
constexpr int32_t kSideUnit = 4;  // of a tile: whole pixels at quarter resolution

ValueRange valid_values(const PictureRange& range) {
  PictureNoise noise;
  noise.range = range;
  return valid_range(match_span(noise));
}

// Of so many tiles that cover `size` pixels. They share less than half of each other: a pixel that
// is seen again is no more evidence.
int32_t covering_side(int32_t size, int32_t count) {
  const int32_t most = std::min(kTile, size / kSideUnit * kSideUnit);
  if (count * most - size <= (count - 1) * kTile / 2) return most;
  return std::min(most, (size + count * kSideUnit - 1) / (count * kSideUnit) * kSideUnit);
}

// First pixels of `count` tiles of `side` along `size` pixels: evenly spread, both ends covered.
std::vector<int32_t> tile_origins(int32_t size, int32_t side, int32_t count) {
  std::vector<int32_t> origins;
  for (int32_t i = 0; i < count; ++i) {
    const int64_t room = size - side;
    origins.push_back(count == 1 ? static_cast<int32_t>(room / 2)
                                 : static_cast<int32_t>(room * i / (count - 1)));
  }
  return origins;
}

}  // namespace

std::vector<SampleTile> sample_tiles(int32_t width, int32_t height, int32_t most) {
  std::vector<SampleTile> tiles;
  if (std::min(width, height) < kSideUnit) return tiles;
  int64_t columns = (width + kTile - 1) / kTile, rows = (height + kTile - 1) / kTile;
  int32_t tile_width = covering_side(width, static_cast<int32_t>(columns));
  int32_t tile_height = covering_side(height, static_cast<int32_t>(rows));
  if (columns * rows > most) {
    const double shrink =
        std::sqrt(most / (static_cast<double>(columns) * static_cast<double>(rows)));
    const int64_t fewer =
        std::clamp<int64_t>(std::llround(static_cast<double>(columns) * shrink), 1, most);
    rows = std::clamp<int64_t>(most / fewer, 1, rows);
    columns = std::min(columns, most / rows);
    tile_width = covering_side(width, 1);
    tile_height = covering_side(height, 1);
  }
  for (int32_t y : tile_origins(height, tile_height, static_cast<int32_t>(rows))) {
    for (int32_t x : tile_origins(width, tile_width, static_cast<int32_t>(columns))) {
      SampleTile tile;
      tile.x = x;
      tile.y = y;
      tile.width = tile_width;
      tile.height = tile_height;
      tiles.push_back(std::move(tile));
    }
  }
  return tiles;
}

namespace {

// Mostly the first byte tells.
bool colours_equal(const uint8_t* a, const uint8_t* b, PixelFormat format) {
  return *a == *b &&
         std::memcmp(a, b, static_cast<size_t>(format.colours()) * format.component_bytes()) == 0;
}

bool is_clipped(const float* colour, int32_t colours) {
  for (int32_t c = 0; c < colours; ++c) {
    if (colour[c] == 0.0f || colour[c] == 255.0f) return true;
  }
  return false;
}

bool is_repeated(const ConstImage& image, const SampleTile& tile, int32_t x, int32_t y) {
  const uint8_t* here = static_cast<const uint8_t*>(pixel_at(image, tile.x + x, tile.y + y));
  const ptrdiff_t back[4] = {image.format.pixel_bytes(), 2 * image.format.pixel_bytes(),
                             image.row_bytes, 2 * image.row_bytes};
  const int32_t room[4] = {x, x - 1, y, y - 1};
  for (int32_t i = 0; i < 4; ++i) {
    if (room[i] > 0 && colours_equal(here, here - back[i], image.format)) return true;
  }
  return false;
}

bool is_flat(const ConstImage& image, const SampleTile& tile, int32_t x, int32_t y) {
  if (x == 0 || y == 0 || x == tile.width - 1 || y == tile.height - 1) return false;
  const uint8_t* here = static_cast<const uint8_t*>(pixel_at(image, tile.x + x, tile.y + y));
  for (int32_t dy = -1; dy <= 1; ++dy) {
    for (int32_t dx = -1; dx <= 1; ++dx) {
      const uint8_t* other = here + dy * image.row_bytes + dx * image.format.pixel_bytes();
      if (!colours_equal(here, other, image.format)) return false;
    }
  }
  return true;
}

void load_pixel(const ConstImage& image, ValueRange valid, SampleTile& tile, int32_t x, int32_t y) {
  const PixelFormat format = image.format;
  const void* pixel = pixel_at(image, tile.x + x, tile.y + y);
  const size_t at = static_cast<size_t>(y) * tile.width + x;
  float colour[3] = {};
  if (!pixel_is_valid(pixel, format, valid)) {
    tile.state[at] = kInvalid;
  } else {
    for (int32_t c = 0; c < format.colours(); ++c) {
      colour[c] = load_component(pixel, format.component, c);
    }
    uint8_t state = is_clipped(colour, format.colours()) ? kClipped : 0;
    if (is_repeated(image, tile, x, y)) {
      state |= kRepeated;
      if (is_flat(image, tile, x, y)) state |= kFlat;
    }
    tile.state[at] = state;
  }
  if (format.colours() == 1) {
    tile.plane[0][0][at] = colour[0];
    return;
  }
  const Yuv yuv = yuv_from_rgb({colour[0], colour[1], colour[2]});
  tile.plane[0][0][at] = yuv.y;
  tile.plane[0][1][at] = yuv.u;
  tile.plane[0][2][at] = yuv.v;
}

void halve(const std::vector<float>& fine, int32_t width, int32_t height, std::vector<float>& out) {
  out.resize(static_cast<size_t>(width / 2) * (height / 2));
  for (int32_t y = 0; y < height / 2; ++y) {
    for (int32_t x = 0; x < width / 2; ++x) {
      const float* p = fine.data() + static_cast<size_t>(2 * y) * width + 2 * x;
      out[static_cast<size_t>(y) * (width / 2) + x] =
          0.25f * (p[0] + p[1] + p[width] + p[width + 1]);
    }
  }
}

void load_tile(const ConstImage& image, ValueRange valid, SampleTile& tile) {
  const int32_t channels = image.format.colours();
  const size_t pixels = static_cast<size_t>(tile.width) * tile.height;
  tile.state.resize(pixels);
  for (int32_t c = 0; c < channels; ++c) tile.plane[0][c].resize(pixels);
  for (int32_t y = 0; y < tile.height; ++y) {
    for (int32_t x = 0; x < tile.width; ++x) load_pixel(image, valid, tile, x, y);
  }
  make_levels(tile, channels);
}

// Strong noise clips some pixels everywhere. The least clipped tenth of the squares must do, then.
double least_clipped_share(const Sample& sample) {
  std::vector<double> shares;
  for (const SampleTile& tile : sample.tiles) {
    for (int32_t y = 0; y + kClipSquare <= tile.height; y += kClipSquare) {
      for (int32_t x = 0; x + kClipSquare <= tile.width; x += kClipSquare) {
        if (count_state(tile, x, y, kClipSquare, kInvalid) != 0) continue;
        shares.push_back(1.0 * count_state(tile, x, y, kClipSquare, kClipped) /
                         (kClipSquare * kClipSquare));
      }
    }
  }
  if (shares.empty()) return kClippedShare;
  const auto tenth = shares.begin() + static_cast<ptrdiff_t>(shares.size() / 10);
  std::nth_element(shares.begin(), tenth, shares.end());
  return std::clamp(*tenth, kClippedShare, kMostClippedShare);
}

}  // namespace

void make_levels(SampleTile& tile, int32_t channels) {
  for (int32_t l = 1; l < kSampleLevels; ++l) {
    for (int32_t c = 0; c < channels; ++c) {
      halve(tile.plane[l - 1][c], tile.width_at(l - 1), tile.height_at(l - 1), tile.plane[l][c]);
    }
  }
}

int32_t count_state(const SampleTile& tile, int32_t x, int32_t y, int32_t side, uint8_t bits) {
  int32_t count = 0;
  for (int32_t row = y; row < y + side; ++row) {
    const uint8_t* state = tile.state.data() + static_cast<size_t>(row) * tile.width + x;
    for (int32_t i = 0; i < side; ++i) count += (state[i] & bits) != 0 ? 1 : 0;
  }
  return count;
}

ConstImage part_of(const ConstImage& image, const SampleTile& tile) {
  return {image.format,
          tile.width,
          tile.height,
          {0, 0, tile.width, tile.height},
          pixel_at(image, tile.x, tile.y),
          image.row_bytes};
}

uint8_t states_of(const SampleTile& tile) {
  uint8_t states = 0;
  for (const uint8_t state : tile.state) states = static_cast<uint8_t>(states | state);
  return states;
}

bool measurable(const SampleTile& tile, int32_t x, int32_t y, int32_t side, double clipped_share,
                uint8_t states) {
  if ((states & kInvalid) != 0 && count_state(tile, x, y, side, kInvalid) != 0) return false;
  return (states & kClipped) == 0 ||
         count_state(tile, x, y, side, kClipped) <= clipped_share * side * side;
}

Sample take_sample(const ConstImage& image, ThreadPool& pool, const Callbacks& callbacks,
                   int32_t most_tiles) {
  return take_sample(
      image.format.colours(), sample_tiles(image.width, image.height, most_tiles),
      [&](size_t) { return image; }, picture_range({&image, 1}), pool, callbacks);
}

Sample take_sample(int32_t channels, const std::vector<SampleTile>& tiles,
                   const std::function<ConstImage(size_t)>& part, const PictureRange& range,
                   ThreadPool& pool, const Callbacks& callbacks) {
  Sample sample;
  sample.channels = channels;
  sample.tiles = tiles;
  const ValueRange valid = valid_values(range);
  pool.parallel_for(static_cast<int32_t>(tiles.size()), [&](int32_t i, int32_t) {
    throw_if_cancelled(callbacks);
    load_tile(part(i), valid, sample.tiles[i]);
  });
  find_fixed_colours(sample);
  sample.clipped_share = least_clipped_share(sample);
  return sample;
}

void keep_selected(Sample& sample, const uint8_t* selected, ptrdiff_t row_bytes) {
  for (SampleTile& tile : sample.tiles) {
    for (int32_t y = 0; y < tile.height; ++y) {
      const uint8_t* row = selected + (tile.y + y) * row_bytes + tile.x;
      for (int32_t x = 0; x < tile.width; ++x) {
        if (row[x] == 0) tile.state[static_cast<size_t>(y) * tile.width + x] |= kInvalid;
      }
    }
  }
  sample.clipped_share = least_clipped_share(sample);
}

}  // namespace grainless
