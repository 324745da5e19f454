// SPDX-License-Identifier: MIT
#include "engine/params/params.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace grainless {
namespace {

TEST(Params, DefaultsAreValidAndRoundTripAsText) {
  const Params defaults;
  EXPECT_TRUE(validate(defaults).ok());
  Params copy;
  for (const ParamSpec& spec : param_specs()) {
    EXPECT_TRUE(set_param(copy, spec.key, param_text(defaults, spec)).ok()) << spec.key;
  }
  EXPECT_EQ(copy, defaults);
}

TEST(Params, EveryParameterHasItsOwnKeyLabelMnemonicAndTooltip) {
  // Reset, Cancel, OK and Help of GIMP's own dialog, and its presets.
  std::set<std::string> keys, mnemonics = {"r", "c", "o", "h", "s"};
  for (const ParamSpec& spec : param_specs()) {
    EXPECT_TRUE(keys.insert(spec.key).second) << spec.key;
    const std::string label = spec.label;
    const size_t at = label.find('_');
    EXPECT_GT(std::string(spec.tooltip).size(), 20u) << spec.key;
    // The alphabet is shorter than the dialog: some controls have no letter.
    if (std::set<std::string>{"impulse", "shadows", "highlights", "matching", "stages", "weights",
                              "noise", "memory"}
            .contains(spec.key))
      continue;
    ASSERT_NE(at, std::string::npos) << spec.key;
    EXPECT_TRUE(
        mnemonics.insert(std::string(1, static_cast<char>(std::tolower(label[at + 1])))).second)
        << spec.key << " shares the mnemonic " << label[at + 1];
  }
}

TEST(Params, BadTextNamesKeyAndWhatIsAllowed) {
  Params params;
  const Params before = params;
  for (const auto& [key, value] : {std::pair{"sigma", "ten"},
                                   {"sigma", "101"},
                                   {"sigma", "nan"},
                                   {"sigma", "1e999"},
                                   {"sigma", ""},
                                   {"sigma", "5 "},
                                   {"method", "median"},
                                   {"auto-sigma", "perhaps"},
                                   {"search", "2.5"},
                                   {"patch", "17"},
                                   {"search", "-1"}}) {
    const Status status = set_param(params, key, value);
    EXPECT_EQ(status.code(), ErrorCode::kBadParameter) << key << ' ' << value;
    EXPECT_NE(status.message().find(key), std::string::npos) << status.message();
  }
  EXPECT_EQ(set_param(params, "sgima", "3").code(), ErrorCode::kBadParameter);
  EXPECT_EQ(params, before);
}

TEST(Params, RelationsAreChecked) {
  const auto bad = [](const char* key, const char* value) {
    Params params;
    EXPECT_TRUE(set_param(params, key, value).ok()) << key;
    return !validate(params).ok();
  };
  EXPECT_TRUE(bad("search", "20"));
  EXPECT_TRUE(bad("search", "1"));
  EXPECT_TRUE(bad("patch", "1"));
  EXPECT_TRUE(bad("group", "12"));
  EXPECT_TRUE(bad("device", "gpu"));
  EXPECT_TRUE(bad("device", "cuda:"));
  EXPECT_TRUE(bad("device", "cuda:0,"));
  EXPECT_TRUE(bad("device", "cuda:,1"));
  EXPECT_FALSE(bad("device", "cuda:0,1"));
  EXPECT_FALSE(bad("device", "cuda:0,999999"));
  EXPECT_TRUE(bad("device", "cuda:4294967296"));  // no number of a card, and not card 0
  EXPECT_FALSE(bad("search", "63"));
}

TEST(Params, OnlyParametersOfTheMethodApply) {
  Params params;
  EXPECT_TRUE(param_applies(params, "step"));
  EXPECT_FALSE(param_applies(params, "centre"));
  EXPECT_FALSE(param_applies(params, "weights"));
  EXPECT_FALSE(param_applies(params, "sigma"));
  params.auto_sigma = false;
  EXPECT_TRUE(param_applies(params, "sigma"));
  for (Method method : {Method::kNlm, Method::kSwNlm}) {
    params.method = static_cast<int32_t>(method);
    EXPECT_FALSE(param_applies(params, "step"));
    EXPECT_TRUE(param_applies(params, "centre"));
    EXPECT_EQ(param_applies(params, "weights"), method == Method::kNlm);
  }
  EXPECT_TRUE(param_applies(params, "impulse"));
}

TEST(Params, AStackHasTheParametersOfItsMethodAndADepth) {
  EXPECT_TRUE(validate(stack_defaults()).ok());
  EXPECT_GT(stack_defaults().depth, 0);
  std::set<std::string> stack, picture;
  for (const ParamSpec& spec : param_specs()) {
    if (is_stack_param(spec)) stack.insert(spec.key);
    if (is_picture_param(spec)) picture.insert(spec.key);
  }
  EXPECT_EQ(stack.size() + 1, param_specs().size());
  EXPECT_FALSE(stack.contains("impulse"));
  Params params = stack_defaults();
  EXPECT_EQ(params.method, static_cast<int32_t>(Method::kBm3d));
  EXPECT_TRUE(param_applies(params, "quality"));
  EXPECT_TRUE(param_applies(params, "shadows"));
  params.method = static_cast<int32_t>(Method::kNlm);
  EXPECT_FALSE(param_applies(params, "quality")) << "3-D NLM has one";
  EXPECT_FALSE(param_applies(params, "scales"));
  EXPECT_FALSE(param_applies(params, "shadows")) << "nothing is bent in a volume";
  EXPECT_FALSE(param_applies(params, "highlights"));
  params.method = static_cast<int32_t>(Method::kSwNlm);
  EXPECT_FALSE(validate(params).ok());
  EXPECT_EQ(picture.size() + 1, param_specs().size());
  EXPECT_FALSE(picture.contains("depth"));
}

}  // namespace
}  // namespace grainless
