// SPDX-License-Identifier: MIT
#include "dialog_state.h"

#include <glib.h>

#include <algorithm>
#include <memory>

#include "viewport.h"

namespace grainless::ui {
namespace {

constexpr char kGroup[] = "dialog";
constexpr int kLargest = 32767;  // of a window's sides
// By View.
constexpr const char* kViews[] = {"result", "original", "split", "side-by-side", "removed"};

struct Unref {
  void operator()(GKeyFile* file) const { g_key_file_unref(file); }
};
using KeyFile = std::unique_ptr<GKeyFile, Unref>;

std::string text_of(GKeyFile* file, const char* key) {
  gchar* value = g_key_file_get_string(file, kGroup, key, nullptr);
  const std::string text = value != nullptr ? value : "";
  g_free(value);
  return text;
}

View view_of(const std::string& name) {
  const auto* found = std::find(std::begin(kViews), std::end(kViews), name);
  return found != std::end(kViews) ? static_cast<View>(found - kViews) : View::kResult;
}

double zoom_of(double value) {
  const auto steps = Viewport::zoom_steps();
  const bool known = value == 0 || std::find(steps.begin(), steps.end(), value) != steps.end();
  return known ? value : 1;
}

}  // namespace

DialogState load_dialog_state(const std::string& path) {
  const KeyFile file(g_key_file_new());
  if (!g_key_file_load_from_file(file.get(), path.c_str(), G_KEY_FILE_NONE, nullptr)) return {};
  const auto side = [&](const char* key) {
    return std::clamp(g_key_file_get_integer(file.get(), kGroup, key, nullptr), 0, kLargest);
  };
  DialogState state;
  state.width = side("width");
  state.height = side("height");
  state.view = view_of(text_of(file.get(), "view"));
  if (g_key_file_has_key(file.get(), kGroup, "zoom", nullptr)) {
    state.zoom = zoom_of(g_key_file_get_double(file.get(), kGroup, "zoom", nullptr));
  }
  state.told = text_of(file.get(), "told");
  return state;
}

void save_dialog_state(const std::string& path, const DialogState& state) {
  const KeyFile file(g_key_file_new());
  g_key_file_set_integer(file.get(), kGroup, "width", state.width);
  g_key_file_set_integer(file.get(), kGroup, "height", state.height);
  g_key_file_set_string(file.get(), kGroup, "view", kViews[static_cast<size_t>(state.view)]);
  g_key_file_set_double(file.get(), kGroup, "zoom", state.zoom);
  g_key_file_set_string(file.get(), kGroup, "told", state.told.c_str());
  gchar* folder = g_path_get_dirname(path.c_str());
  g_mkdir_with_parents(folder, 0700);
  g_free(folder);
  g_key_file_save_to_file(file.get(), path.c_str(), nullptr);
}

}  // namespace grainless::ui
