// SPDX-License-Identifier: MIT
// The helper with a fault: GRAINLESS_FAULTY_HELPER names it. With --processor it is in order, as
// the one that replaces it has to be, unless the fault's name ends in "-always".
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/helper/server.h"

namespace {

using namespace grainless;
using namespace grainless::helper;

constexpr int kSocket = 3;

void say_raw(std::vector<uint8_t> bytes) {
  if (send(kSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) std::_Exit(3);
}

// What it does when it is asked for pixels.
void fail(Channel& channel, const std::string& fault, const Render& render) {
  if (fault == "dies") (void)raise(SIGKILL);
  if (fault == "hangs")
    while (true) pause();
  if (fault == "garbage") say_raw({1, 2, 3, 4, 5, 6, 7, 8, 9});
  if (fault == "empty") say_raw({});
  if (fault == "other-end") channel.send(render);
  if (fault == "memory") {
    channel.send(
        Done{.request = render.request, .code = ErrorCode::kOutOfMemory, .message = "full"});
  }
}

void misbehave(Channel& channel, const std::string& fault) {
  if (fault == "version") {
    std::vector<uint8_t> bytes = encode(Hello{});
    bytes[4] = kProtocolVersion + 1;
    return say_raw(bytes);
  }
  if (fault == "silent")
    while (true) pause();
  channel.send(Hello{});
  while (true) {
    const auto packet = channel.receive(std::chrono::seconds(60));
    if (!packet) return;
    if (const auto* render = std::get_if<Render>(&packet->message)) fail(channel, fault, *render);
  }
}

}  // namespace

int main(int, char** arguments) {
  bool processor = false;
  for (char** one = arguments; *one != nullptr; ++one)
    processor |= std::string_view(*one) == "--processor";
  const char* named = std::getenv("GRAINLESS_FAULTY_HELPER");
  std::string fault = named != nullptr ? named : "";
  const bool always = fault.ends_with("-always");
  if (always) fault.resize(fault.size() - std::string_view("-always").size());
  (void)guard([&] {
    Channel channel{Descriptor(kSocket)};
    if (!fault.empty() && (always || !processor)) return misbehave(channel, fault);
    Server server(std::move(channel), {.engine = {"", 2}, .processor_only = processor});
    server.serve();
  });
  std::_Exit(0);
}
