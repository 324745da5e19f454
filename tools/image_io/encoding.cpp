// SPDX-License-Identifier: MIT
#include "encoding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "icc_curves.h"
#include "image_file.h"
#include "png_coding.h"
#include "sample.h"

namespace grainless::tools {
namespace {

constexpr int32_t kRows = 16;  // that a thread takes at a time
// Files have gammas of 1/2.8 to 2.2, which is 1/2.2 the wrong way round. Far steeper curves can be
// undone in numbers, and leave no picture.
constexpr double kMostGamma = 5;

// One colour's integers of up to `most`, and the perceptual values between which each is nearest.
class Levels {
 public:
  template <typename Perceptual>
  Levels(int32_t most, const Perceptual& perceptual) {
    for (int32_t i = 0; i <= most; ++i) {
      values_.push_back(static_cast<float>(perceptual(1.0 * i / most)));
      if (i < most) bounds_.push_back(static_cast<float>(perceptual((i + 0.5) / most)));
    }
    first_.resize(kBuckets + 1);
    for (int32_t b = 0; b <= kBuckets; ++b) first_[b] = find(bounds_.begin(), bounds_.end(), at(b));
  }

  float value(int32_t level) const { return values_[level]; }

  int32_t nearest(float value) const {
    if (!(value > values_.front())) return 0;
    if (value >= values_.back()) return static_cast<int32_t>(bounds_.size());
    const double place = (double{value} - values_.front()) / (values_.back() - values_.front());
    const int32_t bucket = std::min(static_cast<int32_t>(place * kBuckets), kBuckets - 1);
    // A bucket more on either side, whatever the rounding of its limits.
    const int32_t left = first_[std::max(bucket - 1, 0)];
    const int32_t right = first_[std::min(bucket + 2, kBuckets)];
    return find(bounds_.begin() + left, bounds_.begin() + right, value);
  }

 private:
  static constexpr int32_t kBuckets = 4096;

  float at(int32_t bucket) const {
    return values_.front() + (values_.back() - values_.front()) * static_cast<float>(bucket) /
                                 static_cast<float>(kBuckets);
  }
  using Bound = std::vector<float>::const_iterator;
  int32_t find(Bound begin, Bound end, float value) const {
    return static_cast<int32_t>(std::upper_bound(begin, end, value) - bounds_.begin());
  }

  std::vector<float> values_, bounds_;
  std::vector<int32_t> first_;  // level at which each bucket begins
};

bool is_integer(Component component) {
  return component == Component::kU8 || component == Component::kU16;
}

bool is_nearly_perceptual(const Encoding& encoding, int32_t colours) {
  constexpr int32_t kSteps = 256;
  for (int32_t c = 0; c < colours; ++c) {
    for (int32_t i = 0; i < kSteps; ++i) {
      const double sample = 1.0 * i / (kSteps - 1);
      if (std::abs(encoding.perceptual_of(c, sample) - sample) > 0.25 / 255) return false;
    }
  }
  return true;
}

// Empty for the perceptual one.
std::vector<ToneCurve> curves_of(const Image& picture, const std::string& path,
                                 std::vector<std::string>& notes) {
  const Metadata& metadata = picture.metadata;
  const auto note = [&](const std::string& why) {
    notes.push_back("'" + path + "': " + why + "; its samples are taken as perceptual (sRGB)");
  };
  const int32_t colours = picture.format.colours();
  if (const std::optional<PngCoding> coding = png_coding(metadata.png_colour_codings)) {
    if (coding->perceptual) return {};
    return std::vector<ToneCurve>(static_cast<size_t>(colours), coding->curve);
  }
  if (!metadata.icc_profile.empty()) {
    IccCurves read = read_icc_curves(metadata.icc_profile, colours);
    if (!read.why.empty()) note("its colour profile " + read.why);
    return std::move(read.curves);
  }
  if (!metadata.png_gamma || metadata.png_srgb_intent) return {};
  const double gamma = *metadata.png_gamma;
  const ToneCurve curve = ToneCurve::power(1 / gamma);
  const bool usual = gamma >= 1 / kMostGamma && gamma <= kMostGamma;
  if (usual && curve.can_be_undone())
    return std::vector<ToneCurve>(static_cast<size_t>(colours), curve);
  note("its gamma makes no sense");
  return {};
}

template <typename Body>
void for_each_row(const Image& image, ThreadPool& pool, const Body& body) {
  pool.parallel_for((image.height - 1) / kRows + 1, [&](int32_t band, int32_t) {
    const int64_t first = int64_t{band} * kRows;
    const auto end = static_cast<int32_t>(std::min<int64_t>(first + kRows, image.height));
    for (auto y = static_cast<int32_t>(first); y < end; ++y) body(y);
  });
}

const float* floats(const Image& image, int32_t y) {
  return reinterpret_cast<const float*>(image.row(y));
}

}  // namespace

// Of 8 and 16 bits; equal curves share theirs.
struct Encoding::Tables {
  std::array<std::shared_ptr<const Levels>, kMaxChannels> bytes, words;

  const Levels* of(Component component, int32_t colour) const {
    if (component == Component::kU8) return bytes[colour].get();
    return component == Component::kU16 ? words[colour].get() : nullptr;
  }
};

Encoding::Encoding(std::vector<ToneCurve> curves) : curves_(std::move(curves)) {
  if (curves_.empty()) return;
  auto tables = std::make_shared<Tables>();
  for (int32_t c = 0; c < static_cast<int32_t>(curves_.size()); ++c) {
    const auto perceptual = [&](double sample) { return perceptual_of(c, sample); };
    tables->bytes[c] = std::make_shared<const Levels>(255, perceptual);
    tables->words[c] = std::make_shared<const Levels>(65535, perceptual);
  }
  tables_ = std::move(tables);
}

Encoding Encoding::of(const Image& picture, const std::string& path,
                      std::vector<std::string>& notes) {
  Encoding encoding(curves_of(picture, path, notes));
  if (is_nearly_perceptual(encoding, picture.format.colours())) encoding = Encoding();
  if (picture.format.has_alpha()) encoding.extra_ = picture.extra;
  return encoding;
}

double Encoding::perceptual_of(int32_t colour, double sample) const {
  return curves_.empty() ? sample : srgb_from_light(curves_[colour].to_light(sample));
}

double Encoding::sample_of(int32_t colour, double perceptual) const {
  if (curves_.empty()) return perceptual;
  return curves_[colour].from_light(light_from_srgb(perceptual));
}

void Encoding::decode_row(const Row& row, const uint8_t* native, float* to) const {
  const Component component = row.format.component;
  const int32_t colours = row.format.colours();
  const bool has_alpha = row.format.has_alpha() && row.extra != Extra::kUnspecified;
  const auto step = static_cast<size_t>(row.format.component_bytes());
  for (int32_t x = 0; x < row.pixels; ++x, native += row.format.pixel_bytes()) {
    double alpha = 1;
    if (has_alpha) alpha = load_sample(native + colours * step, component);
    const double divisor = row.extra == Extra::kPremultiplied && alpha > 0 ? alpha : 1;
    for (int32_t c = 0; c < colours; ++c) {
      const uint8_t* sample = native + c * step;
      if (is_integer(component) && divisor == 1 && tables_ != nullptr) {
        const int32_t level = component == Component::kU8 ? *sample : load_as<uint16_t>(sample);
        *to++ = tables_->of(component, c)->value(level);
      } else {
        *to++ = static_cast<float>(perceptual_of(c, load_sample(sample, component) / divisor));
      }
    }
    if (row.format.has_alpha()) *to++ = static_cast<float>(alpha);
  }
}

void Encoding::encode_row(const Row& row, const float* result, const uint8_t* native,
                          const float* source, uint8_t* to) const {
  const Component component = row.format.component;
  const int32_t colours = row.format.colours(), channels = row.format.channels;
  const auto step = static_cast<size_t>(row.format.component_bytes());
  for (int32_t x = 0; x < row.pixels; ++x, result += channels) {
    const double alpha = row.format.has_alpha() ? double{result[colours]} : 1.0;
    const double factor = row.extra == Extra::kPremultiplied && alpha > 0 ? alpha : 1;
    for (int32_t c = 0; c < channels; ++c, to += step) {
      const size_t at = static_cast<size_t>(x) * channels + c;
      const bool same =
          source != nullptr && std::memcmp(&source[at], &result[c], sizeof(float)) == 0;
      const bool kept = native != nullptr && (c == colours || same);
      if (kept) {
        std::memcpy(to, native + at * step, step);
      } else if (c == colours) {
        store_sample(to, component, alpha);
      } else if (is_integer(component) && factor == 1 && tables_ != nullptr) {
        const int32_t most = component == Component::kU8 ? 255 : 65535;
        store_sample(to, component, 1.0 * tables_->of(component, c)->nearest(result[c]) / most);
      } else {
        store_sample(to, component, sample_of(c, result[c]) * factor);
      }
    }
  }
}

Image Encoding::decode(const Image& native, ThreadPool& pool, const std::string& what) const {
  Image image =
      make_image({Component::kFloat, native.format.channels}, native.width, native.height, what);
  image.metadata = native.metadata;
  const Row row{native.format, native.extra, native.width};
  for_each_row(native, pool, [&](int32_t y) {
    decode_row(row, native.row(y), reinterpret_cast<float*>(image.row(y)));
  });
  return image;
}

Image Encoding::encode(const Image& result, Component component, Extra extra,
                       const std::optional<Kept>& kept, ThreadPool& pool,
                       const std::string& what) const {
  Image image = make_image({component, result.format.channels}, result.width, result.height, what);
  image.extra = extra;
  image.metadata = result.metadata;
  const Row row{image.format, extra, image.width};
  for_each_row(image, pool, [&](int32_t y) {
    encode_row(row, floats(result, y), kept ? kept->native->row(y) : nullptr,
               kept && kept->source != nullptr ? floats(*kept->source, y) : nullptr, image.row(y));
  });
  return image;
}

Image read_perceptual(const std::string& path, ThreadPool& pool, const CancelToken* cancel) {
  Image image = read_image(path, cancel);
  const Encoding encoding = Encoding::of(image, path, image.notes);
  if (encoding.is_perceptual()) return image;
  Image decoded = encoding.decode(image, pool, path);
  decoded.notes = std::move(image.notes);
  return decoded;
}

}  // namespace grainless::tools
