// SPDX-License-Identifier: MIT
#include "nlm.cuh"

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <vector>

#include "cuda/runtime/check.h"
#include "cuda/runtime/launch.h"
#include "cuda/runtime/sizes.h"
#include "kernel.cuh"

namespace grainless::cuda {
namespace {

constexpr int kLargestLead = 16;

// Pixel-displacement pairs that one multiprocessor may get in one launch. The slowest card in reach
// (a GTX 1650: 14 multiprocessors, 64 lanes each for floats and integers at 1.5 GHz) does about 25
// instructions a pair, 4e9 pairs a second and multiprocessor: 16 ms a launch. A desktop's watchdog
// bites after seconds, a cancel waits for two launches.
constexpr double kLaunchPairs = 64e6;

constexpr double kLog2e = 1.4426950408889634;

// The hardware's 2^x gives 0 under x = -126, which is where weights count as nothing. A little
// more, lest what it leaves of 2^-126 be less than that.
constexpr double kLeastPower = -126.0 + 0x1p-16;

// The curve where a step of the distance takes more than all of the powers of two that count:
// distances weigh 1, then one may weigh less, then none weighs anything. Any slope will do that
// puts the last of the first above the top and what comes after the one beneath kLeastPower: from
// 116 to 128. Beside half of it floats are 64 apart, and so are the powers to choose from for the
// one. Of those slopes the largest is taken that makes its power -125: then no weight is more than
// 2^-9, and what is left of one over a sum of weights is a float still (NlmQuotients).
NlmCurve steep_curve(float of_one, float knee) {
  constexpr double kPower = -125, kApart = 64, kEnd = 1 << 30;  // of floats that are 64 apart
  const double between = std::floor(double{knee} / of_one) + 1;
  const float taken = static_cast<float>(between) * of_one - knee;  // as a processor rounds it
  const bool counts = taken <= static_cast<float>(kNlmCutoff * kLog2e);
  const double most = kEnd * between / (std::ldexp(1.0, 23) + between);  // slope * between
  const double least = std::floor((most + kPower) / kApart) * kApart;
  const float slope = static_cast<float>((least - kPower) / between);
  const double lift = counts ? least : least - kApart;
  const double power = lift - slope * between;
  NlmCurve curve{};
  curve.enabled = 1;
  curve.slope = std::ldexp(slope, 24);
  curve.offset = static_cast<float>(std::ldexp(double{slope}, 23) + lift);
  curve.top = static_cast<float>(power + (counts ? taken : slope));
  return curve;
}

// The farthest distance that counts gets a weight just above nothing, so that the next one has
// none. Where half of the slope is so large that floats beside it are as far apart as two
// distances' exponents, `offset` is rounded up by less than that, and all of the curve's weights
// have one more factor.
NlmCurve curve_of(const NlmWeight& weight) {
  if (weight.enabled == 0) return {};
  const double knee = double{weight.noise} * weight.decay * kLog2e;
  const double of_one = double{weight.gain} * weight.decay * kLog2e;
  if (of_one > kNlmCutoff * kLog2e) {
    return steep_curve(static_cast<float>(of_one), static_cast<float>(knee));
  }
  NlmCurve curve{};
  curve.enabled = 1;
  curve.slope = static_cast<float>(std::ldexp(of_one, 24));
  const double half = 0.5 * curve.slope;
  const double farthest = std::floor((kNlmCutoff * kLog2e + knee) / of_one) * of_one;
  const double offset = half + farthest + kLeastPower;
  curve.offset = static_cast<float>(offset);
  if (curve.offset < offset) curve.offset = std::nextafter(curve.offset, FLT_MAX);
  curve.top = static_cast<float>(curve.offset - half - knee);
  return curve;
}

// Strips' rows up to which teams share the passes of rows.cuh: there the card is not full
// otherwise, or rows above a team's own cost much. Their sums take 79 MB in colour, 110 with two
// weights.
constexpr int kMostShared = 4400;

// Cuts the window's rows into chunks of the size that wastes least, the largest of equals.
void cut_displacements(NlmArgs& a) {
  const int side = 2 * a.plan.radius + 1;
  int least = INT_MAX;
  for (int chunk : kNlmChunks) {
    const int padded = ceil_div(side, chunk) * chunk;
    if (padded >= least) continue;
    least = padded;
    a.chunk = chunk;
  }
  a.chunks = least / a.chunk;
  a.groups = a.chunks * side;
}

int weights_of(const NlmPlan& nlm, int channels) {
  return channels == 1 || nlm.joint != 0 ? 1 : 2;
}

// Sums a pixel, of rows.cuh or warp.cuh.
int components_of(const NlmArgs& a, int channels) {
  const int weights = weights_of(a.plan, channels);
  if (a.kind == NlmWalkKind::kPatches) return channels + weights;
  return (a.only_areas() ? 0 : channels) + 2 * weights;
}

int floor_to_quad(int x) {
  return (x >= 0 ? x / 4 : -((3 - x) / 4)) * 4;
}

// What follows from the plan and the target alone; rows and columns are those of the padded planes.
NlmArgs geometry(const NlmPlan& nlm, const Rect& target, NlmWalkKind kind) {
  const bool patches = kind == NlmWalkKind::kPatches;  // sums over patches twice
  const int sums = patches ? 2 : 1;
  NlmArgs a{};
  a.kind = kind;
  a.plan = nlm;
  a.low = nlm.patch / 2;
  a.high = nlm.patch - 1 - a.low;
  const int reach = patches ? nlm.patch - 1 : a.low;
  a.lead = reach <= 4 ? 4 : reach <= 8 ? 8 : kLargestLead;
  a.strip_step = kNlmColumns - 2 * a.lead;
  if (!patches && nlm.radius == kNlmRowRadius) {
    a.chunk = kNlmRowSide;
    a.chunks = 1;
    a.groups = kNlmRowSide;
  } else {
    cut_displacements(a);
  }
  a.quads = ceil_div(kNlmColumns + a.chunks * a.chunk - 1, 4);
  const int first = floor_to_quad(target.x);  // quads stand at absolute multiples of 4
  a.x0 = first - a.lead - a.plan.radius;
  a.y0 = target.y - a.plan.radius - a.low - (patches ? a.high : 0);
  a.strips = ceil_div(target.right() - first, a.strip_step);
  a.columns = (a.strips - 1) * a.strip_step + 4 * a.quads;
  a.rows = target.height + 2 * a.plan.radius + sums * (a.plan.patch - 1);
  a.pitch = (a.columns + 31) / 32 * 32;
  a.anchored = a.plan.radius + a.low >= 3;  // the first of a quad lies in the halo
  a.sums_plane = static_cast<size_t>(kNlmColumns) * a.strips * target.height;
  a.parts = a.by_rows() && a.strips * target.height <= kMostShared ? kNlmPasses : 1;
  return a;
}

struct ScratchLayout {
  size_t match, values, sums, total;  // offsets, bytes

  ScratchLayout(const NlmArgs& a, int channels) {
    const size_t pixels = static_cast<size_t>(a.pitch) * a.rows;
    match = 0;
    values = aligned(pixels * (channels == 3 ? 8 : 4));
    sums = values + aligned(pixels * (a.only_areas() ? 4 : channels == 3 ? 16 : 8));
    size_t planes = a.groups > 1 ? a.sums_plane : 0;
    if (a.by_rows()) {
      // A smaller target needs no more than a larger one.
      constexpr size_t kMost = size_t{kMostShared} * kNlmColumns;
      planes = std::max(planes, kNlmPasses * std::min(planes, kMost));
    }
    total = sums + aligned(components_of(a, channels) * planes * sizeof(float));
  }
};

size_t shared_bytes(const NlmArgs& a, int channels) {
  const int weights = weights_of(a.plan, channels);
  if (a.kind == NlmWalkKind::kPatches) {
    return channels == 1  ? NlmShared<1, 2>::bytes(a)
           : weights == 1 ? NlmShared<3, 4>::bytes(a)
                          : NlmShared<3, 5>::bytes(a);
  }
  return channels == 1  ? NlmShared<1, 3>::bytes(a)
         : weights == 1 ? NlmShared<3, 5>::bytes(a)
                        : NlmShared<3, 7>::bytes(a);
}

// As many warps as `limit` bytes of shared memory hold, evenly spread over the passes. The sums
// don't depend on it.
size_t choose_warps(int channels, size_t limit, NlmArgs& a) {
  const int weights = weights_of(a.plan, channels);
  const bool patches = a.kind == NlmWalkKind::kPatches;
  a.own_rows = NlmRing(3 + (patches ? a.low : 0));  // to the row being finished
  a.history = patches ? a.plan.patch * a.chunk * weights * 32 : 0;
  const int kernel_patch = a.plan.patch % 2 != 0 && a.plan.patch <= 9 ? a.plan.patch : 0;
  for (int most = patches ? nlm_patch_warps(kernel_patch, weights) : kNlmWarps;; --most) {
    a.warps = ceil_div(a.groups, ceil_div(a.groups, most));
    const int dys = std::min(2 * a.plan.radius + 1, (a.warps + 2 * a.chunks - 2) / a.chunks);
    a.value_rows = NlmRing(dys + 1 + (patches ? a.low : 0));
    a.match_rows = NlmRing(dys + a.plan.patch + 1);
    const size_t bytes = shared_bytes(a, channels);
    if (bytes <= limit) return bytes;
    if (most == 1) too_little_shared_memory();
  }
}

// Rows a block such that the blocks fill whole waves of multiprocessors; each block also spends
// about a third of a row's time on each row above its own that its first patches reach into (and,
// patch-wise, nearly a row's on those of patches above it).
// `at_once`: blocks that run at once; `row_pairs`: pairs of a block's row.
int choose_block_rows(const NlmArgs& a, int height, int at_once, double row_pairs) {
  const double extra = (a.plan.patch - 1) * (a.history > 0 ? 1.2 : 1 / 3.0) + 2;
  int best_rows = 1;
  double best = INFINITY;
  for (int count = 1; count <= height; ++count) {
    const int rows = ceil_div(height, count);
    const int waves = ceil_div(a.strips * ceil_div(height, rows), at_once);
    const double time = waves * (rows + extra);
    if (time < best && (rows * row_pairs <= kLaunchPairs || rows == 1)) {
      best = time;
      best_rows = rows;
    }
  }
  return best_rows;
}

// `scratch` is of the walk's own.
NlmArgs make_args(const MethodJob& job, const DevicePlanes& target, NlmWalkKind kind,
                  void* scratch) {
  const NlmPlan& nlm = job.level->nlm;
  NlmArgs a = geometry(nlm, target.rect, kind);
  a.image_width = job.image_width;
  a.image_height = job.image_height;
  a.source = job.source;
  a.target = target;
  a.luma = curve_of(nlm.luma);
  a.chroma = curve_of(nlm.chroma);
  const ScratchLayout layout(a, job.source.channels);
  auto* bytes = static_cast<unsigned char*>(scratch);
  a.match = bytes + layout.match;
  a.values = bytes + layout.values;
  a.sums = reinterpret_cast<float*>(bytes + layout.sums);
  return a;
}

// Of kernels for grey, colour, and colour with two weights.
template <typename Kernels>
const auto& choose(const Kernels& kernels, const NlmArgs& a, int channels) {
  return kernels[channels == 1 ? 0 : weights_of(a.plan, channels)];
}

NlmKernel kernel_for(const NlmArgs& a, int channels) {
  constexpr decltype(&nlm_kernel_grey) kPixels[] = {nlm_kernel_grey, nlm_kernel_colour,
                                                    nlm_kernel_colour_two_weights};
  constexpr decltype(&nlm_kernel_grey) kPatches[] = {nlm_patches_grey, nlm_patches_colour,
                                                     nlm_patches_colour_two_weights};
  const auto& kernels = a.kind == NlmWalkKind::kPatches ? kPatches : kPixels;
  return choose(kernels, a, channels)(a.plan.patch, a.chunk);
}

NlmRows rows_for(const NlmArgs& a, int channels) {
  constexpr decltype(&nlm_rows_grey) kPixels[] = {nlm_rows_grey, nlm_rows_colour,
                                                  nlm_rows_colour_two_weights};
  constexpr decltype(&nlm_rows_grey) kTotals[] = {nlm_totals_grey, nlm_totals_colour,
                                                  nlm_totals_colour_two_weights};
  const auto& kernels = a.kind == NlmWalkKind::kTotals ? kTotals : kPixels;
  return choose(kernels, a, channels)(a.plan.patch);
}

// Where patch-wise means keep the patches' totals: all patches that hold a pixel of the target, and
// what is missing to whole quads.
DevicePlanes inverse_planes(const NlmPlan& nlm, int channels, const Rect& target, void* data) {
  const int extra = nlm.patch - 1, high = extra - nlm.patch / 2;
  const int width = 4 * ceil_div(target.width + extra + 3, 4);
  const Rect rect{floor_to_quad(target.x - high), target.y - high, width, target.height + extra};
  return {static_cast<float*>(data), weights_of(nlm, channels), rect, (width + 31) / 32 * 32};
}

size_t inverse_bytes(const DevicePlanes& planes) {
  return aligned(sizeof(float) * planes.channels * planes.stride * planes.rect.height);
}

void copy_planes(const MethodJob& job) {
  const Rect &from = job.source.rect, &to = job.target.rect;
  for (int c = 0; c < job.target.channels; ++c) {
    const float* first = job.source.plane(c) +
                         static_cast<size_t>(to.y - from.y) * job.source.stride + (to.x - from.x);
    check(cudaMemcpy2DAsync(job.target.plane(c), job.target.stride * sizeof(float), first,
                            job.source.stride * sizeof(float), to.width * sizeof(float), to.height,
                            cudaMemcpyDeviceToDevice, job.stream),
          "copying planes");
  }
}

// A launch's kernel and shape; `blocks` of them are all of a walk, `at_once` a launch.
struct WalkPlan {
  NlmKernel kernel;
  int blocks, at_once, threads;
  size_t shared;
};

// How much one launch may do, in blocks of `pairs`.
int blocks_at_once(double pairs, int processors) {
  return processors * std::max(1, static_cast<int>(kLaunchPairs / pairs));
}

WalkPlan plan_walk(const MethodJob& job, NlmArgs& a) {
  const DeviceLimits limits = device_limits();
  const int height = a.target.rect.height;
  WalkPlan walk{};
  walk.kernel = kernel_for(a, job.source.channels);
  walk.shared = choose_warps(job.source.channels, limits.shared_bytes, a);
  walk.threads = 32 * a.warps;
  const double row_pairs = 1.0 * a.strip_step * a.groups * a.chunk;
  a.block_rows = choose_block_rows(a, height, limits.multiprocessors, row_pairs);
  walk.blocks = a.strips * ceil_div(height, a.block_rows);
  walk.at_once = blocks_at_once(a.block_rows * row_pairs, limits.multiprocessors);
  return walk;
}

// As many teams a block as fit.
int choose_teams(const NlmRows& kernels, const DeviceLimits& limits) {
  const size_t teams = limits.shared_bytes / kernels.team_bytes;
  if (teams == 0) too_little_shared_memory();
  return static_cast<int>(std::min<size_t>(teams, kNlmTeams));
}

// The same by rows.cuh.
WalkPlan plan_rows(const NlmRows& kernels, NlmArgs& a) {
  const DeviceLimits limits = device_limits();
  const int height = a.target.rect.height;
  WalkPlan walk{};
  walk.kernel = kernels.walk;
  a.teams = choose_teams(kernels, limits);
  walk.shared = a.teams * kernels.team_bytes;
  walk.threads = 32 * kNlmTeam * a.teams;
  const int passes = kNlmPasses / a.parts, walks = a.parts * a.strips;
  const int at_once = limits.multiprocessors * a.teams;
  const double row_pairs = 1.0 * a.strip_step * passes * kNlmTeam * kNlmRowSide * a.teams;
  const double pairs = 1.0 * walks * a.line() * row_pairs;
  const int waves = std::max(1, static_cast<int>(std::ceil(pairs / at_once / kLaunchPairs)));
  a.units = std::min(walks * height, waves * at_once);
  walk.blocks = ceil_div(a.units, a.teams);
  walk.at_once = blocks_at_once(pairs / a.units, limits.multiprocessors);
  return walk;
}

// Queues one walk over its target.
void run_walk(const MethodJob& job, NlmArgs a, const ProgressSpan& progress) {
  const NlmRows rows = a.by_rows() ? rows_for(a, job.source.channels) : NlmRows{};
  const WalkPlan walk = a.by_rows() ? plan_rows(rows, a) : plan_walk(job, a);
  nlm_prepare(a, job.stream);
  launch_in_bands(job, {walk.blocks, walk.at_once, progress}, [&](const Band& band) {
    a.first_block = band.first;
    launch("Non-Local Means", walk.kernel, {band.count, walk.threads, walk.shared, job.stream}, a);
  });
  if (a.parts > 1) rows.add_passes(a, job.stream);
}

std::vector<NlmWalkKind> walks_of(const NlmPlan& nlm) {
  if (nlm.patchwise == 0) return {NlmWalkKind::kPixels};
  return {NlmWalkKind::kTotals, NlmWalkKind::kPatches};
}

}  // namespace

size_t nlm_scratch_bytes(const LevelPlan& level, const LevelSize& size) {
  const auto [channels, width, height] = size;
  // The target is no larger than the source, and may start 3 pixels into a quad.
  const NlmPlan& nlm = level.nlm;
  const Rect target{3, 0, width, height};
  const auto walk_bytes = [&](const Rect& of, NlmWalkKind kind) {
    return ScratchLayout(geometry(nlm, of, kind), channels).total;
  };
  if (nlm.patchwise == 0) return walk_bytes(target, NlmWalkKind::kPixels);
  const DevicePlanes inverse = inverse_planes(nlm, channels, target, nullptr);
  const Rect widest{3, 0, inverse.rect.width, inverse.rect.height};
  return inverse_bytes(inverse) + std::max(walk_bytes(widest, NlmWalkKind::kTotals),
                                           walk_bytes(target, NlmWalkKind::kPatches));
}

void expect_nlm(const LevelPlan& level, int channels, const DeviceLimits* limits) {
  if (limits == nullptr) return;
  const NlmPlan& nlm = level.nlm;
  for (const NlmWalkKind kind : walks_of(nlm)) {
    NlmArgs a = geometry(nlm, {0, 0, nlm.patch, nlm.patch}, kind);
    if (a.by_rows()) {
      choose_teams(rows_for(a, channels), *limits);
    } else {
      choose_warps(channels, limits->shared_bytes, a);
    }
  }
}

void run_nlm(const MethodJob& job) {
  constexpr double kTotalsShare = 0.4;  // of the time, patch-wise
  const NlmPlan& nlm = job.level->nlm;
  const Rect& to = job.target.rect;
  if (nlm.luma.enabled == 0 && (nlm.joint != 0 || nlm.chroma.enabled == 0)) return copy_planes(job);
  if (nlm_scratch_bytes(*job.level, {job.source.channels, to.width, to.height}) >
      job.scratch_bytes) {
    throw Error(ErrorCode::kInternal, "NLM: scratch too small");
  }
  if (nlm.patchwise == 0) {
    return run_walk(job, make_args(job, job.target, NlmWalkKind::kPixels, job.scratch), {0.0, 1.0});
  }
  const DevicePlanes inverse = inverse_planes(nlm, job.source.channels, to, job.scratch);
  void* scratch = static_cast<unsigned char*>(job.scratch) + inverse_bytes(inverse);
  run_walk(job, make_args(job, inverse, NlmWalkKind::kTotals, scratch), {0.0, kTotalsShare});
  NlmArgs means = make_args(job, job.target, NlmWalkKind::kPatches, scratch);
  means.inverse = inverse;
  run_walk(job, means, {kTotalsShare, 1.0});
}

}  // namespace grainless::cuda
