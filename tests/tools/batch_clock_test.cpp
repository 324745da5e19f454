// SPDX-License-Identifier: MIT
#include "tools/cli/batch_clock.h"

#include <gtest/gtest.h>

namespace grainless::tools {
namespace {

TEST(BatchClock, DurationsHaveTheUnitsThatTheyNeed) {
  EXPECT_EQ(duration_text(0.2), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(455), "7:35");
  EXPECT_EQ(duration_text(3723), "1:02:03");
  EXPECT_EQ(duration_text(360000), "100:00:00");
}

TEST(BatchClock, TheRateIsKnownAfterTwoPictures) {
  EXPECT_EQ(rate_text(0, 10, 0), "");
  EXPECT_EQ(rate_text(1, 9, 2), "");
  EXPECT_EQ(rate_text(4, 910, 2), "2.0 a second, 7:35 left");
  EXPECT_EQ(rate_text(2, 10, 60), "2.0 a minute, 5:00 left");
}

TEST(BatchClock, PicturesAreReadAheadAsFarAsMemoryAllows) {
  constexpr uint64_t kMebibyte = 1 << 20, kGibibyte = 1 << 30;
  PictureCost picture{.bytes = 72 * 1024 * 1024, .read = 1, .filter = 10};
  EXPECT_EQ(pictures_ahead(picture, 16 * kGibibyte), 1u) << "a slow filter is busy with one";
  picture.filter = 1;
  EXPECT_EQ(pictures_ahead(picture, 16 * kGibibyte), 2u);
  picture.filter = 0;
  EXPECT_EQ(pictures_ahead(picture, 16 * kGibibyte), 3u);
  EXPECT_EQ(pictures_ahead(picture, 600 * kMebibyte), 2u);
  EXPECT_EQ(pictures_ahead(picture, 450 * kMebibyte), 1u);
  EXPECT_EQ(pictures_ahead(picture, 300 * kMebibyte), 0u) << "of a container, for one at a time";
  picture.bytes *= 20;
  EXPECT_EQ(pictures_ahead(picture, 16 * kGibibyte), 1u);
}

TEST(BatchClock, TheEndNamesFailures) {
  EXPECT_EQ(result_lines({.done = 3, .seconds = 6, .failures = {}}),
            std::vector<std::string>{"3 done in 6 s (0.5 a second)"});
  EXPECT_EQ(result_lines({.done = 0, .skipped = 7, .seconds = 0, .failures = {"'a' is truncated"}}),
            (std::vector<std::string>{"0 done, 7 up to date, 1 failed in 0 s",
                                      "failed: 'a' is truncated"}));
  BatchResult many;
  many.failures.assign(60, "x");
  const std::vector<std::string> lines = result_lines(many);
  EXPECT_EQ(lines.size(), 52U);
  EXPECT_EQ(lines.back(), "and 10 more");
}

}  // namespace
}  // namespace grainless::tools
