// SPDX-License-Identifier: MIT
// Preloaded into a program (LD_PRELOAD), makes chosen allocations fail. They are counted from
// main() on, in all threads together. From the environment:
//   GRAINLESS_FAIL_MALLOC=N    the N-th fails (from 1); N+: it and all that follow
//   GRAINLESS_COUNT_MALLOC=F   writes to the file F, at the end, how many there were
// From the program itself: fail_malloc().
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

constexpr long kNever = -1;

std::atomic<bool> counting{false};
std::atomic<long> count{0}, failed{0};
long first = kNever, last = kNever;

bool fails() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  const long number = ++count;
  if (first == kNever || number < first || number > last) return false;
  ++failed;
  errno = ENOMEM;
  return true;
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

void write_count() {
  counting = false;
  const char* path = std::getenv("GRAINLESS_COUNT_MALLOC");
  const int file = path != nullptr ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
  if (file < 0) return;
  dprintf(file, "%ld\n", count.load());
  close(file);
}

int counted_main(int argc, char** argv, char** environment) {
  if (const char* text = std::getenv("GRAINLESS_FAIL_MALLOC")) {
    first = std::atol(text);
    last = std::strchr(text, '+') != nullptr ? 1L << 62 : first;
  }
  std::atexit(write_count);
  counting = std::getenv("GRAINLESS_FAIL_MALLOC") != nullptr ||
             std::getenv("GRAINLESS_COUNT_MALLOC") != nullptr;
  return real_main(argc, argv, environment);
}

}  // namespace

extern "C" {

// Lets the allocations from the n-th to the m-th from now on fail; n < 0: none. Returns how many
// have failed since the call before.
long fail_malloc(long n, long m) {
  counting = false;
  first = n < 0 ? kNever : n;
  last = m;
  count = 0;
  counting = n >= 0;
  return failed.exchange(0);
}

void* malloc(size_t bytes) {
  return fails() ? nullptr : __libc_malloc(bytes);
}
void* calloc(size_t number, size_t bytes) {
  return fails() ? nullptr : __libc_calloc(number, bytes);
}
void* realloc(void* memory, size_t bytes) {
  return fails() ? nullptr : __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return fails() ? nullptr : __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = fails() ? nullptr : __libc_memalign(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  real_main = main;
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
}
