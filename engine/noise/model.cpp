// SPDX-License-Identifier: MIT
#include "model.h"

#include "engine/sentence.h"

namespace grainless {

const char* confidence_id(Confidence confidence) {
  switch (confidence) {
    case Confidence::kMeasured:
      return "measured";
    case Confidence::kLittle:
      return "little";
    case Confidence::kUnsure:
      return "unsure";
    case Confidence::kTooSmall:
      return "too-small";
  }
  return "";
}

std::string confidence_text(Confidence confidence) {
  switch (confidence) {
    case Confidence::kMeasured:
      return sentence("measured");
    case Confidence::kLittle:
      return sentence("little or no noise");
    case Confidence::kUnsure:
      return sentence("unsure: texture or noise?");
    case Confidence::kTooSmall:
      return sentence("too small to measure");
  }
  return {};
}

}  // namespace grainless
