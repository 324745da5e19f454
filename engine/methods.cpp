// SPDX-License-Identifier: MIT
#include "methods.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "engine/boundary/status.h"
#include "engine/plan/bm3d_plan.h"
#include "engine/plan/dct_plan.h"
#include "engine/plan/nlm_plan.h"
#include "engine/plan/sw_nlm_plan.h"

// Marks a string for translation; the plug-in looks it up.
#define N_(text) text

namespace grainless {
namespace {

constexpr std::string_view kBm3dKeys[] = {"search",    "step",     "group",
                                          "transform", "matching", "stages"};
constexpr std::string_view kNlmKeys[] = {"search", "centre", "weights"};
constexpr std::string_view kSwNlmKeys[] = {"search", "centre"};

constexpr MethodRow kMethods[] = {
    {.method = Method::kBm3d,
     .choice = {"bm3d", N_("BM3D (best quality)")},
     .keys = kBm3dKeys,
     .stack = StackWay::kFusion,
     // A second level gains nothing on white noise of 25, 0.06 to 0.11 dB at 50.
     .noise = {.two_levels = 25.0},
     .set_level = set_bm3d_level,
     .smallest = bm3d_smallest},
    // NLM compares neighbours that share correlated noise and finds them alike (nlm_plan.h): of
    // luma it needs a little less strength than BM3D, which tells signal from noise by its
    // coefficients; colour, which cameras reduce most, takes more. Its small patches gain more from
    // a second level: crops of twelve pictures, grey at 10, 15, 25 and 50 0.14, 0.06, 0.06 and 0.24
    // dB (and with it smaller ones, nlm_plan.cpp, 0.1 at 25), colour at 10 and 25 0.02 and 0.20.
    {.method = Method::kNlm,
     .choice = {"nlm", N_("Non-Local Means")},
     .keys = kNlmKeys,
     .stack = StackWay::kVolume,
     .noise = {.correlated_luma = 0.9, .correlated_chroma = 1.8, .two_levels = 10.0},
     .set_level = set_nlm_level,
     .smallest = nlm_smallest},
    // Shapiro-Wilk asks for the noise as it is: the test rejects what is more alike, too.
    {.method = Method::kSwNlm,
     .choice = {"sw-nlm", N_("Shapiro-Wilk Non-Local Means")},
     .keys = kSwNlmKeys,
     .stack = StackWay::kNone,
     .noise = {.as_it_is = true},
     .set_level = set_sw_nlm_level,
     .smallest = sw_nlm_smallest},
    {.method = Method::kDct,
     .choice = {"dct", N_("DCT (fastest)")},
     .keys = {},
     .stack = StackWay::kNone,
     // A patch sees no lower frequencies than its own: a second level gains 0.03, 0.08 and 0.2 dB
     // at 15, 25 and 50 (dct_plan.cpp).
     .noise = {.two_levels = 10.0},
     .set_level = set_dct_level,
     .smallest = dct_smallest}};

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(kMethods); ++i) {
    if (static_cast<size_t>(kMethods[i].method) != i) return false;
  }
  return true;
}
static_assert(in_order(), "a row's place is its method's number");

bool holds(const MethodRow& row, std::string_view key) {
  return std::find(row.keys.begin(), row.keys.end(), key) != row.keys.end();
}

}  // namespace

std::span<const MethodRow> method_rows() {
  return kMethods;
}

const MethodRow& method_row(int32_t method) {
  if (method < 0 || method >= static_cast<int32_t>(std::size(kMethods))) {
    throw Error(ErrorCode::kInternal, "unknown method");
  }
  return kMethods[method];
}

const char* method_tooltip() {
  return N_(
      "How noise is told from detail. BM3D filters groups of similar patches together and keeps "
      "most "
      "detail; Non-Local Means averages similar pixels and looks softer; Shapiro-Wilk averages "
      "only "
      "where a test finds the difference to be noise, and needs even noise of a known level; DCT "
      "filters each patch by itself and is the fastest.");
}

std::span<const Choice> method_choices() {
  static const std::vector<Choice> choices = [] {
    std::vector<Choice> all;
    for (const MethodRow& row : kMethods) all.push_back(row.choice);
    return all;
  }();
  return choices;
}

bool method_takes(const MethodRow& row, std::string_view key) {
  return holds(row, key) ||
         std::none_of(std::begin(kMethods), std::end(kMethods),
                      [key](const MethodRow& other) { return holds(other, key); });
}

}  // namespace grainless
