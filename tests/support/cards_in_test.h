// SPDX-License-Identifier: MIT
// An engine with the cards of a fake module, in this process or, in a program that is compiled with
// CARD_PROCESS, in the process that holds them.
#pragma once

#include <string>

#include "engine/denoise.h"
#ifdef CARD_PROCESS
#include <unistd.h>

#include "engine/cards.h"
#include "engine/platform/library.h"
#include "plugin/cards/remote_cards.h"
#endif

namespace grainless::test {

#ifdef CARD_PROCESS
inline cards::RemoteOptions remote_options(const std::string& module_dir) {
  return {.host = {CARD_PROCESS, {module_dir, "60"}, getpid()},
          .module = module_dir + "/" + kModuleFile};
}
#endif

inline EngineOptions with_cards(const std::string& module_dir, int32_t threads) {
  EngineOptions options{module_dir, threads};
#ifdef CARD_PROCESS
  options.cards = cards::RemoteCards::make(remote_options(module_dir), module_cards(module_dir));
#endif
  return options;
}

}  // namespace grainless::test
