// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drawable_io.h"
#include "engine/denoise.h"
#include "layer_filter.h"
#include "report.h"
#include "target.h"

namespace grainless {

// What the dialog's preview already knows for the same parameters; pixels that have changed since
// are noticed, and then the noise is measured again. The preview may give way to another one while
// the work goes on.
struct Known {
  SharedPixels pixels;  // of the filter's noise_layers(), whole
  std::optional<NoiseModel> noise;
};

// The filter's work on the selected pixels of drawables that are computed together: one drawable,
// or the layers of a stack, which share one place. Computing and merging are two steps, and between
// them all is compared with the start, so that several tasks change all of their drawables or none.
// Main thread; the computing is done by others meanwhile. An empty selection and pixels that stay
// as they are are no errors: report().engine.note says so.
class DenoiseTask {
 public:
  // The drawables have one size, place and format. `filter` outlives the task.
  DenoiseTask(LayerFilter& filter, const Drawables& drawables, const Params& params, Known known);
  // Forgets pixels that were not merged.
  ~DenoiseTask();
  DenoiseTask(const DenoiseTask&) = delete;
  DenoiseTask& operator=(const DenoiseTask&) = delete;

  const std::string& name() const { return report_.drawable; }
  const RunReport& report() const { return report_; }

  // Leaves the new pixels in the drawables' shadow buffers, which GIMP keeps, on disk if it must.
  Status compute(const CallMonitor& monitor);
  // How many drawables merge() will change.
  size_t prepared() const { return prepared_; }
  // What can be known of the merge before the last look at what has changed, with so many bytes.
  // The sentence of what is wrong, or kCancelled.
  Status foresee_merge(uint64_t& left, const CallMonitor& monitor);
  // Whether all that was prepared still waits; whether GIMP still holds the pixels that the work
  // started from; and then all the rest: the drawables' places, formats and selections. The
  // sentence of what differs, or kCancelled.
  Status check_prepared(const CallMonitor& monitor) const;
  Status check_pixels(const CallMonitor& monitor);
  Status check_state() const;
  // What was painted since check_pixels(), where the others' pixels took a while: at a glance, and
  // compares the pixels once more when they look different.
  Status check_at_a_glance(const CallMonitor& monitor);
  // Puts the prepared pixels into the drawables: one undo step each. merged counts those that GIMP
  // took. False: it refused one, and the others after that stay as they are.
  bool merge(size_t& merged);

 private:
  struct Part {
    explicit Part(GimpDrawable* drawable) : io(drawable), start(drawable) {}
    DrawableIo io;
    StartState start;
    PixelSums read;
    std::optional<uint64_t> glimpse = {};  // of the pixels that were compared
  };

  // Reads, measures, computes and prepares; throws.
  void run(const CallMonitor& monitor);
  // Of a single layer, once its noise is known: reading, computing and writing at once. Of several:
  // one after another.
  void run_in_flow(const CallMonitor& monitor);
  void run_together(const CallMonitor& monitor);
  // The same for layers that are too large to be in memory as a whole, with the same pixels. What a
  // preview knows of them is measured again.
  void run_in_bands(const CallMonitor& monitor);
  bool too_large() const;
  void expect_unchanged(Part& part, const CallMonitor& monitor);
  size_t count() const { return parts_.size(); }
  DrawableIo& io(size_t index) { return parts_[index].io; }
  const DrawableIo& io(size_t index) const { return parts_[index].io; }
  // The part that changes.
  const Rect& target() const { return parts_.front().start.selected(); }
  LayersShape shape() const;
  // The part that the result depends on.
  Rect source_rect(const NoiseModel& noise) const;
  std::vector<PixelBuffer> buffers(const Rect& rect) const;
  void forget_if_unchanged();
  void read_layers(std::vector<PixelBuffer>& sources, const CallMonitor& monitor);
  // Those parts of a single layer; without any, all of the layers.
  void read_first(const std::vector<Rect>& parts, std::vector<PixelBuffer>& sources,
                  const CallMonitor& monitor);
  // parts: what a measurement looks at.
  bool is_known(const std::vector<PixelBuffer>& sources, const std::vector<Rect>& parts) const;
  NoiseModel noise_of(const std::vector<PixelBuffer>& sources, const std::vector<Rect>& parts,
                      const CallMonitor& monitor, double& seconds) const;
  void filter_layers(const NoiseModel& noise, const std::vector<PixelBuffer>& sources,
                     std::vector<PixelBuffer>& results, const CallMonitor& monitor);
  // From here on there is something to merge, or to forget.
  void prepare(const std::vector<PixelBuffer>& sources, const std::vector<PixelBuffer>& results,
               const CallMonitor& monitor);

  LayerFilter& filter_;
  const Params params_;
  const Known known_;
  RunReport report_;
  std::vector<Part> parts_;
  size_t prepared_ = 0;  // the first ones
};
using Tasks = std::vector<std::unique_ptr<DenoiseTask>>;

}  // namespace grainless
