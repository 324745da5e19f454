// SPDX-License-Identifier: MIT
// The engine's front door: noise estimate and denoising of an image held in memory, on whatever
// device there is. Knows no host: pixels in, pixels out, progress and cancel by callback.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/boundary/pixels.h"
#include "engine/boundary/status.h"
#include "engine/noise/curve.h"
#include "engine/noise/model.h"
#include "engine/noise/survey.h"
#include "engine/params/params.h"
#include "progress.h"

namespace grainless {

class Cards;

struct EngineOptions {
  std::string module_dir;  // where grainless-cuda.so lies; empty: the CPU only
  int32_t threads = 0;     // of the CPU backend; 0: one a core
  // Whoever opens cards instead of that module in this process (cards.h).
  std::shared_ptr<Cards> cards = nullptr;
};

struct DeviceInfo {
  std::string name;         // "cpu", "cuda:0"
  std::string description;  // the processor's or card's name
  bool usable = false;
  std::string reason;                          // why not usable
  uint64_t total_memory = 0, free_memory = 0;  // bytes, 0 for the CPU; free ones only when asked
};

// What happened, for the dialog, the log and --json. Seconds are wall time of the stage.
struct Report {
  std::string device;  // that made the result
  std::string device_description;
  std::vector<std::string> fallbacks;  // one sentence each, in order
  std::string note;                    // why the picture stays as it is, when changed is false
  bool changed = false;
  NoiseModel noise;  // used, before strength
  double estimate = 0, upload = 0, kernels = 0, download = 0, total = 0;
  int32_t tiles = 0;
  uint64_t peak_memory = 0;     // bytes of working memory on the device that computed
  int64_t replaced_pixels = 0;  // not finite or far beyond the picture's range: left as they were
};

// Counts what denoise() said of one part of a picture to what it said of the others. Noise, note
// and changed, which all parts share, stay as they are.
void add_part(const Report& part, Report& whole);

// A picture that is denoised while it still comes in, and whose parts go out as they are done. The
// engine's threads call both.
struct PixelFlow {
  // Returns when all rows of the source above row `end` of the image are there; throws Error when
  // they won't come. Empty: they are there.
  std::function<void(int32_t end)> await_rows;
  // The target's pixels in rect will not change any more. Every pixel is told of once, none when
  // Report::changed is false. Doesn't throw. May be empty.
  std::function<void(const Rect& rect)> finished;
};

// What denoise() reads and fills. The source's pixels may change until the flow says that they are
// there.
struct PictureFlow {
  ConstImage source;
  MutableImage target;
  PixelFlow flow;
};

// `count` layers of one size and format: a volume, or a picture.
struct LayersShape {
  PixelFormat format;
  int32_t width = 0, height = 0;
  int32_t count = 1;
};

// Some layers of a volume of `count` layers, from the first-th on: images of one format, size and
// rectangle.
template <typename Image>
struct VolumePart {
  int32_t count = 0, first = 0;
  std::span<const Image> layers;
};

// What denoise_volume_part() reads and fills: parts of one volume.
struct VolumePixels {
  VolumePart<ConstImage> source;
  VolumePart<MutableImage> target;
};

// A rectangle of some layers of a volume.
struct VolumeBox {
  Rect rect;
  int32_t first = 0, layers = 0;
};

// The layers that a volume is measured on: all, or nine that are evenly spread where there are more
// than kMostMeasured, or they take more than kMeasuredBytes.
inline constexpr int64_t kMeasuredBytes = int64_t{1} << 31;
std::vector<int32_t> measured_layers(const LayersShape& shape);

class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Begins to open the cards that params ask for, in the background: reading an image and opening
  // a card take about as long. What goes wrong is told by the run that needs them. A call waits
  // for the one before.
  void prepare(const Params& params);

  // All devices, the refused ones with their reason; the CPU last. Only kFreeMemory opens the
  // cards.
  enum class Ask { kNothing, kFreeMemory };
  std::vector<DeviceInfo> devices(Ask ask = Ask::kNothing);

  // The noise of a whole image. Always ask with the whole image, never with a crop, or preview and
  // result differ.
  Status estimate(const ConstImage& image, NoiseKind kind, const Callbacks& callbacks,
                  NoiseModel& noise);

  // The noise that denoise() should be given: measured on the image when params.auto_sigma is set,
  // white noise of params.sigma otherwise; with the picture's range. seconds, when not null, gets
  // the time it took. `whole` need not be whole unless looks_at_whole().
  Status noise_for(const Params& params, const ConstImage& whole, const Callbacks& callbacks,
                   NoiseModel& noise, double* seconds);

  // The same of a picture that has passed by in bands of rows (engine/noise/survey.h), all of them
  // where survey.looks_at_pixels().
  Status noise_for(const Params& params, Survey& survey, const Callbacks& callbacks,
                   NoiseModel& noise, double* seconds);

  // Whether noise_for() looks at pixels.
  static bool looks_at_whole(const Params& params, PixelFormat format);

  // The parts of a whole picture of that size whose pixels noise_for() looks at; the others need
  // not be there yet.
  static std::vector<Rect> looked_at(const Params& params, PixelFormat format, int32_t width,
                                     int32_t height);

  // NoiseModel::range of a whole image, for a sigma that is given. Quick: looks at some pixels, and
  // at none of integers without alpha.
  Status range(const ConstImage& whole, PictureRange& range);

  // What a picture shows of its noise, in part of it or all over: engine/noise/curve.h. The image
  // must hold all of the area, and needs no more.
  Status noise_curve(const ConstImage& image, const NoiseArea& area, const NoiseModel& model,
                     const Callbacks& callbacks, NoiseCurve& curve);
  Status area_noise(const ConstImage& image, const NoiseArea& area, const Callbacks& callbacks,
                    AreaNoise& noise);

  // What of a picture of this shape the source must hold for denoise() to give rect's pixels.
  Status source_rect(const Params& params, const NoiseModel& noise, const LayersShape& shape,
                     const Rect& rect, Rect& source);

  // Fills target (any rectangle of the image) from source, which must hold at least
  // source_rect(target.rect). The pixels don't depend on which rectangle was asked for. On anything
  // but kOk target's contents are undefined. May be called from several threads.
  Status denoise(const Params& params, const NoiseModel& noise, const ConstImage& source,
                 const MutableImage& target, const Callbacks& callbacks, Report& report);

  // The same pixels, with transfers on the host's side beside the work.
  Status denoise(const Params& params, const NoiseModel& noise, const PictureFlow& picture,
                 const Callbacks& callbacks, Report& report);

  // A stack of whole images of one size and format: layers of a volume, frames of a burst. `depth`
  // layers, 1 to 15, are searched before and after each one. What they show alike is averaged, and
  // each is filtered as a picture then (engine/stack.h), but for what Non-Local Means searches in
  // three dimensions (fuses_stack() in engine/plan/stack_plan.h). A layer's pixels don't depend on
  // how much memory and how many threads or cards there are. An automatic sigma is volume_noise();
  // what was taken out is report.noise.
  Status denoise_volume(const Params& params, int32_t depth, std::span<const ConstImage> layers,
                        std::span<const MutableImage> targets, const Callbacks& callbacks,
                        Report& report);

  // noise_for() a volume: the mean of its measured_layers(), raised or limited by what still ones
  // of them differ by (engine/noise/still_noise.h), what of their means is noise (mean_shares.h),
  // whether averaging them blurs and, where they are all, how they lie to each other
  // (registration.h), which are pictures of their own (lone_layers.h), and how Non-Local Means
  // takes them (stack_trial.h). For a sigma that is given they are looked at, too.
  Status volume_noise(const Params& params, std::span<const ConstImage> layers,
                      const Callbacks& callbacks, NoiseModel& noise, double* seconds);

  // The same of a volume of `count` layers of which the measured ones alone are there.
  Status volume_noise(const Params& params, int32_t count, std::span<const ConstImage> measured,
                      const Callbacks& callbacks, NoiseModel& noise, double* seconds);

  // volume_noise() of layers whose noise is known, as measured with an automatic sigma.
  static NoiseModel asked_noise(const Params& params, const NoiseModel& measured);

  // source_rect() for a part of a volume of this shape.
  Status volume_source(const Params& params, int32_t depth, const NoiseModel& noise,
                       const LayersShape& shape, const VolumeBox& box, VolumeBox& source);

  // Fills part of a volume, any rectangle of any layers, from a source that holds at least
  // volume_source() of it: the same pixels as denoise_volume() with this noise gives there.
  Status denoise_volume_part(const Params& params, int32_t depth, const NoiseModel& noise,
                             const VolumePixels& pixels, const Callbacks& callbacks,
                             Report& report);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace grainless
