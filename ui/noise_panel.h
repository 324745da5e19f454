// SPDX-License-Identifier: MIT
// What is known of the layer's noise: the estimate, a diagram, and a button that measures a part.
#pragma once

#include <gtk/gtk.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "noise_plot.h"
#include "preview.h"

namespace grainless::ui {

class NoisePanel {
 public:
  // use_sigma takes a sigma that the user has measured.
  NoisePanel(Preview& preview, std::function<void(double)> use_sigma);

  GtkWidget* widget() const { return box_; }
  // The preview's state or the settings have changed.
  void update(const Params& params);
  // Of luma or grey, once it was measured.
  std::optional<double> measured() const {
    return sigma_.empty() ? std::nullopt : std::optional(sigma_[0]);
  }

 private:
  void measure_layer();
  void measure_area();
  void show_area(const Status& status, const AreaMeasurement& measured);
  void update_button();
  void update_level();
  std::string text() const;

  Preview& preview_;
  std::function<void(double)> use_sigma_;
  NoisePlot plot_;
  GtkWidget* box_;
  GtkWidget* estimate_;
  GtkWidget* area_;
  GtkWidget* button_;
  std::vector<double> sigma_;  // of the layer, when it is known
  std::vector<NoisePoint> removed_;
  NoiseConfidence confidence_;
  double corners_ = 1;
  std::string impulses_;
  Params params_;         // of the last update
  int32_t asked_ = -1;    // the layer whose noise is or was measured
  uint64_t version_ = 0;  // of the preview's pixels that this is about
  int32_t layer_ = -1;    // that this is about
  bool measuring_ = false;
};

}  // namespace grainless::ui
