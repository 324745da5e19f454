// SPDX-License-Identifier: MIT
#include "band_denoiser.h"

#include <algorithm>
#include <cstring>
#include <future>

#include "background.h"
#include "engine/boundary/status.h"
#include "engine/noise/survey.h"
#include "engine/platform/system.h"
#include "tools/image_io/image_file.h"

namespace grainless::tools {
namespace {

constexpr int32_t kFewestRows = 64;         // fewer would be nearly all halo
constexpr uint64_t kSurveyBytes = 8 << 20;  // of a band that is only looked at

PixelFormat engine_format(const Image& picture, const Encoding& encoding) {
  if (encoding.is_perceptual()) return picture.format;
  return {Component::kFloat, picture.format.channels};
}

uint64_t engine_row_bytes(const Image& picture, const Encoding& encoding) {
  return uint64_t(picture.width) * uint64_t(engine_format(picture, encoding).pixel_bytes());
}

}  // namespace

RowWindow::RowWindow(RowReader& reader, const Encoding& encoding, ThreadPool& pool)
    : reader_(reader),
      encoding_(encoding),
      pool_(pool),
      format_(engine_format(reader.picture(), encoding)),
      native_bytes_(reader.picture().row_bytes()),
      bytes_(encoding.is_perceptual() ? 0 : engine_row_bytes(reader.picture(), encoding)) {}

uint64_t RowWindow::row_bytes(const Image& picture, const Encoding& encoding) {
  return picture.row_bytes() + (encoding.is_perceptual() ? 0 : engine_row_bytes(picture, encoding));
}

void RowWindow::reserve(int32_t rows) {
  native_ = {};
  decoded_ = {};
  native_.reserve(size_t(rows) * native_bytes_);
  decoded_.reserve(size_t(rows) * bytes_);
  first_ = end_ = 0;
}

void RowWindow::move_to(int32_t first, int32_t end) {
  const int32_t kept = std::max(0, first >= first_ ? end_ - first : 0);
  const auto move = [&](std::vector<uint8_t>& rows, size_t row_bytes) {
    if (kept > 0 && first > first_) {
      std::memmove(rows.data(), rows.data() + size_t(first - first_) * row_bytes,
                   size_t(kept) * row_bytes);
    }
    rows.resize(std::max(rows.size(), size_t(end - first) * row_bytes));
  };
  move(native_, native_bytes_);
  if (bytes_ > 0) move(decoded_, bytes_);
  first_ = first;
  const int32_t held = first + kept;
  if (held < end) reader_.read(held, end - held, native_.data() + size_t(kept) * native_bytes_);
  end_ = std::max(end, held);
  if (encoding_.is_perceptual() || held >= end) return;
  const Image& picture = reader_.picture();
  const Encoding::Row row{picture.format, picture.extra, picture.width};
  pool_.parallel_for(end - held, [&](int32_t i, int32_t) {
    const size_t at = size_t(kept + i);
    encoding_.decode_row(row, native_.data() + at * native_bytes_,
                         reinterpret_cast<float*>(decoded_.data() + at * bytes_));
  });
}

ConstImage RowWindow::image() const {
  const Image& picture = reader_.picture();
  const bool perceptual = encoding_.is_perceptual();
  return {format_,
          picture.width,
          picture.height,
          {0, first_, picture.width, end_ - first_},
          perceptual ? native_.data() : decoded_.data(),
          static_cast<ptrdiff_t>(perceptual ? native_bytes_ : bytes_)};
}

const uint8_t* RowWindow::native(int32_t y) const {
  return native_.data() + size_t(y - first_) * native_bytes_;
}

int32_t usual_host_memory() {
  constexpr uint64_t kLeast = 32, kMost = 1024;
  return static_cast<int32_t>(std::clamp(available_memory() / 2 >> 20, kLeast, kMost));
}

std::optional<LargePicture> open_large(const std::string& path, uint64_t memory,
                                       const CancelToken* cancel) {
  LargePicture large;
  large.rows = read_rows(path, cancel);
  if (large.rows == nullptr) return std::nullopt;
  const Image& picture = large.rows->picture();
  large.notes = picture.notes;
  large.encoding = Encoding::of(picture, path, large.notes);
  // The file's samples, the engine's, the result.
  const uint64_t row =
      RowWindow::row_bytes(picture, large.encoding) + engine_row_bytes(picture, large.encoding);
  if (row * uint64_t(picture.height) <= memory || large.rows->memory() > memory / 2) {
    return std::nullopt;
  }
  return large;
}

BandDenoiser::BandDenoiser(Engine& engine, const Params& params, RowReader& reader,
                           const Encoding& encoding, ThreadPool& pool, const Limits& limits)
    : engine_(engine),
      params_(params),
      reader_(reader),
      encoding_(encoding),
      pool_(pool),
      limits_(limits),
      window_(reader, encoding, pool) {}

NoiseModel BandDenoiser::measure(const Callbacks& callbacks, double& seconds) {
  const Image& all = picture();
  Survey survey(window_.format(), all.width, all.height);
  const uint64_t row_bytes = RowWindow::row_bytes(all, encoding_);
  const auto rows = static_cast<int32_t>(
      limits_.rows > 0 ? limits_.rows : std::clamp<uint64_t>(kSurveyBytes / row_bytes, 1, 4096));
  for (int64_t y = 0; y < all.height; y += rows) {
    const auto first = static_cast<int32_t>(y);
    const auto end = static_cast<int32_t>(std::min<int64_t>(y + rows, all.height));
    window_.move_to(
        std::max(first - Survey::kMargin, 0),
        static_cast<int32_t>(std::min<int64_t>(int64_t{end} + Survey::kMargin, all.height)));
    survey.add(window_.image(), first, end);
  }
  NoiseModel noise;
  throw_if_failed(engine_.noise_for(params_, survey, callbacks, noise, &seconds));
  return noise;
}

Rect BandDenoiser::source_of(const NoiseModel& noise, int32_t first, int32_t end) const {
  const Image& all = picture();
  Rect source;
  throw_if_failed(engine_.source_rect(params_, noise, {window_.format(), all.width, all.height},
                                      {0, first, all.width, end - first}, source));
  return source;
}

int32_t BandDenoiser::band_rows(const NoiseModel& noise) const {
  const Image& all = picture();
  if (limits_.rows > 0) return std::min(limits_.rows, all.height);
  const int32_t middle = all.height / 2;
  const auto around = static_cast<uint64_t>(source_of(noise, middle, middle + 1).height);
  const uint64_t held = RowWindow::row_bytes(all, encoding_);
  const uint64_t result = engine_row_bytes(all, encoding_);
  // One band is written while the next is denoised.
  const uint64_t made = encoding_.is_perceptual() ? 2 * result : result + 2 * all.row_bytes();
  const uint64_t halo = around * held;
  const uint64_t room = limits_.memory > halo ? limits_.memory - halo : 0;
  const auto most = std::max<uint64_t>(room / (held + made), kFewestRows);
  // Of about one height, so that the last one is no sliver.
  const auto height = static_cast<uint64_t>(all.height);
  const uint64_t bands = (height - 1) / most + 1;
  return static_cast<int32_t>((height - 1) / bands + 1);
}

void BandDenoiser::run(const NoiseModel& noise, RowWriter& writer, const Callbacks& callbacks,
                       Report& report) {
  const int32_t height = picture().height, rows = band_rows(noise);
  report = {};
  report.noise = noise;
  window_.reserve(source_of(noise, (height - rows) / 2, (height + rows) / 2).height + 1);
  std::future<void> writing;
  for (int64_t y = 0; y < height; y += rows) {
    const auto first = static_cast<int32_t>(y);
    const auto end = static_cast<int32_t>(std::min<int64_t>(y + rows, height));
    const Callbacks part{callbacks.cancel, [&](double fraction) {
                           callbacks.report((first + fraction * (end - first)) / height);
                         }};
    std::vector<uint8_t> band = denoise_band(noise, first, end, part, report);
    if (writing.valid()) writing.get();
    writing = in_background([&writer, band = std::move(band), count = end - first] {
      writer.write(band.data(), count);
    });
  }
  writing.get();
}

std::vector<uint8_t> BandDenoiser::denoise_band(const NoiseModel& noise, int32_t first, int32_t end,
                                                const Callbacks& callbacks, Report& report) {
  const Image& all = picture();
  const Rect source = source_of(noise, first, end);
  window_.move_to(source.y, source.bottom());
  const uint64_t row_bytes = engine_row_bytes(all, encoding_);
  std::vector<uint8_t> result(static_cast<uint64_t>(end - first) * row_bytes);
  const MutableImage target{window_.format(), all.width,
                            all.height,       {0, first, all.width, end - first},
                            result.data(),    static_cast<ptrdiff_t>(row_bytes)};
  Report band;
  throw_if_failed(engine_.denoise(params_, noise, window_.image(), target, callbacks, band));
  add_part(band, report);
  report.note = band.note;
  report.changed = band.changed;
  return encoding_.is_perceptual() ? std::move(result) : encode(result, first, end);
}

std::vector<uint8_t> BandDenoiser::encode(const std::vector<uint8_t>& result, int32_t first,
                                          int32_t end) {
  const Image& all = picture();
  const Encoding::Row row{all.format, all.extra, all.width};
  const uint64_t row_bytes = engine_row_bytes(all, encoding_);
  std::vector<uint8_t> encoded(size_t(end - first) * all.row_bytes());
  const ConstImage source = window_.image();
  pool_.parallel_for(end - first, [&](int32_t i, int32_t) {
    encoding_.encode_row(
        row, reinterpret_cast<const float*>(result.data() + static_cast<uint64_t>(i) * row_bytes),
        window_.native(first + i), static_cast<const float*>(pixel_at(source, 0, first + i)),
        encoded.data() + size_t(i) * all.row_bytes());
  });
  return encoded;
}

}  // namespace grainless::tools
