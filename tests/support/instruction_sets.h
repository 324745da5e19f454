// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace grainless::test {

// Calls try_it once for each instruction set that this processor and this build have, and names the
// one that fails.
template <typename Try>
void for_instruction_sets(const Try& try_it) {
  const int64_t all = hwy::SupportedTargets();
  for (int64_t rest = all; rest != 0; rest &= rest - 1) {
    const int64_t target = rest & -rest;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    try_it();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  EXPECT_EQ(hwy::SupportedTargets(), all);
  EXPECT_NE(all, 0);
}

}  // namespace grainless::test
