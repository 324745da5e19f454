// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace grainless {

// The place of a module that may be loaded, without links. What it runs it runs as the user, so:
// - the file belongs to the user or to root, and nobody else can write to it or to a folder on the
//   way to it (a folder with the sticky bit, as /tmp, is not in the way: entries stay their
//   owner's);
// - it is as long as its own tables say: the loader maps a cut file, and dies when it reads there.
// Throws Error(kDeviceUnavailable) with one sentence otherwise.
std::string trusted_module(const std::string& path);

}  // namespace grainless
