// SPDX-License-Identifier: MIT
// What the learned post-filter learns from and is judged by (docs/post-filter.md):
//   grainless-examples CLEAN OUT --sigma S [--noise N] [--seed K]
//   grainless-examples CLEAN OUT --noisy NOISY
// The first adds noise of deviation N, without it S; of the second everything is automatic.
// OUT holds little-endian numbers: int32 height, width, levels; float sigma, the noise's as it is
// to be removed from luma; then float planes of luma, row by row, each divided by sigma: Y (noisy),
// E (the last stage's estimate on the finest level), R (with the coarser levels' low frequencies,
// as it is without the post-filter) and C (clean). Ends with 3 where no luma is filtered.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "engine/boundary/pyramid.h"
#include "engine/cpu/bm3d/bm3d.h"
#include "engine/cpu/frame/pixel_planes.h"
#include "engine/cpu/frame/pyramid.h"
#include "engine/denoise.h"
#include "engine/plan/make_plan.h"
#include "tools/cli/engine_setup.h"
#include "tools/image_io/image_file.h"
#include "tools/noise.h"

namespace grainless::tools {
namespace {

constexpr int kNothingToLearn = 3;

struct Request {
  std::string clean, out, noisy;
  double sigma = 0;
  std::optional<double> noise;
  uint64_t seed = 1;
};

Image read_floats(const std::string& path) {
  return convert(read_image(path), Component::kFloat, path);
}

// Luma of `planes` in units of sigma.
void write_luma(const Planes& planes, float sigma, std::ofstream& file) {
  const Rect& rect = planes.rect();
  for (int32_t y = rect.y; y < rect.bottom(); ++y) {
    for (int32_t x = rect.x; x < rect.right(); ++x) {
      const float value = *planes.at(0, x, y) / sigma;
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
}

// `plan` is without the post-filter.
void write_example(const Plan& plan, float sigma, const Image& noisy, const Image& clean,
                   const std::string& path) {
  ThreadPool pool(1);
  const Callbacks callbacks;
  const Rect rect{0, 0, noisy.width, noisy.height};
  const Planes source = planes_from_pixels(plan, source_tile(noisy.view()), rect, pool);
  Planes estimate(source.channels(), rect), result(source.channels(), rect);
  MethodJob job{&plan.level[0], rect.width, rect.height, &source, &estimate, &pool, &callbacks};
  run_bm3d(job);
  job.target = &result;
  run_levels(plan, job);
  std::ofstream file(path, std::ios::binary);
  const int32_t head[3] = {rect.height, rect.width, pyramid_levels(plan, rect.width, rect.height)};
  file.write(reinterpret_cast<const char*>(head), sizeof head);
  file.write(reinterpret_cast<const char*>(&sigma), sizeof sigma);
  write_luma(source, sigma, file);
  write_luma(estimate, sigma, file);
  write_luma(result, sigma, file);
  write_luma(planes_from_pixels(plan, source_tile(clean.view()), rect, pool), sigma, file);
  if (!file.flush()) throw Error(ErrorCode::kBadInput, "can't write " + path);
}

int run(const Request& request) {
  const Image clean = read_floats(request.clean);
  Image noisy = read_floats(request.noisy.empty() ? request.clean : request.noisy);
  if (noisy.format != clean.format || noisy.width != clean.width || noisy.height != clean.height) {
    throw Error(ErrorCode::kBadInput, request.noisy + " and " + request.clean + " differ in size");
  }
  Params params;
  params.method = static_cast<int32_t>(Method::kBm3d);
  params.quality = static_cast<int32_t>(Quality::kHigh);
  params.auto_sigma = !request.noisy.empty();
  params.sigma = request.sigma;
  if (request.noisy.empty()) add_noise(noisy, request.noise.value_or(params.sigma), request.seed);
  Engine engine(engine_options(1));
  NoiseModel noise;
  throw_if_failed(engine.noise_for(params, noisy.view(), {}, noise, nullptr));
  Plan plan = make_plan(params, noisy.format, noise);
  const float sigma = plan.level[0].post_filter;
  if (!(sigma > 0)) return kNothingToLearn;
  plan.level[0].post_filter = 0;
  write_example(plan, sigma, noisy, clean, request.out);
  return 0;
}

}  // namespace
}  // namespace grainless::tools

int main(int argc, char** argv) {
  using namespace grainless;
  CLI::App app("Examples for the learned post-filter.");
  tools::Request request;
  app.add_option("clean", request.clean)->required();
  app.add_option("out", request.out)->required();
  app.add_option("--noisy", request.noisy);
  app.add_option("--sigma", request.sigma);
  app.add_option("--noise", request.noise);
  app.add_option("--seed", request.seed);
  CLI11_PARSE(app, argc, argv);
  int result = 0;
  const Status status = guard([&] { result = tools::run(request); });
  if (status.ok()) return result;
  std::fprintf(stderr, "grainless-examples: %s\n", status.message().c_str());
  return 1;
}
