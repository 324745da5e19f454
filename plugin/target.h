// SPDX-License-Identifier: MIT
// Which drawables the filter can work on, and whether they still are what a run started from. All
// answers are sentences for the user; empty ones mean yes.
#pragma once

#include <libgimp/gimp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "active_channels.h"
#include "engine/boundary/rect.h"

namespace grainless {

using Drawables = std::vector<GimpDrawable*>;

std::string item_name(GimpItem* item);

// Whether the image shows it: a group that is hidden hides what is in it.
bool is_seen(GimpDrawable* drawable);

// Why the filter can't work on one of them: GIMP stays usable while the dialog is open, and the
// image may have been closed or a layer deleted since the run got them.
// An effect also works on what shows without pixels of its own: groups and text.
enum class Use { kPixels, kEffect };
std::string refusal(GimpImage* image, const Drawables& drawables, Use use = Use::kPixels);

// Where a drawable lies in its image, and what its pixels look like.
struct Placement {
  gint x = 0, y = 0, width = 0, height = 0;
  const Babl* format = nullptr;

  bool same_place(const Placement& other) const {
    return x == other.x && y == other.y && width == other.width && height == other.height;
  }
};
Placement placement_of(GimpDrawable* drawable);

// What was agreed on when a run started, but for the pixels. The user can go on working in GIMP,
// and merging goes by the layer and the selection of its own moment.
class StartState {
 public:
  explicit StartState(GimpDrawable* drawable);

  // The selected part of the drawable, possibly empty.
  const Rect& selected() const { return selection_.rect; }
  const ActiveChannels& channels() const { return channels_; }
  // What is no longer so; the drawable must still be there.
  std::string difference() const;

 private:
  struct Selection {
    bool none = true;
    Rect rect;          // what it covers of the drawable
    uint64_t mask = 0;  // checksum of its values there
    bool operator==(const Selection&) const = default;
  };
  static Selection selection_of(GimpDrawable* drawable, const Placement& placement);

  GimpDrawable* drawable_;
  Placement placement_;
  Selection selection_;
  ActiveChannels channels_;
};

// The sentences for a drawable that is gone, for a place, format or pixels that are others now, and
// for new pixels that GIMP refuses.
std::string gone_sentence();
std::string reformatted_sentence();
std::string moved_sentence(GimpDrawable* drawable);
std::string repainted_sentence(GimpDrawable* drawable);
std::string crossed_sentence(GimpDrawable* drawable);
std::string not_taken_sentence();
// Why so many layers stay as they are.
std::string nothing_selected_sentence(size_t layers);
// And for a layer none of whose colours may change.
std::string no_channel_sentence();

}  // namespace grainless
