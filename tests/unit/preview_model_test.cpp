// SPDX-License-Identifier: MIT
#include "ui/preview_model.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "ui/preview_worker.h"

namespace grainless::ui {
namespace {

Params with_sigma(double sigma) {
  Params params;
  params.sigma = sigma;
  return params;
}

PreviewModel ready_model() {
  PreviewModel model(1000, 800);
  model.resize_view(500, 400, 0);
  model.set_params(with_sigma(1), 0);
  return model;
}

TEST(PreviewModel, WaitsForParamsAndView) {
  PreviewModel model(1000, 800);
  EXPECT_FALSE(model.wait(1000));
  model.set_params(Params(), 0);
  EXPECT_FALSE(model.wait(1000));
  EXPECT_FALSE(model.next_job(1000));
  model.resize_view(500, 400, 0);
  EXPECT_TRUE(model.next_job(1000));
}

TEST(PreviewModel, Debounces) {
  PreviewModel model = ready_model();
  for (int64_t t = 0; t < 500; t += 50) {
    model.set_params(with_sigma(static_cast<double>(t)), t);
    EXPECT_FALSE(model.next_job(t + 49));
  }
  EXPECT_EQ(model.wait(500), 450 + PreviewModel::kDebounce - 500);
  EXPECT_FALSE(model.next_job(450 + PreviewModel::kDebounce - 1));
  const auto job = model.next_job(450 + PreviewModel::kDebounce);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->params.sigma, 450);
  EXPECT_FALSE(model.next_job(10000));
}

TEST(PreviewModel, SameSettingsAreNoChange) {
  PreviewModel model = ready_model();
  const auto job = model.next_job(1000);
  ASSERT_TRUE(job);
  EXPECT_TRUE(model.finished(job->generation, true));
  model.set_params(with_sigma(1), 2000);
  model.resize_view(500, 400, 2000);
  model.pan_by(0, 0, 2000);
  EXPECT_FALSE(model.busy());
  EXPECT_FALSE(model.wait(3000));
}

TEST(PreviewModel, StaleResultsAreDropped) {
  PreviewModel model = ready_model();
  const auto first = model.next_job(1000);
  model.set_params(with_sigma(2), 1010);
  EXPECT_FALSE(model.finished(first->generation, true));
  EXPECT_TRUE(model.busy());
  const auto second = model.next_job(2000);
  ASSERT_TRUE(second);
  EXPECT_FALSE(model.finished(first->generation, true));
  EXPECT_TRUE(model.busy());
  EXPECT_TRUE(model.finished(second->generation, true));
  EXPECT_FALSE(model.busy());
}

TEST(PreviewModel, FailureEndsTheWork) {
  PreviewModel model = ready_model();
  const auto job = model.next_job(1000);
  EXPECT_TRUE(model.busy());
  EXPECT_FALSE(model.finished(job->generation, false));
  EXPECT_FALSE(model.busy());
}

TEST(PreviewModel, ViewStaysInsideTheImage) {
  PreviewModel model = ready_model();
  model.pan_by(-50, -50, 0);
  EXPECT_EQ(model.visible(), (Rect{0, 0, 500, 400}));
  model.pan_by(10000, 10000, 0);
  EXPECT_EQ(model.visible(), (Rect{500, 400, 500, 400}));
  model.centre_on(500, 400, 0);
  EXPECT_EQ(model.visible(), (Rect{250, 200, 500, 400}));
  model.resize_view(700, 500, 0);
  EXPECT_EQ(model.visible(), (Rect{150, 150, 700, 500}));
  model.resize_view(2000, 2000, 0);
  EXPECT_EQ(model.visible(), (Rect{0, 0, 1000, 800}));
  EXPECT_EQ(model.left(), 500);
  EXPECT_EQ(model.top(), 600);
}

TEST(PreviewModel, SmallerThanTheView) {
  PreviewModel model(1, 2000);
  model.resize_view(480, 360, 0);
  model.pan_by(3, 100, 0);
  EXPECT_EQ(model.visible(), (Rect{0, 100, 1, 360}));
  EXPECT_EQ(model.left(), 239);
  EXPECT_EQ(model.top(), 0);
}

// Takes its time, answers cancellation, and notes what it was asked.
class SlowSource final : public PreviewSource {
 public:
  int32_t width() const override { return 100; }
  int32_t height() const override { return 100; }
  Rect target() const override { return {0, 0, 100, 100}; }
  bool load_some(const Rect&) override { return false; }
  double loaded() const override { return 1; }
  bool ready(const Params&, const Rect&) const override { return true; }
  const uint32_t* original() const override { return nullptr; }
  Status denoise(const Params& params, const Rect& rect, const Callbacks& callbacks,
                 PreviewResult& result) override {
    started++;
    for (int i = 0; i < 200 && !callbacks.cancelled() && !stopped; ++i) {
      if (params.sigma < 0) throw std::runtime_error("broken");
      std::this_thread::sleep_for(std::chrono::milliseconds(params.sigma < 5 ? 10 : 0));
    }
    if (callbacks.cancelled() || stopped) return {ErrorCode::kCancelled, "cancelled"};
    result.rect = rect;
    result.seconds = params.sigma;
    return {};
  }
  std::vector<DeviceChoice> devices() override { return {{"cuda:0", "card"}}; }
  void stop() override { stopped = true; }

  std::atomic<int> started = 0;
  std::atomic<bool> stopped = false;
};

class Answers {
 public:
  void add(PreviewAnswer answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    changed_.notify_all();
  }
  PreviewAnswer wait_for(uint64_t generation) {
    std::unique_lock lock(mutex_);
    const PreviewAnswer* found = nullptr;
    changed_.wait_for(lock, std::chrono::seconds(20), [&] {
      for (const auto& answer : answers_) {
        if (answer.generation == generation) found = &answer;
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
    worker.submit({1, with_sigma(1), {0, 0, 10, 10}});
    while (source.started == 0) std::this_thread::yield();
    for (uint64_t i = 2; i < 10; ++i) worker.submit({i, with_sigma(2), {0, 0, 10, 10}});
    worker.submit({10, with_sigma(7), {0, 0, 10, 10}});
    EXPECT_EQ(answers.wait_for(1).status.code(), ErrorCode::kCancelled);
    const PreviewAnswer last = answers.wait_for(10);
    EXPECT_TRUE(last.status.ok());
    EXPECT_EQ(last.result.seconds, 7);
    EXPECT_LE(source.started, 10);
  }
  EXPECT_EQ(devices, 1u);
}

TEST(PreviewWorker, ErrorsAreAnswers) {
  SlowSource source;
  Answers answers;
  PreviewWorker worker(
      source, [&](PreviewAnswer answer) { answers.add(std::move(answer)); }, [](const auto&) {});
  worker.submit({1, with_sigma(-1), {}});
  EXPECT_EQ(answers.wait_for(1).status.message(), "broken");
  worker.submit({2, with_sigma(7), {}});
  EXPECT_TRUE(answers.wait_for(2).status.ok());
}

TEST(PreviewWorker, EndsQuicklyWhileWorking) {
  SlowSource source;
  const auto start = std::chrono::steady_clock::now();
  {
    PreviewWorker worker(
        source, [](const auto&) {}, [](const auto&) {});
    worker.submit({1, with_sigma(1), {}});
    while (source.started == 0) std::this_thread::yield();
  }
  // The job alone would take 2 s.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace grainless::ui
