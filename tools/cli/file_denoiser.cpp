// SPDX-License-Identifier: MIT
#include "file_denoiser.h"

#include <filesystem>
#include <system_error>

#include "band_denoiser.h"
#include "engine/progress.h"
#include "engine/stopwatch.h"
#include "engine_setup.h"
#include "tools/image_io/files.h"
#include "tools/metrics/fsim.h"
#include "tools/metrics/metrics.h"
#include "tools/noise.h"

namespace grainless::tools {
namespace {

void measure(Metrics metrics, const Image& clean, const Image& noisy, const Image& result,
             Outcome& outcome) {
  outcome.metrics = metrics;
  if (metrics == Metrics::kPsnr) {
    outcome.before.psnr = psnr(clean.view(), noisy.view());
    outcome.after.psnr = psnr(clean.view(), result.view());
    return;
  }
  Fsim features(clean.view());
  const auto quality = [&](const ConstImage& image) {
    return Quality{psnr(clean.view(), image), ssim(clean.view(), image), features.of(image)};
  };
  outcome.before = quality(noisy.view());
  outcome.after = quality(result.view());
}

void append(std::vector<std::string>& all, std::vector<std::string> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void make_folder(const Job& job) {
  std::error_code error;
  if (!job.new_folder.empty() && !std::filesystem::create_directories(job.new_folder, error) &&
      error) {
    fail_file(job.new_folder, "can't be made: " + error.message());
  }
}

}  // namespace

Metrics metrics_of(const DenoiseOptions& options) {
  const bool measured = options.noise_sigma || !options.reference.empty();
  if (!measured) return Metrics::kNone;
  return options.metrics.value_or(options.reference.empty() ? Metrics::kPsnr : Metrics::kAll);
}

FileDenoiser::FileDenoiser(Engine& engine, const DenoiseOptions& options, const Params& params,
                           ProgressLine& progress)
    : engine_(engine),
      options_(options),
      params_(params),
      memory_limit_(uint64_t(options.host_memory.value_or(usual_host_memory())) << 20),
      pool_(options.threads) {
  callbacks_.cancel = &cancel_token();
  // Of several pictures at once none has the line for itself.
  if (options.used_jobs() == 1) {
    callbacks_.progress = [&progress](double fraction) { progress.update(fraction); };
  }
}

Picture FileDenoiser::read(const Job& job) const {
  Picture picture;
  picture.outcome.method = param_text(params_, *find_param("method"));
  Stopwatch reading;
  const FileKind kind = kind_of_output(job.output);
  if (open_in_bands(job, picture)) {
    append(picture.notes, losses(kind, picture.rows->picture(), job.output));
    return picture;
  }
  picture.image = read_image(job.input, &cancel_token());
  picture.outcome.read = reading.seconds();
  picture.notes = picture.image.notes;
  component_for(kind, picture.image.format, job.output);  // refuses what the file can't hold
  check_size(kind, picture.image, job.output);
  append(picture.notes, losses(kind, picture.image, job.output));
  picture.original = picture.image.format.component;
  picture.extra = picture.image.extra;
  picture.encoding = Encoding::of(picture.image, job.input, picture.notes);
  if (!picture.encoding.is_perceptual()) decode(job, picture);
  picture.reference = read_reference(job, picture.image);
  append(picture.notes, picture.reference.notes);
  if (options_.noise_sigma) {
    if (picture.image.format.component != Component::kFloat) {
      picture.image = convert(picture.image, Component::kFloat, job.input);
    }
    add_noise(picture.image, *options_.noise_sigma, options_.used_seed());
  }
  return picture;
}

// Whether the picture is too large to be held at once. Added noise and quality need all of it.
bool FileDenoiser::open_in_bands(const Job& job, Picture& picture) const {
  const bool needs_all = options_.noise_sigma || metrics_of(options_) != Metrics::kNone;
  if (needs_all) return false;
  std::optional<LargePicture> large = open_large(job.input, memory_limit_, &cancel_token());
  if (!large || !can_write_rows(kind_of_output(job.output), large->rows->picture())) return false;
  picture.original = large->rows->picture().format.component;
  picture.encoding = std::move(large->encoding);
  picture.notes = std::move(large->notes);
  picture.rows = std::move(large->rows);
  return true;
}

void FileDenoiser::denoise_in_bands(const Job& job, Picture& picture) const {
  Outcome& outcome = picture.outcome;
  const Callbacks quiet{callbacks_.cancel, {}};
  BandDenoiser bands(engine_, params_, *picture.rows, picture.encoding, pool_,
                     {memory_limit_ - picture.rows->memory()});
  double estimate = 0;
  Stopwatch reading;
  const NoiseModel noise = bands.measure(quiet, estimate);
  outcome.read = reading.seconds() - estimate;
  make_folder(job);
  picture.file = std::make_unique<OutputFile>(job.output);
  const auto writer = write_rows(*picture.file, kind_of_output(job.output), picture.rows->picture(),
                                 callbacks_.cancel);
  Stopwatch denoising;
  bands.run(noise, *writer, callbacks_, outcome.report);
  picture.notes = picture.rows->take_notes();
  append(picture.notes, writer->finish());
  outcome.denoise = denoising.seconds();
  outcome.report.estimate = estimate;
  outcome.estimated = params_.auto_sigma;
}

void FileDenoiser::decode(const Job& job, Picture& picture) const {
  Image native = std::move(picture.image);
  picture.image = picture.encoding.decode(native, pool_, job.input);
  picture.native = std::move(native);
}

// With added noise no colour is as it stood in the file.
void FileDenoiser::encode(const Job& job, Picture& picture) const {
  std::optional<Encoding::Kept> kept = {
      {&picture.native, options_.noise_sigma ? nullptr : &picture.decoded}};
  Extra extra = picture.extra;
  // Multiplied by alpha and divided again colours would be rounded twice.
  if (extra == Extra::kPremultiplied && kind_of_output(job.output) != FileKind::kTiff) {
    extra = Extra::kAlpha;
    kept.reset();
  }
  picture.image =
      picture.encoding.encode(picture.image, picture.original, extra, kept, pool_, job.output);
  picture.native = {};
  picture.decoded = {};
}

// The clean picture: the one that was named, or the input where noise is going to be added to it.
Image FileDenoiser::read_reference(const Job& job, const Image& source) const {
  if (metrics_of(options_) == Metrics::kNone) return {};
  if (!options_.reference.empty()) {
    Image reference = read_perceptual(options_.reference, pool_, &cancel_token());
    check_comparable(source.view(), reference.view(), job.input, options_.reference);
    return reference;
  }
  return options_.noise_sigma ? convert(source, Component::kFloat, job.input) : Image{};
}

void FileDenoiser::denoise(const Job& job, Picture& picture) const {
  if (picture.rows != nullptr) return denoise_in_bands(job, picture);
  const Image& source = picture.image;
  Image result = make_image(source.format, source.width, source.height, job.output);
  result.extra = source.extra;
  result.metadata = source.metadata;
  Outcome& outcome = picture.outcome;
  NoiseModel noise;
  double estimate = 0;
  const Callbacks quiet{callbacks_.cancel, {}};  // progress is of the denoising alone
  throw_if_failed(engine_.noise_for(params_, source.view(), quiet, noise, &estimate));
  Stopwatch denoising;
  throw_if_failed(engine_.denoise(params_, noise, source.view(), result.mutable_view(), callbacks_,
                                  outcome.report));
  outcome.denoise = denoising.seconds();
  outcome.report.estimate = estimate;
  outcome.estimated = params_.auto_sigma;
  outcome.report.noise = noise;
  if (picture.reference.pixels != nullptr) {
    measure(metrics_of(options_), picture.reference, source, result, outcome);
  }
  if (picture.native.pixels != nullptr) picture.decoded = std::move(picture.image);
  picture.image = std::move(result);
}

void FileDenoiser::write(const Job& job, Picture& picture) const {
  if (picture.file != nullptr) {
    Stopwatch writing;
    throw_if_cancelled(&cancel_token());
    picture.file->commit();
    picture.outcome.write = writing.seconds();
    return;
  }
  const Component stored = component_for(
      kind_of_output(job.output), {picture.original, picture.image.format.channels}, job.output);
  if (!picture.encoding.is_perceptual()) {
    encode(job, picture);
  } else if (stored != Component::kFloat && picture.image.format.component != picture.original) {
    picture.image = convert(picture.image, picture.original, job.output);
  }
  Stopwatch writing;
  throw_if_cancelled(&cancel_token());
  make_folder(job);
  picture.notes = write_image(job.output, std::move(picture.image), &cancel_token());
  picture.outcome.write = writing.seconds();
}

}  // namespace grainless::tools
