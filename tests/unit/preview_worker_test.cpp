// SPDX-License-Identifier: MIT
#include "ui/preview_worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace grainless::ui {
namespace {

Params with_sigma(double sigma) {
  Params params;
  params.sigma = sigma;
  return params;
}

// Takes its time, answers cancellation, and notes what it was asked.
class SlowSource final : public PreviewSource {
 public:
  int32_t width() const override { return 100; }
  int32_t height() const override { return 100; }
  bool has_colour() const override { return true; }
  Rect target() const override { return {0, 0, 100, 100}; }
  uint64_t version() const override { return 1; }
  const Selection& selection() const override { return selection_; }
  Situation look(bool) override { return {}; }
  bool load_some(const Rect&, int32_t) override { return false; }
  bool shows(const Rect&, int32_t) const override { return true; }
  double loaded() const override { return 1; }
  bool ready(const PreviewJob&) override { return true; }
  const Bitmap& original(int32_t, const Rect&) const override { return original_; }
  Status denoise(const PreviewJob& job, const Callbacks& callbacks,
                 PreviewResult& result) override {
    const Params& params = job.params;
    started++;
    for (int i = 0; i < 200 && !callbacks.cancelled() && !stopped; ++i) {
      if (params.sigma < 0) throw std::runtime_error("broken");
      std::this_thread::sleep_for(std::chrono::milliseconds(params.sigma < 5 ? 10 : 0));
    }
    if (callbacks.cancelled() || stopped) return {ErrorCode::kCancelled, "cancelled"};
    result.bitmap = Bitmap(at_level(job.rect, job.coarse ? coarse_level(job) : 0));
    result.info.seconds = params.sigma;
    return {};
  }
  bool has_selection() const override { return false; }
  void pick_area(const Rect&) override {}
  Status measure_area(AreaMeasurement&) override { return {}; }
  Status measure_layer(int32_t, NoisePicture&) override { return {}; }
  std::vector<DeviceChoice> devices() override { return {{"cuda:0", "card"}}; }
  void stop() override { stopped = true; }

  std::atomic<int> started = 0;
  std::atomic<bool> stopped = false;

 private:
  Selection selection_;
  Bitmap original_;
};

PreviewJob job_of(uint64_t settings, double sigma) {
  return {settings, with_sigma(sigma), 0, 0, {0, 0, 100, 100}};
}

class Answers {
 public:
  void add(PreviewAnswer answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    changed_.notify_all();
  }
  PreviewAnswer wait_for(uint64_t settings) {
    std::unique_lock lock(mutex_);
    const PreviewAnswer* found = nullptr;
    changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      for (const auto& answer : answers_) {
        if (answer.job.settings == settings) found = &answer;
      }
      return found != nullptr;
    });
    return found != nullptr ? *found : PreviewAnswer{};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PreviewAnswer> answers_;
};

TEST(PreviewWorker, NewestWins) {
  SlowSource source;
  Answers answers;
  std::atomic<size_t> devices = 0;
  {
    PreviewWorker worker(
        source, [&](PreviewAnswer answer) { answers.add(std::move(answer)); },
        [&](const std::vector<DeviceChoice>& found) { devices = found.size(); });
    worker.submit(job_of(1, 1));
    while (source.started == 0) std::this_thread::yield();
    for (uint64_t i = 2; i < 10; ++i) worker.submit(job_of(i, 2));
    worker.submit(job_of(10, 7));
    EXPECT_EQ(answers.wait_for(1).status.code(), ErrorCode::kCancelled);
    const PreviewAnswer last = answers.wait_for(10);
    EXPECT_TRUE(last.status.ok());
    EXPECT_EQ(last.info.seconds, 7);
    EXPECT_LE(source.started, 10);
  }
  EXPECT_EQ(devices, 1u);
}

TEST(PreviewWorker, CutsResultsForThePicture) {
  SlowSource source;
  Answers answers;
  PreviewWorker worker(
      source, [&](PreviewAnswer answer) { answers.add(std::move(answer)); }, [](const auto&) {});
  worker.submit(job_of(1, 7));
  EXPECT_EQ(answers.wait_for(1).piece.cells.size(), 1u);
  PreviewJob coarse = job_of(2, 7);
  coarse.coarse = true;
  coarse.reduction = 3;
  worker.submit(coarse);
  const PreviewAnswer answer = answers.wait_for(2);
  EXPECT_EQ(answer.piece.coarse.rect, coarse.rect);
  EXPECT_EQ(answer.piece.coarse_level, 0);
}

TEST(PreviewWorker, TasksComeBetweenJobs) {
  SlowSource source;
  Answers answers;
  std::atomic<int> tasks = 0;
  PreviewWorker worker(
      source, [&](PreviewAnswer answer) { answers.add(std::move(answer)); }, [](const auto&) {});
  for (uint64_t i = 1; i < 5; ++i) {
    worker.run_aside([&] { tasks++; });
    worker.submit(job_of(i, 7));
    EXPECT_TRUE(answers.wait_for(i).status.ok());
    EXPECT_EQ(tasks, static_cast<int>(i));
  }
}

TEST(PreviewWorker, AJobCancelledBeforeItBeginsIsAnsweredToo) {
  SlowSource source;
  Answers answers;
  std::atomic<bool> go = false;
  PreviewWorker worker(
      source, [&](PreviewAnswer answer) { answers.add(std::move(answer)); }, [](const auto&) {});
  worker.run_aside([&] {
    while (!go) std::this_thread::yield();
  });
  worker.submit(job_of(1, 7));
  worker.cancel();
  go = true;
  EXPECT_EQ(answers.wait_for(1).status.code(), ErrorCode::kCancelled);
  worker.submit(job_of(2, 7));
  EXPECT_TRUE(answers.wait_for(2).status.ok());
}

TEST(PreviewWorker, ErrorsAreAnswers) {
  SlowSource source;
  Answers answers;
  PreviewWorker worker(
      source, [&](PreviewAnswer answer) { answers.add(std::move(answer)); }, [](const auto&) {});
  worker.submit(job_of(1, -1));
  EXPECT_EQ(answers.wait_for(1).status.message(), "broken");
  worker.submit(job_of(2, 7));
  EXPECT_TRUE(answers.wait_for(2).status.ok());
}

TEST(PreviewWorker, ATaskOrAnAnswerThatThrowsEndsNothing) {
  SlowSource source;
  Answers answers;
  PreviewWorker worker(
      source,
      [&](PreviewAnswer answer) {
        if (answer.job.settings == 1) throw std::bad_alloc();
        answers.add(std::move(answer));
      },
      [](const auto&) { throw std::bad_alloc(); });
  worker.run_aside([] { throw std::runtime_error("broken"); });
  worker.submit(job_of(1, 7));
  while (source.started == 0) std::this_thread::yield();
  worker.submit(job_of(2, 7));
  EXPECT_TRUE(answers.wait_for(2).status.ok());
}

TEST(PreviewWorker, EndsQuicklyWhileWorking) {
  SlowSource source;
  const auto start = std::chrono::steady_clock::now();
  {
    PreviewWorker worker(source, [](const auto&) {}, [](const auto&) {});
    worker.submit(job_of(1, 1));
    while (source.started == 0) std::this_thread::yield();
  }
  // The job alone would take 2 s.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace grainless::ui
