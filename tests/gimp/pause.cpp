// SPDX-License-Identifier: MIT
// Loaded into the plug-in's process by LD_PRELOAD: stands between it and libgimp, so that a test
// can hold the filter at a stage of its work, change the image meanwhile, and have GIMP refuse a
// merge. Everything is asked for by files in the folder that GRAINLESS_PAUSE names:
//
//   at       "progress 0.5": the first time that the filter has done so much; "glimpse 2": before
//            it asks GIMP for the second small picture of a drawable, when the pixels of the first
//            one have been compared; "merge 2": before the second drawable is changed; "dialog 0":
//            before its window is made. The file becomes
//            `reached`, with the process's number in it, and the filter goes on when somebody
//            deletes that (meanwhile.py).
//   refuse   "2": GIMP takes the first drawable's new pixels, or effect, and refuses the second's.
//   environment  lines of NAME=VALUE, for filters that start from now on.
//            GRAINLESS_ODD_CLOCK=SEED among them: to babl, which measures its ways of converting,
//            each takes a time by chance.
//   disk-full  whatever is in it: no regular file takes another byte from the filter, but for GTK's
//   own.
//   no-memory  "progress 0.5 3 4096": of the allocations of 4096 bytes and more that the filter's
//            own code makes from this stage on, the third fails; "3+": and all after it. The stage
//            "start 0" is the process's first moment. The file `failed` tells that one has failed.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <random>
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

// Memory that is refused.
std::atomic<bool> refusing{false};
std::atomic<long> until_refused{0};
size_t refused_bytes = 0;
bool refused_ever_after = false;
char refused_path[4096];  // where nothing may be allocated

// What this library asks for meanwhile is none of the filter's memory.
thread_local int aside = 0;
struct Aside {
  Aside() { ++aside; }
  ~Aside() { --aside; }
};

void refuse_from(const std::string& name, double value) {
  if (refusing || std::strcmp(program_invocation_short_name, "grainless") != 0) return;
  std::ifstream file(folder() / "no-memory");
  std::string wanted, count;
  double from = 0;
  if (!(file >> wanted >> from >> count >> refused_bytes) || wanted != name || value < from) return;
  std::snprintf(refused_path, sizeof refused_path, "%s", (folder() / "failed").c_str());
  until_refused = std::stol(count);
  refused_ever_after = count.back() == '+';
  refusing = true;
}

void expect_memory(size_t bytes) {
  if (!refusing || aside > 0 || bytes < refused_bytes) return;
  const long left = --until_refused;
  if (left > 0 || (left < 0 && !refused_ever_after)) return;
  close(open(refused_path, O_WRONLY | O_CREAT, 0600));
  throw std::bad_alloc();
}

// Holds the filter when the test has asked for this stage and `value` of it.
void stage(const char* name, double value) {
  const Aside aside_from_here;
  refuse_from(name, value);
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

int merges = 0, glimpses = 0, effects = 0;

int first_refused() {
  const Aside aside_from_here;
  int first = 0;
  return std::ifstream(folder() / "refuse") >> first ? first : INT_MAX;
}

__attribute__((constructor)) void set_environment() {
  if (std::getenv("GRAINLESS_PAUSE") == nullptr) return;
  refuse_from("start", 0);
  std::ifstream file(folder() / "environment");
  for (std::string line; std::getline(file, line);) {
    const size_t equals = line.find('=');
    if (equals != std::string::npos) {
      setenv(line.substr(0, equals).c_str(), line.substr(equals + 1).c_str(), 1);
    }
  }
}

// Icons on their way through gdk-pixbuf 2.44 (GIMP 3.2): without them GTK itself ends the program.
bool is_of_gtk(int file) {
  std::error_code ignored;
  const fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(file), ignored);
  return path.filename().string().starts_with("gdk-pixbuf-");
}

// As the kernel says it. Others than the filter go on writing: the tests talk through files.
bool disk_is_full(int file) {
  const Aside aside_from_here;
  if (std::strcmp(program_invocation_short_name, "grainless") != 0) return false;
  struct stat status{};
  if (std::getenv("GRAINLESS_PAUSE") == nullptr || fstat(file, &status) != 0) return false;
  if (!S_ISREG(status.st_mode) || access((folder() / "disk-full").c_str(), F_OK) != 0) return false;
  if (is_of_gtk(file)) return false;
  errno = ENOSPC;
  return true;
}

}  // namespace

// GLib's memory comes from malloc(), and GLib ends the process where there is none.
void* operator new(size_t bytes) {
  expect_memory(bytes);
  void* memory = std::malloc(bytes != 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* operator new(size_t bytes, std::align_val_t alignment) {
  expect_memory(bytes);
  const auto unit = static_cast<size_t>(alignment);
  void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
  if (disk_is_full(file)) return -1;
  return original<ssize_t (*)(int, const void*, size_t)>("write")(file, bytes, count);
}

ssize_t writev(int file, const iovec* pieces, int count) {
  if (disk_is_full(file)) return -1;
  return original<ssize_t (*)(int, const iovec*, int)>("writev")(file, pieces, count);
}

// Monotonic, and by up to 2 milliseconds further than it should be at each look.
int gettimeofday(timeval* now, void* zone) noexcept {
  using Look = int (*)(timeval*, void*);
  static const auto look = original<Look>("gettimeofday");
  const int status = look(now, zone);
  static const char* seed = std::getenv("GRAINLESS_ODD_CLOCK");
  if (status != 0 || seed == nullptr) return status;
  static std::minstd_rand draw(static_cast<unsigned>(std::atoi(seed)));
  static std::atomic<long> ahead{0};
  constexpr long kMost = 2000, kSecond = 1000000;
  ahead += static_cast<long>(draw() % kMost);
  const long microseconds = now->tv_usec + ahead;
  now->tv_sec += microseconds / kSecond;
  now->tv_usec = microseconds % kSecond;
  return status;
}

// The C library's own streams don't come by write().
int fflush(FILE* stream) {
  if (stream != nullptr && disk_is_full(fileno(stream))) return EOF;
  return original<int (*)(FILE*)>("fflush")(stream);
}

int gimp_progress_init(const char* message) {
  merges = glimpses = 0;
  refuse_from("begin", 0);
  return original<int (*)(const char*)>("gimp_progress_init")(message);
}

int gimp_progress_update(double fraction) {
  const int result = original<int (*)(double)>("gimp_progress_update")(fraction);
  stage("progress", fraction);
  return result;
}

unsigned long gimp_procedure_dialog_get_type() {
  stage("dialog", 0);
  return original<unsigned long (*)()>("gimp_procedure_dialog_get_type")();
}

void gimp_drawable_append_filter(void* drawable, void* filter) {
  if (++effects >= first_refused()) return;
  original<void (*)(void*, void*)>("gimp_drawable_append_filter")(drawable, filter);
}

void* gimp_drawable_get_thumbnail_data(void* drawable, int width, int height, int* actual_width,
                                       int* actual_height, int* bytes) {
  stage("glimpse", ++glimpses);
  using Get = void* (*)(void*, int, int, int*, int*, int*);
  return original<Get>("gimp_drawable_get_thumbnail_data")(drawable, width, height, actual_width,
                                                           actual_height, bytes);
}

int gimp_drawable_merge_shadow(void* drawable, int undo) {
  stage("merge", ++merges);
  if (merges >= first_refused()) return 0;
  return original<int (*)(void*, int)>("gimp_drawable_merge_shadow")(drawable, undo);
}

}  // extern "C"
