// SPDX-License-Identifier: MIT
// Pixels that two processes see: files in memory without a name, which nobody else can open and
// which never change their size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace grainless::helper {

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  int release();

 private:
  int number_;
};

class SharedMemory {
 public:
  // New and zeroed, for writing. Throws kOutOfMemory where the system has less to spare; what it
  // returns is really there.
  static SharedMemory make(uint64_t bytes);

  // What came from the other process. Throws kBadInput unless it is a file in memory of `bytes` or
  // more whose size is sealed: memory that could shrink under a reader would end the reader.
  enum class Access { kRead, kWrite };
  static SharedMemory adopt(Descriptor descriptor, uint64_t bytes, Access access);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  // From here on nobody can write to it, this process included.
  void seal();

  const uint8_t* data() const { return data_; }
  uint8_t* writable() { return data_; }  // before seal() only
  uint64_t bytes() const { return bytes_; }
  int descriptor() const { return descriptor_.number(); }

 private:
  SharedMemory(Descriptor descriptor, uint64_t bytes);
  void map(bool writable);
  void unmap();

  Descriptor descriptor_;
  uint64_t bytes_ = 0;
  uint8_t* data_ = nullptr;
};

}  // namespace grainless::helper
