// SPDX-License-Identifier: MIT
#include "dct_plan.h"

#include <cmath>
#include <vector>

#include "transforms.h"

namespace grainless {
namespace {

constexpr int32_t kPatch = 8;
// By quality, the step of both stages. Six of Set12 at sigma 15, 25 and 50, dB: step 2 31.85, 29.32
// and 25.94; 1 32.14, 29.64 and 26.26; 1 with a second level of resolution, which quality high
// takes, 32.17, 29.72 and 26.47. The first stage alone, step 1: 31.89, 29.34 and 25.95.
constexpr int32_t kStep[3] = {2, 1, 1};
// The same pictures, step 1: lambda 2.6 -0.03 dB, 2.8 +0.01; mu^2 0.55 -0.04, 0.8 +0.01.
constexpr double kLambda = 2.75, kMu = 0.87;
// As in BM3D (bm3d_plan.cpp), chroma takes more.
constexpr double kChromaLambda = 1.15, kChromaMu = 1.1;

}  // namespace

double set_dct_level(LevelPlan& level, const LevelRequest& request) {
  DctPlan& dct = level.dct;
  dct.patch = request.params.patch != 0 ? request.params.patch : kPatch;
  const std::vector<double> matrix = patch_basis(Transform::kDct, dct.patch).forward;
  for (size_t i = 0; i < matrix.size(); ++i) dct.matrix[i] = static_cast<float>(matrix[i]);
  dct.stage_count = kMaxDctStages;
  for (DctStage& stage : dct.stage) stage.step = kStep[request.params.quality];
  for (int32_t c = 0; c < request.channels; ++c) {
    const double sigma = request.sigma[c];
    if (!(sigma > 0)) continue;
    const double lambda = c == 0 ? kLambda : kLambda * kChromaLambda;
    const double mu = c == 0 ? kMu : kMu * kChromaMu;
    dct.stage[0].shrink[c] = static_cast<float>(lambda * sigma);
    dct.stage[1].shrink[c] = static_cast<float>(1 / (mu * sigma));
  }
  level.reach = dct.stage_count * (dct.patch - 1);
  return 1;
}

int32_t dct_smallest(const LevelPlan&) {
  return 1;
}

}  // namespace grainless
