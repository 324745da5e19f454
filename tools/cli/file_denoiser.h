// SPDX-License-Identifier: MIT
// The three steps of a picture from file to file.
#pragma once

#include <string>
#include <vector>

#include "denoise_command.h"
#include "engine/denoise.h"
#include "json_report.h"
#include "outputs.h"
#include "progress_line.h"
#include "tools/image_io/image_file.h"

namespace grainless::tools {

// A picture on its way: `image` is the noisy one, later the result.
struct Picture {
  Image image;
  Image reference;     // the clean one, or without pixels
  Component original;  // of the input file, before noise was added
  Outcome outcome;
  std::vector<std::string> notes;  // of the last step, for people
};

// Steps of different pictures may run at once, each kind of step for one picture at a time. All
// throw Error.
class FileDenoiser {
 public:
  FileDenoiser(Engine& engine, const DenoiseOptions& options, const Params& params,
               ProgressLine& progress);

  Picture read(const Job& job) const;
  void denoise(const Job& job, Picture& picture) const;
  void write(const Job& job, Picture& picture) const;

 private:
  Image read_reference(const Job& job, const Image& source) const;

  Engine& engine_;
  const DenoiseOptions& options_;
  const Params& params_;
  Callbacks callbacks_;
};

}  // namespace grainless::tools
