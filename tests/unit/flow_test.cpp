// SPDX-License-Identifier: MIT
// A picture that comes in, is denoised and goes out at once: the pixels of the whole run, and ends
// that leave nobody waiting.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/denoise.h"
#include "engine/row_flow.h"
#include "tests/support/system.h"
#include "tests/support/test_images.h"

namespace grainless {
namespace {

using std::chrono::milliseconds;
using test::noisy_picture;
using test::TestImage;

constexpr milliseconds kTick(20), kPatience(20'000);

uint8_t* row_of(TestImage& image, int32_t y) {
  return image.bytes.data() + ptrdiff_t{y} * image.view().row_bytes;
}

class Flow : public ::testing::Test {
 protected:
  void SetUp() override { params_.auto_sigma = false; }
  void TearDown() override {
    for (const std::string& name : set_) test::unset_variable(name);
  }
  void fault(const std::string& name, int64_t value) {
    set_.push_back("GRAINLESS_FAKE_" + name);
    test::set_variable(set_.back(), std::to_string(value));
  }

  TestImage whole_run(const TestImage& picture, const Rect& part) {
    Engine engine({"", 2});
    TestImage result(picture.format, picture.width, picture.height);
    Report report;
    EXPECT_TRUE(
        engine.denoise(params_, noise_, picture.view(), result.target(part), {}, report).ok());
    return result;
  }

  // Starts the engine on a source of rubbish, into result_.
  std::future<Status> start(Engine& engine, RowFlow& flow, const Rect& part) {
    source_ = TestImage(picture_.format, picture_.width, picture_.height);
    std::fill(source_.bytes.begin(), source_.bytes.end(), uint8_t{0x5a});
    result_ = TestImage(picture_.format, picture_.width, picture_.height);
    return std::async(std::launch::async, [&, part] {
      const Status status = engine.denoise(
          params_, noise_, {source_.view(), result_.target(part), flow.engine_side()}, callbacks_,
          report_);
      flow.ended();
      return status;
    });
  }

  // Brings rows first..end-1.
  void bring(RowFlow& flow, int32_t first, int32_t end) {
    const size_t bytes = size_t(picture_.view().row_bytes) * (end - first);
    std::memcpy(row_of(source_, first), row_of(picture_, first), bytes);
    flow.arrived(end);
  }

  // Takes bands as they come, and compares each with what it is to be.
  void take(RowFlow& flow, std::future<Status>& done, const TestImage& expected, const Rect& part) {
    int64_t pixels = 0;
    while (pixels < part.area()) {
      const auto band = flow.take_finished(kTick);
      if (!band && done.wait_for(milliseconds(0)) == std::future_status::ready) break;
      if (!band) continue;
      EXPECT_TRUE(equal(expected, *band)) << "band at " << band->y;
      pixels += band->area();
    }
    EXPECT_EQ(pixels, part.area());
    EXPECT_FALSE(flow.take_any());
  }

  bool equal(const TestImage& expected, const Rect& rect) {
    const size_t bytes = size_t(rect.width) * picture_.format.pixel_bytes();
    for (int32_t y = rect.y; y < rect.bottom(); ++y) {
      if (std::memcmp(pixel_at(expected.view(), rect.x, y), pixel_at(result_.view(), rect.x, y),
                      bytes) != 0) {
        return false;
      }
    }
    return true;
  }

  // The whole way, in random pieces.
  void expect_same_pixels(Engine& engine, const Rect& part, unsigned seed) {
    const TestImage expected = whole_run(picture_, part);
    RowFlow flow(part, static_cast<int32_t>(50 * seed));
    std::future<Status> done = start(engine, flow, part);
    std::thread bringer([&] {
      std::mt19937 pieces(seed + 1);
      for (int32_t y = 0, end; y < picture_.height; y = end) {
        end = std::min(picture_.height, y + std::uniform_int_distribution<>(1, 150)(pieces));
        std::this_thread::sleep_for(milliseconds(pieces() % 8));
        bring(flow, y, end);
      }
    });
    take(flow, done, expected, part);
    bringer.join();
    const Status status = done.get();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(report_.changed);
  }

  Params params_;
  NoiseModel noise_ = white_noise(3, 12.0f);
  TestImage picture_ = noisy_picture({Component::kU8, 3}, 1300, 2300, 12.0f);
  TestImage source_ = picture_, result_ = picture_;
  Callbacks callbacks_;
  Report report_;
  std::vector<std::string> set_;
};

TEST_F(Flow, ThePixelsAreThoseOfTheWholeRun) {
  Engine engine({"", 2});
  params_.method = static_cast<int32_t>(Method::kNlm);
  params_.search = 7;
  expect_same_pixels(engine, {0, 0, 1300, 2300}, 1);
  expect_same_pixels(engine, {17, 333, 1101, 1750}, 2);
  picture_ = noisy_picture({Component::kFloat, 3}, 700, 1300, 12.0f);
  expect_same_pixels(engine, {0, 0, 700, 1300}, 3);
  picture_ = noisy_picture({Component::kU16, 3}, 300, 1400, 12.0f);
  params_ = {};
  ASSERT_TRUE(set_param(params_, "quality", "fast").ok());
  expect_same_pixels(engine, {3, 100, 200, 1290}, 4);
}

// A tile begins when its own rows are there, and not when all are.
TEST_F(Flow, WorkBeginsBeforeTheLastRowsAreThere) {
  Engine engine({"", 2});
  params_.method = static_cast<int32_t>(Method::kNlm);
  params_.search = 7;
  const Rect whole{0, 0, picture_.width, picture_.height};
  const TestImage expected = whole_run(picture_, whole);
  RowFlow flow(whole, 128);
  std::future<Status> done = start(engine, flow, whole);
  bring(flow, 0, 1500);
  const auto first = flow.take_finished(kPatience);
  ASSERT_TRUE(first);
  EXPECT_TRUE(equal(expected, *first));
  bring(flow, 1500, whole.height);
  EXPECT_TRUE(done.get().ok());
  while (const auto band = flow.take_finished(kTick)) EXPECT_TRUE(equal(expected, *band));
  EXPECT_FALSE(flow.take_any());
}

TEST_F(Flow, WhoeverWaitsForRowsThatWillNotComeIsSentAway) {
  for (const char* folder : {"", FAKE_MODULES "/fake-good"}) {
    Engine engine({folder, 2});
    RowFlow flow({0, 0, picture_.width, picture_.height}, 128);
    CancelToken cancel;
    callbacks_.cancel = &cancel;
    std::future<Status> done = start(engine, flow, {0, 0, picture_.width, picture_.height});
    bring(flow, 0, 700);
    cancel.cancel();
    flow.stop();
    ASSERT_EQ(done.wait_for(kPatience), std::future_status::ready);
    EXPECT_EQ(done.get().code(), ErrorCode::kCancelled);
    EXPECT_TRUE(flow.take_any());  // which nobody has finished
  }
}

TEST_F(Flow, ACardThatFailsInMidWorkIsReplacedAndNoPixelToldTwice) {
  params_.method = static_cast<int32_t>(Method::kNlm);
  params_.search = 5;
  fault("MAX_PIXELS", 300'000);
  fault("FAIL_RUN", 6);
  Engine engine({FAKE_MODULES "/fake-good", 2});
  expect_same_pixels(engine, {0, 0, picture_.width, picture_.height}, 5);
  EXPECT_NE(report_.device.find("cuda:0"), std::string::npos) << report_.device;
  EXPECT_NE(report_.device.find("cpu"), std::string::npos) << report_.device;
}

TEST_F(Flow, APictureThatStaysAsItIsIsNotTold) {
  Engine engine({"", 2});
  noise_ = white_noise(3, 0.0f);
  const Rect whole{0, 0, picture_.width, picture_.height};
  RowFlow flow(whole, 128);
  std::future<Status> done = start(engine, flow, whole);
  bring(flow, 0, picture_.height);
  EXPECT_TRUE(done.get().ok());
  EXPECT_FALSE(report_.changed);
  EXPECT_FALSE(flow.take_finished(milliseconds(0)));
  EXPECT_EQ(result_.bytes, picture_.bytes);
}

TEST(RowFlow, BandsAreCutAtMultiplesFromTheImagesFirstRow) {
  RowFlow flow({5, 100, 10, 300}, 128);
  const PixelFlow engine = flow.engine_side();
  EXPECT_FALSE(flow.take_finished(milliseconds(0)));
  engine.finished({5, 256, 10, 144});  // the last band, and the one before it
  EXPECT_EQ(flow.take_finished(milliseconds(0)), (Rect{5, 256, 10, 128}));
  engine.finished({5, 100, 4, 156});
  EXPECT_EQ(flow.take_finished(milliseconds(0)), (Rect{5, 384, 10, 16}));
  EXPECT_FALSE(flow.take_finished(milliseconds(0)));
  engine.finished({9, 100, 6, 156});
  EXPECT_EQ(flow.take_finished(milliseconds(0)), (Rect{5, 100, 10, 28}));
  EXPECT_EQ(flow.take_any(), (Rect{5, 128, 10, 128}));
  EXPECT_FALSE(flow.take_any());
}

}  // namespace
}  // namespace grainless
