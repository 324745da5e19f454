// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "engine/cards.h"

namespace grainless {

// The argument that makes this program the process that holds the cards (plugin/cards/serve.h).
inline constexpr char kServeCards[] = "--serve-cards";

// The cards of the module in that folder, held by a process that runs of one GIMP share: what a
// driver does wrong ends that process and not this one, and only the first run waits for its start.
// Null: there is no module, or no such process on this system; the engine looks for itself then.
std::shared_ptr<Cards> card_process(const std::string& module_dir);

}  // namespace grainless
