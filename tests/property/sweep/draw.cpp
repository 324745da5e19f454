// SPDX-License-Identifier: MIT
#include "draw.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <random>
#include <span>
#include <sstream>

#include "engine/boundary/volume_plan.h"
#include "engine/methods.h"
#include "engine/noise/tone_profile.h"
#include "engine/params/params.h"

namespace grainless::sweep {
namespace {

// The same draws on every system: the standard's distributions are each library's own.
class Dice {
 public:
  explicit Dice(uint64_t seed) : generator_(seed) {}

  bool chance(double share) { return uniform() < share; }
  double uniform() { return std::ldexp(static_cast<double>(generator_() >> 11), -53); }
  int32_t between(int32_t low, int32_t high) {
    return low + static_cast<int32_t>(generator_() % static_cast<uint64_t>(high - low + 1));
  }
  double log_between(double low, double high) {
    return std::exp(std::log(low) + uniform() * (std::log(high) - std::log(low)));
  }

 private:
  std::mt19937_64 generator_;
};

constexpr double kLeastDrawn = 1e-4;
constexpr int32_t kMostLayers = 5;

// A picture costs about width * height * window^2 * a method's price: larger ones are cut.
constexpr double kMostWork = 1e7, kMostVolumeWork = 3e7;

void draw_number(Dice& dice, const ParamSpec& spec, double& value) {
  if (dice.chance(0.35)) return;  // as it was
  if (dice.chance(0.1)) {
    value = dice.chance(0.5) ? spec.minimum : spec.maximum;
  } else if (dice.chance(0.6)) {
    value = dice.log_between(kLeastDrawn, spec.maximum);
  } else {
    value = spec.minimum + dice.uniform() * (spec.maximum - spec.minimum);
  }
  value = std::strtod(std::to_string(value).c_str(), nullptr);  // few digits, on a line
}

void draw_whole_number(Dice& dice, const ParamSpec& spec, Params& params) {
  int32_t& value = params.*std::get<int32_t Params::*>(spec.member);
  if (dice.chance(0.4)) return;
  const int32_t before = value;
  const auto low = static_cast<int32_t>(spec.minimum), high = static_cast<int32_t>(spec.maximum);
  for (int32_t i = 0; i < 60; ++i) {
    value = dice.chance(0.2) ? (dice.chance(0.5) ? low + 2 : high - 1 + dice.between(0, 1))
                             : dice.between(low, high);
    if (validate(params).ok()) return;
  }
  value = before;
}

void draw_params(Dice& dice, Params& params) {
  for (const ParamSpec& spec : param_specs()) {
    const std::string_view key = spec.key;
    if (key == "memory" || key == "depth") continue;  // the checks' own; draw_volume()
    switch (spec.type) {
      case ParamType::kChoice:
        if (key != "method" && key != "quality" && dice.chance(0.3)) break;
        params.*std::get<int32_t Params::*>(spec.member) =
            dice.between(0, static_cast<int32_t>(spec.choices.size()) - 1);
        break;
      case ParamType::kBool:
        params.*std::get<bool Params::*>(spec.member) = dice.chance(0.15);
        break;
      case ParamType::kDouble:
        draw_number(dice, spec, params.*std::get<double Params::*>(spec.member));
        break;
      case ParamType::kInt:
        draw_whole_number(dice, spec, params);
        break;
      case ParamType::kString:
        break;
    }
  }
  // As the table orders them, step comes after patch, whose limit it has.
  if (!validate(params).ok()) params.step = 0;
  if (dice.chance(0.5)) params.detail = 0;
  if (dice.chance(0.7)) params.shadows = params.highlights = 100;
}

int32_t draw_side(Dice& dice) {
  if (dice.chance(0.2)) return dice.between(1, 9);
  if (dice.chance(0.04)) return dice.between(100, 300);
  return static_cast<int32_t>(dice.log_between(6, 70));
}

double work_of(const Draw& draw) {
  const Params& p = draw.params;
  const double search = p.search != 0 ? p.search : 25, patch = p.patch != 0 ? p.patch : 6;
  double work = 1.0 * draw.width * draw.height * search * search;
  if (p.method == static_cast<int32_t>(Method::kSwNlm)) work *= patch * patch / 8;
  if (p.method == static_cast<int32_t>(Method::kDct)) {
    work = 1.0 * draw.width * draw.height * patch * patch * patch;
  }
  if (p.method == static_cast<int32_t>(Method::kBm3d)) {
    const double step = p.step != 0 ? p.step : 3;
    work *= (1 + patch * patch / 100) * std::max(1.0, 9 / (step * step));
  }
  // Of a volume, also in each layer that a patch reaches; a block's rows cost something by
  // themselves.
  if (draw.layers > 0) {
    work = search * search * (p.depth + 0.5) * (draw.layers + patch) *
           std::max(1500.0, 1.0 * draw.width * draw.height);
  }
  return work;
}

void draw_volume(Dice& dice, Draw& draw) {
  if (method_row(draw.params.method).stack == StackWay::kNone || !dice.chance(0.3)) return;
  draw.layers = dice.between(1, kMostLayers);
  draw.params.depth = dice.chance(0.2) ? kMaxDepth : dice.between(1, 4);
}

void draw_picture(Dice& dice, Draw& draw) {
  draw.width = draw_side(dice);
  draw.height = draw_side(dice);
  while (draw.layers > 0 && work_of(draw) > kMostVolumeWork) {
    int32_t& search = draw.params.search;
    if (search == 0 || search > 5) {
      search = search == 0 ? 11 : search / 4 * 2 + 1;
    } else if (draw.params.depth > 1) {
      draw.params.depth /= 2;
    } else {
      break;
    }
  }
  while (work_of(draw) > (draw.layers > 0 ? kMostVolumeWork : kMostWork) &&
         std::max(draw.width, draw.height) > 8) {
    (draw.width > draw.height ? draw.width : draw.height) /= 2;
  }
  draw.format = {static_cast<Component>(dice.between(0, 3)), dice.between(1, 4)};
  draw.padding = dice.chance(0.3) ? 4 * dice.between(1, 5) : 0;
  if (dice.chance(0.6)) draw.content = dice.between(0, static_cast<int32_t>(Content::kNoise));
  if (draw.format.has_alpha()) draw.alpha = dice.between(0, static_cast<int32_t>(Alpha::kClear));
  const bool floats = draw.format.component >= Component::kHalf;
  if (floats && dice.chance(0.3)) draw.range = dice.between(1, static_cast<int32_t>(kLastDrawn));
  if (floats && dice.chance(0.25)) draw.spoiled = dice.between(1, 12);
  if (draw.range == 0 && dice.chance(0.2)) draw.bend = dice.between(1, 100);
  if (dice.chance(0.5)) {
    draw.noise = draw.params.sigma;
  } else if (dice.chance(0.5)) {
    draw.noise = std::strtod(std::to_string(dice.log_between(1e-3, 60)).c_str(), nullptr);
  }
  // Nothing but noise shows a gain.
  const bool shows = draw.noise >= 0.3 && draw.params.sigma >= 0.3;
  if (shows && draw.range == 0 && dice.chance(0.3)) {
    draw.corners = dice.between(1, 100);
  }
}

// These are drawn last: what was drawn before there were any stays.
void draw_frame(Dice& dice, Draw& draw) {
  if (dice.chance(0.2)) draw.frame = dice.between(1, static_cast<int32_t>(Frame::kColour));
}

void draw_toning(Dice& dice, Draw& draw) {
  if (dice.chance(0.1)) draw.toning = dice.between(1, static_cast<int32_t>(Toning::kSepia));
}

float fraction(int32_t x, int32_t size) {
  return size > 1 ? static_cast<float>(x) / static_cast<float>(size - 1) : 0.5f;
}

// Discs on a ramp, textured bands.
class Photograph {
 public:
  explicit Photograph(Dice& dice) {
    for (Disc& disc : discs_) {
      disc = {static_cast<float>(dice.uniform()),
              static_cast<float>(dice.uniform()),
              static_cast<float>(0.05 + 0.3 * dice.uniform()),
              {static_cast<float>(dice.uniform()), static_cast<float>(dice.uniform()),
               static_cast<float>(dice.uniform())}};
    }
  }

  float at(const Draw& draw, int32_t x, int32_t y, int32_t c) const {
    const float u = fraction(x, draw.width), v = fraction(y, draw.height);
    float value = 0.2f + 0.4f * u + 0.2f * v * static_cast<float>(c);
    for (const Disc& disc : discs_) {
      if (std::hypot(u - disc.u, v - disc.v) < disc.radius) value = disc.tint[c];
    }
    if (v > 0.7f) {
      value +=
          0.08f * std::sin(0.9f * static_cast<float>(x)) * std::sin(0.6f * static_cast<float>(y));
    }
    return std::clamp(value, 0.0f, 1.0f);
  }

 private:
  struct Disc {
    float u, v, radius, tint[3];
  };
  Disc discs_[9];
};

// 0..1
float content_at(const Draw& draw, const Photograph& photograph, Dice& dice, int32_t x, int32_t y,
                 int32_t c) {
  switch (static_cast<Content>(draw.content)) {
    case Content::kPhotograph:
      return photograph.at(draw, x, y, c);
    case Content::kConstant:
      return 0.3f + 0.17f * static_cast<float>(c);
    case Content::kBlack:
      return 0;
    case Content::kWhite:
      return 1;
    case Content::kGradient:
      return 0.5f * (fraction(x, draw.width) + fraction(y, draw.height));
    case Content::kCheckerboard:
      return static_cast<float>((x + y + (c == 1 ? x : 0)) % 2);
    case Content::kPixel:
      return x == draw.width / 2 && y == draw.height / 2 ? 1.0f : 0.1f;
    case Content::kLines:
      return x % 5 == 0 || (y + c) % 7 == 0 ? 0.0f : 1.0f;
    case Content::kNoise:
      return static_cast<float>(dice.uniform());
  }
  return 0;
}

// A sixth of the picture's sides at each of its four.
bool is_framed(const Draw& draw, int32_t x, int32_t y) {
  const int32_t left = draw.width / 6, top = draw.height / 6;
  return draw.frame != 0 &&
         (x < left || x >= draw.width - left || y < top || y >= draw.height - top);
}

float frame_at(const Draw& draw, int32_t c) {
  if (draw.frame == static_cast<int32_t>(Frame::kBlack)) return 0;
  return draw.frame == static_cast<int32_t>(Frame::kWhite) ? 1 : 0.2f * static_cast<float>(c + 1);
}

// The colour that a value of grey gets. Sepia's red and green reach white before blue.
float toned(Toning toning, float grey, int32_t c) {
  constexpr float kScaled[] = {1, 0.85f, 0.65f}, kSepia[] = {1.351f, 1.203f, 0.937f};
  if (toning == Toning::kScaled) return kScaled[c] * grey;
  return toning == Toning::kSepia ? std::min(kSepia[c] * grey, std::max(grey, 255.0f)) : grey;
}

float ranged(const Draw& draw, float value) {
  switch (static_cast<Range>(draw.range)) {
    case Range::kUsual:
      return 255 * value;
    case Range::kWide:
      return 255 * (kMostWhite * value - (1 - value));
    case Range::kTiny:
      return 1e-40f * value;
    case Range::kFar:
      return 255 * value;
  }
  return value;
}

float alpha_at(const Draw& draw, Dice& dice, int32_t x, int32_t y) {
  switch (static_cast<Alpha>(draw.alpha)) {
    case Alpha::kOpaque:
      return 255;
    case Alpha::kHoles:
      return x / 5 % 3 == 1 && y / 4 % 2 == 1 ? 0.0f : 255.0f;
    case Alpha::kMixed:
      return dice.chance(0.2) ? 0.0f : static_cast<float>(dice.between(1, 255));
    case Alpha::kClear:
      return 0;
  }
  return 255;
}

// Sum of uniform numbers: normal enough, and the same everywhere.
float normal(Dice& dice) {
  double sum = -6;
  for (int32_t i = 0; i < 12; ++i) sum += dice.uniform();
  return static_cast<float>(sum);
}

void spoil(const Draw& draw, Dice& dice, test::TestImage& image) {
  constexpr float kNone[] = {std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity()};
  for (int32_t i = 0; i < draw.spoiled; ++i) {
    image.set(dice.between(0, draw.width - 1), dice.between(0, draw.height - 1),
              dice.between(0, draw.format.channels - 1), kNone[dice.between(0, 2)]);
  }
}

// Values from what a float picture's highlights may be to the largest that are numbers.
void add_far(const Draw& draw, Dice& dice, test::TestImage& image) {
  if (draw.range != static_cast<int32_t>(Range::kFar)) return;
  const double most = draw.format.component == Component::kHalf ? 60000 : 1e36;
  for (int32_t i = dice.between(1, 3); i > 0; --i) {
    const double value = 255 * dice.log_between(5e3, most) * (dice.chance(0.3) ? -1 : 1);
    image.set(dice.between(0, draw.width - 1), dice.between(0, draw.height - 1),
              dice.between(0, draw.format.colours() - 1), static_cast<float>(value));
  }
}

void tone(const Draw& draw, int32_t x, int32_t y, test::TestImage& image) {
  const auto toning = static_cast<Toning>(draw.toning);
  if (toning == Toning::kNone || draw.format.colours() != 3) return;
  const float grey = image.get(x, y, 0);
  for (int32_t c = 0; c < 3; ++c) image.set(x, y, c, toned(toning, grey, c));
}

test::TestImage picture_of(const Draw& draw, int32_t layer) {
  Dice fixed(static_cast<uint64_t>(draw.seed)), dice(static_cast<uint64_t>(draw.seed) + 77 * layer);
  const Photograph photograph(fixed);
  test::TestImage image(draw.format, draw.width, draw.height, draw.padding);
  for (int32_t y = 0; y < draw.height; ++y) {
    for (int32_t x = 0; x < draw.width; ++x) {
      for (int32_t c = 0; c < draw.format.colours(); ++c) {
        const float value = ranged(draw, content_at(draw, photograph, dice, x, y, c));
        const float noise = draw.noise > 0 ? static_cast<float>(draw.noise) * normal(dice) : 0;
        const bool framed = is_framed(draw, x, y);
        image.set(x, y, c, framed ? ranged(draw, frame_at(draw, c)) : value + noise);
      }
      tone(draw, x, y, image);
      if (draw.format.has_alpha()) {
        image.set(x, y, draw.format.channels - 1, alpha_at(draw, dice, x, y));
      }
    }
  }
  add_far(draw, dice, image);
  spoil(draw, dice, image);
  return image;
}

constexpr const char* kComponents[] = {"u8", "u16", "half", "float"};
constexpr const char* kContents[] = {"photograph",   "constant", "black", "white", "gradient",
                                     "checkerboard", "pixel",    "lines", "noise"};
constexpr const char* kRanges[] = {"usual", "wide", "tiny", "far"};
constexpr const char* kAlphas[] = {"opaque", "holes", "mixed", "clear"};
constexpr const char* kFrames[] = {"none", "black", "white", "colour"};
constexpr const char* kTonings[] = {"none", "equal", "scaled", "sepia"};

// The words of a draw beside its parameters.
struct Word {
  const char* key;
  int32_t (*get)(const Draw&);
  void (*set)(Draw&, int32_t);
  std::span<const char* const> names;  // none: a number from low to high
  int32_t low = 0, high = 0;
};

#define GRAINLESS_WORD(member)                                  \
  [](const Draw& d) { return static_cast<int32_t>(d.member); }, \
      [](Draw& d, int32_t v) { d.member = static_cast<decltype(d.member)>(v); }
const Word kWords[] = {
    {"width", GRAINLESS_WORD(width), {}, 1, 4096},
    {"height", GRAINLESS_WORD(height), {}, 1, 4096},
    {"layers", GRAINLESS_WORD(layers), {}, 0, 64},
    {"format", GRAINLESS_WORD(format.component), kComponents},
    {"channels", GRAINLESS_WORD(format.channels), {}, 1, 4},
    {"padding", GRAINLESS_WORD(padding), {}, 0, 64},
    {"content", GRAINLESS_WORD(content), kContents},
    {"range", GRAINLESS_WORD(range), kRanges},
    {"alpha", GRAINLESS_WORD(alpha), kAlphas},
    {"frame", GRAINLESS_WORD(frame), kFrames},
    {"toning", GRAINLESS_WORD(toning), kTonings},
    {"spoiled", GRAINLESS_WORD(spoiled), {}, 0, 1000},
    {"bend", GRAINLESS_WORD(bend), {}, 0, 100},
    {"corners", GRAINLESS_WORD(corners), {}, 0, 100},
    {"seed", GRAINLESS_WORD(seed), {}, 0, std::numeric_limits<int32_t>::max()},
};
#undef GRAINLESS_WORD

bool set_word(Draw& draw, const Word& word, std::string_view value) {
  for (size_t i = 0; i < word.names.size(); ++i) {
    if (value == word.names[i]) return word.set(draw, static_cast<int32_t>(i)), true;
  }
  int32_t number = 0;
  const auto end = std::from_chars(value.data(), value.data() + value.size(), number);
  if (!word.names.empty() || end.ec != std::errc() || end.ptr != value.data() + value.size() ||
      number < word.low || number > word.high) {
    return false;
  }
  word.set(draw, number);
  return true;
}

bool set_key(Draw& draw, std::string_view key, std::string_view value, std::string& why) {
  if (key == "grain") {
    const std::string text(value);
    char* end = nullptr;
    draw.noise = std::strtod(text.c_str(), &end);
    if (end != text.c_str() + text.size() || !(draw.noise >= 0)) why = "grain takes a number";
    return why.empty();
  }
  for (const Word& word : kWords) {
    if (key != word.key) continue;
    if (!set_word(draw, word, value)) why = std::string(key) + " can't be " + std::string(value);
    return why.empty();
  }
  why = set_param(draw.params, key, value).message();
  return why.empty();
}

Draw plain_draw() {
  Draw draw;
  draw.params.auto_sigma = false;
  return draw;
}

std::string number_text(double value) {
  char text[32];
  return {text, std::to_chars(std::begin(text), std::end(text), value).ptr};
}

}  // namespace

Draw make_draw(uint64_t seed) {
  Dice dice(seed);
  Draw draw = plain_draw();
  draw_params(dice, draw.params);
  draw_volume(dice, draw);
  draw_picture(dice, draw);
  draw.seed = dice.between(1, 1000000);
  draw_frame(dice, draw);
  draw_toning(dice, draw);
  return draw;
}

std::string text_of(const Draw& draw) {
  const Draw plain = plain_draw();
  std::string text;
  const auto add = [&text](std::string_view key, const std::string& value) {
    text += (text.empty() ? "" : " ") + std::string(key) + "=" + value;
  };
  for (const ParamSpec& spec : param_specs()) {
    const std::string value = param_text(draw.params, spec);
    if (value != param_text(plain.params, spec)) add(spec.key, value);
  }
  for (const Word& word : kWords) {
    const int32_t value = word.get(draw);
    if (value == word.get(plain)) continue;
    add(word.key, word.names.empty() ? std::to_string(value) : word.names[value]);
  }
  if (draw.noise != plain.noise) add("grain", number_text(draw.noise));
  return text;
}

std::optional<Draw> parse(std::string_view text, std::string& why) {
  Draw draw = plain_draw();
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      why = "'" + word + "' is no key=value";
      return std::nullopt;
    }
    if (!set_key(draw, word.substr(0, equals), word.substr(equals + 1), why)) return std::nullopt;
  }
  why = validate(draw.params).message();
  if (why.empty() && (draw.params.depth > 0) != (draw.layers > 0)) {
    why = "depth and layers come together";
  }
  if (!why.empty()) return std::nullopt;
  return draw;
}

CornerGain noise_corners(int32_t corners) {
  if (corners == 0) return {};
  const auto all = static_cast<float>(std::expm1(-1.1 + 0.027 * corners));
  return {1, 0.25f * all, 0.75f * all};
}

// Leads up to `most` steps and, beyond white, some more.
ClipCurve both_ends(float most) {
  constexpr float kWhite = 255, kStep = kWhite / (kClipSegments - 2), kReach = 64;
  const auto change = [&](float to_end) {
    const float share = std::max(0.0f, 1 - to_end / kReach);
    return most * share * share;
  };
  ClipCurve curve{.step = kStep};
  for (int32_t i = 0; i < kClipSegments; ++i) {
    const float value = static_cast<float>(i) * kStep;
    curve.to[i] = std::min(value - change(value) + change(kWhite - value), kWhite + kStep);
  }
  curve.to[kClipSegments] = kClipSegments * kStep;
  return curve;
}

ToneBend noise_bend(int32_t bend) {
  if (bend == 0) return {};
  ToneProfile profile;
  for (int32_t k = 0; k < kProfileKnots; ++k) {
    profile.log_sigma[k] = kMostDeviation * (1 - 2.0 * k / (kProfileKnots - 1));
  }
  ToneBend result = bend_of(profile, 0.01 * bend);
  if (bend % 2 != 0) return result;
  result.clip.step = 0.01f * static_cast<float>(bend);
  for (int32_t i = 0; i <= kClipSegments; ++i) {
    const auto share = static_cast<float>(i) / kClipSegments;
    result.clip.to[i] = static_cast<float>(i) * result.clip.step * share;
  }
  if (bend % 4 != 0) return result;
  ToneBend even;  // noise that needs no bend, cut off at black or at both ends
  even.clip = bend % 8 != 0 ? result.clip : both_ends(0.08f * static_cast<float>(bend));
  return even;
}

std::vector<test::TestImage> pictures_of(const Draw& draw) {
  std::vector<test::TestImage> pictures;
  for (int32_t z = 0; z < std::max(draw.layers, 1); ++z) pictures.push_back(picture_of(draw, z));
  return pictures;
}

}  // namespace grainless::sweep
