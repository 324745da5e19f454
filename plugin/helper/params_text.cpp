// SPDX-License-Identifier: MIT
#include "params_text.h"

#include "engine/sentence.h"

namespace grainless::helper {

std::string params_text(const Params& params) {
  std::string text;
  for (const ParamSpec& spec : param_specs()) {
    text += std::string(spec.key) + '=' + param_text(params, spec) + '\n';
  }
  return text;
}

Status parse_params(std::string_view text, Params& params) {
  params = {};
  while (!text.empty()) {
    const size_t end = text.find('\n'), equals = text.find('=');
    if (end == std::string_view::npos || equals > end) {
      return {ErrorCode::kBadParameter, sentence("what it said makes no sense")};
    }
    Status status =
        set_param(params, text.substr(0, equals), text.substr(equals + 1, end - equals - 1));
    if (!status.ok()) return status;
    text.remove_prefix(end + 1);
  }
  return validate(params);
}

}  // namespace grainless::helper
