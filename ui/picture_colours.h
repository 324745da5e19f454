// SPDX-License-Identifier: MIT
// What a picture's values mean, and how its colours are to be shown, in the host's own terms.
#pragma once

#include <memory>

// By name only: tests of the preview's logic know neither GIMP nor babl.
typedef struct _GimpColorConfig GimpColorConfig;
typedef struct _GimpColorProfile GimpColorProfile;
typedef union _Babl Babl;

namespace grainless::ui {

// Without a config the pixels go to the screen as they are.
struct PictureColours {
  std::shared_ptr<GimpColorConfig> config;    // the user's: display profile, soft proof, off
  std::shared_ptr<GimpColorProfile> profile;  // what the picture's values mean
  std::shared_ptr<GimpColorProfile> proof;  // what is simulated of it when that is on; may be null
  int proof_intent = 0;                     // a GimpColorRenderingIntent
  bool proof_bpc = false;                   // with black point compensation
  // The preview's pixels before alpha is multiplied in: red, green, blue and alpha, or grey and
  // alpha, 8 bits each.
  const Babl* kept = nullptr;
  // The same colours in the profile's own encoding; `kept` where that has it.
  const Babl* meant = nullptr;
};

}  // namespace grainless::ui
