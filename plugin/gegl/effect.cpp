// SPDX-License-Identifier: MIT
#include "effect.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "layout.h"
#include "place.h"
#include "usable_params.h"

namespace grainless::effect {
namespace {

constexpr int32_t kBandRows = 128;  // a row of GIMP's tiles

helper::ClientOptions client_options() {
  gint threads = 0;
  g_object_get(gegl_config(), "threads", &threads, nullptr);
  return {.program = helper_program(), .threads = threads};
}

// One for all effects of the process, made when the first one has work. It is never destroyed: its
// helper ends with the process, whatever the order in which libraries go.
helper::Client& client() {
  static helper::Client& only = *new helper::Client(client_options());
  return only;
}

GeglRectangle rows_of(const GeglRectangle& area, int32_t first) {
  return {area.x, area.y + first, area.width, std::min(kBandRows, area.height - first)};
}

// Pixels of a rectangle in the engine's format, rows without gaps.
void get_engine_pixels(GeglBuffer* input, const GeglRectangle& area, const Encoding& encoding,
                       void* target) {
  if (encoding.direct()) {
    gegl_buffer_get(input, &area, 1.0, encoding.native, target, GEGL_AUTO_ROWSTRIDE,
                    GEGL_ABYSS_CLAMP);
    return;
  }
  const auto pixels = static_cast<size_t>(area.width) * static_cast<size_t>(area.height);
  std::vector<uint8_t> native(pixels * encoding.native_bytes());
  gegl_buffer_get(input, &area, 1.0, encoding.native, native.data(), GEGL_AUTO_ROWSTRIDE,
                  GEGL_ABYSS_CLAMP);
  babl_process(babl_fish(encoding.native, encoding.engine), native.data(), target,
               static_cast<long>(pixels));
}

bool same_box(const GeglRectangle& a, const GeglRectangle& b) {
  return gegl_rectangle_equal(&a, &b) != FALSE;
}

}  // namespace

void Effect::set_source(const Babl* format) {
  const Encoding encoding = layout_for(format);
  if (encoding.native == encoding_.native) return;
  encoding_ = encoding;
  input_.reset();
}

// Whether the picture that the helper has is still that of `area`.
bool Effect::has(GeglBuffer* input, const GeglRectangle& box, const GeglRectangle& area) const {
  const ConstImage image = input_->image();
  const size_t row = static_cast<size_t>(area.width) * encoding_.format.pixel_bytes();
  std::vector<uint8_t> now;
  for (int32_t first = 0; first < area.height; first += kBandRows) {
    const GeglRectangle band = rows_of(area, first);
    now.resize(row * band.height);
    get_engine_pixels(input, band, encoding_, now.data());
    for (int32_t y = 0; y < band.height; ++y) {
      const void* held = pixel_at(image, band.x - box.x, band.y - box.y + y);
      if (std::memcmp(held, now.data() + row * y, row) != 0) return false;
    }
  }
  return true;
}

void Effect::read(GeglBuffer* input, const GeglRectangle& box) {
  input_.reset();  // one picture at a time is memory enough
  auto fresh = std::make_shared<helper::Input>(encoding_.format, box.width, box.height);
  const MutableImage image = fresh->writable();
  for (int32_t first = 0; first < box.height; first += kBandRows) {
    get_engine_pixels(input, rows_of(box, first), encoding_, pixel_at(image, 0, first));
  }
  fresh->finish();
  input_ = std::move(fresh);
  box_ = box;
  said_.clear();
}

void Effect::look_at(GeglBuffer* input, const GeglRectangle& box) {
  const bool known =
      input_ && box.width == box_.width && box.height == box_.height && has(input, box, box);
  if (!known) read(input, box);
  box_ = box;
  suspect_ = false;
}

void Effect::write(GeglBuffer* input, GeglBuffer* output, const Rect& rect,
                   const GeglRectangle& area, const helper::SharedMemory& result) const {
  if (encoding_.direct()) {
    gegl_buffer_set(output, &area, 0, encoding_.native, result.data(), GEGL_AUTO_ROWSTRIDE);
    return;
  }
  const ConstImage source = input_->image();
  const size_t native_row = static_cast<size_t>(area.width) * encoding_.native_bytes();
  const size_t result_row = static_cast<size_t>(area.width) * encoding_.format.pixel_bytes();
  std::vector<uint8_t> originals, pixels;
  for (int32_t first = 0; first < area.height; first += kBandRows) {
    const GeglRectangle band = rows_of(area, first);
    originals.resize(native_row * band.height);
    pixels.resize(originals.size());
    gegl_buffer_get(input, &band, 1.0, encoding_.native, originals.data(), GEGL_AUTO_ROWSTRIDE,
                    GEGL_ABYSS_CLAMP);
    for (int32_t y = 0; y < band.height; ++y) {
      restore_native(encoding_, originals.data() + native_row * y,
                     pixel_at(source, rect.x, rect.y + first + y),
                     result.data() + result_row * (first + y), pixels.data() + native_row * y,
                     area.width);
    }
    gegl_buffer_set(output, &band, 0, encoding_.native, pixels.data(), GEGL_AUTO_ROWSTRIDE);
  }
}

// GIMP shows messages of GEGL's to the user.
void Effect::say(const std::string& text) {
  if (text.empty() || !said_.insert(text).second) return;
  g_log("GEGL", G_LOG_LEVEL_MESSAGE, "Grainless: %s", text.c_str());
}

// As the filter does: that there is no card is news for who asked for one.
void Effect::say_all(const helper::Rendered& rendered, const Params& params) {
  say(rendered.lost);
  if (!rendered.changed) say(rendered.note);
  if (params.device == "auto" || params.device == "cpu") return;
  for (const std::string& text : rendered.fallbacks) say(text);
}

void Effect::compute(GeglBuffer* input, GeglBuffer* output, const GeglRectangle& box,
                     const GeglRectangle& area) {
  // A change that nobody told of is seen where it is asked about.
  if (suspect_ || !input_ || !same_box(box, box_) || !has(input, box, area)) look_at(input, box);
  std::vector<std::string> notes;
  const Params params = usable_params(params_, notes);
  for (const std::string& note : notes) say(note);
  const Rect rect{area.x - box.x, area.y - box.y, area.width, area.height};
  const helper::Rendered rendered = client().render(input_, params, rect);
  say_all(rendered, params);
  write(input, output, rect, area, rendered.pixels);
}

void Effect::process(GeglBuffer* input, GeglBuffer* output, const GeglRectangle& box,
                     const GeglRectangle& area) {
  const Status status = guard([&] { compute(input, output, box, area); });
  if (status.ok()) return;
  gegl_buffer_copy(input, &area, GEGL_ABYSS_CLAMP, output, &area);
  (void)guard([&] { say(status.message()); });
}

}  // namespace grainless::effect
