// SPDX-License-Identifier: MIT
// What the module says on a computer without a usable card: usage loader_test MODULE. Runs without
// a GPU; with a module built by -Dcuda-faults=true the driver's absence and age are pretended, too.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda/runtime/targets.h"
#include "engine/boundary/abi.h"
#include "engine/boundary/module_version.h"
#include "engine/boundary/status.h"
#include "engine/noise/model.h"
#include "engine/params/params.h"
#include "engine/plan/make_plan.h"
#include "engine/plan/make_volume_plan.h"
#include "engine/sentence.h"

namespace grainless {
namespace {

const AbiBackend* g_table = nullptr;

TEST(Loader, TheTableIsOfThisVersion) {
  EXPECT_EQ(g_table->abi_version, kAbiVersion);
  EXPECT_EQ(g_table->struct_size, sizeof(AbiVersionedBackend));
  EXPECT_EQ(g_table->plan_size, kAbiPlanSize);
  EXPECT_GE(g_table->concurrency, 2u);
  EXPECT_STREQ(reinterpret_cast<const AbiVersionedBackend*>(g_table)->version, GRAINLESS_VERSION);
}

TEST(Loader, ADeviceOrAReason) {
  AbiDevice devices[16] = {};
  uint32_t count = 99;
  AbiMessage message{};
  const int32_t code = g_table->devices(1, devices, 16, &count, &message);
  if (code == 0) {
    ASSERT_GE(count, 1u);
    for (uint32_t i = 0; i < count && i < 16; ++i) {
      EXPECT_NE(devices[i].usable != 0, devices[i].reason[0] != '\0');
    }
    return;
  }
  EXPECT_EQ(code, static_cast<int32_t>(ErrorCode::kDeviceUnavailable));
  EXPECT_EQ(count, 0u);
  EXPECT_NE(std::string(message.text), "");
  AbiSession* session = reinterpret_cast<AbiSession*>(8);
  EXPECT_EQ(g_table->open(0, 0, &session, &message), code);
  EXPECT_EQ(session, nullptr);
}

TEST(Loader, ADeviceThatDoesNotExistIsRefused) {
  AbiSession* session = nullptr;
  AbiMessage message{};
  EXPECT_NE(g_table->open(4711, 0, &session, &message), 0);
  EXPECT_EQ(session, nullptr);
  EXPECT_NE(std::string(message.text), "");
}

TEST(Loader, TileBytesNeedNoDevice) {
  Params params;
  for (const Method method : {Method::kNlm, Method::kBm3d, Method::kSwNlm}) {
    params.method = static_cast<int32_t>(method);
    for (const int32_t channels : {1, 3, 4}) {
      const PixelFormat format{Component::kU8, channels};
      const Plan plan = make_plan(params, format, white_noise(format.colours(), 20));
      uint64_t before = 0;
      for (const int32_t side : {1, 64, 65, 700, 6000}) {
        const uint64_t bytes = g_table->tile_bytes(&plan, side, side);
        EXPECT_GT(bytes, before) << side;
        before = bytes;
      }
    }
  }
}

// More than 2^31 and 2^32 bytes are counted as such.
TEST(Loader, TileBytesAreCountedInSixtyFourBits) {
  Params params;
  for (const Method method : {Method::kNlm, Method::kBm3d, Method::kSwNlm}) {
    params.method = static_cast<int32_t>(method);
    const PixelFormat format{Component::kFloat, 4};
    const Plan plan = make_plan(params, format, white_noise(3, 20));
    const uint64_t small = g_table->tile_bytes(&plan, 1 << 10, 1 << 10);
    for (const int32_t side : {1 << 14, 1 << 15, 1 << 16}) {
      const uint64_t pixels = uint64_t{1} * side * side;
      EXPECT_GT(g_table->tile_bytes(&plan, side, side), small * (pixels >> 20) / 2) << side;
      EXPECT_GT(g_table->tile_bytes(&plan, side, side), pixels * 32) << side;
    }
  }
}

TEST(Loader, SlabBytesNeedNoDeviceAndGrowWithTheSlab) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  for (const int32_t patch : {3, 4, 5}) {
    params.patch = patch;
    for (const int32_t channels : {1, 4}) {
      const PixelFormat format{Component::kU8, channels};
      const NoiseModel noise = white_noise(format.colours(), 20);
      const Plan plan = make_plan(params, format, noise);
      const VolumePlan volume = make_volume_plan(params, 5, format.colours(), noise);
      AbiMessage message{};
      EXPECT_EQ(g_table->supports_volume(&plan, &volume, &message), 0) << message.text;
      uint64_t before = 0;
      for (const int32_t layers : {1, 9, 100, 5000}) {
        const uint64_t bytes = g_table->slab_bytes(&plan, &volume, 640, 480, layers + 12, layers);
        EXPECT_GT(bytes, before + uint64_t{640} * 480 * channels) << layers;
        before = bytes;
      }
    }
  }
}

TEST(Loader, VolumePlansOutOfRangeAreRefused) {
  Params params;
  params.method = static_cast<int32_t>(Method::kNlm);
  const PixelFormat format{Component::kU8, 1};
  const NoiseModel noise = white_noise(1, 20);
  const Plan plan = make_plan(params, format, noise);
  const VolumePlan good = make_volume_plan(params, 2, 1, noise);
  std::vector<VolumePlan> bad(6, good);
  bad[0].nlm.patch = 1;
  bad[1].nlm.patch = kMaxPatch + 1;
  bad[2].nlm.radius = 32;
  bad[3].depth = 0;
  bad[4].depth = kMaxDepth + 1;
  bad[5].layers = 0;
  for (const VolumePlan& volume : bad) {
    AbiMessage message{};
    EXPECT_EQ(g_table->supports_volume(&plan, &volume, &message),
              static_cast<int32_t>(ErrorCode::kBadParameter));
    EXPECT_NE(message.text[0], 0);
  }
}

Plan fourier_plan() {
  Params params;
  params.transform = static_cast<int32_t>(Transform::kDft);
  return make_plan(params, {Component::kU8, 1}, white_noise(1, 20));
}

// A machine with the driver alone has no cuFFT.
TEST(Loader, TheFourierTransformNeedsCufftOrSaysSo) {
  const Plan plan = fourier_plan();
  AbiMessage message{};
  if (g_table->supports(nullptr, &plan, &message) == 0) return;
  EXPECT_EQ(std::getenv("GRAINLESS_TEST_CUFFT"), nullptr) << "one of the versions would do";
  EXPECT_NE(std::string(message.text).find("needs cuFFT"), std::string::npos) << message.text;
}

#ifdef GRAINLESS_CUDA_FAULTS
TEST(Loader, WithoutCufftOnlyTheFourierTransformIsRefused) {
  setenv("GRAINLESS_FAULT", "fft", 1);
  const Plan fourier = fourier_plan(),
             other = make_plan({}, {Component::kU8, 1}, white_noise(1, 20));
  AbiMessage message{};
  EXPECT_EQ(g_table->supports(nullptr, &other, &message), 0);
  EXPECT_EQ(g_table->supports(nullptr, &fourier, &message),
            static_cast<int32_t>(ErrorCode::kUnsupported));
  unsetenv("GRAINLESS_FAULT");
  EXPECT_NE(std::string(message.text).find("needs cuFFT"), std::string::npos) << message.text;
}

std::string why_no_device(const char* fault) {
  setenv("GRAINLESS_FAULT", fault, 1);
  uint32_t count = 0;
  AbiMessage message{};
  const int32_t code = g_table->devices(0, nullptr, 0, &count, &message);
  unsetenv("GRAINLESS_FAULT");
  EXPECT_EQ(code, static_cast<int32_t>(ErrorCode::kDeviceUnavailable));
  return message.text;
}

TEST(Loader, NoDriverAndAnOldOneAreTold) {
  EXPECT_NE(why_no_device("driver=none").find("no NVIDIA driver"), std::string::npos);
  EXPECT_NE(unpacked_sentence(why_no_device("driver=old")).find("too old: it supports CUDA 11.2"),
            std::string::npos);
}
#endif

TEST(Targets, MachineCodeServesItsMajorVersion) {
  const cuda::CodeTargets targets = cuda::parse_targets("75,80,86,90");
  EXPECT_TRUE(cuda::has_code_for(targets, 7, 5));
  EXPECT_TRUE(cuda::has_code_for(targets, 8, 0));
  EXPECT_TRUE(cuda::has_code_for(targets, 8, 9));
  EXPECT_FALSE(cuda::has_code_for(targets, 7, 0));
  EXPECT_FALSE(cuda::has_code_for(targets, 6, 1));
  EXPECT_FALSE(cuda::has_code_for(targets, 12, 0));
}

TEST(Targets, PtxServesWhatComesAfter) {
  const cuda::CodeTargets targets = cuda::parse_targets("75,90+PTX");
  EXPECT_EQ(targets.ptx, 90);
  EXPECT_TRUE(cuda::has_code_for(targets, 12, 0));
  EXPECT_FALSE(cuda::has_code_for(targets, 8, 6));
}

TEST(Targets, NonsenseIsRefused) {
  EXPECT_THROW(cuda::parse_targets("75,x"), Error);
}

}  // namespace
}  // namespace grainless

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc < 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto entry = reinterpret_cast<grainless::AbiEntry>(dlsym(library, grainless::kAbiSymbol));
  if (entry == nullptr) return 1;
  grainless::g_table = entry();
  return RUN_ALL_TESTS();
}
