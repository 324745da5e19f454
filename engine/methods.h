// SPDX-License-Identifier: MIT
// The algorithms, a row each: all that parameters, plans and stacks know of a method. What computes
// it stands in a table of each backend (engine/cpu/methods.h, cuda/methods.h).
// docs/adding-a-method.md goes the whole way.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "engine/boundary/choices.h"
#include "engine/params/params.h"

namespace grainless {

struct LevelPlan;
struct LevelRequest;

// How a method denoises a stack of layers.
enum class StackWay {
  kNone,
  kVolume,  // its patches reach into the layers beside (VolumePlan)
  kFusion,  // layers that show the same are averaged first (fusion_plan.h), then it denoises each
};

// How a method takes the measured noise.
struct MethodNoise {
  bool as_it_is = false;  // PictureNoise::strength is left out
  // What sigma is multiplied by, besides, where the noise is not white.
  double correlated_luma = 1, correlated_chroma = 1;
  // White noise's sigma from which on quality high takes a second level of resolution.
  double two_levels = std::numeric_limits<double>::infinity();
};

struct MethodRow {
  Method method;
  Choice choice;  // id and label of the parameter `method`
  // Of the parameters that not all methods have, those of this one.
  std::span<const std::string_view> keys;
  StackWay stack;
  MethodNoise noise;
  // Fills the method's part of a level that is all zeros, and its reach. Returns how fine match
  // values are: under 1, the picture's span of values is too wide for them.
  double (*set_level)(LevelPlan& level, const LevelRequest& request);
  // Images with a side under this come back unchanged; of the full resolution's level.
  int32_t (*smallest)(const LevelPlan& level);
};

// In the order of Method.
std::span<const MethodRow> method_rows();

// Params::method's or Plan::method's. Throws Error(kInternal) for a number that is none.
const MethodRow& method_row(int32_t method);

// For the table of parameters.
std::span<const Choice> method_choices();
const char* method_tooltip();  // a few words on each row

// Whether a parameter has a meaning for the method: it is one of its own, or no method's.
bool method_takes(const MethodRow& row, std::string_view key);

}  // namespace grainless
