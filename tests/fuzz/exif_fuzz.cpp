// SPDX-License-Identifier: MIT
// Camera data: what is taken out of a structure is found again in the one that is made of it.
#include "fuzz.h"
#include "tools/image_io/exif.h"

using namespace grainless;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const int32_t orientation = tools::exif_orientation(bytes);
  fuzz::expect(orientation >= 0 && orientation <= 8, "an orientation that there is not");
  const tools::Exif exif = tools::parse_exif(bytes);
  const tools::Exif again = tools::parse_exif(tools::exif_structure(exif));
  fuzz::expect(again.camera.size() == exif.camera.size(), "entries of the camera were lost");
  fuzz::expect(again.place.size() == exif.place.size(), "entries of the place were lost");
  return 0;
}
