// SPDX-License-Identifier: MIT
// The one declaration of every user parameter: GIMP's procedure arguments, the dialog, the command
// line, presets and validation all loop over param_specs(). Keys and choice ids are a file format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "engine/boundary/choices.h"
#include "engine/boundary/status.h"

namespace grainless {

struct Params {
  int32_t method = 0;         // Method
  int32_t quality = 1;        // Quality
  bool auto_sigma = true;     // estimate sigma from the image
  int32_t noise = 0;          // NoiseKind: what is looked for
  double sigma = 10.0;        // noise standard deviation, 8-bit steps of the perceptual encoding
  double strength = 100.0;    // per cent, of sigma
  double luma = 100.0;        // per cent, of the noise in lightness
  double chroma = 100.0;      // per cent, of the noise in colour
  double shadows = 100.0;     // per cent, of the noise in dark tones (tone_strength.h)
  double highlights = 100.0;  // per cent, of the noise in bright tones
  double detail = 0.0;        // per cent of the removed luma that comes back
  int32_t impulse = 1;        // ImpulseWay: single pixels that stand out
  // Pixels (group: patches); 0: by method, quality and noise.
  int32_t search = 0;
  int32_t patch = 0;
  int32_t step = 0;
  int32_t group = 0;
  int32_t transform = 0;  // Transform
  int32_t matching = 0;   // Matching
  int32_t stages = 0;     // Stages
  int32_t centre = 0;     // Centre
  int32_t weights = 0;    // WeightRule
  int32_t scales = 0;     // levels of resolution; 0: by the noise
  int32_t depth = 0;      // of a stack: layers searched before and after each one; 0: no stack
  std::string device = "auto";
  int32_t memory = 0;  // MiB of a card; 0: all that is free, less a reserve

  bool operator==(const Params&) const = default;
};

struct Choice {
  const char* id;
  const char* label;
};

enum class ParamType { kChoice, kBool, kInt, kDouble, kString };
enum class ParamGroup { kMain, kAdvanced, kStack };

using ParamMember =
    std::variant<int32_t Params::*, bool Params::*, double Params::*, std::string Params::*>;

struct ParamSpec {
  const char* key = nullptr;
  ParamType type = ParamType::kBool;
  ParamMember member = &Params::auto_sigma;
  double minimum = 0, maximum = 0, step = 0;  // kInt, kDouble
  int32_t digits = 0;                         // decimals shown, kDouble
  const char* unit = nullptr;                 // of the number, where it has one
  std::span<const Choice> choices = {};       // kChoice
  ParamGroup group = ParamGroup::kMain;
  const char* label = nullptr;    // marked for translation, with its mnemonic
  const char* tooltip = nullptr;  // in plain words first, then the term of the field
};

std::span<const ParamSpec> param_specs();
const ParamSpec* find_param(std::string_view key);

// Sets one parameter from text ("nlm", "yes", "12.5"); kBadParameter names key, value and what is
// allowed.
Status set_param(Params& params, std::string_view key, std::string_view value);

// The value as set_param takes it.
std::string param_text(const Params& params, const ParamSpec& spec);

// kBadParameter when any value is out of its range or not a number.
Status validate(const Params& params);

// Automatic BM3D over a stack of layers: depth is not 0.
Params stack_defaults();

// Whether the filter for stacks, which has no Shapiro-Wilk, or the one for pictures has this
// parameter. Most belong to both.
bool is_stack_param(const ParamSpec& spec);
bool is_picture_param(const ParamSpec& spec);

// Whether the parameter has any effect with these settings (the dialog greys out the others).
bool param_applies(const Params& params, std::string_view key);

}  // namespace grainless
