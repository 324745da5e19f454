// SPDX-License-Identifier: MIT
// A few hundred draws of the sweep, and all that ever failed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "checks.h"
#include "found.h"

namespace grainless::sweep {
namespace {

// Fewer where a sanitizer makes each take long.
uint64_t draws() {
  const char* given = std::getenv("GRAINLESS_SWEEP_DRAWS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 600;
}

void expect_promises(const Draw& draw, Engines& engines, Agreement& agreement) {
  for (const Failure& failure : failures_of(draw, engines, agreement)) {
    ADD_FAILURE() << failure.check << ": " << failure.what << "\n  ./dev sweep --draw '"
                  << text_of(draw) << "'";
  }
}

TEST(Sweep, WhatEverFailedHolds) {
  Engine engine({"", 2});
  Engines engines{"cpu", engine};
  Agreement agreement;
  for (const char* text : kFound) {
    std::string why;
    const std::optional<Draw> draw = parse(text, why);
    ASSERT_TRUE(draw) << text << ": " << why;
    expect_promises(*draw, engines, agreement);
  }
}

TEST(Sweep, DrawsKeepThePromises) {
  Engine engine({"", 2});
  Engines engines{"cpu", engine};
  Agreement agreement;
  ASSERT_GE(draws(), 1u);
  for (uint64_t seed = 1; seed <= draws(); ++seed) {
    expect_promises(make_draw(seed), engines, agreement);
  }
}

TEST(Sweep, ALineOfADrawIsTheDraw) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    const Draw draw = make_draw(seed);
    ASSERT_TRUE(validate(draw.params).ok()) << seed;
    std::string why;
    const std::optional<Draw> again = parse(text_of(draw), why);
    ASSERT_TRUE(again) << why << ": " << text_of(draw);
    EXPECT_EQ(text_of(*again), text_of(draw));
  }
}

TEST(Sweep, AWrongLineIsRefused) {
  for (const char* text : {"sigma", "sigma=x", "width=0", "format=u7", "colour=red", "layers=2",
                           "grain=-1", "patch=3 step=9"}) {
    std::string why;
    EXPECT_FALSE(parse(text, why)) << text;
    EXPECT_FALSE(why.empty()) << text;
  }
}

}  // namespace
}  // namespace grainless::sweep
