// SPDX-License-Identifier: MIT
#include "ui/preview_model.h"

#include <gtest/gtest.h>

namespace grainless::ui {
namespace {

Params with_sigma(double sigma) {
  Params params;
  params.sigma = sigma;
  return params;
}

PreviewModel model_of(int32_t width, int32_t height) {
  PreviewModel model(width, height);
  Viewport view = model.view();
  view.resize(500, 400);
  model.look(view, 0);
  model.set_params(with_sigma(1), 0);
  return model;
}

void zoom_to(PreviewModel& model, double zoom, int64_t now) {
  Viewport view = model.view();
  view.zoom_to(zoom);
  model.look(view, now);
}

void pan_by(PreviewModel& model, int32_t dx, int32_t dy, int64_t now) {
  Viewport view = model.view();
  view.pan_by(dx, dy);
  model.look(view, now);
}

// A device that takes so long a pixel; coarse work of a quarter of that.
constexpr double kCard = 2e-8, kProcessor = 1e-6;

PreviewAnswer answer_to(const PreviewJob& job, double rate, int32_t halo = 0) {
  PreviewAnswer answer;
  answer.job = job;
  answer.info.device = "test";
  if (!job.coarse) answer.info.halo = halo;
  answer.info.seconds = rate * (job.rect.width + answer.info.halo) *
                        (job.rect.height + answer.info.halo) / (1 << 2 * job.reduction) /
                        (job.coarse ? 4 : 1);
  if (job.coarse) {
    answer.piece.settings = job.settings;
    answer.piece.coarse_rect = job.rect;
    answer.piece.coarse_level = job.level;
    answer.piece.coarse = Bitmap(at_level(job.rect, job.level));
  } else {
    answer.piece = cut(Bitmap(job.rect), job.settings, job.level);
  }
  return answer;
}

// Runs all that is due until nothing is; the jobs in their order.
std::vector<PreviewJob> settle(PreviewModel& model, double rate, int64_t& now, int32_t halo = 0) {
  std::vector<PreviewJob> jobs;
  while (const auto wait = model.wait(now)) {
    now += *wait;
    const auto job = model.due(now);
    if (!job || jobs.size() > 1000) break;
    model.start(*job);
    jobs.push_back(*job);
    PreviewAnswer answer = answer_to(*job, rate, halo);
    now += static_cast<int64_t>(answer.info.seconds * 1000);
    EXPECT_TRUE(model.finished(std::move(answer)));
  }
  return jobs;
}

TEST(PreviewModel, WaitsForParamsAndView) {
  PreviewModel model(1000, 800);
  EXPECT_FALSE(model.wait(1000));
  model.set_params(Params(), 0);
  EXPECT_FALSE(model.wait(1000));
  EXPECT_FALSE(model.due(1000));
  Viewport view = model.view();
  view.resize(500, 400);
  model.look(view, 0);
  EXPECT_TRUE(model.due(1000));
}

TEST(PreviewModel, GathersChangesWithoutPuttingThemOff) {
  PreviewModel model = model_of(100, 100);
  model.set_params(with_sigma(2), 1);
  EXPECT_EQ(model.wait(1), PreviewModel::kDelay - 1);
  EXPECT_FALSE(model.due(PreviewModel::kDelay - 1));
  const auto job = model.due(PreviewModel::kDelay);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->params.sigma, 2);
  EXPECT_FALSE(job->coarse);
}

TEST(PreviewModel, SameSettingsAreNoChange) {
  PreviewModel model = model_of(1000, 800);
  int64_t now = 0;
  settle(model, kCard, now);
  model.set_params(with_sigma(1), now);
  pan_by(model, 0, 0, now);
  EXPECT_FALSE(model.busy());
  EXPECT_FALSE(model.wait(now + 1000));
}

TEST(PreviewModel, AQuickDeviceIsExactAtOnce) {
  PreviewModel model = model_of(4000, 3000);
  int64_t now = 0;
  settle(model, kCard, now);
  model.set_params(with_sigma(2), now);
  const int64_t start = now;
  const std::vector<PreviewJob> jobs = settle(model, kCard, now);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_FALSE(jobs[0].coarse);
  EXPECT_TRUE(jobs[0].rect.contains(model.view().visible()));
  EXPECT_LT(now - start, 60);
  EXPECT_FALSE(model.coarse());
}

TEST(PreviewModel, ASlowDeviceIsCoarseFirst) {
  PreviewModel model = model_of(4000, 3000);
  int64_t now = 0;
  settle(model, kProcessor, now);
  for (const double zoom : {1.0, 0.25, 4.0}) {
    zoom_to(model, zoom, now);
    settle(model, kProcessor, now);
    model.set_params(with_sigma(static_cast<double>(now)), now);
    auto job = model.due(now + PreviewModel::kDelay);
    ASSERT_TRUE(job);
    if (zoom > 1) {
      EXPECT_FALSE(job->coarse) << "so small a part takes no time";
      continue;
    }
    ASSERT_TRUE(job->coarse) << zoom;
    EXPECT_TRUE(job->rect.contains(model.view().visible()));
    PreviewAnswer coarse = answer_to(*job, kProcessor);
    EXPECT_LT(coarse.info.seconds, 0.25) << "a first answer within 300 ms";
    model.start(*job);
    EXPECT_TRUE(model.finished(std::move(coarse)));
    EXPECT_TRUE(model.coarse() && model.busy());
    // Exact work waits for a rest, and then gives it all.
    EXPECT_FALSE(model.due(now + PreviewModel::kRest - 1));
    now += PreviewModel::kRest;
    for (const PreviewJob& part : settle(model, kProcessor, now)) {
      EXPECT_FALSE(part.coarse);
      EXPECT_LT(answer_to(part, kProcessor).info.seconds, 2.5 * PreviewModel::kPart);
    }
    EXPECT_FALSE(model.busy());
    EXPECT_EQ(model.progress(), 1);
    EXPECT_FALSE(model.coarse());
  }
}

// BM3D high with two levels looks 445 pixels far: cell by cell it took 33 s for what takes 4 s at
// once.
TEST(PreviewModel, PartsAreNotMostlyHalo) {
  constexpr double kSlow = 3e-6;
  constexpr int32_t kHalo = 445;
  PreviewModel model(6000, 4000);
  Viewport view = model.view();
  int64_t now = 0;
  for (const auto& [width, height] : {std::pair{800, 620}, std::pair{3800, 2000}}) {
    view.resize(width, height);
    view.zoom_to(1);
    model.look(view, now);
    for (int change = 1; change <= 3; ++change) {
      model.set_params(with_sigma(static_cast<double>(now) + change), now);
      double seconds = 0, longest = 0;
      for (const PreviewJob& job : settle(model, kSlow, now, kHalo)) {
        if (job.coarse) continue;
        const double part = answer_to(job, kSlow, kHalo).info.seconds;
        seconds += part;
        longest = std::max(longest, part);
      }
      EXPECT_EQ(model.progress(), 1);
      const double once = kSlow * (width + kHalo) * (height + kHalo);
      // Of the first part nothing is known.
      EXPECT_LT(seconds, (now == 0 || change == 1 ? 3 : 2) * once);
      EXPECT_LT(longest, 12) << "the view comes part by part all the same";
      now += 1000;
    }
  }
}

// What nothing is known of yet may be a card, which takes a tenth of the rest.
TEST(PreviewModel, TheFirstExactWorkWaitsForNothingButTheCoarseAnswer) {
  PreviewModel model = model_of(4000, 3000);
  const auto coarse = model.due(PreviewModel::kDelay);
  ASSERT_TRUE(coarse && coarse->coarse);
  model.start(*coarse);
  EXPECT_TRUE(model.finished(answer_to(*coarse, kCard)));
  const auto exact = model.due(PreviewModel::kDelay + 1);
  ASSERT_TRUE(exact);
  EXPECT_FALSE(exact->coarse);
  EXPECT_TRUE(exact->rect.contains(model.view().visible()));
}

TEST(PreviewModel, PartsStartInTheMiddleAndCoverAll) {
  PreviewModel model = model_of(4000, 3000);
  int64_t now = 0;
  zoom_to(model, 0.25, 0);
  const std::vector<PreviewJob> jobs = settle(model, kProcessor, now);
  ASSERT_GT(jobs.size(), 3u);
  const Rect visible = model.view().visible();
  const Rect middle{visible.x + visible.width / 2, visible.y + visible.height / 2, 1, 1};
  EXPECT_TRUE(jobs[0].coarse);
  EXPECT_TRUE(expand(jobs[1].rect, 2 * kCellSize).contains(middle));
  EXPECT_TRUE(model.picture().missing(cells_of(visible), jobs[0].settings, 2).empty());
}

TEST(PreviewModel, PanningComputesOnlyWhatIsNew) {
  PreviewModel model = model_of(4000, 3000);
  int64_t now = 0;
  settle(model, kProcessor, now);
  pan_by(model, 200, 0, now);
  int64_t area = 0;
  for (const PreviewJob& job : settle(model, kProcessor, now)) {
    if (!job.coarse) area += job.rect.area();
  }
  EXPECT_GT(area, 0);
  EXPECT_LE(area, 3 * kCellSize * 5 * kCellSize);
  pan_by(model, -200, 0, now);
  EXPECT_FALSE(model.busy());
}

TEST(PreviewModel, CoarseAnswersFollowAMovingSlider) {
  PreviewModel model = model_of(4000, 3000);
  int64_t now = 0;
  settle(model, kProcessor, now);
  model.set_params(with_sigma(2), now);
  const auto first = model.due(now + 20);
  ASSERT_TRUE(first && first->coarse);
  model.start(*first);
  model.set_params(with_sigma(3), now + 40);
  EXPECT_FALSE(model.outdated()) << "it is shown, though a newer one is wanted";
  EXPECT_FALSE(model.due(now + 60)) << "one at a time";
  EXPECT_TRUE(model.finished(answer_to(*first, kProcessor)));
  const auto second = model.due(now + 60);
  ASSERT_TRUE(second && second->coarse);
  EXPECT_EQ(second->params.sigma, 3);
}

TEST(PreviewModel, SlowWorkThatNobodyWantsIsCancelled) {
  PreviewModel model = model_of(4000, 3000);
  int64_t now = 0;
  zoom_to(model, 0.25, 0);
  const auto coarse = model.due(100);
  model.start(*coarse);
  model.finished(answer_to(*coarse, kProcessor));
  const auto exact = model.due(1000);
  ASSERT_TRUE(exact && !exact->coarse);
  model.start(*exact);
  EXPECT_FALSE(model.outdated());
  pan_by(model, 10, 0, 1100);
  EXPECT_FALSE(model.outdated()) << "most of it is still in view";
  model.set_params(with_sigma(3), 1200);
  EXPECT_TRUE(model.outdated());
  PreviewAnswer cancelled;
  cancelled.job = *exact;
  cancelled.status = {ErrorCode::kCancelled, "cancelled"};
  EXPECT_FALSE(model.finished(std::move(cancelled)));
  EXPECT_TRUE(model.error().empty());
  settle(model, kProcessor, now = 1300);
  EXPECT_FALSE(model.busy());
}

TEST(PreviewModel, AnOlderResultNeverReplacesANewerOne) {
  PreviewModel model = model_of(300, 200);
  int64_t now = 0;
  const auto first = model.due(100);
  model.set_params(with_sigma(2), 100);
  settle(model, kCard, now = 200);
  const uint64_t newest = first->settings + 1;
  EXPECT_TRUE(model.picture().missing({0, 0, 1, 1}, newest, 0).empty());
  model.finished(answer_to(*first, kCard));
  EXPECT_TRUE(model.picture().missing({0, 0, 1, 1}, newest, 0).empty());
}

TEST(PreviewModel, FailureEndsTheWorkUntilAChange) {
  PreviewModel model = model_of(300, 200);
  const auto job = model.due(1000);
  ASSERT_TRUE(job);
  model.start(*job);
  EXPECT_TRUE(model.busy());
  PreviewAnswer answer;
  answer.job = *job;
  answer.status = {ErrorCode::kInternal, "broken"};
  EXPECT_FALSE(model.finished(std::move(answer)));
  EXPECT_FALSE(model.busy());
  EXPECT_EQ(model.error(), "broken");
  EXPECT_FALSE(model.wait(5000));
  model.set_params(with_sigma(3), 6000);
  int64_t now = 6000;
  EXPECT_FALSE(settle(model, kCard, now).empty());
  EXPECT_TRUE(model.error().empty());
}

TEST(PreviewModel, AnotherLayerStartsWithNothing) {
  PreviewModel model = model_of(300, 200);
  int64_t now = 0;
  settle(model, kCard, now);
  EXPECT_FALSE(model.busy());
  model.set_layer(0, now);
  EXPECT_FALSE(model.busy()) << "the same one";
  model.set_layer(3, now);
  EXPECT_EQ(model.layer(), 3);
  EXPECT_TRUE(model.busy());
  EXPECT_TRUE(model.picture().empty()) << "the other layer's result";
  EXPECT_NE(model.info(), nullptr);
  EXPECT_EQ(model.own_info(), nullptr) << "the other layer's noise";
  for (const PreviewJob& job : settle(model, kCard, now)) EXPECT_EQ(job.layer, 3);
  EXPECT_FALSE(model.busy());
  EXPECT_FALSE(model.picture().empty());
  EXPECT_NE(model.own_info(), nullptr);
  model.set_layer(0, now);
  EXPECT_NE(model.own_info(), nullptr) << "is kept with its picture";
}

TEST(PreviewModel, LayersAreKeptUntilTheSettingsChange) {
  PreviewModel model = model_of(300, 200);
  int64_t now = 0;
  settle(model, kCard, now);
  for (const int32_t layer : {5, 2, 0, 5}) {
    model.set_layer(layer, now);
    settle(model, kCard, now);
  }
  for (const int32_t layer : {2, 0, 5}) {
    model.set_layer(layer, now);
    EXPECT_FALSE(model.busy()) << layer;
    EXPECT_FALSE(model.picture().empty());
  }
  pan_by(model, 0, 0, now);
  model.set_params(with_sigma(2), now);
  settle(model, kCard, now);
  model.set_layer(2, now);
  EXPECT_TRUE(model.picture().empty()) << "of other settings";
  EXPECT_TRUE(model.busy());
  settle(model, kCard, now);
  for (int32_t layer = 6; layer < 40; ++layer) {
    model.set_layer(layer, now);
    EXPECT_TRUE(model.picture().empty());
    settle(model, kCard, now);
  }
  model.set_layer(2, now);
  EXPECT_TRUE(model.busy()) << "there is an end to what is kept";
  model.set_layer(39, now);
  EXPECT_FALSE(model.busy()) << "what was seen last stays longest";
}

// What comes first is no result to come back to.
TEST(PreviewModel, CoarseAnswersAreNotKept) {
  PreviewModel model = model_of(4000, 3000);
  const auto coarse = model.due(1000);
  ASSERT_TRUE(coarse && coarse->coarse);
  model.start(*coarse);
  EXPECT_TRUE(model.finished(answer_to(*coarse, kProcessor)));
  model.set_layer(1, 1000);
  model.set_layer(0, 1000);
  EXPECT_TRUE(model.picture().empty());
}

TEST(PreviewModel, AnotherLayersResultIsNeverTaken) {
  PreviewModel model = model_of(4000, 3000);
  int64_t now = 1000;
  for (const bool coarse : {true, false}) {
    const auto job = model.due(now += 1000);
    ASSERT_TRUE(job);
    EXPECT_EQ(job->coarse, coarse);
    model.start(*job);
    if (coarse) {
      ASSERT_TRUE(model.finished(answer_to(*job, kProcessor)));
      continue;
    }
    EXPECT_FALSE(model.outdated());
    model.set_layer(1, now);
    EXPECT_TRUE(model.outdated()) << "nobody waits for it";
    EXPECT_FALSE(model.coarse());
    EXPECT_FALSE(model.finished(answer_to(*job, kProcessor)));
    EXPECT_TRUE(model.picture().empty());
  }
  const auto next = model.due(now += 1000);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->layer, 1);
  model.start(*next);
  model.set_layer(0, now);
  PreviewAnswer failed;
  failed.job = *next;
  failed.status = {ErrorCode::kInternal, "broken"};
  EXPECT_FALSE(model.finished(std::move(failed)));
  EXPECT_TRUE(model.error().empty()) << "of a layer that nobody looks at";
  settle(model, kProcessor, now);
  EXPECT_FALSE(model.busy());
}

TEST(PreviewModel, AnotherImageShowsNothingOfTheOneBefore) {
  PreviewModel model = model_of(1000, 800);
  int64_t now = 0;
  settle(model, kProcessor, now);
  pan_by(model, 200, 0, now);
  const auto job = model.due(now += 1000);
  ASSERT_TRUE(job);
  model.start(*job);
  model.set_image(900, 300, now);
  EXPECT_TRUE(model.outdated());
  EXPECT_EQ(model.info(), nullptr);
  EXPECT_FALSE(model.finished(answer_to(*job, kProcessor)));
  EXPECT_TRUE(model.picture().empty());
  for (const PreviewJob& next : settle(model, kProcessor, now)) {
    EXPECT_LE(next.rect.right(), 900);
    EXPECT_LE(next.rect.bottom(), 300);
  }
  EXPECT_FALSE(model.busy());
}

TEST(PreviewModel, AnotherSelectionIsComputedAnew) {
  PreviewModel model = model_of(1000, 800);
  int64_t now = 0;
  settle(model, kCard, now);
  EXPECT_FALSE(model.busy());
  model.invalidate(now);
  EXPECT_TRUE(model.busy());
  EXPECT_FALSE(model.picture().empty()) << "what was shown stays until there is something newer";
  EXPECT_FALSE(settle(model, kCard, now).empty());
  EXPECT_FALSE(model.busy());
}

TEST(PreviewModel, ExactPartsBeginWhereTheUserLooks) {
  for (const auto& [x, y] : {std::pair{5800.0, 200.0}, std::pair{300.0, 3900.0}}) {
    PreviewModel model = model_of(6000, 4000);
    Viewport view = model.view();
    view.fit();
    model.look(view, 0);
    model.set_focus(std::pair{x, y});
    int64_t now = 0;
    const std::vector<PreviewJob> jobs = settle(model, kProcessor, now);
    ASSERT_GT(jobs.size(), 4u);
    EXPECT_TRUE(jobs[0].coarse);
    EXPECT_FALSE(jobs[1].coarse);
    EXPECT_TRUE(jobs[1].rect.contains({int32_t(x), int32_t(y), 1, 1}));
  }
}

// No coarser than it takes half a second, and no finer than it is shown.
TEST(PreviewModel, ReducedViewsGetAFineCoarseAnswer) {
  PreviewModel model = model_of(6000, 4000);
  Viewport view = model.view();
  view.resize(1500, 1000);
  view.fit();
  model.look(view, 0);
  int64_t now = 0;
  settle(model, kProcessor, now);
  model.set_params(with_sigma(2), now);
  const auto job = model.due(now += 1000);
  ASSERT_TRUE(job);
  EXPECT_TRUE(job->coarse);
  EXPECT_EQ(job->level, 2);
  EXPECT_EQ(job->reduction, 2) << "1.5 megapixels of a quarter of a microsecond each";
}

// Parts outside of the selection take no time, which says nothing about the others.
TEST(PreviewModel, SparedPartsAreNoSignOfAQuickDevice) {
  PreviewModel model = model_of(4000, 3000);
  int64_t now = 0;
  settle(model, kProcessor * 10, now);
  const std::string device = model.info()->device;
  pan_by(model, 2000, 0, now);
  const auto job = model.due(now += 1000);
  ASSERT_TRUE(job);
  model.start(*job);
  PreviewAnswer answer = answer_to(*job, 0);
  answer.info.spared = true;
  answer.info.device.clear();
  EXPECT_TRUE(model.finished(std::move(answer)));
  EXPECT_EQ(model.info()->device, device);
  model.invalidate(now);
  const auto next = model.due(now += 1000);
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->coarse) << "exact pixels are still slow";
}

TEST(PreviewModel, TinyImagesAreNotReduced) {
  PreviewModel model = model_of(40, 30000);
  zoom_to(model, 0.25, 0);
  int64_t now = 0;
  for (const PreviewJob& job : settle(model, kProcessor * 10, now)) {
    EXPECT_EQ(job.reduction, 0);
  }
  EXPECT_FALSE(model.busy());
}

}  // namespace
}  // namespace grainless::ui
