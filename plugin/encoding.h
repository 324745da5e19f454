// SPDX-License-Identifier: MIT
// In which encoding a drawable's pixels go through the engine.
#pragma once

#include <babl/babl.h>

#include <cstdint>

#include "engine/boundary/pixels.h"

namespace grainless {

// The engine wants perceptually encoded values: R~G~B~ or Y~ in the drawable's own colour space,
// whatever its precision and profile, so that sigma means the same everywhere. Where the drawable's
// own format already is that, pixels pass as they are and GEGL converts nothing.
struct Encoding {
  const Babl* native = nullptr;  // the drawable's format
  const Babl* engine = nullptr;  // what the engine gets: native, or float
  PixelFormat format;            // the same for the engine
  // What the preview keeps, before alpha is multiplied in: with alpha, 8 bits a channel, perceptual
  // values in the drawable's own colour space; the drawable's own values where they are of 8 bits
  // and not linear, so that none is lost.
  const Babl* preview = nullptr;
  // What `preview` is to be brought to for those who know the drawable's profile: values in the
  // drawable's own encoding, with alpha. `preview` itself where it has them.
  const Babl* meant = nullptr;

  bool direct() const { return native == engine; }
  int32_t native_bytes() const { return babl_format_get_bytes_per_pixel(native); }
};

Encoding encoding_for(const Babl* native);

// Whether a preview's pixels are those of `format`, of 8 bits, with alpha added.
bool is_opaque_form(const Babl* format, const Babl* preview);

// Turns pixels that went through the engine back into the drawable's format. Alpha, and every pixel
// that the engine left alone, keep their original bits instead of a rounded round trip. originals
// and target are native, source and result are the engine's.
void restore_native(const Encoding& encoding, const void* originals, const void* source,
                    const void* result, void* target, long pixels);

}  // namespace grainless
