// SPDX-License-Identifier: MIT
// What an effect's helper and its client are sent: a message is taken or refused, and what is taken
// says the same when it is written again.
#include <algorithm>

#include "fuzz.h"
#include "plugin/helper/message.h"
#include "plugin/helper/params_text.h"

using namespace grainless;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  helper::Message message;
  if (!helper::decode({data, size}, message).ok()) return 0;
  const std::vector<uint8_t> written = helper::encode(message);
  fuzz::expect(std::equal(written.begin(), written.end(), data, data + size), "another message");
  const auto* render = std::get_if<helper::Render>(&message);
  Params params;
  if (render == nullptr || !helper::parse_params(render->params, params).ok()) return 0;
  fuzz::expect(validate(params).ok(), "parameters that are out of range");
  return 0;
}
