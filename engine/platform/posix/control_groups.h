// SPDX-License-Identifier: MIT
// The limits of memory that Linux' control groups set: of containers, batch systems and services.
#pragma once

#include <cstdint>
#include <string>

namespace grainless {

// Bytes that all groups of a process leave it; no bound where none sets one. `membership` is the
// file that names its groups (/proc/self/cgroup), `root` the folder where they are
// (/sys/fs/cgroup).
uint64_t left_by_groups(const std::string& membership, const std::string& root);

}  // namespace grainless
