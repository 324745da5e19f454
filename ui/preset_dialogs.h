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

// `remark` says what is to be known about a name; a name that it refuses (false) can't be saved.
std::optional<std::string> ask_name(
    GtkWindow* parent,
    const std::function<bool(const std::string& name, std::string& text)>& remark);

enum class FileUse { kImport, kExport };
// A preset's file; a new one gets the extension, and `name` is proposed for it.
std::optional<std::string> ask_file(GtkWindow* parent, FileUse use, const std::string& name);

}  // namespace grainless::ui
