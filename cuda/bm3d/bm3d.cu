// SPDX-License-Identifier: MIT
// BM3D (Dabov 2007; Lebrun, IPOL 2012): each stage matches, then filters channel after channel and
// turns the sums into its estimate. Scratch a pixel: 2 bytes of match values, 16 of sums, 4 a
// channel of each pilot, and 2 a reference and patch of a group (7 in groups of 32 at step 3).
#include "bm3d.cuh"

#include <algorithm>
#include <cstddef>

#include "cuda/runtime/check.h"
#include "cuda/runtime/fft.h"
#include "cuda/runtime/sizes.h"
#include "dft.cuh"
#include "engine/boundary/bm3d_math.h"
#include "engine/boundary/post_filter.h"
#include "noise_left.cuh"
#include "post_filter.cuh"
#include "stage.cuh"

namespace grainless::cuda {
namespace {

constexpr double kMatchingShare = 0.4;    // of a stage's time
constexpr double kPostFilterCost = 0.03;  // of the time of high's stages

Rect image_of(const MethodJob& job) {
  return {0, 0, job.image_width, job.image_height};
}

int reach_of(const Bm3dStage& stage) {
  return stage.radius + stage.patch - 1;
}

// Pixels that a stage's result in `wanted` depends on.
Rect support_of(const Bm3dStage& stage, const Rect& wanted, const Rect& image) {
  return intersect(expand(wanted, stage.support()), image);
}

// References of one axis whose groups can reach from..to-1: the first one's number, and how many.
void needed_references(int from, int to, int last, const Bm3dStage& stage, int& first, int& count) {
  const int final = (last + stage.step - 1) / stage.step;  // number of the one at `last`
  const int low = std::max(from - reach_of(stage), 0), high = to - 1 + stage.radius;
  first = std::min((low + stage.step - 1) / stage.step, final);
  count = (high >= last ? final : high / stage.step) - first + 1;
}

ReferenceGrid grid_of(const Bm3dStage& stage, const Rect& wanted, const Rect& image) {
  ReferenceGrid grid{};
  grid.step = stage.step;
  grid.last_x = image.width - stage.patch;
  grid.last_y = image.height - stage.patch;
  needed_references(wanted.x, wanted.right(), grid.last_x, stage, grid.column, grid.columns);
  needed_references(wanted.y, wanted.bottom(), grid.last_y, stage, grid.row, grid.rows);
  return grid;
}

// Stages have their own patch sizes, but an image smaller than any of them comes back unchanged.
int largest_patch(const LevelPlan& level) {
  int largest = 0;
  for (int s = 0; s < level.stage_count; ++s) largest = std::max(largest, level.bm3d[s].patch);
  return largest;
}

// A stage's part of the time: as many units as it has references, about.
double cost_of(const Bm3dStage& stage) {
  return (stage.rule == static_cast<int32_t>(GroupRule::kHardThreshold) ? 1.0 : 1.8) /
         (stage.step * stage.step);
}

int pilot_stride(int width) {
  return (width + 31) / 32 * 32;
}

size_t pilot_bytes(int channels, int width, int height) {
  return aligned(sizeof(float) * channels * height * pilot_stride(width));
}

// Where stages keep their estimates, by their numbers: each hard threshold's has a place of its
// own, as later stages match on it; the others', pilots of the next, take turns.
int place_of(const LevelPlan& level, int s) {
  const int hard = level.matched_on(level.stage_count - 1);
  return s <= hard ? s : hard + 1 + (s - hard) % 2;
}

// The first stage that filters what is left of the noise, or the number of stages.
int first_left_stage(const LevelPlan& level) {
  int s = 0;
  while (s < level.stage_count && level.bm3d[s].share == 1) ++s;
  return s;
}

struct Places {
  int pilots, left;  // and the post-filter's estimate; what NoiseLeft needs
};

Places places_of(const LevelPlan& level) {
  int pilots = 0;
  const int kept = level.stage_count - (level.post_filter > 0 ? 0 : 1);
  for (int s = 0; s < kept; ++s) {
    pilots = std::max(pilots, place_of(level, s) + 1);
  }
  return {pilots, first_left_stage(level) < level.stage_count ? 2 : 0};
}

// Of a stage whose support is at most width x height.
struct StageBytes {
  size_t match_plane, groups, sums, dft;
  size_t all() const { return match_plane + groups + sums + dft; }
};

StageBytes stage_bytes(const Bm3dStage& stage, size_t width, size_t height) {
  const size_t references = (width / stage.step + 2) * (height / stage.step + 2);
  return {aligned(sizeof(int16_t) * width * height),
          aligned(sizeof(uint16_t) * references * stage.group),
          aligned(sizeof(PixelSums) * width * height),
          in_fourier_basis(stage) ? dft_scratch_bytes(stage) : 0};
}

void copy_channel(const DevicePlanes& from, const DevicePlanes& to, int c, cudaStream_t stream) {
  const float* source = from.plane(c) + static_cast<size_t>(to.rect.y - from.rect.y) * from.stride +
                        to.rect.x - from.rect.x;
  check(cudaMemcpy2DAsync(to.plane(c), sizeof(float) * to.stride, source,
                          sizeof(float) * from.stride, sizeof(float) * to.rect.width,
                          to.rect.height, cudaMemcpyDeviceToDevice, stream),
        "copying a channel");
}

void run_channel(const StageJob& job, int c, const ProgressSpan& progress) {
  const Rect& rect = job.out.rect;
  cudaStream_t stream = job.method->stream;
  const bool first = job.pilot.data == nullptr;
  if (!(job.stage->shrink[c] > 0)) {
    return copy_channel(first ? job.noisy : job.pilot, job.out, c, stream);
  }
  const int patch = job.stage->patch;
  const bool ridge = job.stage->rule == static_cast<int32_t>(GroupRule::kRidge);
  const bool hadamard = job.stage->transform == static_cast<int32_t>(Transform::kHadamard);
  const bool by_matrices = patch > 8 || (first && (patch < 8 || hadamard));
  size_t bytes = sizeof(PixelSums) * rect.width * rect.height;
  const auto filter = in_fourier_basis(*job.stage) ? filter_stage_dft
                      : ridge                      ? filter_stage_ridge
                      : by_matrices                ? filter_stage_any
                      : first                      ? filter_first_stage
                      : filter_stage_fits(job)     ? filter_stage
                                                   : filter_stage_any;
  const bool of_patches = first || ridge || filter == filter_stage;
  if (of_patches) {
    const Rect map = job.map_rect();
    bytes = sizeof(*job.patch_sums().removed) * rect.width * rect.height +
            sizeof(*job.patch_sums().weight) * map.width * map.height;
  }
  check(cudaMemsetAsync(job.sums, 0, bytes, stream), "clearing sums");
  filter(job, c, progress);
  if (of_patches) {
    const float ratio = first   ? first_stage_sums(*job.stage, c).ratio
                        : ridge ? ridge_sums_ratio(*job.stage, c)
                                : patch_sums_ratio(*job.stage, c);
    return finish_channel_of_patches(job, c, ratio);
  }
  finish_channel(job, c, pixel_sums_ratio(*job.stage, c));
}

}  // namespace

void run_bm3d_stage(StageJob job, void* scratch) {
  const Rect image = image_of(*job.method), &rect = job.matched().rect;
  job.grid = grid_of(*job.stage, job.out.rect, image);
  const StageBytes bytes = stage_bytes(*job.stage, rect.width, rect.height);
  char* at = static_cast<char*>(scratch);
  job.match_plane = reinterpret_cast<int16_t*>(at);
  job.groups = reinterpret_cast<uint16_t*>(at + bytes.match_plane);
  job.sums = reinterpret_cast<PixelSums*>(at + bytes.match_plane + bytes.groups);
  job.dft_scratch = at + bytes.match_plane + bytes.groups + bytes.sums;
  job.limits = device_limits();
  const double span = job.progress.to - job.progress.from;
  job.progress.to = job.progress.from + kMatchingShare * span;
  match_stage(job);
  const double matched = job.progress.to, each = (1 - kMatchingShare) * span / job.out.channels;
  for (int c = 0; c < job.out.channels; ++c) {
    run_channel(job, c, {matched + c * each, matched + (c + 1) * each});
  }
}

size_t bm3d_scratch_bytes(const LevelPlan& level, const LevelSize& size) {
  const auto [channels, width, height] = size;
  size_t stages = 0;
  for (int s = 0; s < level.stage_count; ++s) {
    const StageBytes bytes = stage_bytes(level.bm3d[s], width, height);
    stages = std::max(stages, bytes.all());
  }
  const Places places = places_of(level);
  return stages + (places.pilots + places.left) * pilot_bytes(channels, width, height);
}

void expect_bm3d(const LevelPlan& level, int, const DeviceLimits*) {
  for (int s = 0; s < level.stage_count; ++s) {
    if (in_fourier_basis(level.bm3d[s])) open_fft();
  }
}

void run_bm3d(const MethodJob& job) {
  const LevelPlan& level = *job.level;
  const Rect image = image_of(job);
  if (job.target.rect.empty()) return;
  const float* shrink = level.bm3d[0].shrink;
  const bool filters =
      std::any_of(shrink, shrink + job.target.channels, [](float s) { return s > 0; });
  if (!filters || std::min(image.width, image.height) < largest_patch(level)) {
    for (int c = 0; c < job.target.channels; ++c) {
      copy_channel(job.source, job.target, c, job.stream);
    }
    return;
  }
  Rect wanted[kMaxBm3dStages + 1];  // what a stage reads, and at last the target
  const bool corrected = level.post_filter > 0;
  wanted[level.stage_count] =
      corrected ? intersect(expand(job.target.rect, kPostFilterReach), image) : job.target.rect;
  double all = 0;
  for (int s = level.stage_count - 1; s >= 0; --s) {
    wanted[s] = support_of(level.bm3d[s], wanted[s + 1], image);
    all += cost_of(level.bm3d[s]);
  }
  if (corrected) all *= 1 + kPostFilterCost;
  const LevelSize size{job.source.channels, job.source.rect.width, job.source.rect.height};
  if (!job.source.rect.contains(wanted[0]) || bm3d_scratch_bytes(level, size) > job.scratch_bytes) {
    throw Error(ErrorCode::kInternal, "BM3D was given too few pixels or too little memory");
  }
  const size_t place_bytes = pilot_bytes(size.channels, size.width, size.height);
  const auto planes_at = [&](int place, const Rect& rect) {
    char* const data = static_cast<char*>(job.scratch) + place * place_bytes;
    return DevicePlanes{reinterpret_cast<float*>(data), size.channels, rect,
                        pilot_stride(rect.width)};
  };
  DevicePlanes estimate[kMaxBm3dStages];
  for (int s = 0; s + 1 < level.stage_count; ++s) {
    estimate[s] = planes_at(place_of(level, s), wanted[s + 1]);
  }
  const int last = level.stage_count - 1;
  estimate[last] = corrected ? planes_at(place_of(level, last), wanted[last + 1]) : job.target;
  const auto [pilots, left_places] = places_of(level);
  char* const scratch = static_cast<char*>(job.scratch) + (pilots + left_places) * place_bytes;
  const Rect& first_left = wanted[first_left_stage(level)];
  NoiseLeft left(job.source, planes_at(pilots, first_left), planes_at(pilots + 1, first_left));
  StageJob stage{};
  stage.method = &job;
  for (int s = 0; s < level.stage_count; ++s) {
    stage.stage = &level.bm3d[s];
    const int matched = level.matched_on(s), pilot = level.pilot_of(s);
    if (level.bm3d[s].share < 1) left.leave(estimate[pilot], level.bm3d[s], job.stream);
    stage.noisy = left.picture();
    stage.share = left.share();
    stage.matched_on = matched >= 0 ? estimate[matched] : DevicePlanes{};
    stage.pilot = pilot >= 0 ? estimate[pilot] : DevicePlanes{};
    stage.out = estimate[s];
    stage.progress = {stage.progress.to, stage.progress.to + cost_of(level.bm3d[s]) / all};
    run_bm3d_stage(stage, scratch);
  }
  if (!corrected) return;
  run_post_filter(job, estimate[last], {stage.progress.to, 1});
  for (int c = 1; c < job.target.channels; ++c) {
    copy_channel(estimate[last], job.target, c, job.stream);
  }
}

}  // namespace grainless::cuda
