// SPDX-License-Identifier: MIT
#include "shrink.h"

#include <algorithm>

namespace grainless::sweep {
namespace {

// All draws that are one step simpler.
std::vector<Draw> simpler(const Draw& draw) {
  std::vector<Draw> steps;
  const auto add = [&](const auto& change) {
    Draw step = draw;
    change(step);
    if (text_of(step) != text_of(draw)) steps.push_back(step);
  };
  for (int32_t Draw::* side : {&Draw::width, &Draw::height}) {
    add([side](Draw& d) { d.*side = (d.*side + 1) / 2; });
    add([side](Draw& d) { d.*side = std::max(1, d.*side - 1); });
  }
  add([](Draw& d) { d.layers = d.layers > 0 ? (d.layers + 1) / 2 : 0; });
  for (int32_t Draw::* word :
       {&Draw::padding, &Draw::spoiled, &Draw::alpha, &Draw::range, &Draw::frame, &Draw::toning}) {
    add([word](Draw& d) { d.*word = 0; });
  }
  add([](Draw& d) { d.noise = 0; });
  add([](Draw& d) { d.format.channels = d.format.colours(); });
  add([](Draw& d) { d.format.channels = 1; });
  add([](Draw& d) { d.format.component = Component::kFloat; });
  for (const ParamSpec& spec : param_specs()) {
    const std::string_view key = spec.key;
    if (key == "method" || key == "depth" || key == "auto-sigma") continue;
    const std::string usual = param_text(Params{}, spec);
    add([&](Draw& d) { (void)set_param(d.params, key, usual); });
  }
  return steps;
}

}  // namespace

Draw shrunk(const Draw& draw, const std::function<bool(const Draw&)>& fails) {
  constexpr int32_t kMostTries = 150;
  Draw best = draw;
  for (int32_t tries = 0; tries < kMostTries;) {
    bool better = false;
    for (const Draw& step : simpler(best)) {
      if (++tries > kMostTries) break;
      if (!validate(step.params).ok() || !fails(step)) continue;
      best = step;
      better = true;
      break;
    }
    if (!better) break;
  }
  return best;
}

}  // namespace grainless::sweep
