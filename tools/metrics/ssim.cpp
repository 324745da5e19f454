// SPDX-License-Identifier: MIT
#include <array>
#include <cmath>
#include <vector>

#include "engine/boundary/pixel_math.h"
#include "metrics.h"

namespace grainless::tools {
namespace {

constexpr int32_t kWindow = 11;
constexpr double kDeviation = 1.5;
constexpr double kC1 = (0.01 * 255) * (0.01 * 255);
constexpr double kC2 = (0.03 * 255) * (0.03 * 255);

// The five local means that SSIM is made of: x, y, x^2, y^2, xy.
using Moments = std::array<double, 5>;

std::array<double, kWindow> gaussian() {
  std::array<double, kWindow> weights{};
  double sum = 0;
  for (int32_t i = 0; i < kWindow; ++i) {
    const double distance = i - kWindow / 2;
    weights[size_t(i)] = std::exp(-distance * distance / (2 * kDeviation * kDeviation));
    sum += weights[size_t(i)];
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

void load_row(const ConstImage& image, int32_t y, int32_t channel, std::vector<double>& row) {
  for (int32_t x = 0; x < image.width; ++x) {
    row[size_t(x)] = load_component(pixel_at(image, x, y), image.format.component, channel);
  }
}

double similarity(const Moments& m) {
  const double mean_product = m[0] * m[1], mean_squares = m[0] * m[0] + m[1] * m[1];
  const double variances = m[2] + m[3] - mean_squares, covariance = m[4] - mean_product;
  return (2 * mean_product + kC1) * (2 * covariance + kC2) /
         ((mean_squares + kC1) * (variances + kC2));
}

// The separable window over one channel: rows are filtered along x as they come and kept in a ring
// of kWindow rows, over which every output row sums along y.
class ChannelSsim {
 public:
  ChannelSsim(const ConstImage& a, const ConstImage& b, int32_t channel)
      : a_(a),
        b_(b),
        channel_(channel),
        columns_(a.width - kWindow + 1),
        row_a_(size_t(a.width)),
        row_b_(size_t(a.width)),
        products_(size_t(a.width)) {
    ring_.fill(std::vector<Moments>(size_t(columns_)));
  }

  double mean() {
    double sum = 0;
    for (int32_t y = 0; y < a_.height; ++y) {
      filter_row(y);
      if (y >= kWindow - 1) sum += sum_of_row(y - kWindow + 1);
    }
    return sum / (double(columns_) * (a_.height - kWindow + 1));
  }

 private:
  void filter_row(int32_t y) {
    load_row(a_, y, channel_, row_a_);
    load_row(b_, y, channel_, row_b_);
    for (size_t x = 0; x < products_.size(); ++x) {
      const double p = row_a_[x], q = row_b_[x];
      products_[x] = {p, q, p * p, q * q, p * q};
    }
    std::vector<Moments>& filtered = ring_[size_t(y % kWindow)];
    for (size_t x = 0; x < filtered.size(); ++x) {
      Moments sum{};
      for (size_t i = 0; i < size_t(kWindow); ++i) add(sum, products_[x + i], weights_[i]);
      filtered[x] = sum;
    }
  }

  double sum_of_row(int32_t top) const {
    double total = 0;
    for (size_t x = 0; x < size_t(columns_); ++x) {
      Moments sum{};
      for (int32_t i = 0; i < kWindow; ++i) {
        add(sum, ring_[size_t((top + i) % kWindow)][x], weights_[size_t(i)]);
      }
      total += similarity(sum);
    }
    return total;
  }

  static void add(Moments& sum, const Moments& value, double weight) {
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += weight * value[k];
  }

  const ConstImage& a_;
  const ConstImage& b_;
  int32_t channel_, columns_;
  std::array<double, kWindow> weights_ = gaussian();
  std::vector<double> row_a_, row_b_;
  std::vector<Moments> products_;
  std::array<std::vector<Moments>, kWindow> ring_;
};

}  // namespace

std::optional<double> ssim(const ConstImage& a, const ConstImage& b) {
  if (a.width < kWindow || a.height < kWindow) return std::nullopt;
  double sum = 0;
  for (int32_t c = 0; c < a.format.colours(); ++c) sum += ChannelSsim(a, b, c).mean();
  const double mean = sum / a.format.colours();
  if (!std::isfinite(mean)) return std::nullopt;
  return mean;
}

}  // namespace grainless::tools
