// SPDX-License-Identifier: MIT
#include "shades.h"

#include <cmath>

#include "square_blocks.h"

namespace grainless {
namespace {

constexpr double kNothing = 1e-6;  // added to products of variances

// Products of the residuals of luma, U and V: yy, yu, yv, uu, uv, vv.
enum Product { kYY, kYU, kYV, kUU, kUV, kVV, kProducts };

struct ShadeBlock : SquareBlock {
  float luma;  // variance at full resolution
  float product[kProducts];

  double correlation(Product both, Product one, Product other) const {
    return product[both] / std::sqrt(1.0 * product[one] * product[other] + kNothing);
  }
};

// Fills a block of one tile.
class ShadeMeter {
 public:
  ShadeMeter(const SampleTile& tile, const SurfaceBasis& fine, const SurfaceBasis& coarse)
      : tile_(tile), fine_(fine), coarse_(coarse) {
    for (std::vector<float>& values : residual_) values.resize(fine.rows.size() / kSurfaceTerms);
  }

  void measure(int32_t x, int32_t y, ShadeBlock& block) {
    gather(tile_, {0, 0, x, y}, fine_.side, residual_[0]);
    block.luma = residual_variance(residual_[0], fine_);
    for (int32_t c = 0; c < 3; ++c) {
      gather(tile_, {kFlatnessLevel, c, x, y}, coarse_.side, residual_[c]);
      residual_variance(residual_[c], coarse_);
    }
    const int32_t pixels = coarse_.side * coarse_.side;
    float* product = block.product;
    for (int32_t a = 0; a < 3; ++a) {
      for (int32_t b = a; b < 3; ++b) {
        *product++ = dot_product(residual_[a].data(), residual_[b].data(), pixels) /
                     static_cast<float>(pixels - kSurfaceTerms);
      }
    }
  }

 private:
  const SampleTile& tile_;
  const SurfaceBasis &fine_, &coarse_;
  std::vector<float> residual_[3];
};

double apart(const ShadeBlock& block) {
  const double yu = block.correlation(kYU, kYY, kUU), yv = block.correlation(kYV, kYY, kVV);
  const double uv = block.correlation(kUV, kUU, kVV);
  return 1 - yu * yu - yv * yv - uv * uv + 2 * yu * yv * uv;
}

// The coefficient of determination of luma by U and V.
double told(const ShadeBlock& block) {
  const double yu = block.correlation(kYU, kYY, kUU), yv = block.correlation(kYV, kYY, kVV);
  const double uv = block.correlation(kUV, kUU, kVV), own = 1 - uv * uv;
  return own > kNothing ? (yu * yu + yv * yv - 2 * yu * yv * uv) / own : std::max(yu * yu, yv * yv);
}

double v_with_luma(const std::vector<ShadeBlock>& blocks) {
  double yy = 0, yv = 0, vv = 0;
  for (const ShadeBlock& block : blocks) {
    yy += block.product[kYY];
    yv += block.product[kYV];
    vv += block.product[kVV];
  }
  return yv / std::sqrt(yy * vv + kNothing);
}

}  // namespace

Shades measure_shades(const Sample& sample, int32_t side, ThreadPool& pool) {
  constexpr double kMostBlocks = 0.75, kHalf = 0.5, kSpread = 0.9;
  const SurfaceBasis fine(side), coarse(side >> kFlatnessLevel);
  std::vector<ShadeBlock> blocks =
      all_blocks<ShadeBlock>(sample, pool, [&](const SampleTile& tile) {
        ShadeMeter meter(tile, fine, coarse);
        return tile_blocks<ShadeBlock>(
            tile, side, sample.clipped_share,
            [&](int32_t x, int32_t y, ShadeBlock& block) { meter.measure(x, y, block); });
      });
  Shades shades;
  if (blocks.size() < kFewestSquares) return shades;
  std::vector<ShadeBlock> flat;
  for_each_tone(blocks, [&](auto first, auto last) { flat.insert(flat.end(), first, last); });
  shades.apart = quantile(flat, kMostBlocks, apart);
  shades.told = quantile(flat, kHalf, told);
  shades.v_with_luma = v_with_luma(flat);
  const auto luma = [](const ShadeBlock& block) { return block.luma; };
  shades.spread =
      std::sqrt(quantile(flat, kSpread, luma) / (quantile(flat, kHalf, luma) + kNothing));
  return shades;
}

}  // namespace grainless
