// SPDX-License-Identifier: MIT
// Loaded before the C library, into GIMP and its plug-ins: babl, which asks this clock how long its
// conversions take, gets nonsense, as it does on a busy machine. The same nonsense in every run
// (GRAINLESS_CLOCK=NUMBER: other nonsense). With GRAINLESS_CLOCK=steady all conversions take as
// long, so that every process chooses the same ones, however busy the machine is.
#include <sys/time.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

constexpr uint32_t kMost = 3000;  // microseconds; what is measured takes some

uint32_t first_number() {
  const char* text = std::getenv("GRAINLESS_CLOCK");
  return text != nullptr ? static_cast<uint32_t>(std::strtoul(text, nullptr, 10)) : 1;
}

bool is_steady() {
  const char* text = std::getenv("GRAINLESS_CLOCK");
  return text != nullptr && std::strcmp(text, "steady") == 0;
}

}  // namespace

extern "C" int gettimeofday(timeval* time, void*) noexcept {
  static const bool steady = is_steady();
  static uint32_t number = first_number();
  if (steady) {
    // Both processors' threads may ask; what babl measures is the difference of two answers.
    static std::atomic<long> asked{0};
    const long microseconds = ++asked;
    time->tv_sec = 1'000'000'000 + microseconds / 1000000;
    time->tv_usec = microseconds % 1000000;
    return 0;
  }
  number = number * 1664525u + 1013904223u;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const long microseconds = now.tv_nsec / 1000 + static_cast<long>((number >> 16) % kMost);
  time->tv_sec = now.tv_sec + microseconds / 1000000;
  time->tv_usec = microseconds % 1000000;
  return 0;
}
