// SPDX-License-Identifier: MIT
// What the dialog's preview asks of its host: pixels of one layer, before and after. The dialog
// knows neither where they come from nor who denoises them, alone or with others of a stack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/boundary/rect.h"
#include "engine/boundary/status.h"
#include "engine/params/params.h"
#include "engine/progress.h"
#include "picture.h"
#include "picture_colours.h"

namespace grainless::ui {

struct PreviewJob {
  uint64_t settings = 0;  // the number of params' change: newer ones are larger
  Params params;
  int32_t layer = 0;     // of a stack
  uint64_t version = 0;  // of the layer's pixels, PreviewSource::version()
  Rect rect;             // of the layer, to be computed
  int32_t level = 0;     // the finest level that is shown
  // A quick answer: quality "fast" and automatic sizes, at 1/2^reduction of the resolution.
  bool coarse = false;
  int32_t reduction = 0;
};

// At which level a coarse answer is handed over: no finer than it is shown.
inline int32_t coarse_level(const PreviewJob& job) {
  return std::min(job.level, job.reduction);
}

// How sure a measurement of the noise is, in words; none when it is.
struct NoiseConfidence {
  std::string words;
  bool unsure = false;  // the user should help
};

// How a result came about.
struct PreviewInfo {
  std::vector<double> sigma;           // used, before strength: one a channel, lightness first
  bool measured = false;               // sigma comes from the layer, not from the user
  NoiseConfidence confidence;          // of that sigma
  double corners = 1;                  // sigma there over that of the middle
  std::string impulses;                // that the layer was found to have; may be empty
  std::string device;                  // for people: "CPU", the card's name
  std::vector<std::string> fallbacks;  // one sentence each
  std::string note;                    // why the picture stays as it is
  double seconds = 0;
  int32_t halo = 0;     // pixels of the layer round the part that had to be looked at
  bool spared = false;  // nothing of the part changes, so nobody had to compute
};

// A denoised part of the layer, ready for the screen: of an exact job its rect, of a coarse one its
// rect at coarse_level().
struct PreviewResult {
  Bitmap bitmap;
  PreviewInfo info;
};

// Sigma over brightness, both 0..255.
struct NoisePoint {
  double brightness = 0, sigma = 0;
  bool operator==(const NoisePoint&) const = default;
};

// What the whole layer shows of its noise, one entry a channel, lightness first.
struct NoisePicture {
  std::vector<double> sigma;  // as automatic mode uses it
  NoiseConfidence confidence;
  double corners = 1;                           // as in PreviewInfo
  std::string impulses;                         // the same
  std::vector<std::vector<NoisePoint>> curves;  // from dark to bright; may be empty
  // Lightness as automatic mode removes it, where that depends on brightness; else empty.
  std::vector<NoisePoint> removed;
};

struct AreaMeasurement {
  std::vector<double> sigma;  // one a channel; empty: nothing could be measured
  double brightness = 0;      // mean, 0..255
  std::string remark;         // why not, or what is to be minded
};

// The selected part of a layer.
struct Selection {
  bool whole = true;            // nothing is selected, and so all of the layer changes
  Rect rect;                    // what it covers of the layer; empty: it misses it
  std::vector<uint8_t> inside;  // of rect: 1 where half of a pixel or more is selected
};

// What has become of the layer in the host, whose user can go on working. All texts are sentences.
struct Situation {
  std::string end;      // why there is nothing left to work on; else empty
  std::string refusal;  // why the filter would change nothing as things are; else empty
  std::string remark;   // what else is to be known of the result; may be empty
  // The same where the result is an effect.
  std::string effect_remark;
  bool pixels = false;     // version() is another one
  bool selection = false;  // selection() is another one
  bool unread = false;     // load_some() has something to do
};

struct DeviceChoice {
  std::string id;  // as the parameter takes it
  std::string label;
};

class PreviewSource {
 public:
  virtual ~PreviewSource() = default;

  // Main thread: the layer's size and the part that the filter will change.
  virtual int32_t width() const = 0;
  virtual int32_t height() const = 0;
  virtual bool has_colour() const = 0;
  virtual Rect target() const = 0;

  // Main thread: rises with every change of the pixels, or of all the above. What was computed for
  // another version is of no use any more.
  virtual uint64_t version() const = 0;
  virtual const Selection& selection() const = 0;
  // Main thread: compares what can be compared at once with what the host has now. From time to
  // time, or now if it is to be `thorough`, load_some() compares everything.
  virtual Situation look(bool thorough) = 0;

  // Main thread: reads some more of the layer, a few milliseconds' worth, before the rest what
  // shows `first` at a level. False: all of it has been read, and compared where look() wanted
  // that.
  virtual bool load_some(const Rect& first, int32_t level) = 0;
  // Main thread: whether all is there that shows `visible` at a level. Of a very large layer some
  // is forgotten, which load_some() reads again.
  virtual bool shows(const Rect& visible, int32_t level) const = 0;
  virtual double loaded() const = 0;  // 0..1
  // Main thread: whether enough was read for the job. If not, load_some() goes on with the rest.
  virtual bool ready(const PreviewJob& job) = 0;
  // Main thread: the layer as it is, at a level: `part` of that level or more, until the next call.
  // What isn't read yet is transparent.
  virtual const Bitmap& original(int32_t level, const Rect& part) const = 0;
  // Main thread: what the pixels of bitmaps mean, and how the host shows them now.
  virtual PictureColours colours() const { return {}; }

  // Worker thread: the pixels that the filter would put into the job's rect, bit for bit unless the
  // job is a coarse one.
  virtual Status denoise(const PreviewJob& job, const Callbacks& callbacks,
                         PreviewResult& result) = 0;
  // Main thread: whether there is a selection, and what measure_area() is to look at: the selected
  // part of the layer, or `visible` when there is none.
  virtual bool has_selection() const = 0;
  virtual void pick_area(const Rect& visible) = 0;
  // Worker thread, when all is loaded.
  virtual Status measure_area(AreaMeasurement& measured) = 0;
  virtual Status measure_layer(int32_t layer, NoisePicture& picture) = 0;

  // Worker thread: what the user may choose from besides "auto", "cpu" and "cuda".
  virtual std::vector<DeviceChoice> devices() = 0;
  // Any thread, once: makes a running denoise() and all later ones return soon.
  virtual void stop() = 0;
};

// The layers of a stack, of which a PreviewSource shows one at a time. Main thread.
class LayerList {
 public:
  virtual ~LayerList() = default;

  virtual std::vector<std::string> names() const = 0;  // the first layer's first
  virtual int32_t shown() const = 0;
  // From now on the source is about this layer.
  virtual void show(int32_t layer) = 0;
};

}  // namespace grainless::ui
