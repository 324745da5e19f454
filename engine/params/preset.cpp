// SPDX-License-Identifier: MIT
#include "preset.h"

#include <algorithm>
#include <cctype>

#include "engine/methods.h"
#include "engine/sentence.h"

#define N_(text) text

namespace grainless {
namespace {

// Values tuned by eye and by what docs/quality.md measured; all by the measured noise.
constexpr BuiltInPreset kBuiltIn[] = {
    {"standard", N_("Standard"), N_("Removes the noise that was measured."), ""},
    // A weaker threshold would leave single coefficients, which look like scratches; the full
    // filter with some of the noise blended back keeps an even, natural grain.
    {"light", N_("Light"), N_("Leaves a fine, even grain and all of the texture."),
     "detail = 40\n"},
    {"strong", N_("Strong"), N_("Removes more than was measured; fine texture may go with it."),
     "strength = 140\n"
     "chroma = 120\n"},
    // What most photographs need, and all that many photographers want.
    {"colour-noise-only", N_("Colour noise only"),
     N_("Removes coloured blotches and leaves lightness as it is."), "luma = 0\n"},
    // Raw converters leave the colour noise of high ISO as blotches several pixels wide: stronger
    // in colour, and three resolutions even where the finest one looks white. A fourth gained
    // nothing on PolyU.
    {"high-iso", N_("High ISO"),
     N_("For photographs taken in little light: strong and coarse noise, above all in colour."),
     "strength = 115\n"
     "chroma = 150\n"
     "detail = 10\n"
     "scales = 3\n"},
    // Noise without its finest detail, which texture may be, too: the default leaves it where it
    // isn't sure.
    {"camera-jpeg", N_("Camera JPEG"),
     N_("For JPEG files of cameras and phones: looks for coarse noise, and may take fine texture "
        "for it."),
     "noise = camera\n"},
    // Grain is coarse and belongs to the picture: some of it stays. Dye clouds and the scanner's
    // own noise are colour and go.
    {"film-grain", N_("Scan or film grain"),
     N_("For scans: tames grain without erasing it, and removes its colour."),
     "luma = 90\n"
     "chroma = 150\n"
     "detail = 30\n"
     "scales = 3\n"},
    {"maximum-quality", N_("Maximum quality"),
     N_("The best that the filter can do, in two to four times the time."), "quality = high\n"},
};

// How much noise there is: the user's, or measured.
bool is_noise_level(std::string_view key) {
  return key == "sigma" || key == "auto-sigma";
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool contains(const Settings& settings, std::string_view key) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const auto& setting) { return setting.first == key; });
}

// One line without its comment; empty when it is as it should be, and why not otherwise.
std::string read_line(std::string_view line, Params& params, Settings& settings) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return sentence("a setting is written 'key = value'");
  const std::string key(trimmed(line.substr(0, equals)));
  const std::string value(trimmed(line.substr(equals + 1)));
  const ParamSpec* spec = find_param(key);
  if (spec != nullptr && !is_picture_param(*spec)) {
    return sentence("a preset never sets '%s', which belongs to stacks of layers", {key});
  }
  if (spec != nullptr && !is_preset_key(key)) {
    return sentence("a preset never sets '%s', which belongs to the computer", {key});
  }
  if (contains(settings, key)) return sentence("'%s' is set twice", {key});
  const Status status = set_param(params, key, value);
  if (status.ok()) settings.emplace_back(key, value);
  return status.message();
}

}  // namespace

Settings BuiltInPreset::settings() const {
  Params params;
  Settings changed, all;
  throw_if_failed(parse_preset(changes, id, changed));
  throw_if_failed(apply_settings(changed, params));
  for (const ParamSpec& spec : param_specs()) {
    if (is_preset_key(spec.key) && !is_noise_level(spec.key)) {
      all.emplace_back(spec.key, param_text(params, spec));
    }
  }
  return all;
}

std::span<const BuiltInPreset> built_in_presets() {
  return kBuiltIn;
}

const BuiltInPreset* find_built_in_preset(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kBuiltIn), std::end(kBuiltIn), [&](const BuiltInPreset& preset) {
        return same_letters(name, preset.id) || same_letters(name, preset.label);
      });
  return found == std::end(kBuiltIn) ? nullptr : found;
}

bool is_preset_key(std::string_view key) {
  const ParamSpec* spec = find_param(key);
  return spec != nullptr && is_picture_param(*spec) && key != "device" && key != "memory";
}

Settings settings_of(const Params& params) {
  Settings settings;
  for (const ParamSpec& spec : param_specs()) {
    if (is_preset_key(spec.key) && param_applies(params, spec.key)) {
      settings.emplace_back(spec.key, param_text(params, spec));
    }
  }
  return settings;
}

// A stack has no Shapiro-Wilk: its presets keep what belongs to no method.
Settings stack_settings(const Settings& settings) {
  const Params own = stack_defaults();
  const bool other_method = std::any_of(settings.begin(), settings.end(), [](const auto& setting) {
    Params params;
    return setting.first == "method" && set_param(params, "method", setting.second).ok() &&
           method_row(params.method).stack == StackWay::kNone;
  });
  Settings known;
  for (const auto& [key, value] : settings) {
    const ParamSpec* spec = find_param(key);
    if (spec == nullptr || !is_stack_param(*spec)) continue;
    const bool of_method = spec->group == ParamGroup::kAdvanced || key == "method";
    known.emplace_back(key, of_method && other_method ? param_text(own, *spec) : value);
  }
  return known;
}

Status apply_settings(const Settings& settings, Params& params) {
  Params changed = params;
  for (const auto& [key, value] : settings) {
    const Status status = set_param(changed, key, value);
    if (!status.ok()) return status;
  }
  if (contains(settings, "sigma") && !contains(settings, "auto-sigma")) changed.auto_sigma = false;
  params = changed;
  return {};
}

bool has_settings(const Params& params, const Settings& settings) {
  Params changed = params;
  return apply_settings(settings, changed).ok() && changed == params;
}

Status parse_preset(std::string_view text, const std::string& source, Settings& settings) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte order mark
  Params params;
  Settings read;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::string why = read_line(line, params, read);
    if (!why.empty()) {
      return {ErrorCode::kBadParameter,
              sentence("%s, line %s: %s", {source, std::to_string(number), why})};
    }
  }
  const Status valid = validate(params);
  if (!valid.ok()) {
    return {ErrorCode::kBadParameter, sentence("%s: %s", {source, valid.message()})};
  }
  settings = std::move(read);
  return {};
}

std::string preset_text(const Settings& settings) {
  std::string text = "# A preset of Grainless. It changes what it names and nothing else.\n";
  for (const auto& [key, value] : settings) text += key + " = " + value + "\n";
  return text;
}

}  // namespace grainless
