// SPDX-License-Identifier: MIT
// What a file's samples mean, and the perceptual ones that the engine wants (engine/boundary/
// pixels.h). As in GIMP only the curve is exchanged for sRGB's, never the colours' primaries.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/progress.h"
#include "engine/thread_pool.h"
#include "image.h"
#include "tone_curve.h"

namespace grainless::tools {

class Encoding {
 public:
  Encoding() = default;                              // perceptual samples
  explicit Encoding(std::vector<ToneCurve> curves);  // a colour each

  // Of a PNG file's cICP, or else its profile, or else its gamma; without any, and where they are
  // nearly the same (a quarter of an 8-bit step, as in the plug-in), perceptual. A profile without
  // curves counts as none, and a sentence goes into notes.
  static Encoding of(const Image& picture, const std::string& path,
                     std::vector<std::string>& notes);

  // The engine takes samples as they stand in the file: nothing is to be decoded or encoded.
  bool is_perceptual() const { return curves_.empty() && extra_ == Extra::kAlpha; }

  // The file's samples as floats in the perceptual encoding. Premultiplied colours are divided by
  // alpha on the way; a sample that may be no alpha becomes 1, so that it hides nothing.
  Image decode(const Image& native, ThreadPool& pool, const std::string& what) const;

  // What of a picture stays as it stood in the file: the sample beside the colours, and those that
  // are equal in `source`, which is what decode() made and may be null, and in the result.
  struct Kept {
    const Image* native;
    const Image* source;
  };
  // The way back, with the file's samples, or others: integers are rounded to nearest.
  Image encode(const Image& result, Component component, Extra extra,
               const std::optional<Kept>& kept, ThreadPool& pool, const std::string& what) const;

  double perceptual_of(int32_t colour, double sample) const;
  double sample_of(int32_t colour, double perceptual) const;

  // Rows of an image: `format` is the native one, the other side is floats.
  struct Row {
    PixelFormat format;
    Extra extra;
    int32_t pixels;
  };
  void decode_row(const Row& row, const uint8_t* native, float* to) const;
  // native and source may be null.
  void encode_row(const Row& row, const float* result, const uint8_t* native, const float* source,
                  uint8_t* to) const;

 private:
  struct Tables;

  Extra extra_ = Extra::kAlpha;  // of the picture that it was made for; its rows say it each
  std::vector<ToneCurve> curves_;
  std::shared_ptr<const Tables> tables_;
};

// A file's picture in the perceptual encoding; notes of the image say where that was taken for
// granted.
Image read_perceptual(const std::string& path, ThreadPool& pool,
                      const CancelToken* cancel = nullptr);

}  // namespace grainless::tools
