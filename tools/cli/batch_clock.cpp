// SPDX-License-Identifier: MIT
#include "batch_clock.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace grainless::tools {
namespace {

constexpr size_t kFewestDone = 2, kMostFailures = 50;

std::string rate(size_t done, double seconds) {
  char text[64];
  const double each = static_cast<double>(done) / std::max(seconds, 1e-3);
  if (each >= 0.1) {
    std::snprintf(text, sizeof text, "%.1f a second", each);
  } else {
    std::snprintf(text, sizeof text, "%.1f a minute", 60 * each);
  }
  return text;
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const auto minutes = whole / 60, hours = minutes / 60;
  char text[64];
  if (minutes == 0) {
    std::snprintf(text, sizeof text, "%d s", static_cast<int>(whole));
  } else if (hours == 0) {
    std::snprintf(text, sizeof text, "%d:%02d", static_cast<int>(minutes),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld:%02d:%02d", static_cast<long long>(hours),
                  static_cast<int>(minutes % 60), static_cast<int>(whole % 60));
  }
  return text;
}

std::string rate_text(size_t done, size_t left, double seconds) {
  if (done < kFewestDone) return {};
  const double each = seconds / static_cast<double>(done);
  return rate(done, seconds) + ", " + duration_text(each * static_cast<double>(left)) + " left";
}

// Writing takes up to twice as long as reading.
size_t pictures_ahead(const PictureCost& picture, uint64_t memory) {
  constexpr double kMost = 3;
  constexpr double kMostBytes = 1 << 30;  // of the pictures that wait, those ahead and those behind
  // With one picture ahead four are held: one that is read, the filter's source and result, and
  // one that is written; and the filter takes about as much as one or two.
  constexpr double kHeld = 6;
  const auto room = static_cast<double>(memory);
  if (room < kHeld * picture.bytes) return 0;
  const double useful = std::ceil(2 * picture.read / std::max(picture.filter, 1e-3));
  const double most = std::min(kMostBytes, 0.5 * room) / (2 * picture.bytes);
  return static_cast<size_t>(std::clamp(std::min(useful, most), 1.0, kMost));
}

std::vector<std::string> result_lines(const BatchResult& result) {
  std::string numbers = std::to_string(result.done) + " done";
  if (result.skipped > 0) numbers += ", " + std::to_string(result.skipped) + " up to date";
  if (!result.failures.empty())
    numbers += ", " + std::to_string(result.failures.size()) + " failed";
  numbers += " in " + duration_text(result.seconds);
  if (result.done > 0) numbers += " (" + rate(result.done, result.seconds) + ")";
  std::vector<std::string> lines{numbers};
  const size_t shown = std::min(result.failures.size(), kMostFailures);
  for (size_t i = 0; i < shown; ++i) lines.push_back("failed: " + result.failures[i]);
  if (shown < result.failures.size()) {
    lines.push_back("and " + std::to_string(result.failures.size() - shown) + " more");
  }
  return lines;
}

}  // namespace grainless::tools
