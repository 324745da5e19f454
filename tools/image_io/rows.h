// SPDX-License-Identifier: MIT
// Pictures that pass from file to file in bands of rows, since they are too large for memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "image.h"

namespace grainless::tools {

// Throws Error as readers do.
class RowReader {
 public:
  virtual ~RowReader() = default;
  virtual const Image& picture() const = 0;  // without pixels
  virtual uint64_t memory() const = 0;       // bytes that reading takes beside the rows
  // Rows first..first+count-1 without gaps; quickest one after the other.
  virtual void read(int32_t first, int32_t count, uint8_t* to) = 0;
  // What reading has found odd since the picture was described, a sentence each.
  virtual std::vector<std::string> take_notes() = 0;
};

class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void write(const uint8_t* rows, int32_t count) = 0;  // the next ones
  // After the last row. Returns what the library complained about, a sentence each.
  virtual std::vector<std::string> finish() = 0;
};

}  // namespace grainless::tools
