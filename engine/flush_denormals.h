// SPDX-License-Identifier: MIT
// While one lives, its thread's floating-point operations take and give 0 instead of denormal
// numbers (below 1.2e-38 for float), then whatever they did before. Blurs and blends leave such
// numbers in what looks black; arithmetic with them gives nothing that anybody sees and takes some
// processors a hundred times as long.
#pragma once

#include <cstdint>

#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace grainless {

class FlushDenormals {
 public:
  FlushDenormals() : before_(control()) { set_control(before_ | kFlush); }
  ~FlushDenormals() { set_control(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__SSE2__) || defined(_M_X64)
  static constexpr uint64_t kFlush = 0x8040;  // MXCSR: results to zero, operands are zeros
  static uint64_t control() { return _mm_getcsr(); }
  static void set_control(uint64_t value) { _mm_setcsr(static_cast<uint32_t>(value)); }
#elif defined(__aarch64__)
  static constexpr uint64_t kFlush = uint64_t{1} << 24;  // FPCR.FZ: both
  static uint64_t control() {
    uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void set_control(uint64_t value) { __asm__ volatile("msr fpcr, %0" : : "r"(value)); }
#else
  static constexpr uint64_t kFlush = 0;
  static uint64_t control() { return 0; }
  static void set_control(uint64_t) {}
#endif

  uint64_t before_;
};

}  // namespace grainless
