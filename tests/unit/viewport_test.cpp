// SPDX-License-Identifier: MIT
#include "ui/viewport.h"

#include <gtest/gtest.h>

namespace grainless::ui {
namespace {

Viewport view_of(int32_t width, int32_t height) {
  Viewport view(1000, 800);
  view.resize(width, height);
  return view;
}

TEST(Viewport, StaysInsideTheImage) {
  Viewport view = view_of(500, 400);
  view.pan_by(-5000, -5000);
  EXPECT_EQ(view.visible(), (Rect{0, 0, 500, 400}));
  view.pan_by(10000, 10000);
  EXPECT_EQ(view.visible(), (Rect{500, 400, 500, 400}));
  view.centre_on(500, 400);
  EXPECT_EQ(view.visible(), (Rect{250, 200, 500, 400}));
  view.resize(700, 500);
  EXPECT_EQ(view.visible(), (Rect{150, 150, 700, 500}));
  view.resize(2000, 2000);
  EXPECT_EQ(view.visible(), (Rect{0, 0, 1000, 800}));
  EXPECT_EQ(view.left(), 500);
  EXPECT_EQ(view.top(), 600);
}

TEST(Viewport, ALayerSmallerThanTheViewIsCentred) {
  Viewport view(1, 2000);
  view.resize(480, 360);
  view.pan_by(3, -10000);
  view.pan_by(3, 100);
  EXPECT_EQ(view.visible(), (Rect{0, 100, 1, 360}));
  EXPECT_EQ(view.left(), 239);
  EXPECT_EQ(view.top(), -100);
}

TEST(Viewport, ZoomKeepsThePlaceUnderThePointer) {
  Viewport view = view_of(300, 200);
  view.centre_on(500, 400);
  for (const int by : {1, 1, 1, -1, -1, 1, 1, 1}) {
    const double x = view.image_x(120), y = view.image_y(70);
    view.zoom_by(by, 120, 70);
    EXPECT_NEAR(view.image_x(120), x, 1 / view.zoom());
    EXPECT_NEAR(view.image_y(70), y, 1 / view.zoom());
  }
}

TEST(Viewport, ZoomGoesThroughItsSteps) {
  Viewport view = view_of(100, 80);
  std::vector<double> seen;
  view.zoom_to(0.01);
  EXPECT_EQ(view.zoom(), 0.25);
  for (const double step : Viewport::zoom_steps()) {
    EXPECT_DOUBLE_EQ(view.zoom(), step);
    view.zoom_by(1);
  }
  EXPECT_EQ(view.zoom(), 8);
  view.zoom_by(-100);
  EXPECT_TRUE(view.fits());
  EXPECT_EQ(view.zoom(), 0.1);
  EXPECT_EQ(view.visible(), (Rect{0, 0, 1000, 800}));
  view.zoom_by(1);
  EXPECT_EQ(view.zoom(), 0.25);
}

TEST(Viewport, FitsAfterAResizeToo) {
  Viewport view = view_of(500, 500);
  view.fit();
  EXPECT_EQ(view.zoom(), 0.5);
  view.resize(250, 500);
  EXPECT_EQ(view.zoom(), 0.25);
  EXPECT_EQ(view.top(), 150);
  view.resize(5000, 5000);
  EXPECT_EQ(view.zoom(), 1);
  view.zoom_to(2);
  view.resize(100, 100);
  EXPECT_EQ(view.zoom(), 2);
}

TEST(Viewport, VisibleHoldsAllThatShows) {
  Viewport view = view_of(333, 222);
  for (const double zoom : Viewport::zoom_steps()) {
    view.zoom_to(zoom, 17, 19);
    const Rect visible = view.visible();
    EXPECT_LE(visible.x, std::max(0.0, view.image_x(0)));
    EXPECT_GE(visible.right(), std::min(1000.0, view.image_x(333)) - 1e-6);
    EXPECT_LT(visible.width, 333 / zoom + 2);
  }
}

TEST(Viewport, LevelIsTheCoarsestWithAPixelForEach) {
  Viewport view = view_of(100, 100);
  const auto level_at = [&](double zoom) {
    view.zoom_to(zoom);
    return view.level();
  };
  EXPECT_EQ(level_at(8), 0);
  EXPECT_EQ(level_at(2.0 / 3), 0);
  EXPECT_EQ(level_at(0.5), 1);
  EXPECT_EQ(level_at(1.0 / 3), 1);
  EXPECT_EQ(level_at(0.25), 2);
  view.resize(10, 10);
  view.fit();
  EXPECT_EQ(view.level(), 5);
}

}  // namespace
}  // namespace grainless::ui
