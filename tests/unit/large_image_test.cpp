// SPDX-License-Identifier: MIT
// Addresses beyond 2^31 and 2^32 bytes, on images that lie in memory nobody has written to.
#include <gtest/gtest.h>

#include <cstring>

#include "engine/cpu/frame/planes.h"
#include "engine/denoise.h"
#include "tests/support/system.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using test::TestImage;

// An image of zeros, which takes no memory where it is not written.
class SparseImage {
 public:
  SparseImage(PixelFormat format, int32_t width, int32_t height)
      : format_(format), width_(width), height_(height) {
    memory_ = test::map_zeros(bytes());
  }
  ~SparseImage() { test::unmap(memory_, bytes()); }
  SparseImage(const SparseImage&) = delete;
  SparseImage& operator=(const SparseImage&) = delete;

  bool made() const { return memory_ != nullptr; }
  size_t bytes() const { return static_cast<size_t>(row_bytes()) * height_; }
  ptrdiff_t row_bytes() const { return ptrdiff_t{width_} * format_.pixel_bytes(); }
  ConstImage view() const {
    return {format_, width_, height_, {0, 0, width_, height_}, memory_, row_bytes()};
  }
  MutableImage target(const Rect& rect) const {
    MutableImage image{format_, width_, height_, {0, 0, width_, height_}, memory_, row_bytes()};
    image.data = pixel_at(image, rect.x, rect.y);
    image.rect = rect;
    return image;
  }

 private:
  PixelFormat format_;
  int32_t width_, height_;
  void* memory_;
};

// The bottom right corner of a large image, from the whole and from a crop with the same
// coordinates.
void expect_corner(PixelFormat format, int32_t width, int32_t height) {
  constexpr int32_t kSide = 96, kOut = 40;
  const SparseImage large(format, width, height), result(format, width, height);
  ASSERT_TRUE(large.made() && result.made());
  ASSERT_GT(large.bytes(), uint64_t{1} << 32);
  const TestImage picture = test::noisy_picture(format, kSide, kSide, 12.0f);
  const Rect corner{width - kSide, height - kSide, kSide, kSide};
  const Rect out{width - kOut, height - kOut, kOut, kOut};
  ConstImage crop = picture.view();
  crop.width = width;
  crop.height = height;
  crop.rect = corner;
  copy_pixels(crop, large.target(corner));
  Params params;
  params.auto_sigma = false;
  params.search = 9;
  params.patch = 5;
  const NoiseModel noise = white_noise(format.colours(), 12.0f);
  Engine engine({"", 2});
  for (const Method method : {Method::kNlm, Method::kBm3d}) {
    params.method = static_cast<int32_t>(method);
    Rect needed;
    ASSERT_TRUE(engine.source_rect(params, noise, {format, width, height}, out, needed).ok());
    ASSERT_TRUE(corner.contains(needed));
    TestImage expected(format, kOut, kOut);
    MutableImage target = expected.target();
    target.width = width;
    target.height = height;
    target.rect = out;
    Report report;
    ASSERT_TRUE(engine.denoise(params, noise, crop, target, {}, report).ok());
    ASSERT_TRUE(engine.denoise(params, noise, large.view(), result.target(out), {}, report).ok());
    for (int32_t y = 0; y < kOut; ++y) {
      EXPECT_EQ(std::memcmp(pixel_at(result.view(), out.x, out.y + y),
                            pixel_at(ConstImage(expected.view()), 0, y),
                            size_t{kOut} * format.pixel_bytes()),
                0);
    }
  }
}

TEST(LargeImages, AddressesBeyondFourGibibytes) {
  expect_corner({Component::kU8, 1}, 66000, 66000);
  expect_corner({Component::kFloat, 3}, 50000, 9000);
}

TEST(LargeImages, SidesNearTheLargestNumberAreRefused) {
  const float pixel = 0;
  for (const int32_t side : {(1 << 30) + 1, INT32_MAX}) {
    for (const auto& [width, height] : {std::pair{side, 1}, {1, side}, {side, side}}) {
      const ConstImage image{{Component::kFloat, 1}, width, height, {0, 0, 1, 1}, &pixel, 4};
      float out = 0;
      const MutableImage target{{Component::kFloat, 1}, width, height, {0, 0, 1, 1}, &out, 4};
      Report report;
      Params params;
      params.auto_sigma = false;
      EXPECT_EQ(
          Engine({"", 1}).denoise(params, white_noise(1, 10), image, target, {}, report).code(),
          ErrorCode::kBadInput);
    }
  }
}

TEST(LargeImages, BytesAreCountedInSixtyFourBits) {
  // 48 floats more a row: an odd number of cache lines, and not one more than pages.
  EXPECT_EQ(Planes::bytes(3, 1 << 16, 1 << 16), uint64_t{12 * ((1 << 16) + 48)} << 16);
  EXPECT_EQ((Rect{0, 0, 1 << 16, 1 << 16}.area()), int64_t{1} << 32);
}

}  // namespace
}  // namespace grainless
