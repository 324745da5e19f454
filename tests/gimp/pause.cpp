// SPDX-License-Identifier: MIT
// Loaded into the plug-in's process by LD_PRELOAD: stands between it and libgimp, so that a test
// can hold the filter at a stage of its work, change the image meanwhile, and have GIMP refuse a
// merge. Everything is asked for by files in the folder that GRAINLESS_PAUSE names:
//
//   at       "progress 0.5": the first time that the filter has done so much; "merge 2": before the
//            second drawable is changed. The file becomes `reached`, with the process's number in
//            it, and the filter goes on when somebody deletes that (meanwhile.py).
//   refuse   "2": GIMP takes the first drawable's new pixels and refuses the second's.
//   host-memory  "1": what GRAINLESS_HOST_MEMORY is for filters that start from now on.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;

constexpr int kPatience = 15000;  // looks at the file: half a minute

fs::path folder() {
  const char* path = std::getenv("GRAINLESS_PAUSE");
  return path != nullptr ? path : "";
}

template <typename Function>
Function original(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Holds the filter when the test has asked for this stage and `value` of it.
void stage(const std::string& name, double value) {
  const fs::path at = folder() / "at";
  std::ifstream file(at);
  std::string wanted;
  double from = 0;
  if (!(file >> wanted >> from) || wanted != name || value < from) return;
  file.close();
  const fs::path part = folder() / "reached.part", reached = folder() / "reached";
  std::ofstream(part) << getpid();
  std::error_code ignored;
  fs::remove(at, ignored);
  fs::rename(part, reached, ignored);
  for (int i = 0; i < kPatience && fs::exists(reached, ignored); ++i) usleep(2000);
}

int merges = 0;

__attribute__((constructor)) void set_host_memory() {
  std::string mebibytes;
  if (std::getenv("GRAINLESS_PAUSE") == nullptr) return;
  if (std::ifstream(folder() / "host-memory") >> mebibytes) {
    setenv("GRAINLESS_HOST_MEMORY", mebibytes.c_str(), 1);
  }
}

}  // namespace

extern "C" {

int gimp_progress_init(const char* message) {
  merges = 0;
  return original<int (*)(const char*)>("gimp_progress_init")(message);
}

int gimp_progress_update(double fraction) {
  const int result = original<int (*)(double)>("gimp_progress_update")(fraction);
  stage("progress", fraction);
  return result;
}

int gimp_drawable_merge_shadow(void* drawable, int undo) {
  stage("merge", ++merges);
  int refused = 0;
  if (std::ifstream(folder() / "refuse") >> refused && merges >= refused) return 0;
  return original<int (*)(void*, int)>("gimp_drawable_merge_shadow")(drawable, undo);
}

}  // extern "C"
