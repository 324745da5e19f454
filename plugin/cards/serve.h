// SPDX-License-Identifier: MIT
// The process that holds a GIMP's graphics cards. It is started by the first program that wants
// one (meeting.h), and serves those after it, so that only the first one waits for the driver.
#pragma once

namespace grainless::cards {

inline constexpr int kListener = 3;  // the socket that it is started with

// A program's main(): `MODULE_DIR IDLE_SECONDS OWNER`. Returns at once, in the process that was
// started; another one goes on until its owner ends, or until nobody was connected for so long.
int serve_cards(int count, char** arguments);

}  // namespace grainless::cards
