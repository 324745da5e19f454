// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/denoise.h"
#include "tools/image_io/encoding.h"
#include "tools/image_io/rows.h"

namespace grainless::tools {

// Rows of a picture that slide over it: as they stand in the file, and as the engine wants them.
class RowWindow {
 public:
  // All are borrowed.
  RowWindow(RowReader& reader, const Encoding& encoding, ThreadPool& pool);

  PixelFormat format() const { return format_; }  // of image()
  // Bytes of a row that is held.
  static uint64_t row_bytes(const Image& picture, const Encoding& encoding);

  // Takes memory for so many rows at once; what was held is gone.
  void reserve(int32_t rows);

  // Makes it hold the rows first..end-1; those that it held already are not read again.
  void move_to(int32_t first, int32_t end);

  ConstImage image() const;
  const uint8_t* native(int32_t y) const;

 private:
  RowReader& reader_;
  const Encoding& encoding_;
  ThreadPool& pool_;
  PixelFormat format_;
  size_t native_bytes_;  // of a row
  size_t bytes_;         // of a row that was decoded
  int32_t first_ = 0, end_ = 0;
  std::vector<uint8_t> native_, decoded_;  // the latter empty where samples are perceptual anyway
};

// MiB of one picture's pixels, where nothing else is said; larger ones pass in bands: 1024, or half
// of what there is, of which a container may have far less.
int32_t usual_host_memory();

// A picture for bands of rows.
struct LargePicture {
  std::unique_ptr<RowReader> rows;
  Encoding encoding;
  std::vector<std::string> notes;
};

// The file's, when so many bytes are too few for all of it. Nothing else than a TIFF file is read
// in bands, nor is one whose blocks are that large themselves.
std::optional<LargePicture> open_large(const std::string& path, uint64_t memory,
                                       const CancelToken* cancel);

// Takes a picture from a reader to a writer in bands of rows. The result has the bits of one that
// is denoised at once (DESIGN.md, promise 1); noise is measured on all of the picture. Throws
// Error.
class BandDenoiser {
 public:
  struct Limits {
    uint64_t memory;   // bytes for rows, about
    int32_t rows = 0;  // of a band; 0: as many as memory allows
  };

  // All are borrowed.
  BandDenoiser(Engine& engine, const Params& params, RowReader& reader, const Encoding& encoding,
               ThreadPool& pool, const Limits& limits);

  // Goes over the picture once, where that is needed. seconds gets what measuring took without
  // that.
  NoiseModel measure(const Callbacks& callbacks, double& seconds);

  void run(const NoiseModel& noise, RowWriter& writer, const Callbacks& callbacks, Report& report);

 private:
  const Image& picture() const { return reader_.picture(); }
  Rect source_of(const NoiseModel& noise, int32_t first, int32_t end) const;
  int32_t band_rows(const NoiseModel& noise) const;
  std::vector<uint8_t> denoise_band(const NoiseModel& noise, int32_t first, int32_t end,
                                    const Callbacks& callbacks, Report& report);
  std::vector<uint8_t> encode(const std::vector<uint8_t>& result, int32_t first, int32_t end);

  Engine& engine_;
  const Params& params_;
  RowReader& reader_;
  const Encoding& encoding_;
  ThreadPool& pool_;
  Limits limits_;
  RowWindow window_;
};

}  // namespace grainless::tools
