// SPDX-License-Identifier: MIT
// Loaded before the C library, into GIMP and its plug-ins: babl, which asks this clock how long its
// conversions take, gets nonsense, as it does on a busy machine. The same nonsense in every run
// (GRAINLESS_CLOCK=NUMBER: other nonsense).
#include <sys/time.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr uint32_t kMost = 3000;  // microseconds; what is measured takes some

uint32_t first_number() {
  const char* text = std::getenv("GRAINLESS_CLOCK");
  return text != nullptr ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : 1;
}

}  // namespace

extern "C" int gettimeofday(timeval* time, void*) noexcept {
  static uint32_t number = first_number();
  number = number * 1664525u + 1013904223u;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const long microseconds = now.tv_nsec / 1000 + static_cast<long>((number >> 16) % kMost);
  time->tv_sec = now.tv_sec + microseconds / 1000000;
  time->tv_usec = microseconds % 1000000;
  return 0;
}
