// SPDX-License-Identifier: MIT
// The engine on the CPU: any parameters on a small picture of any format, or on a stack of three.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "drawn.h"
#include "engine/denoise.h"

using namespace grainless;

namespace {

// In a volume every pixel has up to 63 x 63 x 31 neighbours, each with a patch of up to 16 x 16 x
// 16, and the Shapiro-Wilk test sorts each of a picture's: wide windows and large patches are tried
// with few layers and pixels, lest an input costs a minute.
constexpr int32_t kMostSide = 16, kMostVolumeSide = 6, kWideVolumeSide = 2;
constexpr double kMostDifferences = 1e6, kMostSorted = 1e5;  // a pixel

double differences(const Params& params, int32_t depth) {
  const int32_t layers = 2 * depth + 1;
  const double plane = std::pow(params.search, 2) * std::pow(params.patch, 2);
  return plane * layers * std::min(layers, params.patch);
}

int32_t affordable_depth(const Params& params) {
  int32_t depth = params.depth;
  while (depth > 1 && differences(params, depth) > kMostDifferences) --depth;
  return depth;
}

int32_t affordable_side(const Params& params) {
  const bool sorts = params.depth == 0 && params.method == static_cast<int32_t>(Method::kSwNlm);
  if (sorts) return differences(params, 0) > kMostSorted ? kMostVolumeSide : kMostSide;
  const bool volume = params.depth > 0 && params.method == static_cast<int32_t>(Method::kNlm);
  if (!volume) return kMostSide;
  return differences(params, params.depth) > kMostDifferences ? kWideVolumeSide : kMostVolumeSide;
}

Engine& engine() {
  static Engine engine({"", 1});
  return engine;
}

tools::Image blank(const tools::Image& like) {
  return tools::make_image(like.format, like.width, like.height, "result");
}

bool same(const tools::Image& a, const tools::Image& b) {
  return std::memcmp(a.pixels.get(), b.pixels.get(), a.bytes()) == 0;
}

tools::Image denoised(const Params& params, const tools::Image& image, uint8_t memory) {
  const fuzz::FilledMemory filled(memory);
  tools::Image result = blank(image);
  NoiseModel noise;
  Report report;
  Status status = engine().noise_for(params, image.view(), {}, noise, nullptr);
  fuzz::expect(status.ok(), "not measured: " + status.message());
  status = engine().denoise(params, noise, image.view(), result.mutable_view(), {}, report);
  fuzz::expect(status.ok(), "not denoised: " + status.message());
  fuzz::expect(report.changed || same(image, result), "changed, and says that it did not");
  return result;
}

tools::Image denoised_stack(const Params& params, const tools::Image& image, uint8_t memory) {
  const fuzz::FilledMemory filled(memory);
  std::array<tools::Image, 3> results = {blank(image), blank(image), blank(image)};
  const std::array<ConstImage, 3> layers = {image.view(), image.view(), image.view()};
  const std::array<MutableImage, 3> targets = {results[0].mutable_view(), results[1].mutable_view(),
                                               results[2].mutable_view()};
  Report report;
  const Status status = engine().denoise_volume(params, params.depth, layers, targets, {}, report);
  fuzz::expect(status.ok(), "not denoised: " + status.message());
  return std::move(results[1]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  Params params = fuzz::drawn_params(bytes, "cpu");
  params.depth = affordable_depth(params);
  const tools::Image image = fuzz::drawn_picture(bytes, affordable_side(params));
  fuzz::trying(fuzz::text_of(params, image));
  const auto run = params.depth > 0 ? denoised_stack : denoised;
  const tools::Image result = run(params, image, 0x55);
  fuzz::expect_sound(image, result);
  fuzz::expect(same(result, run(params, image, 0xaa)), "other pixels the second time");
  return 0;
}
