// SPDX-License-Identifier: MIT
// Where programs of one GIMP meet the process that holds its cards: a name that the system keeps
// only as long as that process lives, and at which only the same user is answered.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/boundary/status.h"
#include "plugin/helper/shared_memory.h"

namespace grainless::cards {

// No process can be started, or called, here.
class CannotStart : public Error {
 public:
  CannotStart();
};

// What the process is started as, and for whom.
struct Host {
  std::string program;                 // absolute
  std::vector<std::string> arguments;  // after it
  pid_t owner = 0;  // the process ends with this one (GIMP); 0: only when nobody asks for long
};

// The name of the place: another one for another owner, user, file of `files` or another
// environment of the driver, so that nobody meets a process that would see other cards.
std::string meeting_place(const Host& host, const std::vector<std::string>& files);

// A connection to the process, which is started where there is none. Throws
// CannotStart, or Error(kDeviceFailed) when it doesn't take the call.
helper::Descriptor meet(const Host& host, const std::string& place);

// Whether the other end is a process of this one's user.
bool is_own_user(int socket);

}  // namespace grainless::cards
