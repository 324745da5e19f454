// SPDX-License-Identifier: MIT
#include "usable_params.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/sentence.h"

namespace grainless::effect {
namespace {

template <typename Number>
Number within(Number value, Number low, Number high) {
  return std::min(std::max(value, low), high);
}

double usable(double value, const ParamSpec& spec) {
  const double fallback = Params().*std::get<double Params::*>(spec.member);
  return std::isnan(value) ? fallback : within(value, spec.minimum, spec.maximum);
}

// Each value in its own range.
void keep_ranges(Params& params) {
  for (const ParamSpec& spec : param_specs()) {
    if (spec.type == ParamType::kDouble) {
      double& value = params.*std::get<double Params::*>(spec.member);
      value = usable(value, spec);
    } else if (spec.type == ParamType::kInt) {
      int32_t& value = params.*std::get<int32_t Params::*>(spec.member);
      value = within(value, static_cast<int32_t>(spec.minimum), static_cast<int32_t>(spec.maximum));
    } else if (spec.type == ParamType::kChoice) {
      int32_t& value = params.*std::get<int32_t Params::*>(spec.member);
      value = within(value, 0, static_cast<int32_t>(spec.choices.size()) - 1);
    }
  }
}

// What validate() asks beyond that: 0 stays automatic.
void keep_relations(Params& params) {
  if (params.search != 0) params.search = std::max(params.search, 3) | 1;
  if (params.patch == 1) params.patch = 2;
  params.group = static_cast<int32_t>(std::bit_floor(static_cast<uint32_t>(params.group)));
  if (params.patch != 0) params.step = std::min(params.step, params.patch);
  params.depth = 0;
  if (!validate(params).ok()) params.device = "auto";
}

}  // namespace

Params usable_params(const Params& given, std::vector<std::string>& notes) {
  Params params = given;
  keep_ranges(params);
  keep_relations(params);
  for (const ParamSpec& spec : param_specs()) {
    Params one = params;
    std::visit([&](auto member) { one.*member = given.*member; }, spec.member);
    if (one == params) continue;
    notes.push_back(
        sentence("%1$s is not a value of %2$s: %3$s is taken",
                 {spec.type == ParamType::kChoice ? std::string("?") : param_text(given, spec),
                  spec.key, param_text(params, spec)}));
  }
  return params;
}

}  // namespace grainless::effect
