// SPDX-License-Identifier: MIT
#pragma once

#include <libgimp/gimp.h>

#include <array>
#include <cstdint>

#include "ui/picture.h"

namespace grainless {

// The colours of a layer that GIMP changes: those that are switched on in the Channels dialog. Of
// the others merging leaves the values as they are. Masks and channels have none to switch off.
class ActiveChannels {
 public:
  // The drawable must be there.
  explicit ActiveChannels(GimpDrawable* drawable);

  bool all() const { return active_ == std::array{true, true, true}; }
  bool none() const { return active_ == std::array{false, false, false}; }
  bool operator==(const ActiveChannels&) const = default;

  // Gives `count` pixels of a row, in the drawable's own format, the other colours' original values
  // back.
  void restore(const Babl* native, const uint8_t* original, uint8_t* result, int32_t count) const;
  // The same for pixels of the preview.
  void restore(const ui::Bitmap& original, ui::Bitmap& result) const;

 private:
  std::array<bool, 3> active_ = {true, true, true};  // of grey three times the same
};

}  // namespace grainless
