// SPDX-License-Identifier: MIT
#include "ui/time_left.h"

#include <gtest/gtest.h>

namespace grainless::ui {
namespace {

TEST(TimeLeft, FollowsWhatIsDone) {
  EXPECT_EQ(time_left(10, 0.25), 30);
  EXPECT_EQ(time_left(600, 0.5), 600);
}

TEST(TimeLeft, SaysNothingTooEarlyOrTooLate) {
  EXPECT_FALSE(time_left(1.9, 0.5));
  EXPECT_FALSE(time_left(30, 0.01));
  EXPECT_FALSE(time_left(10, 0));
  EXPECT_FALSE(time_left(10, 0.95));
  EXPECT_FALSE(time_left(10, 1));
}

}  // namespace
}  // namespace grainless::ui
