// SPDX-License-Identifier: MIT
#include "engine/sentence.h"

#include <gtest/gtest.h>

#include <cstring>

#include "engine/boundary/packed_sentence.h"
#include "engine/params/params.h"

namespace grainless {
namespace {

TEST(Sentence, ValuesStandWhereTheyBelong) {
  EXPECT_EQ(sentence("plain"), "plain");
  EXPECT_EQ(sentence("%s and %s", {"a", "b"}), "a and b");
  EXPECT_EQ(sentence("%2$s before %1$s", {"a", "b"}), "b before a");
  EXPECT_EQ(sentence("100 %% of %s", {"a"}), "100 % of a");
}

TEST(Sentence, ValuesAreNoPatterns) {
  EXPECT_EQ(sentence("%s, %s", {"%s", "100 %"}), "%s, 100 %");
}

TEST(Sentence, WrongPatternsDoNoHarm) {
  EXPECT_EQ(sentence("%s %s", {"a"}), "a ");
  EXPECT_EQ(sentence("%d %", {"a"}), "%d %");
}

TEST(Sentence, ThoseOfAModuleArriveInParts) {
  EXPECT_EQ(unpacked_sentence(packed_sentence("%s, then %s", {"a", ""})), "a, then ");
  EXPECT_EQ(unpacked_sentence(packed_sentence("nothing to fill in")), "nothing to fill in");
  EXPECT_EQ(unpacked_sentence("a driver's 100 %s"), "a driver's 100 %s");
  set_translation([](const char* pattern) { return pattern[0] == 'c' ? "Karte %s" : "Satz"; });
  EXPECT_EQ(unpacked_sentence(packed_sentence("card %s", {"7"})), "Karte 7");
  EXPECT_EQ(unpacked_sentence(packed_sentence("plain")), "Satz");
  set_translation(nullptr);
}

TEST(Sentence, TheHostTranslatesThePattern) {
  set_translation([](const char* pattern) {
    return std::strcmp(pattern, "there is no parameter '%s'") == 0 ? "%s: unbekannt" : pattern;
  });
  Params params;
  const std::string translated = set_param(params, "sgima", "3").message();
  set_translation(nullptr);
  EXPECT_EQ(translated, "sgima: unbekannt");
  EXPECT_EQ(set_param(params, "sgima", "3").message(), "there is no parameter 'sgima'");
}

}  // namespace
}  // namespace grainless
