// SPDX-License-Identifier: MIT
#include "params.h"

#include <charconv>
#include <cmath>
#include <iterator>

#include "engine/sentence.h"

#define N_(text) text

namespace grainless {
namespace {

constexpr Choice kMethods[] = {{"bm3d", N_("BM3D (best quality)")},
                               {"nlm", N_("Non-Local Means")},
                               {"sw-nlm", N_("Shapiro-Wilk Non-Local Means")}};
constexpr Choice kQualities[] = {
    {"fast", N_("Fast")}, {"normal", N_("Normal")}, {"high", N_("High")}};
constexpr Choice kNoises[] = {{"auto", N_("What is surely noise")},
                              {"camera", N_("Coarse camera noise, too")}};
constexpr Choice kTransforms[] = {{"bior1.5", N_("Biorthogonal wavelet 1.5")},
                                  {"dct", N_("Cosine")},
                                  {"dft", N_("Fourier")},
                                  {"haar", N_("Haar wavelet")},
                                  {"hadamard", N_("Hadamard")}};
constexpr Choice kMatchings[] = {{"noisy", N_("As it is")}, {"prefiltered", N_("Prefiltered")}};
constexpr Choice kStages[] = {{"all", N_("All")}, {"first", N_("Only the first")}};
constexpr Choice kCentres[] = {{"auto", N_("Automatic")},
                               {"max", N_("Largest other weight")},
                               {"one", N_("One")},
                               {"zero", N_("Zero")}};
constexpr Choice kWeights[] = {{"less-noise", N_("Difference less the noise")},
                               {"classic", N_("Whole difference")}};

constexpr Choice kScales[] = {
    {"auto", N_("Automatic")}, {"1", "1"}, {"2", "2"}, {"3", "3"}, {"4", "4"}};

const ParamSpec kSpecs[] = {
    {"method", ParamType::kChoice, &Params::method, 0, 0, 0, 0, kMethods, ParamGroup::kMain,
     N_("_Method"),
     N_("How noise is told from detail. BM3D filters groups of similar patches together and keeps "
        "most detail; Non-Local Means averages similar pixels and looks softer; Shapiro-Wilk "
        "averages only where a test finds the difference to be noise, and needs even noise of a "
        "known level.")},
    {"quality", ParamType::kChoice, &Params::quality, 0, 0, 0, 0, kQualities, ParamGroup::kMain,
     N_("_Quality"),
     N_("Fast looks at fewer patches; High looks at more and takes several times longer.")},
    {"auto-sigma",
     ParamType::kBool,
     &Params::auto_sigma,
     0,
     1,
     1,
     0,
     {},
     ParamGroup::kMain,
     N_("Measure the noise automaticall_y"),
     N_("Measure how strong the noise is on the whole layer (noise standard deviation, sigma).")},
    {"sigma",
     ParamType::kDouble,
     &Params::sigma,
     0,
     100,
     0.5,
     1,
     {},
     ParamGroup::kMain,
     N_("_Noise level"),
     N_("How strong the noise is, when it is not measured automatically: its standard deviation "
        "(sigma) in 8-bit steps, 0 to 255, whatever the image's precision.")},
    {"strength",
     ParamType::kDouble,
     &Params::strength,
     0,
     200,
     5,
     0,
     {},
     ParamGroup::kMain,
     N_("S_trength"),
     N_("100 % removes the noise that was measured; less keeps some grain, more removes more "
        "(multiplies sigma).")},
    {"luma",
     ParamType::kDouble,
     &Params::luma,
     0,
     200,
     5,
     0,
     {},
     ParamGroup::kMain,
     N_("L_ightness noise"),
     N_("How strongly noise in lightness (luma) is removed. 0 % leaves lightness alone.")},
    {"chroma",
     ParamType::kDouble,
     &Params::chroma,
     0,
     200,
     5,
     0,
     {},
     ParamGroup::kMain,
     N_("Colo_ur noise"),
     N_("How strongly noise in colour (chroma) is removed. 0 % leaves colour alone.")},
    {"detail",
     ParamType::kDouble,
     &Params::detail,
     0,
     100,
     5,
     0,
     {},
     ParamGroup::kMain,
     N_("_Detail given back"),
     N_("How much of what was removed from lightness comes back: some grain looks more natural "
        "than none.")},
    {"search",
     ParamType::kInt,
     &Params::search,
     0,
     63,
     2,
     0,
     {},
     ParamGroup::kAdvanced,
     N_("Se_arch window"),
     N_("Side of the square in which similar patches are looked for, in pixels (odd, 3 to 63). "
        "0: by method and quality.")},
    {"patch",
     ParamType::kInt,
     &Params::patch,
     0,
     16,
     1,
     0,
     {},
     ParamGroup::kAdvanced,
     N_("_Patch size"),
     N_("Side of the patches that are compared, in pixels (2 to 16). 0: by method and noise.")},
    {"step",
     ParamType::kInt,
     &Params::step,
     0,
     16,
     1,
     0,
     {},
     ParamGroup::kAdvanced,
     N_("R_eference step"),
     N_("Distance between the reference patches of BM3D, in pixels (1 to the patch size). Smaller "
        "is better and slower. 0: by quality.")},
    {"group",
     ParamType::kInt,
     &Params::group,
     0,
     32,
     1,
     0,
     {},
     ParamGroup::kAdvanced,
     N_("_Group size"),
     N_("Most patches that BM3D filters together (a power of two, 1 to 32). 0: by quality and "
        "noise.")},
    {"transform", ParamType::kChoice, &Params::transform, 0, 0, 0, 0, kTransforms,
     ParamGroup::kAdvanced, N_("Trans_form"),
     N_("Patch transform of the first stage of BM3D; the cosine and Fourier transforms keep fine "
        "textures, the "
        "wavelets keep edges.")},
    {"matching", ParamType::kChoice, &Params::matching, 0, 0, 0, 0, kMatchings,
     ParamGroup::kAdvanced, N_("Picture compared"),
     N_("On what the first stage of BM3D looks for similar patches. A prefiltered picture is what "
        "the method's first paper took at strong noise (sigma above 40). It is there to compare: "
        "it takes longer and loses about half a decibel.")},
    {"stages", ParamType::kChoice, &Params::stages, 0, 0, 0, 0, kStages, ParamGroup::kAdvanced,
     N_("Stages taken"),
     N_("How far BM3D goes. The first stage alone (hard threshold) takes half the time and loses "
        "about half a decibel; the second (Wiener filter) looks again, with the first one's result "
        "as "
        "its guide.")},
    {"centre", ParamType::kChoice, &Params::centre, 0, 0, 0, 0, kCentres, ParamGroup::kAdvanced,
     N_("Weight of the centre pi_xel"),
     N_("What the pixel itself counts for in both kinds of Non-Local Means, beside its "
        "look-alikes. Automatic follows the noise: the weaker it is, the more.")},
    {"weights", ParamType::kChoice, &Params::weights, 0, 0, 0, 0, kWeights, ParamGroup::kAdvanced,
     N_("Weights by"),
     N_("What of two patches' difference makes them count for less in Non-Local Means. Less the "
        "noise: what noise alone explains is taken off first, which keeps more detail. The whole "
        "difference is the classic rule (h² = 2βσ² a pixel); strength squared is its β.")},
    {"noise", ParamType::kChoice, &Params::noise, 0, 0, 0, 0, kNoises, ParamGroup::kAdvanced,
     N_("Look for"),
     N_("What the automatic measurement takes for noise. The coarse noise of camera JPEGs looks "
        "like fine texture: where it is not sure, it is looked for only when asked, and texture "
        "may go with it then.")},
    {"scales", ParamType::kChoice, &Params::scales, 0, 0, 0, 0, kScales, ParamGroup::kAdvanced,
     N_("Num_ber of scales"),
     N_("Resolutions at which noise is removed. Noise of cameras is coarse and shows at half and "
        "quarter resolution, too; automatic looks at the noise.")},
    {"depth",
     ParamType::kInt,
     &Params::depth,
     0,
     15,
     1,
     0,
     {},
     ParamGroup::kStack,
     N_("Ad_jacent layers"),
     N_("In how many layers before and after each one the same is looked for (1 to 15). More "
        "removes more noise and takes longer.")},
    {"device",
     ParamType::kString,
     &Params::device,
     0,
     0,
     0,
     0,
     {},
     ParamGroup::kAdvanced,
     N_("De_vice"),
     N_("Where to compute: auto, cpu, cuda, or some of several graphics cards as in cuda:0,1.")},
    {"memory",
     ParamType::kInt,
     &Params::memory,
     0,
     1048576,
     256,
     0,
     {},
     ParamGroup::kAdvanced,
     N_("GPU memory limit (MiB)"),
     N_("Most graphics memory to use, in MiB. 0: all that is free, less a reserve. The result is "
        "the same.")},
};

std::string number_text(double value) {
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), value);
  return {text, end.ptr};
}

std::string allowed(const ParamSpec& spec) {
  const std::string low = number_text(spec.minimum), high = number_text(spec.maximum);
  std::string ids;
  switch (spec.type) {
    case ParamType::kChoice:
      for (const Choice& choice : spec.choices) ids += std::string(" ") + choice.id;
      return sentence("one of%s", {ids});
    case ParamType::kBool:
      return sentence("yes or no");
    case ParamType::kInt:
      return sentence("a whole number from %s to %s", {low, high});
    case ParamType::kDouble:
      return sentence("a number from %s to %s", {low, high});
    case ParamType::kString:
      break;
  }
  return sentence("a text");
}

Status refuse(const ParamSpec& spec, std::string_view value) {
  return {ErrorCode::kBadParameter, sentence("'%s' is not a value of %s: it takes %s",
                                             {std::string(value), spec.key, allowed(spec)})};
}

template <typename Number>
bool parse_number(std::string_view text, Number& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool in_range(const ParamSpec& spec, double value) {
  return std::isfinite(value) && value >= spec.minimum && value <= spec.maximum;
}

Status set_choice(Params& params, const ParamSpec& spec, std::string_view value) {
  for (size_t i = 0; i < spec.choices.size(); ++i) {
    if (value == spec.choices[i].id) {
      params.*std::get<int32_t Params::*>(spec.member) = static_cast<int32_t>(i);
      return {};
    }
  }
  return refuse(spec, value);
}

constexpr int32_t kMostDigits = 6;  // of a card's number, far below where it would overflow

bool valid_device(std::string_view device) {
  if (device == "auto" || device == "cpu" || device == "cuda") return true;
  if (!device.starts_with("cuda:") || device.size() == 5) return false;
  int32_t digits = 0;
  for (char c : device.substr(5)) {
    if (c == ',' && digits == 0) return false;
    if (c != ',' && (c < '0' || c > '9')) return false;
    digits = c == ',' ? 0 : digits + 1;
    if (digits > kMostDigits) return false;
  }
  return digits > 0;
}

Status check_relations(const Params& params) {
  const auto bad = [](const std::string& text) { return Status(ErrorCode::kBadParameter, text); };
  if (params.search != 0 && (params.search < 3 || params.search % 2 == 0)) {
    return bad(sentence("search takes an odd number from 3 to 63, or 0 for automatic"));
  }
  if (params.patch == 1)
    return bad(sentence("patch takes a number from 2 to 16, or 0 for automatic"));
  if ((params.group & (params.group - 1)) != 0) {
    return bad(sentence("group takes a power of two from 1 to 32, or 0 for automatic"));
  }
  if (params.patch != 0 && params.step > params.patch) {
    return bad(
        sentence("step can't be larger than patch: pixels between the patches would be left out"));
  }
  if (params.depth > 0 && params.method == static_cast<int32_t>(Method::kSwNlm)) {
    return bad(sentence("depth takes method bm3d or nlm"));
  }
  if (!valid_device(params.device)) {
    return bad(
        sentence("device takes auto, cpu, cuda, or numbers of graphics cards as in cuda:0,1"));
  }
  return {};
}

}  // namespace

std::span<const ParamSpec> param_specs() {
  return kSpecs;
}

const ParamSpec* find_param(std::string_view key) {
  for (const ParamSpec& spec : kSpecs) {
    if (key == spec.key) return &spec;
  }
  return nullptr;
}

Status set_param(Params& params, std::string_view key, std::string_view value) {
  const ParamSpec* spec = find_param(key);
  if (spec == nullptr) {
    return {ErrorCode::kBadParameter, sentence("there is no parameter '%s'", {std::string(key)})};
  }
  switch (spec->type) {
    case ParamType::kChoice:
      return set_choice(params, *spec, value);
    case ParamType::kBool:
      if (value != "yes" && value != "no") return refuse(*spec, value);
      params.*std::get<bool Params::*>(spec->member) = value == "yes";
      return {};
    case ParamType::kInt: {
      int32_t number = 0;
      if (!parse_number(value, number) || !in_range(*spec, number)) return refuse(*spec, value);
      params.*std::get<int32_t Params::*>(spec->member) = number;
      return {};
    }
    case ParamType::kDouble: {
      double number = 0;
      if (!parse_number(value, number) || !in_range(*spec, number)) return refuse(*spec, value);
      params.*std::get<double Params::*>(spec->member) = number;
      return {};
    }
    case ParamType::kString:
      params.*std::get<std::string Params::*>(spec->member) = std::string(value);
      return {};
  }
  return {ErrorCode::kInternal, "unknown parameter type"};
}

std::string param_text(const Params& params, const ParamSpec& spec) {
  switch (spec.type) {
    case ParamType::kChoice:
      return spec.choices[params.*std::get<int32_t Params::*>(spec.member)].id;
    case ParamType::kBool:
      return params.*std::get<bool Params::*>(spec.member) ? "yes" : "no";
    case ParamType::kInt:
      return std::to_string(params.*std::get<int32_t Params::*>(spec.member));
    case ParamType::kDouble:
      return number_text(params.*std::get<double Params::*>(spec.member));
    case ParamType::kString:
      return params.*std::get<std::string Params::*>(spec.member);
  }
  return {};
}

Status validate(const Params& params) {
  for (const ParamSpec& spec : kSpecs) {
    double value = 0;
    if (spec.type == ParamType::kInt) value = params.*std::get<int32_t Params::*>(spec.member);
    if (spec.type == ParamType::kDouble) value = params.*std::get<double Params::*>(spec.member);
    if ((spec.type == ParamType::kInt || spec.type == ParamType::kDouble) &&
        !in_range(spec, value)) {
      return refuse(spec, param_text(params, spec));
    }
    if (spec.type == ParamType::kChoice) {
      const int32_t index = params.*std::get<int32_t Params::*>(spec.member);
      if (index < 0 || index >= static_cast<int32_t>(spec.choices.size())) {
        return refuse(spec, std::to_string(index));
      }
    }
  }
  return check_relations(params);
}

Params stack_defaults() {
  Params params;
  params.depth = 3;
  return params;
}

bool is_stack_param(const ParamSpec& spec) {
  Params nlm = stack_defaults();
  nlm.method = static_cast<int32_t>(Method::kNlm);
  return std::string_view(spec.key) == "sigma" || param_applies(stack_defaults(), spec.key) ||
         param_applies(nlm, spec.key);
}

bool is_picture_param(const ParamSpec& spec) {
  return spec.group != ParamGroup::kStack;
}

bool param_applies(const Params& params, std::string_view key) {
  const bool bm3d = params.method == static_cast<int32_t>(Method::kBm3d);
  if (params.depth > 0 && !bm3d && (key == "quality" || key == "scales")) return false;
  if (key == "step" || key == "group" || key == "transform" || key == "matching" ||
      key == "stages") {
    return bm3d;
  }
  if (key == "centre") return !bm3d;
  if (key == "weights") return params.method == static_cast<int32_t>(Method::kNlm);
  if (key == "sigma") return !params.auto_sigma;
  if (key == "noise") return params.auto_sigma;
  return true;
}

}  // namespace grainless
