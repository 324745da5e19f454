// SPDX-License-Identifier: MIT
// The windows that presets ask their questions with; each waits for its answer.
#pragma once

#include <libgimp/gimpui.h>

#include <functional>
#include <optional>
#include <string>

namespace grainless::ui {

void show_complaint(GtkWindow* parent, const std::string& sentence);
bool ask(GtkWindow* parent, const std::string& question, const char* action);

struct NameWindow {
  const char* title;
  const char* action;  // its button
  std::string name;    // proposed
};
// `remark` says what is to be known about a name; one that it refuses (false) can't be used.
std::optional<std::string> ask_name(
    GtkWindow* parent, const NameWindow& texts,
    const std::function<bool(const std::string& name, std::string& text)>& remark);

enum class FileUse { kImport, kExport };
// A preset's file; a new one gets the extension, and `name` is proposed for it.
std::optional<std::string> ask_file(GtkWindow* parent, FileUse use, const std::string& name);

}  // namespace grainless::ui
