// SPDX-License-Identifier: MIT
#include "fuzz.h"

#include <sanitizer/allocator_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "engine/boundary/status.h"
#include "tools/image_io/image_file.h"

namespace grainless::fuzz {
namespace {

std::string tried;

constexpr int kAsItIs = -1;
std::atomic<int> fill = kAsItIs;

// Blocks of the allocator's small sizes: larger ones come zeroed from the system, and calloc()
// counts on that.
constexpr size_t kLargestFilled = 64 << 10;

void on_allocation(const volatile void* block, size_t bytes) {
  const int value = fill.load(std::memory_order_relaxed);
  if (value != kAsItIs && bytes <= kLargestFilled) {
    std::memset(const_cast<void*>(block), value, bytes);
  }
}

void on_release(const volatile void*) {}

const int installed = __sanitizer_install_malloc_and_free_hooks(on_allocation, on_release);

// A folder of this process for what is written.
const std::filesystem::path& folder() {
  struct Folder {
    std::filesystem::path path;
    Folder() {
      const bool memory = std::filesystem::is_directory("/dev/shm");
      std::string pattern = memory ? "/dev/shm/grainless-fuzz-XXXXXX"
                                   : std::filesystem::temp_directory_path() / "fuzz-XXXXXX";
      expect(mkdtemp(pattern.data()) != nullptr, "no folder for temporary files");
      path = pattern;
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder made;
  return made.path;
}

std::optional<tools::Image> read(const std::string& path, uint8_t memory) {
  const FilledMemory filled(memory);
  try {
    return tools::read_image(path);
  } catch (const Error& error) {
    expect(error.code() == ErrorCode::kBadInput,
           std::string("refused as no input: ") + error.what());
    expect(std::strchr(error.what(), '\n') == nullptr, "a refusal of several lines");
    return std::nullopt;
  }
}

bool same_pixels(const tools::Image& a, const tools::Image& b) {
  return a.format == b.format && a.width == b.width && a.height == b.height &&
         std::memcmp(a.pixels.get(), b.pixels.get(), a.bytes()) == 0;
}

tools::Image copy_of(const tools::Image& image) {
  tools::Image copy = tools::make_image(image.format, image.width, image.height, "a copy");
  std::memcpy(copy.pixels.get(), image.pixels.get(), image.bytes());
  copy.extra = image.extra;
  copy.metadata = image.metadata;
  return copy;
}

void check_writer(const tools::Image& image, const std::string& extension, bool lossless) {
  const std::string path = folder() / ("written" + extension);
  tools::Image copy = copy_of(image);
  try {
    tools::write_image(path, std::move(copy));
  } catch (const Error& error) {
    expect(false, std::string("what was read can't be written: ") + error.what());
  }
  try {
    const tools::Image again = tools::read_image(path);
    expect(again.width == image.width && again.height == image.height,
           "another size after writing");
    expect(!lossless || same_pixels(image, again), "other pixels after writing");
  } catch (const Error& error) {
    expect(false, std::string("what was written can't be read: ") + error.what());
  }
}

}  // namespace

void expect(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s%s%s\n", tried.c_str(), tried.empty() ? "" : ": ",
               what.c_str());
  std::abort();
}

void trying(const std::string& text) {
  tried = text;
}

MemoryFile::MemoryFile(std::span<const uint8_t> bytes)
    : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  expect(descriptor_ >= 0, "no file in memory");
  const auto size = static_cast<ssize_t>(bytes.size());
  expect(write(descriptor_, bytes.data(), bytes.size()) == size, "the file in memory is full");
}

MemoryFile::~MemoryFile() {
  close(descriptor_);
}

FilledMemory::FilledMemory(uint8_t value) {
  expect(installed > 0, "the allocator takes no hook");
  fill = value;
}

FilledMemory::~FilledMemory() {
  fill = kAsItIs;
}

void check_reader(std::span<const uint8_t> bytes, const std::string& extension, bool lossless) {
  constexpr size_t kMostNotes = 100, kLargestWritten = 1 << 20;
  const MemoryFile file(bytes);
  const std::optional<tools::Image> first = read(file.path(), 0x55);
  const std::optional<tools::Image> second = read(file.path(), 0xaa);
  expect(first.has_value() == second.has_value(), "accepted once and refused once");
  if (!first) return;
  expect(same_pixels(*first, *second), "other pixels the second time");
  expect(first->notes.size() <= kMostNotes, "notes without end");
  if (first->bytes() <= kLargestWritten) check_writer(*first, extension, lossless);
}

}  // namespace grainless::fuzz
