// SPDX-License-Identifier: MIT
// The engine's public interface: measures and removes the noise of images in memory, on whatever
// device there is. It knows no host: pixels in, pixels out, progress and cancel by callback. What
// returns a Status does not throw; the Status says in one sentence what went wrong.
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
  std::string module_dir;  // folder of grainless-cuda.so; empty: the CPU only
  int32_t threads = 0;     // of the CPU backend; 0: one for each core
  // Opens the cards in another process (cards.h); null: the module opens them in this one.
  std::shared_ptr<Cards> cards = nullptr;
};

struct DeviceInfo {
  std::string name;         // "cpu", "cuda:0"
  std::string description;  // the processor's or card's name
  bool usable = false;
  std::string reason;                          // why not usable
  uint64_t total_memory = 0, free_memory = 0;  // bytes; 0 for the CPU, free_memory unless asked
};

// What happened, for the dialog, the log and --json. Times are the wall time of each stage, in
// seconds.
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

// Adds the report on one part of a picture to that on the other parts. Noise, note and changed,
// which all parts share, stay as they are.
void add_part(const Report& part, Report& whole);

// For a picture that is denoised while it is still being read, and written part by part as it is
// done. The engine's threads call both functions.
struct PixelFlow {
  // Returns when all rows of the source above row `end` of the image have been read; throws Error
  // when they will not be. Empty: the whole source is there.
  std::function<void(int32_t end)> await_rows;
  // The target's pixels in rect are final. Each pixel is reported once, and none when
  // Report::changed is false. Must not throw. May be empty.
  std::function<void(const Rect& rect)> finished;
};

// What denoise() reads and fills. The source's pixels may change until flow.await_rows() returns
// for their rows.
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

// The indices of the layers that a volume is measured on: all of them, or nine that are evenly
// spread where there are more than kMostMeasured layers or kMeasuredBytes of pixels.
inline constexpr int64_t kMeasuredBytes = int64_t{1} << 31;
std::vector<int32_t> measured_layers(const LayersShape& shape);
// Of the time that a stack of frames of some megapixels takes, what its measurement takes.
inline constexpr double kMeasuredShare = 0.1;

class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Begins to open the cards that params ask for, in the background: opening a card takes about as
  // long as reading an image. The run that needs the cards reports what went wrong. A call waits
  // for the previous one.
  void prepare(const Params& params);

  // All devices, refused ones with the reason; the CPU is the last. Only kFreeMemory opens the
  // cards.
  enum class Ask { kNothing, kFreeMemory };
  std::vector<DeviceInfo> devices(Ask ask = Ask::kNothing);

  // The noise of a whole image. Pass the whole image, never a crop, or preview and result differ.
  Status estimate(const ConstImage& image, NoiseKind kind, const Callbacks& callbacks,
                  NoiseModel& noise);

  // The noise to pass to denoise(): measured on the image when params.auto_sigma is set, else
  // white noise of params.sigma with what the picture shows beside it (engine/noise/given_noise.h).
  // *seconds becomes the time that it took, unless it is null.
  Status noise_for(const Params& params, const ConstImage& whole, const Callbacks& callbacks,
                   NoiseModel& noise, double* seconds);

  // The same for a picture that has gone through `survey` in bands of rows (engine/noise/survey.h).
  Status noise_for(const Params& params, Survey& survey, const Callbacks& callbacks,
                   NoiseModel& noise, double* seconds);

  // The parts of a picture of that size, in pixels, that noise_for() looks at; the others may still
  // be unread.
  static std::vector<Rect> looked_at(PixelFormat format, int32_t width, int32_t height);

  // Noise over brightness, and the noise of a picked area, to be shown to a user
  // (engine/noise/curve.h). The image must hold all of the area, and needs no more.
  Status noise_curve(const ConstImage& image, const NoiseArea& area, const NoiseModel& model,
                     const Callbacks& callbacks, NoiseCurve& curve);
  Status area_noise(const ConstImage& image, const NoiseArea& area, const Callbacks& callbacks,
                    AreaNoise& noise);

  // The part of a picture of this shape that the source must hold for denoise() to compute rect.
  Status source_rect(const Params& params, const NoiseModel& noise, const LayersShape& shape,
                     const Rect& rect, Rect& source);

  // Fills target (any rectangle of the image) from source, which must hold at least
  // source_rect(target.rect). A pixel does not depend on the rectangle that was asked for. Unless
  // the status is kOk, the contents of target are undefined. May be called from several threads.
  Status denoise(const Params& params, const NoiseModel& noise, const ConstImage& source,
                 const MutableImage& target, const Callbacks& callbacks, Report& report);

  // The same pixels, while the host still reads and already writes.
  Status denoise(const Params& params, const NoiseModel& noise, const PictureFlow& picture,
                 const Callbacks& callbacks, Report& report);

  // A stack of whole images of one size and format: the layers of a volume, the frames of a burst.
  // `depth` layers, 1 to 15, take part before and after each one. What they show alike is averaged,
  // and each mean is then filtered like a picture (engine/stack.h), except where Non-Local Means
  // searches in three dimensions (fuses_stack() in engine/plan/stack_plan.h). A layer's pixels do
  // not depend on memory, threads or cards. An automatic sigma is that of volume_noise();
  // report.noise says what was removed.
  Status denoise_volume(const Params& params, int32_t depth, std::span<const ConstImage> layers,
                        std::span<const MutableImage> targets, const Callbacks& callbacks,
                        Report& report);

  // noise_for() of a volume: the mean of its measured_layers(), raised or limited by what still
  // layers differ by (engine/noise/still_noise.h). The model also says which share of what is
  // removed from their means is noise (mean_shares.h) and whether averaging blurs them. Where all
  // layers are measured, it says how they are displaced (registration.h), which are pictures of
  // their own (lone_layers.h), and how Non-Local Means treats them (stack_trial.h). The layers are
  // looked at for a given sigma, too.
  Status volume_noise(const Params& params, std::span<const ConstImage> layers,
                      const Callbacks& callbacks, NoiseModel& noise, double* seconds);

  // The same for a volume of `count` layers, of which only the measured ones are passed.
  Status volume_noise(const Params& params, int32_t count, std::span<const ConstImage> measured,
                      const Callbacks& callbacks, NoiseModel& noise, double* seconds);

  // volume_noise() for params, from what was measured with an automatic sigma.
  static NoiseModel asked_noise(const Params& params, const NoiseModel& measured);

  // source_rect() for a part of a volume of this shape.
  Status volume_source(const Params& params, int32_t depth, const NoiseModel& noise,
                       const LayersShape& shape, const VolumeBox& box, VolumeBox& source);

  // Fills a part of a volume, any rectangle of any consecutive layers, from a source that holds at
  // least volume_source() of it. The pixels are those of denoise_volume() with this noise.
  Status denoise_volume_part(const Params& params, int32_t depth, const NoiseModel& noise,
                             const VolumePixels& pixels, const Callbacks& callbacks,
                             Report& report);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace grainless
