// SPDX-License-Identifier: MIT
// Planar float images of the CPU backend: luma/chroma (or grey) in 8-bit steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "engine/boundary/rect.h"
#include "engine/platform/system.h"

namespace grainless {

inline constexpr size_t kAlignment = 64;  // bytes: a cache line, and the widest vector

// Uninitialised, aligned memory. Throws std::bad_alloc.
template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t count) : size_(count) {
    const size_t bytes = count * sizeof(T) + kAlignment;
    const std::align_val_t alignment{bytes < kLargePage ? kAlignment : kLargePage};
    data_ = Memory(static_cast<T*>(::operator new(bytes, alignment)), Free{alignment});
    if (bytes >= kLargePage) prefer_large_pages(data_.get(), bytes);
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_.get()[i]; }
  const T& operator[](size_t i) const { return data_.get()[i]; }

 private:
  struct Free {
    std::align_val_t alignment{kAlignment};
    void operator()(T* p) const { ::operator delete(p, alignment); }
  };
  using Memory = std::unique_ptr<T, Free>;
  Memory data_;
  size_t size_ = 0;
};

// Values from row to row of a plane: whole cache lines, and an odd number of them, lest the rows of
// a patch compete for the same places in a cache (pictures are often 1024 or 4096 pixels wide). Nor
// a line more or less than pages: what is read where a store ended a page before waits for it, as
// processors compare the places in pages first. Sums of patches took three times as long.
template <typename T>
constexpr int64_t padded_row(int64_t width) {
  constexpr int64_t kLine = kAlignment / sizeof(T), kPage = 4096 / kAlignment;
  int64_t lines = (width + kLine - 1) / kLine | 1;
  while (lines % kPage == 1 || lines % kPage == kPage - 1) lines += 2;
  return lines * kLine;
}

// Up to three planes over one rectangle of the image. Rows start aligned.
template <typename T>
class BasicPlanes {
 public:
  BasicPlanes() = default;
  BasicPlanes(int32_t channels, const Rect& rect)
      : channels_(channels),
        rect_(rect),
        stride_(padded_row<T>(rect.width)),
        data_(static_cast<size_t>(stride_) * rect.height * channels) {}

  int32_t channels() const { return channels_; }
  const Rect& rect() const { return rect_; }
  ptrdiff_t stride() const { return stride_; }  // pixels from row to row
  static uint64_t bytes(int32_t channels, int64_t width, int64_t height) {
    return static_cast<uint64_t>(padded_row<T>(width) * height * channels) * sizeof(T);
  }

  // x and y are absolute and lie in rect().
  T* at(int32_t c, int32_t x, int32_t y) {
    return data_.data() + (static_cast<ptrdiff_t>(c) * rect_.height + (y - rect_.y)) * stride_ +
           (x - rect_.x);
  }
  const T* at(int32_t c, int32_t x, int32_t y) const {
    return const_cast<BasicPlanes*>(this)->at(c, x, y);
  }

 private:
  int32_t channels_ = 0;
  Rect rect_;
  ptrdiff_t stride_ = 0;
  AlignedBuffer<T> data_;
};

using Planes = BasicPlanes<float>;

}  // namespace grainless
