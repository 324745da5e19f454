// SPDX-License-Identifier: MIT
#include "engine/boundary/status.h"
#include "fuzz.h"
#include "tools/image_io/image_file.h"

using namespace grainless;

namespace {

void check_pages(std::span<const uint8_t> bytes) {
  const fuzz::MemoryFile file(bytes);
  try {
    fuzz::expect(!tools::read_layers(file.path()).empty(), "a file of no page");
  } catch (const Error& error) {
    fuzz::expect(error.code() == ErrorCode::kBadInput, error.what());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  fuzz::check_reader({data, size}, ".tif", true);
  check_pages({data, size});
  return 0;
}
