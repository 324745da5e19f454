// SPDX-License-Identifier: MIT
#include "engine/methods.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "engine/boundary/plan.h"
#include "engine/boundary/status.h"
#include "engine/cpu/methods.h"
#include "engine/noise/model.h"
#include "engine/plan/make_plan.h"

namespace grainless {
namespace {

TEST(Methods, EveryRowHasItsOwnIdAndAComputingProcessor) {
  std::set<std::string> ids;
  for (const MethodRow& row : method_rows()) {
    const auto number = static_cast<int32_t>(row.method);
    EXPECT_TRUE(ids.insert(row.choice.id).second) << row.choice.id;
    EXPECT_EQ(&method_row(number), &row);
    EXPECT_EQ(cpu_method(number).method, row.method);
    Params params;
    params.method = number;
    const Plan plan = make_plan(params, {Component::kFloat, 3}, white_noise(3, 10));
    EXPECT_GT(plan.level[0].reach, 0) << row.choice.id;
    EXPECT_GE(plan.smallest, 1) << row.choice.id;
    EXPECT_GT(cpu_method(number).bytes(plan.level[0], {3, 100, 100}, 1), 0u) << row.choice.id;
  }
  EXPECT_EQ(method_choices().size(), method_rows().size());
}

TEST(Methods, AKeyOfSomeMethodsIsAParameterAndOneOfNoneIsForAll) {
  std::set<std::string_view> of_some;
  for (const MethodRow& row : method_rows()) of_some.insert(row.keys.begin(), row.keys.end());
  for (const std::string_view key : of_some) EXPECT_NE(find_param(key), nullptr) << key;
  for (const MethodRow& row : method_rows()) EXPECT_TRUE(method_takes(row, "sigma"));
}

// It used to become Non-Local Means in the plan, and nothing at all in a backend.
TEST(Methods, AnUnknownNumberIsRefused) {
  for (const int32_t number : {-1, static_cast<int32_t>(method_rows().size()), 1 << 30}) {
    Params params;
    params.method = number;
    EXPECT_THROW(make_plan(params, {Component::kU8, 1}, white_noise(1, 10)), Error) << number;
    EXPECT_THROW(cpu_method(number), Error) << number;
    EXPECT_FALSE(validate(params).ok()) << number;
  }
}

}  // namespace
}  // namespace grainless
