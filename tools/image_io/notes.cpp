// SPDX-License-Identifier: MIT
#include "notes.h"

#include <algorithm>
#include <utility>

namespace grainless::tools {
namespace {

constexpr size_t kMost = 8;

}  // namespace

void NoteList::add(const std::string& text) {
  std::string note = "'" + path_ + "': " + text;
  if (std::find(notes_.begin(), notes_.end(), note) != notes_.end()) return;
  if (notes_.size() < kMost) {
    notes_.push_back(std::move(note));
  } else {
    more_ = true;
  }
}

std::vector<std::string> NoteList::take() {
  if (more_) notes_.push_back("'" + path_ + "': and more of the kind");
  more_ = false;
  return std::exchange(notes_, {});
}

}  // namespace grainless::tools
