// SPDX-License-Identifier: MIT
// The helper's process, in order, killed, hung and talking nonsense.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "engine/denoise.h"
#include "plugin/helper/client.h"
#include "tests/support/test_images.h"

namespace grainless::helper {
namespace {

using namespace std::chrono_literals;
using test::noisy_picture;
using test::TestImage;

class HelperClient : public ::testing::Test {
 protected:
  HelperClient() {
    params_.method = static_cast<int32_t>(Method::kNlm);
    params_.device = "cpu";
  }
  void TearDown() override { unsetenv("GRAINLESS_FAULTY_HELPER"); }

  static std::shared_ptr<Input> input_of(const TestImage& image) {
    auto input = std::make_shared<Input>(image.format, image.width, image.height);
    copy_pixels(image.view(), input->writable());
    input->finish();
    return input;
  }

  // What the engine gives for the rectangle.
  std::vector<uint8_t> expected(const Rect& rect) {
    Engine engine({"", 2});
    NoiseModel noise;
    EXPECT_TRUE(engine.noise_for(params_, image_.view(), {}, noise, nullptr).ok());
    TestImage result(image_.format, image_.width, image_.height);
    Report report;
    EXPECT_TRUE(engine.denoise(params_, noise, image_.view(), result.target(), {}, report).ok());
    TestImage part(image_.format, rect.width, rect.height);
    for (int32_t y = 0; y < rect.height; ++y) {
      std::memcpy(part.bytes.data() + y * part.row_bytes,
                  pixel_at(result.view(), rect.x, rect.y + y), static_cast<size_t>(part.row_bytes));
    }
    return part.bytes;
  }

  static std::vector<uint8_t> bytes_of(const Rendered& rendered) {
    return {rendered.pixels.data(), rendered.pixels.data() + rendered.pixels.bytes()};
  }

  // The same with the whole picture computed once, for a large one.
  void expect_bytes(Client& client, const Rect& rect) {
    const Rendered rendered = client.render(input_, params_, rect);
    if (expected_whole_.empty()) expected_whole_ = expected(whole());
    const std::vector<uint8_t> bytes = bytes_of(rendered);
    const size_t row = static_cast<size_t>(rect.width) * image_.format.pixel_bytes();
    for (int32_t y = 0; y < rect.height; ++y) {
      const size_t at = static_cast<size_t>(rect.y + y) * image_.row_bytes +
                        static_cast<size_t>(rect.x) * image_.format.pixel_bytes();
      ASSERT_EQ(std::memcmp(bytes.data() + y * row, expected_whole_.data() + at, row), 0) << y;
    }
  }

  Rendered expect_right(Client& client, const Rect& rect) {
    Rendered rendered = client.render(input_, params_, rect);
    EXPECT_EQ(bytes_of(rendered), expected(rect));
    EXPECT_TRUE(rendered.changed);
    EXPECT_EQ(rendered.device, "cpu");
    return rendered;
  }

  Rect whole() const { return {0, 0, image_.width, image_.height}; }

  TestImage image_ = noisy_picture({Component::kU8, 3}, 240, 180, 12.0f);
  std::shared_ptr<Input> input_ = input_of(image_);
  Params params_;
  std::vector<uint8_t> expected_whole_;
};

// Ended, whether its parent has looked or not.
bool is_gone(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return true;
  return line[line.rfind(')') + 2] == 'Z';
}

bool goes(pid_t process) {
  for (int i = 0; i < 500 && !is_gone(process); ++i) std::this_thread::sleep_for(10ms);
  return is_gone(process);
}

TEST_F(HelperClient, GivesTheEnginesPixelsForAnyRectangle) {
  Client client({.program = HELPER});
  EXPECT_EQ(client.process(), 0) << "a helper without work";
  EXPECT_TRUE(expect_right(client, whole()).lost.empty());
  const pid_t process = client.process();
  for (const Rect& rect : {Rect{0, 0, 1, 1}, Rect{17, 3, 64, 128}, Rect{239, 179, 1, 1}}) {
    expect_right(client, rect);
  }
  EXPECT_EQ(client.process(), process) << "another helper";
}

TEST_F(HelperClient, WhatWasComputedIsNotComputedAgain) {
  image_ = noisy_picture({Component::kU8, 3}, 800, 700, 12.0f);
  input_ = input_of(image_);
  Client client({.program = HELPER});
  const auto seconds = [&](const Rect& rect) {
    const auto begun = std::chrono::steady_clock::now();
    (void)client.render(input_, params_, rect);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    expect_bytes(client, rect);
    return took.count();
  };
  // In an order in which cells are there, half there, and of another setting.
  (void)seconds({300, 200, 10, 10});
  (void)seconds({250, 100, 300, 500});
  const double first = seconds(whole());
  EXPECT_LT(seconds(whole()), first / 4);
  params_.strength = 50;
  expected_whole_.clear();
  (void)seconds({500, 400, 300, 300});
  (void)seconds(whole());
}

TEST_F(HelperClient, MeasuresEachPictureByItself) {
  Client client({.program = HELPER});
  expect_right(client, whole());
  image_ = noisy_picture({Component::kU16, 1}, 100, 90, 30.0f);
  const std::shared_ptr<Input> first = std::exchange(input_, input_of(image_));
  expect_right(client, whole());
  for (int i = 0; i < 10; ++i) {  // more than the helper keeps
    image_ = noisy_picture({Component::kFloat, 4}, 60, 50, 12.0f, i + 1);
    input_ = input_of(image_);
    expect_right(client, whole());
  }
}

TEST_F(HelperClient, RefusesWhatIsWrongWithoutLosingTheHelper) {
  Client client({.program = HELPER});
  expect_right(client, whole());
  const pid_t process = client.process();
  EXPECT_THROW(client.render(input_, params_, {200, 100, 100, 100}), Error);
  EXPECT_THROW(client.render(input_, params_, {0, 0, 0, 0}), Error);
  Params wrong = params_;
  wrong.search = 4;
  EXPECT_THROW(client.render(input_, wrong, whole()), Error);
  EXPECT_EQ(client.process(), process);
  expect_right(client, whole());
}

TEST_F(HelperClient, KilledInMidWorkAnotherOneGivesTheRightPixels) {
  image_ = noisy_picture({Component::kU8, 3}, 600, 500, 12.0f);
  input_ = input_of(image_);
  params_.quality = 2;
  params_.method = static_cast<int32_t>(Method::kBm3d);
  Client client({.program = HELPER});
  auto rendering =
      std::async(std::launch::async, [&] { return client.render(input_, params_, whole()); });
  while (client.process() == 0) std::this_thread::sleep_for(1ms);
  const pid_t killed = client.process();
  std::this_thread::sleep_for(200ms);
  ASSERT_NE(rendering.wait_for(0ms), std::future_status::ready) << "too quick to be killed";
  ASSERT_EQ(kill(killed, SIGKILL), 0);
  const Rendered rendered = rendering.get();
  EXPECT_NE(rendered.lost.find("lost"), std::string::npos) << rendered.lost;
  EXPECT_NE(client.process(), killed);
  EXPECT_EQ(bytes_of(rendered), expected(whole()));
}

TEST_F(HelperClient, OneThatFailsInAnyWayIsReplacedByOneOnTheProcessor) {
  for (const char* fault :
       {"dies", "hangs", "silent", "garbage", "empty", "other-end", "memory", "version"}) {
    setenv("GRAINLESS_FAULTY_HELPER", fault, 1);
    Client client({.program = FAULTY_HELPER, .patience = 500ms, .first_patience = 500ms});
    EXPECT_FALSE(expect_right(client, whole()).lost.empty()) << fault;
    // The card is left alone from there on, and that is said once.
    EXPECT_TRUE(expect_right(client, {5, 5, 20, 20}).lost.empty()) << fault;
  }
}

// A card has been opened by then.
TEST_F(HelperClient, OneThatHangsAfterAnAnswerIsReplacedSoon) {
  Client client({.program = HELPER, .patience = 500ms, .first_patience = 60s});
  expect_right(client, whole());
  const pid_t hung = client.process();
  ASSERT_EQ(kill(hung, SIGSTOP), 0);
  params_.strength = 50;
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_FALSE(expect_right(client, whole()).lost.empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
  EXPECT_NE(client.process(), hung);
}

// An answer that took no card, because nothing was to be removed, says nothing of how long one
// takes.
TEST_F(HelperClient, MayTakeItsTimeForTheFirstWork) {
  image_ = noisy_picture({Component::kU8, 3}, 600, 500, 12.0f);
  input_ = input_of(image_);
  params_.method = static_cast<int32_t>(Method::kBm3d);
  params_.quality = 2;
  Client client({.program = HELPER, .patience = 100ms, .first_patience = 60s});
  params_.strength = 0;
  ASSERT_FALSE(client.render(input_, params_, whole()).changed);
  params_.strength = 100;
  auto rendering =
      std::async(std::launch::async, [&] { return client.render(input_, params_, whole()); });
  const pid_t slow = client.process();
  std::this_thread::sleep_for(200ms);
  ASSERT_NE(rendering.wait_for(0ms), std::future_status::ready) << "too quick to be stopped";
  ASSERT_EQ(kill(slow, SIGSTOP), 0);
  std::this_thread::sleep_for(1s);
  ASSERT_EQ(kill(slow, SIGCONT), 0);
  EXPECT_TRUE(rendering.get().lost.empty());
  EXPECT_EQ(client.process(), slow);
}

// The helper with a card beside it: tests/support/fake_module.cpp.
class HelperCard : public HelperClient {
 protected:
  HelperCard() {
    namespace fs = std::filesystem;
    char name[] = "/tmp/grainless-helper-XXXXXX";
    folder_ = mkdtemp(name);
    fs::copy_file(HELPER, folder_ / "grainless-engine");
    fs::copy_file(fs::path(FAKE_MODULES) / "fake-good" / "grainless-cuda.so",
                  folder_ / "grainless-cuda.so");
    params_.device = "auto";
  }
  ~HelperCard() override {
    for (const std::string& name : set_) unsetenv(name.c_str());
    std::filesystem::remove_all(folder_);
  }

  void fault(const std::string& name) {
    set_.push_back("GRAINLESS_FAKE_" + name);
    setenv(set_.back().c_str(), "1", 1);
  }
  ClientOptions options() const {
    return {.program = folder_ / "grainless-engine", .patience = 700ms, .first_patience = 700ms};
  }
  // The fake card's pixels are the processor's.
  Rendered render(Client& client) {
    Rendered rendered = client.render(input_, params_, whole());
    EXPECT_EQ(bytes_of(rendered), expected(whole()));
    return rendered;
  }

  std::filesystem::path folder_;
  std::vector<std::string> set_;
};

TEST_F(HelperCard, ComputesWhereThereIsOne) {
  Client client(options());
  const Rendered rendered = render(client);
  EXPECT_EQ(rendered.device, "cuda:0");
  EXPECT_TRUE(rendered.lost.empty());
}

TEST_F(HelperCard, ThatFailsCostsAFallbackAndNoHelper) {
  fault("FAIL_RUN");
  Client client(options());
  const Rendered rendered = render(client);
  EXPECT_NE(rendered.device, "cuda:0");
  EXPECT_TRUE(rendered.lost.empty());
  ASSERT_FALSE(rendered.fallbacks.empty());
  EXPECT_NE(rendered.fallbacks.front().find("fell off the bus"), std::string::npos);
}

TEST_F(HelperCard, ThatHangsOrTakesTheHelperAlongIsLeftAlone) {
  for (const char* what : {"HANGS", "CRASHES"}) {
    set_.clear();
    fault(what);
    Client client(options());
    const Rendered rendered = render(client);
    EXPECT_EQ(rendered.device, "cpu") << what;
    EXPECT_FALSE(rendered.lost.empty()) << what;
    unsetenv(set_.back().c_str());
    params_.strength += 10;
    EXPECT_EQ(render(client).device, "cpu") << what << ": asked again at once";
  }
}

TEST_F(HelperCard, IsTriedAgainAfterAWhile) {
  fault("CRASHES");
  ClientOptions soon = options();
  soon.penalty = std::chrono::seconds(0);
  Client client(soon);
  EXPECT_THROW((void)client.render(input_, params_, whole()), Error);  // three times
  unsetenv(set_.back().c_str());
  EXPECT_EQ(render(client).device, "cuda:0");
}

TEST_F(HelperClient, SaysWhyWhenNoneGivesAnAnswer) {
  setenv("GRAINLESS_FAULTY_HELPER", "dies-always", 1);
  Client client({.program = FAULTY_HELPER});
  EXPECT_THROW(client.render(input_, params_, whole()), Error);
  EXPECT_EQ(client.process(), 0);
  Client none({.program = "/nonexistent/grainless-engine"});
  EXPECT_THROW(none.render(input_, params_, whole()), Error);
}

TEST_F(HelperClient, EndsWhenItHasNothingToDoAndComesBack) {
  Client client({.program = HELPER, .idle = 1s});
  expect_right(client, whole());
  const pid_t process = client.process();
  EXPECT_TRUE(goes(process));
  EXPECT_TRUE(expect_right(client, whole()).lost.empty()) << "no helper was lost";
  EXPECT_NE(client.process(), process);
}

TEST_F(HelperClient, EndsWithItsParentInMidWork) {
  image_ = noisy_picture({Component::kU8, 3}, 900, 800, 12.0f);
  input_ = input_of(image_);
  params_.method = static_cast<int32_t>(Method::kBm3d);
  params_.quality = 2;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    Client client({.program = HELPER});
    std::thread([&] { (void)client.render(input_, params_, whole()); }).detach();
    while (client.process() == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(200ms);
    const pid_t helper = client.process();
    if (write(ends[1], &helper, sizeof helper) < 0) _exit(2);
    raise(SIGKILL);
  }
  pid_t helper = 0;
  ASSERT_EQ(read(ends[0], &helper, sizeof helper), static_cast<ssize_t>(sizeof helper));
  ASSERT_EQ(waitpid(parent, nullptr, 0), parent);
  EXPECT_TRUE(goes(helper));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(HelperClient, AHundredClientsLeaveNothingBehind) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_files();
  std::vector<pid_t> processes;
  for (int i = 0; i < 100; ++i) {
    Client client({.program = HELPER});
    (void)client.render(input_, params_, {0, 0, 8, 8});
    processes.push_back(client.process());
  }
  for (const pid_t process : processes) EXPECT_NE(kill(process, 0), 0) << "left behind";
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace grainless::helper
