// SPDX-License-Identifier: MIT
#include "engine/params/preset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace grainless {
namespace {

Settings parsed(const std::string& text) {
  Settings settings;
  const Status status = parse_preset(text, "my.preset", settings);
  EXPECT_TRUE(status.ok()) << status.message();
  return settings;
}

std::string why_not(const std::string& text) {
  Settings settings = {{"sigma", "3"}};
  const Status status = parse_preset(text, "my.preset", settings);
  EXPECT_EQ(status.code(), ErrorCode::kBadParameter) << text;
  EXPECT_EQ(settings, (Settings{{"sigma", "3"}})) << "a refused text left something behind";
  return status.message();
}

TEST(Preset, ReadsKeysCommentsAndSpaces) {
  EXPECT_EQ(parsed("# words\n\n  strength=80\n\tmethod =  nlm \t\n"),
            (Settings{{"strength", "80"}, {"method", "nlm"}}));
  EXPECT_EQ(parsed("\xef\xbb\xbfstrength = 80\r\nluma = 0\r\n"),
            (Settings{{"strength", "80"}, {"luma", "0"}}));
  EXPECT_EQ(parsed("strength = 80"), (Settings{{"strength", "80"}}));
  EXPECT_TRUE(parsed("").empty());
}

TEST(Preset, RefusalsNameFileAndLine) {
  EXPECT_EQ(why_not("# a\n\nsgima = 3\n"), "my.preset, line 3: there is no parameter 'sgima'");
  EXPECT_EQ(why_not("strength = 80\nstrong\n"),
            "my.preset, line 2: a setting is written 'key = value'");
  EXPECT_EQ(why_not("strength = 201"),
            "my.preset, line 1: '201' is not a value of strength: it takes a number from 0 to 200");
  EXPECT_EQ(why_not("luma = 1\nluma = 1"), "my.preset, line 2: 'luma' is set twice");
  EXPECT_EQ(why_not("search = 4"),
            "my.preset: search takes an odd number from 3 to 63, or 0 for automatic");
}

TEST(Preset, DeviceMemoryAndDepthAreNeverPartOfOne) {
  for (const char* text : {"device = cpu", "memory = 100", "depth = 2"}) {
    EXPECT_NE(why_not(text).find("never"), std::string::npos);
  }
  Params params;
  params.device = "cpu";
  params.depth = 2;
  for (const auto& [key, value] : settings_of(params)) EXPECT_TRUE(is_preset_key(key)) << key;
}

TEST(Preset, ChangesWhatItSetsAndNothingElse) {
  Params params, expected;
  params.luma = expected.luma = 30;
  params.device = expected.device = "cpu";
  expected.strength = 80;
  ASSERT_TRUE(apply_settings({{"strength", "80"}}, params).ok());
  EXPECT_EQ(params, expected);
  EXPECT_FALSE(apply_settings({{"luma", "50"}, {"strength", "x"}}, params).ok());
  EXPECT_EQ(params, expected) << "half of a bad preset was applied";
}

TEST(Preset, ASigmaAloneIsMeant) {
  Params params;
  ASSERT_TRUE(apply_settings({{"sigma", "7"}}, params).ok());
  EXPECT_FALSE(params.auto_sigma);
  ASSERT_TRUE(apply_settings({{"sigma", "7"}, {"auto-sigma", "yes"}}, params).ok());
  EXPECT_TRUE(params.auto_sigma);
}

TEST(Preset, WhatIsSavedComesBack) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  params.auto_sigma = false;
  params.sigma = 12.3;
  params.strength = 100.0 / 3;
  params.search = 15;
  params.centre = 2;
  params.weights = 1;
  params.scales = 2;
  const Settings saved = settings_of(params);
  EXPECT_EQ(parsed(preset_text(saved)), saved);
  Params loaded;
  ASSERT_TRUE(apply_settings(saved, loaded).ok());
  EXPECT_EQ(loaded, params);
  EXPECT_TRUE(has_settings(params, saved));
  params.scales = 3;
  EXPECT_FALSE(has_settings(params, saved));
}

TEST(Preset, BuiltInOnesAreValidDistinctAndLeaveNothingOfEachOther) {
  std::set<std::string> ids;
  const Settings first = built_in_presets().front().settings();
  for (const BuiltInPreset& preset : built_in_presets()) {
    EXPECT_TRUE(ids.insert(preset.id).second) << preset.id;
    EXPECT_EQ(find_built_in_preset(preset.id), &preset);
    EXPECT_EQ(find_built_in_preset(preset.label), &preset);
    const Settings settings = preset.settings();
    ASSERT_EQ(settings.size(), first.size());
    for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(settings[i].first, first[i].first);
    Params params;
    ASSERT_TRUE(apply_settings(settings, params).ok());
    EXPECT_TRUE(validate(params).ok()) << preset.id;
    EXPECT_EQ(std::count_if(built_in_presets().begin(), built_in_presets().end(),
                            [&](const BuiltInPreset& other) {
                              return has_settings(params, other.settings());
                            }),
              1)
        << preset.id << " does the same as another one";
  }
  EXPECT_TRUE(has_settings(Params{}, built_in_presets().front().settings()))
      << "Standard is not the default";
}

TEST(Preset, BuiltInOnesLeaveTheNoiseLevelAlone) {
  for (const BuiltInPreset& preset : built_in_presets()) {
    for (const auto& [key, value] : preset.settings()) {
      EXPECT_TRUE(key != "sigma" && key != "auto-sigma") << preset.id;
    }
  }
}

// A preset for pictures, for which BM3D is the default, in the filter for stacks.
TEST(StackSettings, TakeWhatApplies) {
  for (const BuiltInPreset& preset : built_in_presets()) {
    Params params = stack_defaults();
    params.depth = 5;
    params.search = 9;
    params.strength = 33;
    params.sigma = 7;
    const Settings settings = stack_settings(preset.settings());
    ASSERT_TRUE(apply_settings(settings, params).ok()) << preset.id;
    EXPECT_TRUE(validate(params).ok());
    EXPECT_NE(params.method, static_cast<int32_t>(Method::kSwNlm)) << preset.id;
    EXPECT_EQ(params.depth, 5);
    EXPECT_EQ(params.sigma, 7);
    EXPECT_EQ(params.search, 0) << "another preset's";
    EXPECT_NE(params.strength, 33);
    for (const auto& [key, value] : settings) EXPECT_TRUE(is_stack_param(*find_param(key))) << key;
  }
}

TEST(StackSettings, MethodsWithoutStacksBecomeTheDefault) {
  const Settings sw = {{"method", "sw-nlm"}, {"search", "39"}, {"patch", "8"}, {"luma", "80"}};
  EXPECT_EQ(stack_settings(sw),
            (Settings{{"method", "bm3d"}, {"search", "0"}, {"patch", "0"}, {"luma", "80"}}));
  const Settings dct = {{"method", "dct"}, {"stages", "first"}, {"scales", "1"}};
  Params stack = stack_defaults();
  ASSERT_TRUE(apply_settings(stack_settings(dct), stack).ok());
  EXPECT_TRUE(validate(stack).ok());
  EXPECT_EQ(stack.method, static_cast<int32_t>(Method::kBm3d));
  const Settings nlm = {{"method", "nlm"}, {"search", "21"}, {"centre", "zero"}};
  EXPECT_EQ(stack_settings(nlm), nlm);
  const Settings bm3d = {{"quality", "high"}, {"group", "8"}};
  EXPECT_EQ(stack_settings(bm3d), bm3d);
}

}  // namespace
}  // namespace grainless
