// SPDX-License-Identifier: MIT
#include "params.h"

#include <charconv>
#include <cmath>
#include <iterator>

#include "engine/methods.h"
#include "engine/sentence.h"

#define N_(text) text

namespace grainless {
namespace {

constexpr Choice kQualities[] = {
    {"fast", N_("Fast")}, {"normal", N_("Normal")}, {"high", N_("High")}};
constexpr Choice kNoises[] = {{"auto", N_("What is surely noise")},
                              {"camera", N_("Coarse camera noise, too")}};
constexpr Choice kImpulses[] = {{"off", N_("Keep them")},
                                {"auto", N_("Automatic")},
                                {"weak", N_("Only clear ones")},
                                {"normal", N_("Single pixels and colour dots")},
                                {"strong", N_("Pairs of pixels, too")}};
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
    {.key = "method",
     .type = ParamType::kChoice,
     .member = &Params::method,
     .choices = method_choices(),
     .label = N_("_Method"),
     .tooltip = method_tooltip()},
    {.key = "quality",
     .type = ParamType::kChoice,
     .member = &Params::quality,
     .choices = kQualities,
     .label = N_("_Quality"),
     .tooltip = N_("Fast looks at fewer patches; High looks at more and takes two to four times as "
                   "long as Normal.")},
    {.key = "auto-sigma",
     .type = ParamType::kBool,
     .member = &Params::auto_sigma,
     .label = N_("Measure the noise automaticall_y"),
     .tooltip = N_(
         "Measure how strong the noise is on the whole layer (noise standard deviation, sigma).")},
    {.key = "sigma",
     .type = ParamType::kDouble,
     .member = &Params::sigma,
     .maximum = 100,
     .step = 0.5,
     .digits = 1,
     .label = N_("_Noise level"),
     .tooltip = N_(
         "How strong the noise is, when it is not measured automatically: its standard deviation "
         "(sigma) in 8-bit steps, 0 to 255, whatever the image's precision.")},
    {.key = "strength",
     .type = ParamType::kDouble,
     .member = &Params::strength,
     .maximum = 200,
     .step = 5,
     .unit = "%",
     .label = N_("S_trength"),
     .tooltip =
         N_("100 % removes the noise that was measured; less keeps some grain, more removes more "
            "(multiplies sigma).")},
    {.key = "luma",
     .type = ParamType::kDouble,
     .member = &Params::luma,
     .maximum = 200,
     .step = 5,
     .unit = "%",
     .label = N_("L_ightness noise"),
     .tooltip =
         N_("How strongly noise in lightness (luma) is removed. 0 % leaves lightness alone.")},
    {.key = "chroma",
     .type = ParamType::kDouble,
     .member = &Params::chroma,
     .maximum = 200,
     .step = 5,
     .unit = "%",
     .label = N_("Colo_ur noise"),
     .tooltip = N_("How strongly noise in colour (chroma) is removed. 0 % leaves colour alone.")},
    {.key = "shadows",
     .type = ParamType::kDouble,
     .member = &Params::shadows,
     .maximum = 200,
     .step = 5,
     .unit = "%",
     .label = N_("Shadows"),
     .tooltip = N_(
         "How strongly noise in dark parts is removed, compared with the measured curve or the "
         "noise level. 0 % leaves the darkest tones nearly as they are; the middle tones stay.")},
    {.key = "highlights",
     .type = ParamType::kDouble,
     .member = &Params::highlights,
     .maximum = 200,
     .step = 5,
     .unit = "%",
     .label = N_("Highlights"),
     .tooltip = N_(
         "How strongly noise in bright parts is removed, compared with the measured curve or the "
         "noise level. 0 % leaves the brightest tones nearly as they are; the middle tones stay.")},
    {.key = "detail",
     .type = ParamType::kDouble,
     .member = &Params::detail,
     .maximum = 100,
     .step = 5,
     .unit = "%",
     .label = N_("_Detail given back"),
     .tooltip =
         N_("How much of what was removed from lightness comes back: some grain looks more natural "
            "than none.")},
    // A choice: how far an impulse has to stand out and how many pixels it may have go together.
    {.key = "impulse",
     .type = ParamType::kChoice,
     .member = &Params::impulse,
     .choices = kImpulses,
     .group = ParamGroup::kAdvanced,
     .label = N_("Hot pixels"),
     .tooltip = N_("Single pixels that stand out from picture and noise (impulses, salt and "
                   "pepper) are replaced by what surrounds them. Automatic checks whether "
                   "the layer has any; stars of two pixels and more stay.")},
    {.key = "search",
     .type = ParamType::kInt,
     .member = &Params::search,
     .maximum = 63,
     .step = 2,
     .group = ParamGroup::kAdvanced,
     .label = N_("Se_arch window"),
     .tooltip =
         N_("Side of the square in which similar patches are looked for, in pixels (odd, 3 to 63). "
            "0: by method and quality.")},
    {.key = "patch",
     .type = ParamType::kInt,
     .member = &Params::patch,
     .maximum = 16,
     .step = 1,
     .group = ParamGroup::kAdvanced,
     .label = N_("_Patch size"),
     .tooltip =
         N_("Side of the patches that are compared, in pixels (2 to 16). 0: by method and noise.")},
    {.key = "step",
     .type = ParamType::kInt,
     .member = &Params::step,
     .maximum = 16,
     .step = 1,
     .group = ParamGroup::kAdvanced,
     .label = N_("R_eference step"),
     .tooltip = N_(
         "Distance between the reference patches of BM3D, in pixels (1 to the patch size). Smaller "
         "is better and slower. 0: by quality.")},
    {.key = "group",
     .type = ParamType::kInt,
     .member = &Params::group,
     .maximum = 32,
     .step = 1,
     .group = ParamGroup::kAdvanced,
     .label = N_("_Group size"),
     .tooltip = N_("The most patches that BM3D filters together (a power of two, 1 to 32). "
                   "0: by quality and noise.")},
    {.key = "transform",
     .type = ParamType::kChoice,
     .member = &Params::transform,
     .choices = kTransforms,
     .group = ParamGroup::kAdvanced,
     .label = N_("Trans_form"),
     .tooltip = N_(
         "Patch transform of the first stage of BM3D; the cosine and Fourier transforms keep fine "
         "textures, the "
         "wavelets keep edges.")},
    {.key = "matching",
     .type = ParamType::kChoice,
     .member = &Params::matching,
     .choices = kMatchings,
     .group = ParamGroup::kAdvanced,
     .label = N_("Picture compared"),
     .tooltip = N_("In which picture the first stage of BM3D looks for similar patches. The "
                   "method's first paper prefilters it at strong noise (sigma above 40). "
                   "That is offered for comparison: it takes longer and loses about half a "
                   "decibel.")},
    {.key = "stages",
     .type = ParamType::kChoice,
     .member = &Params::stages,
     .choices = kStages,
     .group = ParamGroup::kAdvanced,
     .label = N_("Stages taken"),
     .tooltip = N_(
         "How far BM3D goes. The first stage alone (hard threshold) takes half the time and loses "
         "about half a decibel; the second (Wiener filter) looks again, with the first one's "
         "result "
         "as "
         "its guide.")},
    {.key = "centre",
     .type = ParamType::kChoice,
     .member = &Params::centre,
     .choices = kCentres,
     .group = ParamGroup::kAdvanced,
     .label = N_("Weight of the centre pi_xel"),
     .tooltip = N_("How much the pixel itself counts in both kinds of Non-Local Means, "
                   "beside its look-alikes. Automatic follows the noise: the weaker it is, "
                   "the more the pixel counts.")},
    {.key = "weights",
     .type = ParamType::kChoice,
     .member = &Params::weights,
     .choices = kWeights,
     .group = ParamGroup::kAdvanced,
     .label = N_("Weights by"),
     .tooltip = N_("How the difference of two patches lowers their weight in Non-Local "
                   "Means. Less the noise: what noise alone explains is subtracted first, "
                   "which keeps more detail. The whole difference is the classic rule (h² = "
                   "2βσ² for each pixel); its β is the strength squared.")},
    {.key = "noise",
     .type = ParamType::kChoice,
     .member = &Params::noise,
     .choices = kNoises,
     .group = ParamGroup::kAdvanced,
     .label = N_("Look for"),
     .tooltip = N_("What the automatic measurement takes for noise. The coarse noise of "
                   "camera JPEGs looks like fine texture: where the two can't be told "
                   "apart, it is removed only on request, and texture may go with it.")},
    {.key = "scales",
     .type = ParamType::kChoice,
     .member = &Params::scales,
     .choices = kScales,
     .group = ParamGroup::kAdvanced,
     .label = N_("Num_ber of scales"),
     .tooltip = N_("At how many resolutions noise is removed. The noise of cameras is "
                   "coarse and shows at half and quarter resolution, too; automatic decides "
                   "by the noise.")},
    {.key = "depth",
     .type = ParamType::kInt,
     .member = &Params::depth,
     .maximum = 15,
     .step = 1,
     .group = ParamGroup::kStack,
     .label = N_("Ad_jacent layers"),
     .tooltip = N_("How many layers before and after each one are searched for the same "
                   "content (1 to 15). More layers remove more noise and take longer.")},
    {.key = "device",
     .type = ParamType::kString,
     .member = &Params::device,
     .group = ParamGroup::kAdvanced,
     .label = N_("De_vice"),
     .tooltip = N_(
         "Where to compute: auto, cpu, cuda, or some of several graphics cards as in cuda:0,1.")},
    {.key = "memory",
     .type = ParamType::kInt,
     .member = &Params::memory,
     .maximum = 1048576,
     .step = 256,
     .group = ParamGroup::kAdvanced,
     .label = N_("GPU memory limit (MiB)"),
     .tooltip = N_("The most graphics memory to use, in MiB. 0: all that is free, less a "
                   "reserve. The result is the same.")}};

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
  if (params.depth > 0 && method_row(params.method).stack == StackWay::kNone) {
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
  const MethodRow& method = method_row(params.method);
  const bool volume = params.depth > 0 && method.stack == StackWay::kVolume;
  if (volume && (key == "quality" || key == "scales" || key == "shadows" || key == "highlights")) {
    return false;
  }
  if (!method_takes(method, key)) return false;
  if (key == "impulse") return params.depth == 0;
  if (key == "sigma") return !params.auto_sigma;
  if (key == "noise") return params.auto_sigma;
  return true;
}

}  // namespace grainless
