// SPDX-License-Identifier: MIT
#include "shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "engine/boundary/status.h"
#include "engine/platform/system.h"
#include "engine/sentence.h"

namespace grainless::helper {
namespace {

constexpr int kFixedSize = F_SEAL_SHRINK | F_SEAL_GROW;

[[noreturn]] void no_memory() {
  throw Error(ErrorCode::kOutOfMemory, sentence("out of memory"));
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

int Descriptor::release() {
  return std::exchange(number_, -1);
}

SharedMemory::SharedMemory(Descriptor descriptor, uint64_t bytes)
    : descriptor_(std::move(descriptor)), bytes_(bytes) {}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      bytes_(std::exchange(other.bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  return *this;
}

SharedMemory::~SharedMemory() {
  unmap();
}

void SharedMemory::map(bool writable) {
  void* at = mmap(nullptr, bytes_, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                  descriptor_.number(), 0);
  if (at == MAP_FAILED) no_memory();
  data_ = static_cast<uint8_t*>(at);
}

void SharedMemory::unmap() {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr;
}

// The kernel refuses no memory by itself: it would end processes instead, GIMP among them.
// fallocate() takes the pages now: without them the first write would be a SIGBUS.
SharedMemory SharedMemory::make(uint64_t bytes) {
  if (bytes == 0 || bytes > available_memory()) no_memory();
  Descriptor file(memfd_create("grainless", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || fallocate(file.number(), 0, 0, static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.number(), F_ADD_SEALS, kFixedSize) != 0) {
    no_memory();
  }
  SharedMemory memory(std::move(file), bytes);
  memory.map(true);
  return memory;
}

SharedMemory SharedMemory::adopt(Descriptor descriptor, uint64_t bytes, Access access) {
  struct stat info{};
  const int seals = fcntl(descriptor.number(), F_GET_SEALS);
  if (bytes == 0 || seals < 0 || (seals & kFixedSize) != kFixedSize ||
      fstat(descriptor.number(), &info) != 0 || static_cast<uint64_t>(info.st_size) < bytes) {
    throw Error(ErrorCode::kBadInput, sentence("what it said makes no sense"));
  }
  SharedMemory memory(std::move(descriptor), bytes);
  memory.map(access == Access::kWrite);
  return memory;
}

void SharedMemory::seal() {
  unmap();
  if (fcntl(descriptor_.number(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) != 0) no_memory();
  map(false);
}

}  // namespace grainless::helper
