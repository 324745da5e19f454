// SPDX-License-Identifier: MIT
#include "tools/cli/param_options.h"

#include <gtest/gtest.h>

#include "engine/boundary/status.h"

namespace grainless::tools {
namespace {

TEST(ParamOptions, NothingGivenIsTheDefault) {
  EXPECT_EQ(params_from({}), Params{});
}

TEST(ParamOptions, ASigmaAloneIsMeant) {
  EXPECT_FALSE(params_from({{"sigma", "7.5"}}).auto_sigma);
  EXPECT_EQ(params_from({{"sigma", "7.5"}}).sigma, 7.5);
  EXPECT_TRUE(params_from({{"auto-sigma", "yes"}, {"sigma", "7.5"}}).auto_sigma);
}

TEST(ParamOptions, BadOnesAreRefused) {
  EXPECT_THROW(params_from({{"sigma", "x"}}), Error);
  EXPECT_THROW(params_from({{"search", "4"}}), Error);
  EXPECT_THROW(params_from({{"gone", "4"}}), Error);
}

TEST(ParamOptions, UnusedOnesAreNamed) {
  const GivenParams given = {{"method", "bm3d"}, {"centre", "one"}, {"step", "2"}};
  const auto sentences = unused_params(params_from(given), given);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_NE(sentences[0].find("--centre"), std::string::npos);
}

TEST(ParamOptions, WrappingKeepsWordsAndWidth) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 100), "one two three");
  EXPECT_EQ(wrapped("extraordinary a", 5), "extraordinary\na");
  EXPECT_EQ(wrapped("", 5), "");
}

}  // namespace
}  // namespace grainless::tools
