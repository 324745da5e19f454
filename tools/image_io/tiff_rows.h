// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>

#include "engine/progress.h"
#include "files.h"
#include "tiff_handle.h"
#include "tiff_layout.h"

namespace grainless::tools {

// The rows of a page of a TIFF file, from whatever blocks it keeps them in.
class TiffRows {
 public:
  // Of the handle's current page. Throws Error(kBadInput) when the file is too short for what it
  // says, before memory is asked for.
  TiffRows(const TiffHandle& tiff, const InputFile& file, const CancelToken* cancel);

  const TiffLayout& layout() const { return layout_; }

  // Bytes that are held, at most, beside the rows that are read: blocks are decoded as a whole.
  uint64_t memory() const;

  // Rows first..first+count-1 without gaps; quickest one after the other.
  void read(int32_t first, int32_t count, uint8_t* to);

 private:
  enum class Blocks {
    kStrips,
    kTiles,
    kPlainRows,  // of long strips without compression: taken right out of the file
    kCodedRows,  // of long strips that libtiff decodes row by row
  };

  Blocks choose_blocks() const;
  void decode(int32_t first, int32_t count, uint8_t* to);
  void decode_strip(uint32_t y, uint32_t rows, int32_t plane, uint8_t* to);
  void decode_tiles(uint32_t y, uint32_t rows, int32_t plane, uint8_t* to);
  void decode_rows(uint32_t y, uint32_t rows, int32_t plane, uint8_t* to);
  void take_coded_row(uint32_t y);
  void take_plain_row(uint32_t y, int32_t plane);
  void check_place(uint32_t block) const;
  uint64_t picture_row_bytes() const;

  const TiffHandle& tiff_;
  const CancelToken* cancel_;
  TiffLayout layout_;
  uint32_t strip_rows_ = 0, tile_width_ = 0;
  Blocks blocks_ = Blocks::kStrips;
  uint32_t block_rows_ = 0;           // decoded together
  uint64_t block_bytes_ = 0;          // of one decoded block
  std::unique_ptr<uint8_t[]> block_;  // once it is needed
  std::unique_ptr<uint8_t[]> kept_;   // rows from kept_from_ on, of which only a part was wanted
  int64_t kept_from_ = -1;
  uint32_t next_coded_ = 0;  // the row that libtiff decodes next
};

}  // namespace grainless::tools
