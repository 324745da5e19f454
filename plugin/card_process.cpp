// SPDX-License-Identifier: MIT
#include "card_process.h"

#ifdef GRAINLESS_CARD_PROCESS
#include <libgimp/gimp.h>
#include <unistd.h>

#include <filesystem>

#include "engine/cards.h"
#include "engine/platform/library.h"
#include "plugin/cards/remote_cards.h"
#endif

namespace grainless {

#ifdef GRAINLESS_CARD_PROCESS

std::shared_ptr<Cards> card_process(const std::string& module_dir) {
  // Between two tries of a setting. A card's driver keeps some memory as long.
  constexpr const char* kIdleSeconds = "300";
  const std::string module = module_dir + "/" + kModuleFile;
  std::error_code error;
  if (module_dir.empty() || !std::filesystem::exists(module, error)) return nullptr;
  const cards::Host host{gimp_get_progname(), {kServeCards, module_dir, kIdleSeconds}, getppid()};
  return cards::RemoteCards::make({.host = host, .module = module}, module_cards(module_dir));
}

#else

std::shared_ptr<Cards> card_process(const std::string&) {
  return nullptr;
}

#endif

}  // namespace grainless
