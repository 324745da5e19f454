// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugin/helper/channel.h"
#include "plugin/helper/params_text.h"

namespace grainless::helper {
namespace {

std::vector<Message> one_of_each() {
  return {Hello{},
          OpenInput{7, {Component::kHalf, 4}, 300, 200},
          CloseInput{8},
          Render{9, 7, {10, 20, 30, 40}, "method=nlm\n"},
          Progress{9},
          Done{.request = 9,
               .code = ErrorCode::kOutOfMemory,
               .message = "why",
               .device = "cuda:0",
               .note = "a note",
               .fallbacks = {"one", "two"},
               .changed = true}};
}

TEST(HelperMessage, ComesBackAsItWas) {
  for (const Message& message : one_of_each()) {
    Message read;
    ASSERT_TRUE(decode(encode(message), read).ok()) << message.index();
    EXPECT_EQ(read, message);
  }
}

TEST(HelperMessage, IsRefusedWhenAnyByteIsMissingOrTooMany) {
  for (const Message& message : one_of_each()) {
    std::vector<uint8_t> bytes = encode(message);
    Message read;
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode({bytes.data(), size}, read).ok()) << message.index() << ' ' << size;
    }
    bytes.push_back(0);
    EXPECT_EQ(decode(bytes, read).code(), ErrorCode::kBadInput) << message.index();
  }
}

TEST(HelperMessage, OfAnotherVersionIsToldApart) {
  std::vector<uint8_t> bytes = encode(Hello{});
  bytes[4] = kProtocolVersion + 1;
  Message read;
  EXPECT_EQ(decode(bytes, read).code(), ErrorCode::kUnsupported);
}

TEST(HelperMessage, HasNoImageOrRectangleThatNoneCouldBe) {
  Message read;
  const auto refused = [&](const Message& message) {
    return decode(encode(message), read).code() == ErrorCode::kBadInput;
  };
  for (const PixelFormat format : {PixelFormat{Component::kU8, 0}, PixelFormat{Component::kU8, 5},
                                   PixelFormat{static_cast<Component>(9), 3}}) {
    EXPECT_TRUE(refused(OpenInput{1, format, 10, 10}));
  }
  EXPECT_TRUE(refused(OpenInput{1, {Component::kU8, 3}, 0, 10}));
  EXPECT_TRUE(refused(OpenInput{1, {Component::kU8, 3}, 10, -1}));
  EXPECT_TRUE(refused(OpenInput{1, {Component::kU8, 3}, INT32_MAX, INT32_MAX}));
  EXPECT_TRUE(refused(Render{1, 1, {0, 0, 0, 5}, ""}));
  EXPECT_TRUE(refused(Render{1, 1, {-1, 0, 5, 5}, ""}));
  EXPECT_TRUE(refused(Render{1, 1, {INT32_MAX, 0, 5, 5}, ""}));
}

TEST(HelperMessage, CutsWhatIsTooLongForAPacket) {
  Done done;
  done.message = std::string(100000, 'a');
  done.fallbacks.assign(100, std::string(100000, 'b'));
  const std::vector<uint8_t> bytes = encode(done);
  EXPECT_LE(bytes.size(), kMostMessageBytes);
  Message read;
  ASSERT_TRUE(decode(bytes, read).ok());
  EXPECT_EQ(std::get<Done>(read).message, std::string(kMostTextBytes, 'a'));
}

TEST(HelperMessage, SizesOfPixelsDoNotOverflow) {
  EXPECT_EQ(pixel_bytes({Component::kFloat, 4}, 65536, 32768), uint64_t{1} << 35);
  EXPECT_EQ(pixel_bytes({Component::kFloat, 4}, 65536, 32769), 0u);
  EXPECT_EQ(pixel_bytes({Component::kU8, 1}, INT32_MAX, 2), 0u);
}

TEST(HelperParams, ComeBackAsTheyWere) {
  Params params;
  params.method = 1;
  params.sigma = 12.345678901234;
  params.device = "cuda:0,1";
  Params read;
  ASSERT_TRUE(parse_params(params_text(params), read).ok());
  EXPECT_EQ(read, params);
  for (const char* text : {"method", "=\n", "method=nlm", "sigma=1e9\n", "search=4\n"}) {
    EXPECT_EQ(parse_params(text, read).code(), ErrorCode::kBadParameter) << text;
  }
}

TEST(SharedMemory, CannotChangeItsSizeNorAfterSealItsContent) {
  SharedMemory memory = SharedMemory::make(10000);
  memory.writable()[9999] = 42;
  EXPECT_NE(ftruncate(memory.descriptor(), 100), 0);
  EXPECT_NE(ftruncate(memory.descriptor(), 100000), 0);
  memory.seal();
  EXPECT_EQ(memory.data()[9999], 42);
  EXPECT_EQ(mmap(nullptr, 10000, PROT_READ | PROT_WRITE, MAP_SHARED, memory.descriptor(), 0),
            MAP_FAILED);
  const uint8_t byte = 1;
  EXPECT_LT(pwrite(memory.descriptor(), &byte, 1, 0), 0);
}

TEST(SharedMemory, IsRefusedWhenItCouldShrinkOrIsTooSmall) {
  const auto adopted = [](int descriptor, uint64_t bytes) {
    return guard([&] {
             (void)SharedMemory::adopt(Descriptor(dup(descriptor)), bytes,
                                       SharedMemory::Access::kRead);
           })
        .ok();
  };
  const SharedMemory memory = SharedMemory::make(10000);
  EXPECT_TRUE(adopted(memory.descriptor(), 10000));
  EXPECT_FALSE(adopted(memory.descriptor(), 10001));
  EXPECT_FALSE(adopted(memory.descriptor(), 0));
  EXPECT_FALSE(adopted(-1, 100));
  const Descriptor unsealed(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.number(), 10000), 0);
  EXPECT_FALSE(adopted(unsealed.number(), 10000));
  EXPECT_THROW(SharedMemory::make(0), Error);
  EXPECT_THROW(SharedMemory::make(uint64_t{1} << 62), Error);
}

TEST(HelperChannel, BringsMessagesWithTheirFilesAndNoticesTheEnd) {
  auto [one, other] = Channel::pair();
  Channel here(std::move(one));
  std::optional<Channel> there(std::in_place, std::move(other));
  const SharedMemory memory = SharedMemory::make(100);
  there->send(CloseInput{3}, memory.descriptor());
  there->send(Hello{});
  const std::optional<Packet> first = here.receive(std::chrono::seconds(5));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->message, Message(CloseInput{3}));
  EXPECT_TRUE(first->file);
  EXPECT_FALSE(here.receive(std::chrono::seconds(5))->file);
  EXPECT_FALSE(here.receive(std::chrono::milliseconds(1)));
  there.reset();
  EXPECT_THROW(here.receive(std::chrono::seconds(5)), Error);
  EXPECT_THROW(here.send(Hello{}), Error);
}

}  // namespace
}  // namespace grainless::helper
