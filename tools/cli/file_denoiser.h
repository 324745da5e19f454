// SPDX-License-Identifier: MIT
// The three steps of a picture from file to file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "denoise_command.h"
#include "engine/denoise.h"
#include "json_report.h"
#include "outputs.h"
#include "progress_line.h"
#include "tools/image_io/encoding.h"
#include "tools/image_io/image_file.h"

namespace grainless::tools {

// A picture on its way: `image` is the noisy one, later the result, in the perceptual encoding.
struct Picture {
  Image image;
  Image reference;     // the clean one, or without pixels
  Component original;  // of the input file, before noise was added
  Extra extra = Extra::kAlpha;
  Encoding encoding;      // of the file's samples; where it is not the perceptual one:
  Image native, decoded;  // the file's own samples, and what `image` began with
  Outcome outcome;
  std::vector<std::string> notes;  // of the last step, for people
  // Of one that is too large for memory: `image` has no pixels then. The file is complete, but for
  // its name, once it is denoised.
  std::unique_ptr<RowReader> rows;
  std::unique_ptr<OutputFile> file;
};

// Steps of different pictures may run at once. All throw Error.
class FileDenoiser {
 public:
  FileDenoiser(Engine& engine, const DenoiseOptions& options, const Params& params,
               ProgressLine& progress);

  Picture read(const Job& job) const;
  void denoise(const Job& job, Picture& picture) const;
  void write(const Job& job, Picture& picture) const;

 private:
  Image read_reference(const Job& job, const Image& source) const;
  bool open_in_bands(const Job& job, Picture& picture) const;
  void denoise_in_bands(const Job& job, Picture& picture) const;
  void decode(const Job& job, Picture& picture) const;
  void encode(const Job& job, Picture& picture) const;

  Engine& engine_;
  const DenoiseOptions& options_;
  const Params& params_;
  uint64_t memory_limit_;  // bytes
  Callbacks callbacks_;
  mutable ThreadPool pool_;  // of conversions
};

}  // namespace grainless::tools
