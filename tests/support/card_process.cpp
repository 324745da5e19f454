// SPDX-License-Identifier: MIT
// The process that holds cards, for tests that have no plug-in to start.
#include "plugin/cards/serve.h"

int main(int count, char** arguments) {
  return grainless::cards::serve_cards(count - 1, arguments + 1);
}
