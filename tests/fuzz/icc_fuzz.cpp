// SPDX-License-Identifier: MIT
// Profiles: curves that are found can be undone, and where there are none there is a reason.
#include <cmath>

#include "fuzz.h"
#include "tools/image_io/icc_curves.h"

using namespace grainless;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const int32_t colours : {1, 3}) {
    const tools::IccCurves read = tools::read_icc_curves({data, data + size}, colours);
    fuzz::expect(read.curves.empty() != read.why.empty(), "neither curves nor a reason");
    for (const tools::ToneCurve& curve : read.curves) {
      for (const double sample : {-1e30, -1.0, 0.0, 0.3, 1.0, 2.0, 1e30}) {
        const double light = curve.to_light(sample);
        const double back = curve.from_light(light);
        fuzz::expect(!std::isfinite(light) || !std::isnan(back), "a curve that leads nowhere");
        const double again = curve.to_light(back);
        fuzz::expect(std::abs(sample) > 1 || std::abs(again - light) < 1e-3, "no way back");
      }
    }
  }
  return 0;
}
