// SPDX-License-Identifier: MIT
#include "checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "engine/boundary/pixel_math.h"
#include "engine/boundary/plan.h"
#include "engine/boundary/volume_plan.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"
#include "engine/plan/impulse_plan.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/make_volume_plan.h"
#include "engine/plan/toned_noise.h"
#include "engine/stack.h"

namespace grainless::sweep {
namespace {

using test::TestImage;
using Pictures = std::vector<TestImage>;

// Half a step that rounding may add, and what float's own rounding may.
constexpr double kHalfStep = 0.5, kFloatRounding = 2e-5;
constexpr int64_t kFewValues = 64;
// Ties between equally distant patches are broken in raster order: a few groups of BM3D differ
// between a picture and its transpose. In sigmas, and steps.
constexpr double kTurnedSigmas = 1.0, kTurnedSteps = 0.25;
// Sums in another order. The last bits of a filled pixel, or of a coarse level's, may move its
// match value by one, with which a pair of Shapiro-Wilk's is lost or won, and a card sums up to a
// million terms: then they are compared by the root of the mean square.
constexpr double kTurnedRounding = 1e-3, kTurnedElsewhere = 0.03;
// A bent picture's match value stands for as many more steps, but no curve makes that much.
constexpr double kMostContrast = 10.0;
constexpr double kLeastAgreement = 80.0;  // dB
// Of the samples of one 8-bit picture; of all together: summary() of main.cpp.
// In a small picture of few colours one tie in rounding is many samples.
constexpr double kDifferentShare = 1e-3, kDifferentSamples = 12;
// Where one group of BM3D is much of a picture, so much of it may differ by the group.
constexpr double kSmallPicture = 10;
// The engine's word for a plan that a card in good order can't do.
constexpr char kLeftOut[] = "shared memory is too small";

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// A rectangle of some layers.
struct Box {
  Rect rect;
  int32_t first = 0, layers = 1;
};

class Checker {
 public:
  Checker(const Draw& draw, Engines& engines, Agreement& agreement)
      : draw_(draw),
        engines_(engines),
        agreement_(agreement),
        params_(draw.params),
        input_(pictures_of(draw)),
        random_(static_cast<uint32_t>(draw.seed)) {
    params_.device = engines.device;
  }

  std::vector<Failure> run() {
    if (!measure()) return std::move(failures_);
    result_ = denoised(engines_.tested, params_, input_);
    agreement_.left_out += left_out_;
    if (left_out_ || !failures_.empty()) return std::move(failures_);
    check_report();
    check_pixels();
    check_distance();
    check_constant();
    check_identities();
    check_repeats();
    check_parts();
    check_turned();
    check_agreement();
    return std::move(failures_);
  }

 private:
  void fail(const char* check, const std::string& what) {
    for (const Failure& failure : failures_) {
      if (failure.check == check) return;  // one of a kind
    }
    failures_.push_back({check, what});
  }

  bool volume() const { return draw_.layers > 0; }
  int32_t colours() const { return draw_.format.colours(); }
  bool coarse_levels() const {
    return !volume() && make_plan(params_, draw_.format, noise_).level_count > 1;
  }
  Rect whole() const { return {0, 0, draw_.width, draw_.height}; }
  bool valid(const TestImage& image, int32_t x, int32_t y) const {
    return pixel_is_valid(pixel_at(image.view(), x, y), draw_.format);
  }

  // Whether a pixel's distances mean anything: valid, and of a size that others share.
  bool counts(size_t z, int32_t x, int32_t y) const {
    if (!valid(input_[z], x, y)) return false;
    for (int32_t c = 0; c < colours(); ++c) {
      if (!(std::abs(input_[z].get(x, y, c)) < kFar)) return false;
    }
    return true;
  }

  static std::vector<ConstImage> views(const Pictures& pictures) {
    std::vector<ConstImage> result;
    for (const TestImage& picture : pictures) result.push_back(picture.view());
    return result;
  }

  bool measure() {
    const Status status =
        volume() ? engines_.one.volume_noise(params_, views(input_), {}, noise_, nullptr)
                 : engines_.one.noise_for(params_, input_[0].view(), {}, noise_, nullptr);
    if (!status.ok()) fail("status", status.message());
    if (draw_.bend > 0) noise_.bend = noise_bend(draw_.bend);
    if (draw_.corners > 0) noise_.corners = noise_corners(draw_.corners);
    for (int32_t l = 0; l < noise_.levels; ++l) {
      for (int32_t c = 0; c < noise_.channels; ++c) {
        const double sigma = double{noise_.sigma[l][c]};
        if (!(sigma >= 0 && sigma < 1e4)) fail("estimate", "sigma is " + number(sigma));
      }
    }
    return failures_.empty();
  }

  // The result over a box, from a source that holds no more than was asked for.
  Pictures part(Engine& engine, const Params& params, const Pictures& input, const Box& box) {
    const int32_t width = input[0].width, height = input[0].height;
    const auto count = static_cast<int32_t>(input.size());
    VolumeBox source{{}, 0, 1};
    const LayersShape shape{draw_.format, width, height, count};
    const Status asked = volume()
                             ? engine.volume_source(params, params.depth, noise_, shape,
                                                    {box.rect, box.first, box.layers}, source)
                             : engine.source_rect(params, noise_, shape, box.rect, source.rect);
    if (!asked.ok()) fail("status", asked.message());
    Pictures held, result;
    std::vector<ConstImage> given;
    std::vector<MutableImage> targets;
    for (int32_t z = 0; z < source.layers; ++z) {
      held.emplace_back(draw_.format, source.rect.width, source.rect.height);
      const ConstImage all = input[source.first + z].view();
      copy_pixels(all, {draw_.format, width, height, source.rect, held.back().bytes.data(),
                        held.back().row_bytes});
    }
    for (TestImage& picture : held) {
      given.push_back(
          {draw_.format, width, height, source.rect, picture.bytes.data(), picture.row_bytes});
    }
    for (int32_t z = 0; z < box.layers; ++z) {
      result.emplace_back(draw_.format, width, height, draw_.padding);
    }
    for (TestImage& picture : result) targets.push_back(picture.target(box.rect));
    report_ = {};
    const Status status =
        volume() ? engine.denoise_volume_part(
                       params, params.depth, noise_,
                       {{count, source.first, given}, {count, box.first, targets}}, {}, report_)
                 : engine.denoise(params, noise_, given[0], targets[0], {}, report_);
    if (!status.ok()) fail("status", status.message());
    for (const std::string& fallback : report_.fallbacks) {
      if (fallback.find(kLeftOut) == std::string::npos) {
        fail("fallback", fallback);
      } else {
        left_out_ = true;
      }
    }
    return result;
  }

  Pictures denoised(Engine& engine, const Params& params, const Pictures& input) {
    const Rect all{0, 0, input[0].width, input[0].height};
    return part(engine, params, input, {all, 0, static_cast<int32_t>(input.size())});
  }

  void check_report() {
    report_of_all_ = report_;
    // Of a stack whose picture filter has nothing to do, on the processor.
    const bool mean_alone = volume() && report_.tiles == 0;
    if (!report_.changed) {
      if (report_.note.empty()) fail("report", "nothing changed, and no reason is given");
      if (!same(result_, input_)) fail("report", "it says that nothing changed, and it did");
    } else if (!mean_alone && !report_.device.starts_with(engines_.device)) {
      fail("report", "computed on " + report_.device);
    }
  }

  bool same(const Pictures& a, const Pictures& b) const {
    for (size_t z = 0; z < a.size(); ++z) {
      if (!same_part(a[z], b[z], whole())) return false;
    }
    return true;
  }

  bool same_part(const TestImage& a, const TestImage& b, const Rect& rect) const {
    const size_t bytes = static_cast<size_t>(rect.width) * draw_.format.pixel_bytes();
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      if (std::memcmp(pixel_at(a.view(), rect.x, y), pixel_at(b.view(), rect.x, y), bytes) != 0) {
        return false;
      }
    }
    return true;
  }

  template <typename Body>
  void for_pixels(const Body& body) const {
    for (size_t z = 0; z < input_.size(); ++z) {
      for (int32_t y = 0; y < draw_.height; ++y) {
        for (int32_t x = 0; x < draw_.width; ++x) body(z, x, y);
      }
    }
  }

  // Finite; alpha and what is no number stay; nothing is written beside the pixels.
  void check_pixels() {
    const int32_t channels = draw_.format.channels, bytes = draw_.format.component_bytes();
    int64_t not_finite = 0, unchanged = 0;
    for_pixels([&](size_t z, int32_t x, int32_t y) {
      const auto* in = static_cast<const uint8_t*>(pixel_at(input_[z].view(), x, y));
      const auto* out = static_cast<const uint8_t*>(pixel_at(result_[z].view(), x, y));
      const std::string place = "at " + std::to_string(x) + ',' + std::to_string(y);
      const int32_t alpha = (channels - 1) * bytes;
      if (draw_.format.has_alpha() && std::memcmp(in + alpha, out + alpha, bytes) != 0) {
        fail("alpha", "changed " + place);
      }
      not_finite += !pixel_is_valid(in, {draw_.format.component, colours()});
      unchanged += std::memcmp(in, out, channels * bytes) == 0;
      if (!valid(input_[z], x, y)) {
        filled_ = true;
        if (std::memcmp(in, out, channels * bytes) != 0) fail("left alone", "changed " + place);
        return;
      }
      for (int32_t c = 0; c < colours(); ++c) {
        const float value = result_[z].get(x, y, c);
        if (!std::isfinite(value)) fail("finite", number(value) + " " + place);
        const float size = std::abs(input_[z].get(x, y, c));
        if (!(size < kFar)) continue;
        largest_ = std::max(largest_, size);
        lowest_ = std::min(lowest_, input_[z].get(x, y, c));
        highest_ = std::max(highest_, input_[z].get(x, y, c));
      }
    });
    // Values that stand out beyond measure may be left alone, too.
    const int64_t left_alone = report_of_all_.replaced_pixels;
    if (left_alone < not_finite || left_alone > unchanged) fail("report", "of pixels left alone");
    for (const TestImage& picture : result_) {
      for (int32_t y = 0; y < draw_.height; ++y) {
        const uint8_t* end = picture.bytes.data() + (y + 1) * picture.row_bytes;
        if (std::any_of(end - draw_.padding, end, [](uint8_t b) { return b != 0xa5; })) {
          fail("padding", "written to");
        }
      }
    }
  }

  // Of all channels and levels, as the methods take it.
  double strongest_sigma() const {
    double strongest = 0;
    const PictureNoise& given = noise_;
    const PictureNoise noise =
        param_applies(params_, "shadows") ? toned_noise(params_, given) : given;
    const LayerDifference& between = noise_.stack.between;
    for (int32_t l = 0; l < noise.levels; ++l) {
      for (int32_t c = 0; c < noise.channels; ++c) {
        const double share = c == 0 ? params_.luma : params_.chroma;
        double sigma = double{noise.sigma[l][c]} * noise.strength[c];
        // Layers that don't show the whole of their noise alone are averaged by what they differ
        // by; not where sigma was given.
        if (volume() && between.known && !between.instead) {
          sigma = std::max(sigma, double{between.sigma[l][c]});
        }
        strongest = std::max(strongest, sigma * params_.strength / 100 * share / 100);
      }
    }
    // Of colours as they are, in the tone that is bent most.
    double steepest = 1;
    for (float brightness = 0; brightness <= 255; brightness += kBendStep) {
      const float sigma = noise.sigma[0][0];
      if (sigma > 0) {
        steepest = std::max(steepest, double{sigma_at(noise, 0, brightness) / sigma});
      }
    }
    return strongest * steepest * std::max(1.0, double{in_corners(noise)});
  }

  double quantum() const {
    switch (draw_.format.component) {
      case Component::kU8:
        return 1;
      case Component::kU16:
        return 1.0 / 257;
      case Component::kHalf:
        return std::max(1e-5, double{largest_} / 1024);
      case Component::kFloat:
        break;
    }
    return kFloatRounding * std::max(1.0, double{largest_});
  }

  // The steepest part of the curve over the flattest: how much further rounding in some tones
  // reaches than in others.
  double bend_contrast() const {
    if (volume()) return 1;
    const ToneBend bend = make_plan(params_, draw_.format, noise_).bend;
    if (bend.enabled == 0) return 1;
    float least = bend.to[1] - bend.to[0], most = least;
    for (int32_t i = 1; i < kBendSegments; ++i) {
      least = std::min(least, bend.to[i + 1] - bend.to[i]);
      most = std::max(most, bend.to[i + 1] - bend.to[i]);
    }
    double steepest = 1;
    for (int32_t i = 0; i < kClipSegments && bend.clip.step > 0; ++i) {
      const float rise = bend.clip.to[i + 1] - bend.clip.to[i];
      steepest = std::max(steepest, double{rise / bend.clip.step});
    }
    const double corners = double{in_corners(noise_)};
    return double{most / least} * steepest * std::max(corners, 1 / corners);
  }

  static double root(double squares, int64_t count) {
    return count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0.0;
  }

  // Whether impulses are replaced, which no sigma bounds: not where the picture stays as it is, as
  // one that is smaller than a patch does.
  bool mends() const {
    return report_of_all_.changed && !volume() && impulse_rule(params_, noise_).enabled != 0;
  }

  // What noise is removed from: the input without its impulses.
  Pictures mended() {
    if (!mends()) return input_;
    std::swap(silent_, noise_);
    Pictures pictures = denoised(engines_.tested, params_, input_);
    std::swap(silent_, noise_);
    return pictures;
  }

  // Where noise is weak beside a range of its own, colours far from the middle are left as they
  // are, impulses among them: without noise they are not.
  bool mends_the_same() const {
    const ValueRange noisy = make_plan(params_, draw_.format, noise_).valid;
    const ValueRange silent = make_plan(params_, draw_.format, silent_).valid;
    return noisy.low == silent.low && noisy.high == silent.high;
  }

  // A mean over the few visible pixels of a picture: a single one's patch is filled.
  bool says_nothing(int64_t count) const {
    const auto all = static_cast<int64_t>(input_.size()) * draw_.width * draw_.height;
    return count < kFewValues && 10 * count < all;
  }

  // How many sigma a picture can lose on average. Hard thresholds take up to all of each
  // coefficient that is no larger: 2.7 sigma, of chroma 1.15 times that, and the inverse of
  // bior1.5, which is not orthogonal, makes 1.49 of them. A Wiener filter takes half a sigma at
  // most.
  double most_sigmas() const {
    const bool first =
        param_applies(params_, "stages") && params_.stages == static_cast<int32_t>(Stages::kFirst);
    return first ? 2.7 * 1.15 * 1.49 : 3;
  }

  void check_distance() {
    const bool averages = param_applies(params_, "centre");
    if (averages && params_.centre != static_cast<int32_t>(Centre::kOne)) return check_window();
    silent_ = noise_;
    for (auto& level : silent_.sigma) std::fill(std::begin(level), std::end(level), 0.0f);
    if (mends() && !mends_the_same()) return;
    const Pictures before = mended();
    double squares = 0, led = 0;
    int64_t count = 0;
    for_pixels([&](size_t z, int32_t x, int32_t y) {
      if (!counts(z, x, y)) return;
      for (int32_t c = 0; c < colours(); ++c) {
        const double given = before[z].get(x, y, c), d = double{result_[z].get(x, y, c)} - given;
        const double lift =
            double{led_back(before[z].get(x, y, c), gain_at(gains(), x, y))} - given;
        squares += d * d;
        led += lift * lift;
        ++count;
      }
    });
    if (says_nothing(count)) return;
    const double distance = root(squares, count), sigma = strongest_sigma();
    const double explained = most_sigmas() * sigma + 2 * root(led, count);
    if (!(distance <= explained + kHalfStep + kFloatRounding * largest_)) {
      fail("distance", number(distance) + " steps at sigma " + number(sigma));
    }
  }

  // A hidden pixel that has no visible one near takes part as black.
  bool taken_for_black(int32_t z, int32_t x, int32_t y) const {
    for (int32_t j = y - kFillRadius; j <= y + kFillRadius; ++j) {
      for (int32_t i = x - kFillRadius; i <= x + kFillRadius; ++i) {
        if (whole().contains({i, j, 1, 1}) && valid(input_[z], i, j)) return false;
      }
    }
    return true;
  }

  // Lowest and highest value of a channel in the window round a pixel, filled ones' sources, too;
  // led back, and as bright as they were at that pixel.
  std::pair<float, float> extremes(int32_t z, int32_t x, int32_t y, int32_t c, int32_t radius,
                                   int32_t depth) const {
    float low = std::numeric_limits<float>::max(), high = -low;
    const auto count = static_cast<int32_t>(input_.size());
    const float here = gain_at(gains(), x, y);
    for (int32_t k = std::max(0, z - depth); k <= std::min(count - 1, z + depth); ++k) {
      for (int32_t j = std::max(0, y - radius); j <= std::min(draw_.height - 1, y + radius); ++j) {
        for (int32_t i = std::max(0, x - radius); i <= std::min(draw_.width - 1, x + radius); ++i) {
          const bool visible = valid(input_[k], i, j);
          if (!visible && !taken_for_black(k, i, j)) continue;
          const float brighter = here / gain_at(gains(), i, j);
          const float value = visible ? led_back(brighter * input_[k].get(i, j, c), here) : 0.0f;
          low = std::min(low, value);
          high = std::max(high, value);
        }
      }
    }
    return {low, high};
  }

  // Non-Local Means leaves no pixel outside of what its window holds, unless levels are put
  // together: then it stays near what the picture holds. Luma and chroma with weights of their own,
  // or luma of which some is given back, keep to their own planes' bounds, which is no bound of a
  // colour: left to the distance.
  void check_window() {
    if (colours() == 3 && (params_.luma != params_.chroma || params_.detail > 0)) return;
    const Plan plan = make_plan(params_, draw_.format, noise_);
    const VolumePlan volume_plan =
        volume() ? make_volume_plan(params_, params_.depth, colours(), noise_) : VolumePlan{};
    const LevelPlan& level = plan.level[0];
    const bool nlm = params_.method == static_cast<int32_t>(Method::kNlm);
    const bool levels = coarse_levels();
    int32_t radius = volume() ? volume_plan.nlm.radius
                     : nlm    ? level.nlm.radius
                              : level.sw_nlm.radius;
    if (nlm && !volume() && level.nlm.patchwise != 0) radius += level.nlm.patch;
    radius += kFillRadius;
    if (levels) radius = std::max(draw_.width, draw_.height);
    std::uniform_int_distribution<int32_t> of_x(0, draw_.width - 1), of_y(0, draw_.height - 1);
    std::uniform_int_distribution<int32_t> of_z(0, static_cast<int32_t>(input_.size()) - 1);
    for (int32_t i = 0; i < 12; ++i) {
      const int32_t x = of_x(random_), y = of_y(random_), z = of_z(random_);
      if (!counts(z, x, y)) continue;
      for (int32_t c = 0; c < colours(); ++c) {
        const auto [low, high] = extremes(z, x, y, c, radius, params_.depth);
        const double more = (levels ? high - low : 0) + quantum();
        const float value = result_[z].get(x, y, c);
        if (!(value >= low - more && value <= high + more)) {
          fail("window",
               number(value) + " where the window holds " + number(low) + " to " + number(high));
        }
      }
    }
  }

  GainField gains() const { return field_of(noise_.corners, draw_.width, draw_.height); }

  // What the model's lift makes of a colour value, which is all that happens to a constant. What
  // brightened the value came after what cut its noise off.
  float led_back(float value, float gain) const {
    const bool bends = volume() ? fuses_stack(params_, noise_) : !changes_nothing(params_, noise_);
    const ToneBend bend = make_plan(params_, draw_.format, noise_).bend;
    return bend.enabled && bends ? gain * unclipped(bend.clip, value / gain) : value;
  }

  void check_constant() {
    const auto content = static_cast<Content>(draw_.content);
    const bool constant =
        content == Content::kConstant || content == Content::kBlack || content == Content::kWhite;
    // Over a gain it is none.
    if (!constant || draw_.noise > 0 || draw_.frame != 0 || noise_.corners.enabled != 0) return;
    for_pixels([&](size_t z, int32_t x, int32_t y) {
      if (!counts(z, x, y)) return;
      for (int32_t c = 0; c < colours(); ++c) {
        const float given = input_[z].get(x, y, c), in = led_back(given, 1);
        const float out = result_[z].get(x, y, c);
        const bool exact = draw_.format.component <= Component::kU16 && in == given;
        const double most = exact ? 0.0 : std::max(2e-3, quantum());
        if (!(std::abs(in - out) <= most)) fail("constant", number(in) + " became " + number(out));
      }
    });
  }

  void check_identities() {
    Params none = params_;
    none.strength = 0;
    if (!same(denoised(engines_.one, none, input_), input_)) fail("identity", "strength 0");
    const NoiseModel noise = std::exchange(noise_, white_noise(colours(), 0));
    none = params_;
    none.impulse = static_cast<int32_t>(ImpulseWay::kOff);
    if (!same(denoised(engines_.one, none, input_), input_)) fail("identity", "sigma 0");
    noise_ = noise;
  }

  void check_repeats() {
    if (!report_of_all_.changed) return;
    if (engines_.device != "cpu") {
      if (!same(denoised(engines_.tested, params_, input_), result_)) fail("again", "other bits");
      return;
    }
    if (!same(denoised(engines_.one, params_, input_), result_)) fail("threads", "1 and 2");
    if (!same(denoised(engines_.many, params_, input_), result_)) fail("threads", "5 and 2");
  }

  Box random_box() {
    const auto part = [this](int32_t size) {
      const int32_t first = static_cast<int32_t>(random_() % static_cast<uint32_t>(size));
      const auto rest = static_cast<uint32_t>(size - first);
      return std::pair(first, 1 + static_cast<int32_t>(random_() % rest));
    };
    const auto [x, width] = part(draw_.width);
    const auto [y, height] = part(draw_.height);
    const auto [z, layers] = part(static_cast<int32_t>(input_.size()));
    return {{x, y, width, height}, z, layers};
  }

  void check_parts() {
    if (!report_of_all_.changed) return;
    for (int32_t i = 0; i < 2; ++i) {
      const Box box = random_box();
      const Pictures computed = part(engines_.tested, params_, input_, box);
      for (int32_t z = 0; z < box.layers; ++z) {
        if (same_part(computed[z], result_[box.first + z], box.rect)) continue;
        fail("parts", std::to_string(box.rect.width) + "x" + std::to_string(box.rect.height) +
                          " at " + std::to_string(box.rect.x) + "," + std::to_string(box.rect.y));
      }
    }
  }

  Pictures turned() const {
    Pictures result;
    const int32_t bytes = draw_.format.pixel_bytes();
    for (const TestImage& picture : input_) {
      result.emplace_back(draw_.format, draw_.height, draw_.width, draw_.padding);
      for (int32_t y = 0; y < draw_.height; ++y) {
        for (int32_t x = 0; x < draw_.width; ++x) {
          std::memcpy(pixel_at(result.back().target(), y, x), pixel_at(picture.view(), x, y),
                      bytes);
        }
      }
    }
    return result;
  }

  void check_turned() {
    if (!report_of_all_.changed) return;
    const Pictures other = denoised(engines_.tested, params_, turned());
    double squares = 0, largest = 0;
    int64_t count = 0;
    for_pixels([&](size_t z, int32_t x, int32_t y) {
      if (!counts(z, x, y)) return;
      for (int32_t c = 0; c < colours(); ++c) {
        const double d = double{result_[z].get(x, y, c)} - other[z].get(y, x, c);
        squares += d * d;
        largest = std::max(largest, std::abs(d));
        ++count;
      }
    });
    const double distance = root(squares, count);
    if (!param_applies(params_, "centre")) {
      if (says_nothing(count)) return;
      if (!(distance <= kTurnedSigmas * strongest_sigma() + kTurnedSteps + quantum())) {
        fail("turned", number(distance) + " steps at sigma " + number(strongest_sigma()));
      }
      return;
    }
    if (filled_ || coarse_levels() || engines_.device != "cpu") {
      const double contrast = std::min(bend_contrast(), kMostContrast);
      if (!(distance <= quantum() + kTurnedElsewhere * contrast)) {
        fail("turned", number(distance) + " steps");
      }
    } else if (!(largest <= 1.01 * quantum() + kTurnedRounding)) {
      fail("turned", number(largest) + " steps");
    }
  }

  // How the result differs from another, over all pixels that count but for those of `apart`.
  struct Difference {
    double squares = 0, largest = 0;
    int64_t count = 0, different = 0;
    Rect place;  // the pixel of the largest

    double psnr(double peak) const {
      return squares == 0 ? HUGE_VAL : 20 * std::log10(peak / root(squares, count));
    }
    // `groups`: how many times as much may differ.
    bool agrees(const Draw& draw, double peak, double share, double groups = 1) const {
      if (draw.format.component != Component::kU8) {
        // Of few pixels one half that is rounded the other way is much.
        const bool half = draw.format.component == Component::kHalf;
        if (half && static_cast<double>(different) <= kDifferentSamples && largest <= peak / 1024) {
          return true;
        }
        return psnr(peak) >= kLeastAgreement - 10 * std::log10(groups);
      }
      const double most = std::max(kDifferentSamples, share * static_cast<double>(count));
      return static_cast<double>(different) <= groups * most;
    }
  };

  Difference difference_from(const Pictures& other, const Rect& apart) const {
    Difference result;
    for_pixels([&](size_t z, int32_t x, int32_t y) {
      if (!counts(z, x, y) || !intersect(apart, {x, y, 1, 1}).empty()) return;
      for (int32_t c = 0; c < colours(); ++c) {
        const double d = double{result_[z].get(x, y, c)} - other[z].get(x, y, c);
        if (std::abs(d) > result.largest) result.place = {x, y, 1, 1};
        result.squares += d * d;
        result.largest = std::max(result.largest, std::abs(d));
        result.different += d != 0;
        ++result.count;
      }
    });
    return result;
  }

  bool is_bm3d() const { return params_.method == static_cast<int32_t>(Method::kBm3d); }

  // A coefficient of BM3D that lies at the hard threshold to its last bits is kept by one and
  // dropped by the other: then one group's patches differ. Nothing where that is much of the
  // picture, or goes on from level to level.
  Rect reach_of_group(const Rect& place) const {
    const Plan plan = make_plan(params_, draw_.format, noise_);
    if (plan.level_count > 1) return {};
    const Rect reach = intersect(expand(place, plan.level[0].reach), whole());
    return 4 * reach.area() <= whole().area() ? reach : Rect{};
  }

  void check_agreement() {
    if (engines_.device == "cpu" || !report_of_all_.changed) return;
    Params params = params_;
    params.device = "cpu";
    const Pictures cpu = denoised(engines_.one, params, input_);
    const Difference all = difference_from(cpu, {});
    // Floats go below black, too: the peak is all that the picture spans.
    const double peak = std::max(255.0, double{highest_} - lowest_);
    if (!(all.largest <= 1.001 * peak / 255)) fail("device", number(all.largest) + " steps apart");
    // Rounding flips as many more samples as colours are stretched after it.
    const double share = kDifferentShare * bend_contrast();
    Difference told = all;
    double groups = 1;
    if (is_bm3d() && !all.agrees(draw_, peak, share)) {
      ++agreement_.flipped;
      const Rect apart = reach_of_group(all.place);
      if (apart.empty()) {
        groups = kSmallPicture;
      } else {
        told = difference_from(cpu, apart);
      }
    }
    if (draw_.format.component == Component::kU8) {
      agreement_.samples += told.count;
      agreement_.different += told.different;
    } else {
      agreement_.lowest_psnr = std::min(agreement_.lowest_psnr, told.psnr(peak));
    }
    if (told.agrees(draw_, peak, share, groups)) return;
    fail("device",
         draw_.format.component == Component::kU8
             ? std::to_string(told.different) + " of " + std::to_string(told.count) + " differ"
             : number(told.psnr(peak)) + " dB");
  }

  const Draw& draw_;
  Engines& engines_;
  Agreement& agreement_;
  Params params_;
  NoiseModel noise_;
  NoiseModel silent_;  // the same without noise
  Pictures input_, result_;
  Report report_, report_of_all_;
  bool left_out_ = false, filled_ = false;
  float largest_ = 0, lowest_ = 0, highest_ = 0;
  std::mt19937 random_;
  std::vector<Failure> failures_;
};

}  // namespace

std::vector<Failure> failures_of(const Draw& draw, Engines& engines, Agreement& agreement) {
  return Checker(draw, engines, agreement).run();
}

}  // namespace grainless::sweep
