// SPDX-License-Identifier: MIT
// The process that holds the cards: shared, killed, hung, left alone. What its module does wrong is
// fallback_test.cpp, which this program has, too.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <thread>

#include "plugin/cards/connection.h"
#include "tests/support/cards_in_test.h"
#include "tests/support/system.h"
#include "tests/support/test_images.h"

namespace grainless::cards {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using test::noisy_picture;
using test::TestImage;

const std::string kFolder = std::string(FAKE_MODULES) + "/fake-good";

class CardProcess : public ::testing::Test {
 protected:
  CardProcess() {
    params_.method = static_cast<int32_t>(Method::kNlm);
    params_.auto_sigma = false;
    params_.device = "cuda:0";  // of two either may take the only tile
    // A process of this test's own.
    fault("TEST", static_cast<int64_t>(Clock::now().time_since_epoch().count()));
    options_.patience = options_.first_patience = 2s;
  }
  void TearDown() override {
    for (const std::string& name : set_) test::unset_variable(name);
  }

  void fault(const std::string& name, int64_t value) {
    set_.push_back("GRAINLESS_FAKE_" + name);
    test::set_variable(set_.back(), std::to_string(value));
  }

  std::shared_ptr<RemoteCards> new_cards() {
    return RemoteCards::make(options_, module_cards(kFolder));
  }

  struct Outcome {
    Status status;
    Report report;
    std::vector<uint8_t> bytes;
  };
  Outcome denoise(const std::shared_ptr<Cards>& cards, const CancelToken* cancel = nullptr) const {
    Engine engine({kFolder, 2, cards});
    TestImage result(image_.format, image_.width, image_.height);
    Outcome outcome;
    outcome.status = engine.denoise(params_, white_noise(3, 12.0f), image_.view(), result.target(),
                                    {cancel, {}}, outcome.report);
    outcome.bytes = std::move(result.bytes);
    return outcome;
  }
  void expect_right(const Outcome& outcome, const std::string& device) const {
    ASSERT_TRUE(outcome.status.ok()) << outcome.status.message();
    EXPECT_EQ(outcome.report.device, device);
    EXPECT_EQ(outcome.bytes, expected_.bytes);
  }
  Clock::duration cancel_in_mid_run(const std::shared_ptr<RemoteCards>& cards) const;
  static std::string said(const Outcome& outcome) {
    std::string text;
    for (const std::string& one : outcome.report.fallbacks) text += one + "\n";
    return text;
  }

  static bool runs(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string number, name, state;
    return file >> number >> name >> state && state != "Z";
  }
  static bool ends(pid_t process, std::chrono::seconds patience = 10s) {
    const auto last = Clock::now() + patience;
    while (runs(process) && Clock::now() < last) std::this_thread::sleep_for(10ms);
    return !runs(process);
  }

  static TestImage right_result(const TestImage& image) {
    Params params;
    params.method = static_cast<int32_t>(Method::kNlm);
    params.auto_sigma = false;
    Engine engine({"", 2});
    TestImage result(image.format, image.width, image.height);
    Report report;
    EXPECT_TRUE(
        engine.denoise(params, white_noise(3, 12.0f), image.view(), result.target(), {}, report)
            .ok());
    return result;
  }

  Params params_;
  RemoteOptions options_ = test::remote_options(kFolder);
  TestImage image_ = noisy_picture({Component::kU8, 3}, 400, 300, 12.0f);
  TestImage expected_ = right_result(image_);
  std::vector<std::string> set_;
};

TEST_F(CardProcess, ComputesWhatThisProcessWould) {
  const auto cards = new_cards();
  expect_right(denoise(cards), "cuda:0");
  EXPECT_NE(cards->process(), getpid());
  EXPECT_TRUE(runs(cards->process()));
}

TEST_F(CardProcess, ServesAllProgramsOfOneOwner) {
  const auto first = new_cards(), second = new_cards();
  auto other = std::async(std::launch::async, [&] { return denoise(second); });
  expect_right(denoise(first), "cuda:0");
  expect_right(other.get(), "cuda:0");
  EXPECT_EQ(first->process(), second->process());
  EXPECT_NE(first->process(), 0);
}

TEST_F(CardProcess, ServesNobodyWhoSeesOtherCards) {
  const auto first = new_cards();
  (void)first->devices(false);
  fault("CARDS", 1);
  const auto second = new_cards();
  EXPECT_EQ(second->devices(false).size(), 1u);
  EXPECT_NE(first->process(), second->process());
}

TEST_F(CardProcess, ManyThatComeAtOnceMeetOneProcess) {
  std::vector<std::future<pid_t>> all;
  for (int i = 0; i < 12; ++i) {
    all.push_back(std::async(std::launch::async, [this] {
      const auto cards = new_cards();
      (void)cards->devices(false);
      return cards->process();
    }));
  }
  std::vector<pid_t> processes;
  for (auto& one : all) processes.push_back(one.get());
  EXPECT_EQ(std::count(processes.begin(), processes.end(), processes.front()), 12);
}

TEST_F(CardProcess, ACrashCostsTheCardAndNothingElse) {
  fault("CRASHES", 1);
  const auto cards = new_cards();
  const Outcome outcome = denoise(cards);
  expect_right(outcome, "cpu");
  EXPECT_NE(said(outcome).find("process was lost"), std::string::npos) << said(outcome);
  // It is not tried again for a while, and that is said.
  const Outcome again = denoise(cards);
  expect_right(again, "cpu");
  EXPECT_NE(said(again).find("lost a moment ago"), std::string::npos) << said(again);
  EXPECT_EQ(cards->process(), 0);
}

TEST_F(CardProcess, AfterAWhileTheCardIsTriedAgain) {
  options_.penalty = 0s;
  fault("CRASHES", 1);
  const auto cards = new_cards();
  EXPECT_NE(said(denoise(cards)).find("process was lost"), std::string::npos);
  EXPECT_NE(said(denoise(cards)).find("process was lost"), std::string::npos);
}

TEST_F(CardProcess, EndedBetweenTwoRunsItIsStartedAnew) {
  const auto cards = new_cards();
  expect_right(denoise(cards), "cuda:0");
  const pid_t first = cards->process();
  kill(first, SIGKILL);
  ASSERT_TRUE(ends(first));
  const Outcome outcome = denoise(cards);
  expect_right(outcome, "cuda:0");
  EXPECT_TRUE(outcome.report.fallbacks.empty()) << said(outcome);
  EXPECT_NE(cards->process(), first);
}

TEST_F(CardProcess, OneThatHangsIsEnded) {
  fault("STALLS", 1);
  const auto cards = new_cards();
  (void)cards->devices(false);
  const pid_t process = cards->process();
  const auto begin = Clock::now();
  const Outcome outcome = denoise(cards);
  expect_right(outcome, "cpu");
  EXPECT_NE(said(outcome).find("did not answer"), std::string::npos) << said(outcome);
  EXPECT_LT(Clock::now() - begin, 30s);
  EXPECT_TRUE(ends(process));
}

TEST_F(CardProcess, KilledInMidRunTheProcessorGoesOn) {
  fault("HANGS", 1);
  const auto cards = new_cards();
  (void)cards->devices(false);
  const pid_t process = cards->process();
  auto outcome = std::async(std::launch::async, [&] { return denoise(cards); });
  std::this_thread::sleep_for(300ms);
  kill(process, SIGKILL);
  expect_right(outcome.get(), "cpu");
}

// At its start, between two calls, in the middle of one, twice in a run: whenever.
TEST_F(CardProcess, KilledAtAnyMomentTheResultIsRight) {
  options_.penalty = 0s;
  const auto cards = new_cards();
  std::mt19937 random(1);
  for (int i = 0; i < 40; ++i) {
    auto outcome = std::async(std::launch::async, [&] { return denoise(cards); });
    const auto rest = std::chrono::microseconds(random() % 60000);
    std::this_thread::sleep_for(rest);
    if (const pid_t process = cards->process(); process > 0) kill(process, SIGKILL);
    const Outcome result = outcome.get();
    ASSERT_TRUE(result.status.ok()) << result.status.message();
    EXPECT_EQ(result.bytes, expected_.bytes) << rest.count() << " us";
  }
}

// What a run takes to end that is cancelled in its middle.
Clock::duration CardProcess::cancel_in_mid_run(const std::shared_ptr<RemoteCards>& cards) const {
  (void)cards->devices(false);
  CancelToken cancel;
  auto outcome = std::async(std::launch::async, [&] { return denoise(cards, &cancel); });
  std::this_thread::sleep_for(300ms);
  const auto begin = Clock::now();
  cancel.cancel();
  EXPECT_EQ(outcome.get().status.code(), ErrorCode::kCancelled);
  return Clock::now() - begin;
}

TEST_F(CardProcess, ARunIsCancelled) {
  fault("HANGS", 1);
  options_.farewell = 60s;
  const auto cards = new_cards();
  EXPECT_LT(cancel_in_mid_run(cards), 5s);
  EXPECT_TRUE(runs(cards->process()));
}

TEST_F(CardProcess, ARunIsLeftThatHearsNoCancel) {
  fault("STALLS", 1);
  options_.patience = options_.first_patience = 60s;
  EXPECT_LT(cancel_in_mid_run(new_cards()), 10s);
}

// What its driver remembers of a failure does not harm the next run, of whichever program.
TEST_F(CardProcess, IsLeftWhenACardHasFailed) {
  fault("FAIL_RUN", 1);
  const auto cards = new_cards(), other = new_cards();
  (void)cards->devices(false);
  (void)other->devices(false);
  const pid_t first = cards->process();
  (void)denoise(cards);
  std::this_thread::sleep_for(100ms);
  const auto later = new_cards();
  (void)later->devices(false);
  EXPECT_NE(later->process(), first);
  EXPECT_TRUE(runs(first)) << "somebody is connected";
  (void)other->devices(false);
  EXPECT_EQ(other->process(), first);
  (void)denoise(other);
  EXPECT_TRUE(ends(first));
  (void)cards->devices(false);
  EXPECT_NE(cards->process(), first);
  EXPECT_NE(cards->process(), 0);
}

// Whose memory another limit is for.
TEST_F(CardProcess, ACardIsOpenedAnewWithAnotherLimit) {
  const auto cards = new_cards();
  const auto first = cards->open(0, 0), again = cards->open(0, 0);
  const auto limited = cards->open(0, uint64_t{64} << 20);
  for (const auto& one : {first, again, limited}) EXPECT_EQ(one->budget(), uint64_t{1} << 40);
  EXPECT_THROW(cards->open(7, 0), Error);
  EXPECT_NE(cards->process(), 0);
}

TEST_F(CardProcess, EndsWithItsOwner) {
  const pid_t owner = fork();
  if (owner == 0) {
    while (true) pause();
  }
  options_.host.owner = owner;
  const auto cards = new_cards();
  expect_right(denoise(cards), "cuda:0");
  const pid_t process = cards->process();
  EXPECT_TRUE(runs(process));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  EXPECT_TRUE(ends(process));
}

TEST_F(CardProcess, EndsWhenNobodyIsThere) {
  options_.host.arguments[1] = "1";
  auto cards = new_cards();
  (void)cards->devices(false);
  const pid_t process = cards->process();
  std::this_thread::sleep_for(1500ms);
  EXPECT_TRUE(runs(process)) << "somebody is connected";
  cards.reset();
  EXPECT_TRUE(ends(process, 5s));
}

TEST_F(CardProcess, WaitsAfterALongSession) {
  options_.host.arguments[1] = "2";
  auto cards = new_cards();
  (void)cards->devices(false);
  const pid_t process = cards->process();
  std::this_thread::sleep_for(3s);
  cards.reset();
  std::this_thread::sleep_for(500ms);
  EXPECT_TRUE(runs(process)) << "nobody is connected, for less than the idle time";
  cards = new_cards();
  (void)cards->devices(false);
  EXPECT_EQ(cards->process(), process) << "another one was started";
  cards.reset();
  EXPECT_TRUE(ends(process, 6s));
}

TEST_F(CardProcess, WhereItCannotBeStartedThisProcessOpensTheCards) {
  options_.host.program = "/nowhere/grainless";
  const auto cards = new_cards();
  expect_right(denoise(cards), "cuda:0");
  EXPECT_EQ(cards->process(), 0);
}

TEST_F(CardProcess, AProgramThatIsNoCardProcessIsLost) {
  options_.host.program = "/bin/true";
  const auto cards = new_cards();
  const Outcome outcome = denoise(cards);
  expect_right(outcome, "cpu");
  EXPECT_NE(said(outcome).find("process was lost"), std::string::npos) << said(outcome);
}

TEST_F(CardProcess, LeavesNoMemoryAndNoDescriptorsBehind) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  (void)denoise(new_cards());
  const auto before = descriptors();
  pid_t process = 0;
  for (int i = 0; i < 20; ++i) {
    const auto cards = new_cards();
    (void)denoise(cards);
    process = cards->process();
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_NE(process, 0);
  // Those that have left take their threads and pixels along.
  const auto count = [process](const char* what) {
    const std::filesystem::directory_iterator all("/proc/" + std::to_string(process) + "/" + what);
    return std::distance(begin(all), end(all));
  };
  const auto last = Clock::now() + 5s;
  while (count("task") > 6 && Clock::now() < last) std::this_thread::sleep_for(20ms);
  EXPECT_LE(count("task"), 6);
  EXPECT_LE(count("fd"), 12);
}

// Whoever talks nonsense loses the connection; the others don't notice.
TEST_F(CardProcess, NonsenseEndsOneConnectionOnly) {
  const auto cards = new_cards();
  (void)cards->devices(false);
  const std::string place = meeting_place(options_.host, {options_.module});
  std::vector<std::vector<uint8_t>> all = {{},
                                           {1},
                                           std::vector<uint8_t>(4, 0xff),
                                           std::vector<uint8_t>(1000, 7),
                                           encode(Opened{}),
                                           encode(Hello{.version = kProtocolVersion + 1}),
                                           encode(Budget{77}),
                                           encode(UsePixels{uint64_t{1} << 62})};
  RunTile huge{};
  huge.image_width = huge.image_height = INT32_MAX;
  huge.in = huge.out = {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX};
  all.push_back(encode(huge));
  RunSlab slab{};
  slab.width = slab.height = slab.layers = slab.in_layers = slab.out_layers = INT32_MAX;
  slab.plan.format = {Component::kFloat, 4};
  all.push_back(encode(slab));
  for (const std::vector<uint8_t>& bytes : all) {
    helper::PacketSocket socket(meet(options_.host, place));
    ASSERT_TRUE(socket.receive(5s).has_value());  // its Hello
    socket.send(bytes);
    const Status ended = guard([&] {
      while (true) {
        const auto packet = socket.receive(5s);
        if (!packet) return;
        const Message message = decode(packet->bytes);
        const auto* answer = std::get_if<Answer>(&message);
        if (answer != nullptr && answer->code != 0) {
          throw Error(ErrorCode::kBadInput, answer->message.text);
        }
      }
    });
    EXPECT_FALSE(ended.ok()) << "message of " << bytes.size() << " bytes";
  }
  expect_right(denoise(cards), "cuda:0");
}

TEST_F(CardProcess, AnotherUserIsNotAnswered) {
  if (getuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const auto cards = new_cards();
  (void)cards->devices(false);
  const std::string place = meeting_place(options_.host, {options_.module});
  const pid_t other = fork();
  if (other == 0) {
    if (setuid(65534) != 0) _exit(2);
    const Status status = guard([&] {
      helper::PacketSocket socket(meet(options_.host, place));
      if (socket.receive(5s)) throw Error(ErrorCode::kInternal, "answered");
    });
    _exit(status.code() == ErrorCode::kInternal ? 1 : 0);
  }
  int status = -1;
  waitpid(other, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  (void)cards->devices(false);
}

}  // namespace
}  // namespace grainless::cards
