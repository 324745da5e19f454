// SPDX-License-Identifier: MIT
// From the preview's pixels to those of the monitor, as the host's own windows show the picture.
#pragma once

#include <babl/babl.h>
#include <libgimp/gimpui.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "picture_colours.h"

namespace grainless::ui {

// Main thread.
class ScreenColours {
 public:
  // The colours of a picture on the monitor that shows the widget. True: other ones than before.
  bool update(GtkWidget* widget, const PictureColours& colours);
  // Whether the monitor gets the pixels as they are.
  bool none() const { return !changes_; }
  // Rises with every change.
  uint64_t version() const { return version_; }
  // From the preview's pixels to the monitor's, both as Bitmap has them; in place, too.
  void convert(const uint32_t* from, uint32_t* to, size_t count) const;

 private:
  struct Unref {
    void operator()(gpointer object) const { g_object_unref(object); }
  };
  using Transform = std::unique_ptr<GimpColorTransform, Unref>;

  Transform transform_for(GtkWidget* widget) const;
  bool changes_something() const;
  void transform(const uint8_t* from, uint8_t* to, size_t count) const;

  PictureColours colours_;
  Transform transform_;
  bool changes_ = false;
  uint64_t version_ = 0;
};

}  // namespace grainless::ui
