// SPDX-License-Identifier: MIT
#pragma once

#include <gegl.h>

#include <memory>
#include <set>
#include <string>

#include "engine/boundary/rect.h"
#include "engine/params/params.h"
#include "plugin/encoding.h"
#include "plugin/helper/client.h"

namespace grainless::effect {

// One effect on one picture: what the operation does, without GObject. Pixels go to the helper as a
// whole, once for each content, since the noise is measured on all of them; any rectangle of the
// result comes back, with the same bits whichever it was.
class Effect {
 public:
  Params& params() { return params_; }

  void set_source(const Babl* format);
  const Babl* format() const { return encoding_.native; }

  // The picture may be another one by now.
  void input_changed() { suspect_ = true; }

  // Fills output's rectangle `area` from input, whose picture is `box`. Where nothing can compute
  // it, the pixels stay as they are, and the reason is said.
  void process(GeglBuffer* input, GeglBuffer* output, const GeglRectangle& box,
               const GeglRectangle& area);

 private:
  using Pixels = std::unique_ptr<uint8_t[]>;

  void compute(GeglBuffer* input, GeglBuffer* output, const GeglRectangle& box,
               const GeglRectangle& area);
  void look_at(GeglBuffer* input, const GeglRectangle& box);
  bool has(GeglBuffer* input, const GeglRectangle& box, const GeglRectangle& area) const;
  void read(GeglBuffer* input, const GeglRectangle& box);
  void write(GeglBuffer* input, GeglBuffer* output, const Rect& rect, const GeglRectangle& area,
             const helper::SharedMemory& result) const;
  void say(const std::string& text);
  void say_all(const helper::Rendered& rendered, const Params& params);

  Params params_;
  Encoding encoding_;
  std::shared_ptr<helper::Input> input_;
  GeglRectangle box_{};
  bool suspect_ = true;
  std::set<std::string> said_;  // of this picture: a slider must not say it again and again
};

}  // namespace grainless::effect
