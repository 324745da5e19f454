// SPDX-License-Identifier: MIT
// The BM3D kernels below the module's boundary: each stage against the double twin on the same
// pilot, both against the CPU backend. Skipped (77) without a device.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/bm3d/bm3d.cuh"
#include "cuda/bm3d/noise_left.cuh"
#include "cuda/bm3d/post_filter.cuh"
#include "cuda/bm3d/stage.cuh"
#include "cuda/frame/method.cuh"
#include "cuda/runtime/check.h"
#include "engine/cpu/bm3d/bm3d.h"
#include "engine/cpu/bm3d/noise_left.h"
#include "engine/cpu/bm3d/post_filter.h"
#include "engine/cpu/bm3d/stage.h"
#include "engine/plan/make_plan.h"
#include "tests/support/bm3d_testing.h"
#include "tests/support/reference_bm3d.h"

namespace grainless {
namespace {

using test::cropped, test::difference, test::Difference, test::high, test::kSigma, test::level_of,
    test::same_bits, test::small_params;

Planes picture(int32_t channels, int32_t width, int32_t height, float sigma = kSigma) {
  return test::bm3d_picture(channels, width, height, sigma, 0.1f);
}

// Planes in device memory.
class Uploaded {
 public:
  Uploaded(int32_t channels, const Rect& rect) {
    planes_ = {nullptr, channels, rect, (rect.width + 31) / 32 * 32};
    const size_t bytes = sizeof(float) * channels * rect.height * planes_.stride;
    cuda::check(cudaMalloc(&planes_.data, bytes), "cudaMalloc");
    cuda::check(cudaMemset(planes_.data, 0xff, bytes), "cudaMemset");  // NaN
  }
  explicit Uploaded(const Planes& from) : Uploaded(from.channels(), from.rect()) {
    for (int32_t c = 0; c < from.channels(); ++c) {
      copy(planes_.plane(c), planes_.stride, from.at(c, from.rect().x, from.rect().y),
           from.stride());
    }
  }
  Uploaded(const Uploaded&) = delete;
  Uploaded& operator=(const Uploaded&) = delete;
  ~Uploaded() { cudaFree(planes_.data); }

  const cuda::DevicePlanes& planes() const { return planes_; }
  Planes download() const {
    Planes to(planes_.channels, planes_.rect);
    for (int32_t c = 0; c < to.channels(); ++c) {
      copy(to.at(c, to.rect().x, to.rect().y), to.stride(), planes_.plane(c), planes_.stride);
    }
    return to;
  }

 private:
  void copy(float* to, size_t to_stride, const float* from, size_t from_stride) const {
    cuda::check(
        cudaMemcpy2D(to, to_stride * sizeof(float), from, from_stride * sizeof(float),
                     planes_.rect.width * sizeof(float), planes_.rect.height, cudaMemcpyDefault),
        "cudaMemcpy2D");
  }

  cuda::DevicePlanes planes_;
};

// A job on poisoned scratch memory.
struct Job {
  Job(const LevelPlan& level, const Uploaded& source, const Uploaded& target, int32_t width,
      int32_t height) {
    const Rect& rect = source.planes().rect;
    job.level = &level;
    job.image_width = width;
    job.image_height = height;
    job.source = source.planes();
    job.target = target.planes();
    job.scratch_bytes =
        cuda::bm3d_scratch_bytes(level, {source.planes().channels, rect.width, rect.height});
    cuda::check(cudaMalloc(&job.scratch, job.scratch_bytes), "cudaMalloc");
    cuda::check(cudaMemset(job.scratch, 0x7f, job.scratch_bytes), "cudaMemset");
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() { cudaFree(job.scratch); }

  cuda::MethodJob job{};
};

Planes filtered(const LevelPlan& level, const Planes& image, const Rect& rect, int32_t width,
                int32_t height) {
  const Uploaded source(image), target(image.channels(), rect);
  const Job job(level, source, target, width, height);
  cuda::run_bm3d(job.job);
  cuda::check(cudaDeviceSynchronize(), "BM3D");
  return target.download();
}

Planes filtered(const LevelPlan& level, const Planes& image) {
  return filtered(level, image, image.rect(), image.rect().width, image.rect().height);
}

Planes one_stage(const LevelPlan& level, int32_t index, const Planes& noisy, const Planes* pilot,
                 const Planes* share = nullptr) {
  const Uploaded source(noisy), target(noisy.channels(), noisy.rect());
  const Uploaded guide(pilot != nullptr ? *pilot : noisy);
  const Uploaded shares(share != nullptr ? *share : noisy);
  const Job job(level, source, target, noisy.rect().width, noisy.rect().height);
  cuda::StageJob stage{};
  stage.method = &job.job;
  stage.stage = &level.bm3d[index];
  stage.noisy = source.planes();
  if (pilot != nullptr) stage.pilot = stage.matched_on = guide.planes();
  if (share != nullptr) stage.share = shares.planes();
  stage.out = target.planes();
  cuda::run_bm3d_stage(stage, job.job.scratch);
  cuda::check(cudaDeviceSynchronize(), "BM3D");
  return target.download();
}

Planes filtered_by_cpu(const LevelPlan& level, const Planes& image) {
  ThreadPool pool(2);
  const Callbacks callbacks;
  Planes result(image.channels(), image.rect());
  run_bm3d({&level, image.rect().width, image.rect().height, &image, &result, &pool, &callbacks});
  return result;
}

void expect_stages_agree(const LevelPlan& level, const Planes& image) {
  test::expect_stages_agree(level, image, [&](int32_t s, const test::StageInputs& inputs) {
    return one_stage(level, s, inputs.noisy, inputs.pilot, inputs.share);
  });
}

TEST(Bm3dCuda, StagesAgreeWithTheTwinForAllPatchesAndTransforms) {
  for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
    for (int32_t transform = 0; transform < 4; ++transform) {
      SCOPED_TRACE(testing::Message() << "patch " << patch << " transform " << transform);
      Params params = small_params(9, patch, (patch + 1) / 2, 8);
      params.transform = transform;
      expect_stages_agree(level_of(params, 1), picture(1, patch + 15, patch + 12));
    }
  }
}

TEST(Bm3dCuda, StagesAgreeWithTheTwinForAllStepsAndGroups) {
  for (int32_t step = 1; step <= 8; ++step) {
    const int32_t group = 1 << (step % 6);
    SCOPED_TRACE(testing::Message() << "step " << step << " group " << group);
    expect_stages_agree(level_of(small_params(7, 8, step, group), 1), picture(1, 29, 26));
  }
}

TEST(Bm3dCuda, StagesAgreeWithTheTwinForSmallAndOddSizes) {
  for (const auto& [width, height] :
       std::vector<std::pair<int, int>>{{8, 8}, {8, 9}, {9, 8}, {11, 31}, {33, 10}, {70, 9}}) {
    SCOPED_TRACE(testing::Message() << width << " x " << height);
    expect_stages_agree(level_of(small_params(63, 8, 3, 32), 1), picture(1, width, height));
  }
}

TEST(Bm3dCuda, StagesAgreeWithTheTwinInColourAndAcrossCells) {
  expect_stages_agree(level_of(small_params(11, 8, 4, 16), 3), picture(3, 45, 38));
  expect_stages_agree(level_of(small_params(5, 4, 4, 16), 1), picture(1, 150, 70));
  expect_stages_agree(level_of(small_params(15, 8, 4, 16), 1, 60), picture(1, 70, 40, 60));
  expect_stages_agree(level_of(small_params(39, 8, 3, 0), 1), picture(1, 93, 81));
  expect_stages_agree(level_of(small_params(9, 12, 5, 32), 3), picture(3, 60, 50));
}

TEST(Bm3dCuda, RidgeAgreesWithTheTwinForAllPatchesAndGroups) {
  for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
    const int32_t group = 1 << (patch % 6);
    SCOPED_TRACE(testing::Message() << "patch " << patch << " group " << group);
    expect_stages_agree(level_of(high(small_params(9, patch, (patch + 1) / 2, group)), 1),
                        picture(1, patch + 15, patch + 12));
  }
  expect_stages_agree(level_of(high(small_params(11, 8, 4, 0)), 3, 4), picture(3, 45, 38, 4));
  expect_stages_agree(level_of(high(small_params(11, 8, 4, 0)), 1, 60), picture(1, 45, 38, 60));
}

// Twelve-bit match values, whose products fill 28 bits.
TEST(Bm3dCuda, StagesAgreeWithTheTwinInHighContrast) {
  Planes image = picture(1, 60, 50);
  for (int32_t y = 0; y < 50; ++y) {
    for (int32_t x = 0; x < 60; ++x) *image.at(0, x, y) += (x / 5 + y / 7) % 3 * 700.0f - 600.0f;
  }
  expect_stages_agree(level_of(small_params(15, 8, 3, 16), 1), image);
  expect_stages_agree(level_of(small_params(15, 3, 2, 16), 1), image);
}

TEST(Bm3dCuda, AgreesWithTheCpu) {
  for (int32_t channels : {1, 3}) {
    for (float sigma : {5.0f, 25.0f, 60.0f}) {
      const Planes image = picture(channels, 256, 200, sigma);
      for (const Params& params : {Params{}, high({})}) {
        const LevelPlan level = level_of(params, channels, sigma);
        const Difference d = difference(filtered(level, image), filtered_by_cpu(level, image));
        EXPECT_GT(d.psnr, 80) << channels << " channels, sigma " << sigma;
        EXPECT_LE(d.largest, 1) << channels << " channels, sigma " << sigma;
      }
    }
  }
}

TEST(Bm3dCuda, AgreesWithTheCpuOnALargePicture) {
  const Planes image = picture(3, 512, 512, 25);
  const LevelPlan level = level_of({}, 3, 25);
  const Difference d = difference(filtered(level, image), filtered_by_cpu(level, image));
  EXPECT_GT(d.psnr, 80);
  EXPECT_LE(d.largest, 1);
  std::printf("CPU and CUDA: %.1f dB, at most %.4f apart\n", d.psnr, d.largest);
}

// The same estimates leave the same noise, to the bit.
TEST(Bm3dCuda, WhatNoiseIsLeftIsTheCpus) {
  ThreadPool pool(2);
  const LevelPlan level = level_of(high({}), 3);
  for (const auto& [width, height] :
       std::vector<std::pair<int, int>>{{175, 60}, {2 * kShareRadius, 41}, {3, 2}}) {
    const Planes noisy = picture(3, width, height);
    const Uploaded source(noisy), left(3, noisy.rect()), shares(3, noisy.rect());
    cuda::NoiseLeft card(source.planes(), left.planes(), shares.planes());
    const Callbacks callbacks;
    NoiseLeft cpu(noisy, pool, callbacks);
    for (int32_t s = 2; s < level.stage_count; ++s) {
      const Planes estimate = picture(3, width, height, 4.0f / static_cast<float>(s));
      cpu.leave(estimate, level.bm3d[s]);
      card.leave(Uploaded(estimate).planes(), level.bm3d[s], nullptr);
      cuda::check(cudaDeviceSynchronize(), "leaving noise");
      EXPECT_TRUE(same_bits(left.download(), cpu.picture(), noisy.rect())) << "stage " << s;
      EXPECT_TRUE(same_bits(shares.download(), *cpu.share(), noisy.rect())) << "stage " << s;
    }
  }
}

Planes post_filtered(const LevelPlan& level, const Planes& noisy, const Planes& estimate,
                     const Rect& rect) {
  const Uploaded source(noisy), before(estimate), target(1, rect);
  Job job(level, source, target, noisy.rect().width, noisy.rect().height);
  cuda::run_post_filter(job.job, before.planes(), {0, 1});
  cuda::check(cudaDeviceSynchronize(), "the post-filter");
  return target.download();
}

// Strips of 58 columns and 128 rows, and pictures that are less than one.
TEST(Bm3dCuda, PostFilterAgreesWithTheTwinAndTheCpu) {
  ThreadPool pool(2);
  const Callbacks callbacks;
  for (const auto& [width, height] :
       std::vector<std::pair<int, int>>{{140, 300}, {58, 128}, {59, 129}, {8, 11}, {1, 2}}) {
    for (float sigma : {2.0f, 25.0f}) {
      const LevelPlan level = level_of(high({}), 1, sigma);
      const Planes noisy = picture(1, width, height, sigma);
      const Planes estimate = picture(1, width, height, 0.3f * sigma);
      const Planes here = post_filtered(level, noisy, estimate, noisy.rect());
      const Difference twin =
          difference(here, test::reference_post_filter(level.post_filter, noisy, estimate));
      Planes there(1, noisy.rect());
      run_post_filter(
          {&noisy, &estimate, &there, width, height, level.post_filter, &pool, &callbacks});
      const Difference cpu = difference(here, there);
      std::printf("%d x %d, sigma %g: twin %.1f dB, at most %.5f; CPU %.1f dB, at most %.5f\n",
                  width, height, sigma, twin.psnr, twin.largest, cpu.psnr, cpu.largest);
      EXPECT_LT(twin.largest, 2e-3 * sigma) << width << " x " << height << ", sigma " << sigma;
      EXPECT_GT(twin.psnr, 110) << width << " x " << height << ", sigma " << sigma;
      EXPECT_LT(cpu.largest, 2e-3 * sigma) << width << " x " << height << ", sigma " << sigma;
      EXPECT_GT(cpu.psnr, 110) << width << " x " << height << ", sigma " << sigma;
      const Rect rect = intersect({width / 3, height / 2, 70, 5}, noisy.rect());
      EXPECT_TRUE(same_bits(here, post_filtered(level, noisy, estimate, rect), rect));
    }
  }
}

// The first stage's estimate on the CPU.
Planes pilot_by_cpu(const LevelPlan& level, const Planes& image) {
  ThreadPool pool(2);
  const Callbacks callbacks;
  const Rect& rect = image.rect();
  return run_bm3d_stage({&level.bm3d[0], rect.width, rect.height, &image, nullptr, nullptr, nullptr,
                         rect, &pool, &callbacks, 0, 1});
}

void expect_same_pilot(const Params& params, int32_t channels, float sigma, int32_t width,
                       int32_t height) {
  const Planes image = picture(channels, width, height, sigma);
  const LevelPlan level = level_of(params, channels, sigma);
  const Planes here = one_stage(level, 0, image, nullptr), cpu = pilot_by_cpu(level, image);
  EXPECT_TRUE(same_bits(here, cpu, image.rect()))
      << channels << " channels, sigma " << sigma << ", at most " << difference(here, cpu).largest;
}

// The second stage matches on it: one bit less, and groups would differ.
TEST(Bm3dCuda, PilotsAreTheCpusToTheBit) {
  for (int32_t channels : {1, 3}) {
    for (float sigma : {0.5f, 5.0f, 15.0f, 50.0f, 100.0f}) {
      expect_same_pilot({}, channels, sigma, 312, 201);
    }
  }
  for (int32_t patch = 2; patch <= kMaxPatch; ++patch) {
    // The Fourier transform is left to libraries, whose last bits differ.
    for (Transform transform :
         {Transform::kBior15, Transform::kDct, Transform::kHaar, Transform::kHadamard}) {
      SCOPED_TRACE(testing::Message()
                   << "patch " << patch << " transform " << static_cast<int32_t>(transform));
      Params params = small_params(13, patch, (patch + 1) / 2, 2 << patch % 5);
      params.transform = static_cast<int32_t>(transform);
      expect_same_pilot(params, 1, 25, 61 + patch, 50);
    }
  }
}

TEST(Bm3dCuda, PlaceAndTimeDoNotMatter) {
  const int32_t width = 210, height = 170;
  for (const auto& [patch, step, channels, quality, transform] :
       std::vector<std::tuple<int, int, int, Quality, Transform>>{
           {8, 3, 3, Quality::kNormal, Transform::kBior15},
           {5, 4, 1, Quality::kNormal, Transform::kBior15},
           {12, 7, 1, Quality::kNormal, Transform::kBior15},
           {8, 0, 3, Quality::kHigh, Transform::kBior15},
           {11, 0, 1, Quality::kHigh, Transform::kBior15},
           {8, 3, 3, Quality::kNormal, Transform::kHadamard},
           {8, 3, 3, Quality::kNormal, Transform::kDft},
           {5, 4, 1, Quality::kNormal, Transform::kDft},
           {11, 7, 1, Quality::kNormal, Transform::kDft}}) {
    Params params = small_params(17, patch, step, 16);
    params.quality = static_cast<int32_t>(quality);
    params.transform = static_cast<int32_t>(transform);
    const LevelPlan level = level_of(params, channels);
    const Planes image = picture(channels, width, height);
    const Planes whole = filtered(level, image);
    for (int32_t run = 0; run < 5; ++run) {
      EXPECT_TRUE(same_bits(whole, filtered(level, image), image.rect()));
    }
    for (const Rect& rect : {Rect{0, 0, 1, 1}, Rect{63, 64, 2, 1}, Rect{1, 5, 130, 66},
                             Rect{100, 33, 110, 137}, Rect{209, 169, 1, 1}, Rect{77, 90, 31, 29}}) {
      const Planes source = cropped(image, intersect(expand(rect, level.reach), image.rect()));
      const Planes part = filtered(level, source, rect, width, height);
      EXPECT_TRUE(same_bits(whole, part, rect)) << rect.x << ' ' << rect.y << ' ' << rect.width;
    }
  }
}

TEST(Bm3dCuda, ConstantImageStaysConstant) {
  for (float value : {0.0f, 0.3f, 128.0f, 255.0f, 900.0f, 3.0e6f}) {
    Planes image(1, {0, 0, 50, 40});
    for (int32_t y = 0; y < 40; ++y) std::fill_n(image.at(0, 0, y), 50, value);
    for (int32_t transform = 0; transform < 4; ++transform) {
      Params params;
      params.transform = transform;
      const Difference d = difference(filtered(level_of(params, 1), image), image);
      EXPECT_LE(d.largest, 2e-5 * value) << value;  // hundreds of float sums, twice
    }
  }
}

TEST(Bm3dCuda, ChannelWithoutStrengthIsCopied) {
  for (int32_t kept : {0, 1}) {
    Params params = small_params(13, 8, 4, 16);
    (kept == 0 ? params.luma : params.chroma) = 0;
    const Planes image = picture(3, 40, 33);
    const Planes result = filtered(level_of(params, 3), image);
    for (int32_t c = 0; c < 3; ++c) {
      const bool copied =
          std::memcmp(result.at(c, 0, 5), image.at(c, 0, 5), 40 * sizeof(float)) == 0;
      EXPECT_EQ(copied, (c == 0) == (kept == 0)) << c;
    }
  }
}

TEST(Bm3dCuda, HighlightsBeyondAllMeasureStayFinite) {
  Planes image = picture(1, 64, 40);
  for (int32_t i = 20; i < 30; ++i) *image.at(0, i, i) = 1e25f;
  const Planes result = filtered(level_of({}, 1), image);
  for (int32_t y = 0; y < 40; ++y) {
    for (int32_t x = 0; x < 64; ++x) EXPECT_TRUE(std::isfinite(*result.at(0, x, y)));
  }
}

TEST(Bm3dCuda, ImageSmallerThanAPatchIsCopied) {
  const Planes image = picture(1, 30, 7);
  EXPECT_TRUE(same_bits(filtered(level_of({}, 1), image), image, image.rect()));
}

TEST(Bm3dCuda, NoiseFallsByAsMuchAsItShould) {
  const Planes clean = picture(1, 96, 96, 0), noisy = picture(1, 96, 96);
  const double before = difference(noisy, clean).psnr;
  EXPECT_GT(difference(filtered(level_of({}, 1), noisy), clean).psnr, before + 7);
}

TEST(Bm3dCuda, CancelIsAnswered) {
  const Planes image = picture(1, 64, 64);
  const LevelPlan level = level_of({}, 1);
  const Uploaded source(image), target(1, image.rect());
  Job job(level, source, target, 64, 64);
  AbiCallbacks callbacks{};
  callbacks.cancelled = [](void*) -> int32_t { return 1; };
  job.job.callbacks = &callbacks;
  try {
    cuda::run_bm3d(job.job);
    ADD_FAILURE() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
}

TEST(Bm3dCuda, MemoryStaysUnderItsBound) {
  EXPECT_LT(cuda::bm3d_scratch_bytes(level_of({}, 1), {1, 2048, 2048}) / (2048.0 * 2048.0), 31);
  EXPECT_LT(cuda::bm3d_scratch_bytes(level_of({}, 3), {3, 2048, 2048}) / (2048.0 * 2048.0), 39);
}

}  // namespace
}  // namespace grainless

int main(int argc, char** argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device\n");
    return 77;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
