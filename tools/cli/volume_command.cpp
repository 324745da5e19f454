// SPDX-License-Identifier: MIT
#include "volume_command.h"

#include <cstdio>

#include "engine/progress.h"
#include "engine/stopwatch.h"
#include "engine/thread_pool.h"
#include "engine_setup.h"
#include "json_report.h"
#include "outputs.h"
#include "progress_line.h"
#include "tools/image_io/encoding.h"
#include "tools/image_io/image_file.h"
#include "tools/metrics/fsim.h"
#include "tools/metrics/metrics.h"
#include "tools/noise.h"

namespace grainless::tools {
namespace {

void check_options(const DenoiseOptions& options) {
  if (!options.reference.empty()) {
    throw Error(ErrorCode::kBadParameter,
                "--reference takes a single picture; --depth can be measured with --add-noise");
  }
  // Each input alone: the output is one of none of them.
  for (const std::string& input : options.inputs) plan_outputs({input}, options.output, {});
  if (kind_of_output(options.output) != FileKind::kTiff) {
    throw Error(ErrorCode::kBadInput,
                "'" + options.output + "' can't hold the layers of a volume: use .tif");
  }
}

struct Volume {
  std::vector<Image> layers;  // in the perceptual encoding
  Component component;        // of the files' samples
  Extra extra = Extra::kAlpha;
  // A layer each; native is without pixels where the file's samples are perceptual anyway.
  std::vector<Encoding> encodings;
  std::vector<Image> native;
  size_t file_begins = 0;  // the first layer of the file that is being read
};

// A page that says nothing of its curve has the one of the page before in its TIFF file.
Encoding encoding_of(const Image& layer, const Volume& volume, const std::string& input,
                     std::vector<std::string>& notes) {
  const bool follows = volume.encodings.size() > volume.file_begins;
  if (follows && layer.metadata.icc_profile.empty()) return volume.encodings.back();
  return Encoding::of(layer, input, notes);
}

void check_fits(const Volume& volume, const Image& layer, const Image& decoded,
                const DenoiseOptions& options, const std::string& input) {
  const Image& first = volume.layers.front();
  check_comparable(first.view(), decoded.view(), options.inputs.front(), input);
  const bool same = layer.format.component == volume.component && layer.extra == volume.extra;
  if (same && decoded.format == first.format) return;
  throw Error(ErrorCode::kBadInput,
              "'" + input + "' has " + (same ? "another tone curve" : "other samples") + " than '" +
                  options.inputs.front() + "': the layers of a volume need the same");
}

void add_layer(Volume& volume, Image layer, const DenoiseOptions& options, const std::string& input,
               ThreadPool& pool, ProgressLine& progress) {
  std::vector<std::string> notes = std::move(layer.notes);
  Encoding encoding = encoding_of(layer, volume, input, notes);
  for (const std::string& note : notes) progress.say("note: " + note);
  Image native;
  if (!encoding.is_perceptual()) {
    native = std::move(layer);
    layer = encoding.decode(native, pool, input);
  }
  const Image& file = native.pixels != nullptr ? native : layer;
  if (volume.layers.empty()) {
    volume.component = file.format.component;
    volume.extra = file.extra;
  } else {
    check_fits(volume, file, layer, options, input);
  }
  volume.layers.push_back(std::move(layer));
  volume.native.push_back(std::move(native));
  volume.encodings.push_back(std::move(encoding));
}

Volume read_volume(const DenoiseOptions& options, ThreadPool& pool, ProgressLine& progress) {
  Volume volume;
  for (const std::string& input : options.inputs) {
    volume.file_begins = volume.layers.size();
    for (Image& layer : read_layers(input, &cancel_token())) {
      add_layer(volume, std::move(layer), options, input, pool, progress);
    }
  }
  return volume;
}

// The results as they go into the file. With added noise no colour is as it stood there before.
void encode(const DenoiseOptions& options, const Volume& volume, std::vector<Image>& results,
            ThreadPool& pool) {
  for (size_t z = 0; z < results.size(); ++z) {
    Image& result = results[z];
    const Encoding& encoding = volume.encodings[z];
    if (!encoding.is_perceptual()) {
      const Encoding::Kept kept{&volume.native[z],
                                options.noise_sigma ? nullptr : &volume.layers[z]};
      result = encoding.encode(result, volume.component, volume.extra, kept, pool, options.output);
    } else if (result.format.component != volume.component) {
      result = convert(result, volume.component, options.output);
    }
  }
}

// What programs' captions say of the pages of their files is not true of a file made of several:
// readers would take the first one's pages for all.
void leave_out_structures(const DenoiseOptions& options, std::vector<Image>& layers,
                          ProgressLine& progress) {
  if (options.inputs.size() < 2) return;
  bool any = false;
  for (Image& layer : layers) any |= leave_out_structure(layer.metadata);
  if (!any) return;
  progress.say("note: '" + options.output +
               "' does not keep what captions of tifffile, OME or ImageJ say of the inputs' pages");
}

// Adds the noise that was asked for and returns the layers before, or nothing.
std::vector<Image> make_noisy(const DenoiseOptions& options, std::vector<Image>& layers) {
  std::vector<Image> clean;
  if (!options.noise_sigma) return clean;
  const bool measured = metrics_of(options) != Metrics::kNone;
  for (size_t z = 0; z < layers.size(); ++z) {
    if (measured) clean.push_back(convert(layers[z], Component::kFloat, options.output));
    if (layers[z].format.component != Component::kFloat) {
      layers[z] = convert(layers[z], Component::kFloat, options.output);
    }
    add_noise(layers[z], *options.noise_sigma, options.used_seed() + z);
  }
  return clean;
}

std::vector<Image> denoise(Engine& engine, const DenoiseOptions& options, const Params& params,
                           const std::vector<Image>& layers, ProgressLine& progress,
                           Outcome& outcome) {
  std::vector<Image> results;
  std::vector<ConstImage> sources;
  std::vector<MutableImage> targets;
  for (const Image& layer : layers) {
    results.push_back(make_image(layer.format, layer.width, layer.height, options.output));
    results.back().extra = layer.extra;
    results.back().metadata = layer.metadata;
    sources.push_back(layer.view());
    targets.push_back(results.back().mutable_view());
  }
  const Callbacks callbacks{&cancel_token(),
                            [&progress](double fraction) { progress.update(fraction); }};
  throw_if_failed(
      engine.denoise_volume(params, params.depth, sources, targets, callbacks, outcome.report));
  outcome.denoise = outcome.report.total;
  return results;
}

// Mean over the layers, as far as all have a value.
class Mean {
 public:
  void add(const std::optional<double>& value) {
    if (!value) complete_ = false;
    sum_ += value.value_or(0);
    ++count_;
  }
  std::optional<double> value() const {
    return complete_ ? std::optional(sum_ / count_) : std::nullopt;
  }

 private:
  double sum_ = 0;
  int32_t count_ = 0;
  bool complete_ = true;
};

Quality mean_of(const std::vector<Quality>& layers) {
  Mean psnr, ssim, fsim;
  for (const Quality& layer : layers) {
    psnr.add(layer.psnr);
    ssim.add(layer.ssim);
    fsim.add(layer.fsim);
  }
  return {psnr.value(), ssim.value(), fsim.value()};
}

Quality quality_of(const Image& clean, Fsim& features, const Image& image) {
  return {psnr(clean.view(), image.view()), ssim(clean.view(), image.view()),
          features.of(image.view())};
}

void measure(const std::vector<Image>& clean, const std::vector<Image>& noisy,
             const std::vector<Image>& results, const DenoiseOptions& options, Outcome& outcome) {
  if (clean.empty()) return;
  outcome.metrics = metrics_of(options);
  std::vector<Quality> before(clean.size()), after(clean.size());
  ThreadPool(options.threads).parallel_for(int32_t(clean.size()), [&](int32_t index, int32_t) {
    throw_if_cancelled(&cancel_token());
    const auto z = size_t(index);
    if (outcome.metrics == Metrics::kPsnr) {
      before[z].psnr = psnr(clean[z].view(), noisy[z].view());
      after[z].psnr = psnr(clean[z].view(), results[z].view());
      return;
    }
    Fsim features(clean[z].view());
    before[z] = quality_of(clean[z], features, noisy[z]);
    after[z] = quality_of(clean[z], features, results[z]);
  });
  outcome.before = mean_of(before);
  outcome.after = mean_of(after);
}

std::string summary(const DenoiseOptions& options, const Params& params, size_t layers,
                    const Outcome& outcome) {
  char text[128];
  std::snprintf(text, sizeof text, ", depth %d, sigma %.2f, %.2f s", params.depth,
                double(outcome.report.noise.sigma[0][0]), total_seconds(outcome));
  std::string line = std::to_string(layers) + (layers == 1 ? " layer -> " : " layers -> ") +
                     options.output + ": " + outcome.report.device + ", " + outcome.method + text;
  return line + quality_text(outcome);
}

void report(const DenoiseOptions& options, const Params& params, size_t layers,
            const Outcome& outcome, ProgressLine& progress) {
  for (const std::string& sentence : outcome.report.fallbacks) progress.say(sentence);
  const std::string note = note_of(outcome);
  if (!note.empty()) progress.say("note: " + note);
  progress.say(summary(options, params, layers, outcome));
  if (!options.json) return;
  JsonLine line;
  line.open(nullptr, '{');
  add_outcome(line, outcome);
  line.add("layers", layers);
  line.close('}');
  progress.clear();
  print_json(line);
}

}  // namespace

int run_volume(const DenoiseOptions& options, const Params& params) {
  check_options(options);
  ProgressLine progress;
  for (const std::string& sentence : unused_options(options, params)) {
    progress.say("note: " + sentence);
  }
  progress.start(options.output);
  Engine engine(engine_options(options.threads));
  engine.prepare(params);
  Outcome outcome;
  outcome.method = param_text(params, *find_param("method"));
  Stopwatch reading;
  ThreadPool pool(options.threads);
  Volume volume = read_volume(options, pool, progress);
  std::vector<Image>& layers = volume.layers;
  outcome.read = reading.seconds();
  for (const std::string& lost : losses(FileKind::kTiff, layers.front(), options.output)) {
    progress.say("note: " + lost);
  }
  leave_out_structures(options, layers, progress);
  const std::vector<Image> clean = make_noisy(options, layers);
  std::vector<Image> results = denoise(engine, options, params, layers, progress, outcome);
  measure(clean, layers, results, options, outcome);
  encode(options, volume, results, pool);
  Stopwatch writing;
  for (const std::string& note : write_layers(options.output, results, &cancel_token())) {
    progress.say("note: " + note);
  }
  outcome.write = writing.seconds();
  report(options, params, results.size(), outcome, progress);
  return 0;
}

}  // namespace grainless::tools
