// SPDX-License-Identifier: MIT
// What processes of the engine do at their start.
#pragma once

namespace grainless::helper {

// Whether the descriptor is a socket of packets, as those are started with.
bool is_packet_socket(int descriptor);

// Where memory runs out, this process goes before GIMP does.
void offer_to_the_kernel();

// The engine's sentences in the user's language, with the catalogues beside the program.
void translate();

}  // namespace grainless::helper
