// SPDX-License-Identifier: MIT
#include "meeting.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/sentence.h"
#include "serve.h"

extern "C" char** environ;

namespace grainless::cards {
namespace {

using helper::Descriptor;

constexpr int kAttempts = 5;
constexpr int kWaiting = 16;  // connections that nobody has taken yet
constexpr timeval kTakingTime{5, 0};

// What a driver, or the way to it, goes by.
constexpr std::string_view kDriverVariables[] = {"CUDA", "NVIDIA", "LD_", "GRAINLESS"};

class Checksum {
 public:
  void add(std::string_view text) {
    for (const char one : text) add_byte(static_cast<uint8_t>(one));
    add_byte(0);
  }
  void add(uint64_t number) {
    for (int i = 0; i < 8; ++i) add_byte(static_cast<uint8_t>(number >> (8 * i)));
  }
  uint64_t value() const { return value_; }

 private:
  void add_byte(uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }  // FNV-1a
  uint64_t value_ = 0xcbf29ce484222325;
};

void add_file(Checksum& sum, const std::string& path) {
  struct stat info{};
  sum.add(path);
  if (stat(path.c_str(), &info) != 0) return;
  for (const auto number :
       {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino),
        static_cast<uint64_t>(info.st_size), static_cast<uint64_t>(info.st_mtim.tv_sec),
        static_cast<uint64_t>(info.st_mtim.tv_nsec)}) {
    sum.add(number);
  }
}

void add_environment(Checksum& sum) {
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    const std::string_view variable = *one;
    for (const std::string_view prefix : kDriverVariables) {
      if (variable.starts_with(prefix)) sum.add(variable);
    }
  }
}

// An abstract name, without a file: its first byte is 0.
socklen_t address_of(const std::string& place, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const size_t bytes = std::min(place.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, place.data(), bytes);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
}

Descriptor new_socket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) throw CannotStart();
  return socket;
}

// Nothing: nobody is there.
std::optional<Descriptor> call(const std::string& place) {
  Descriptor socket = new_socket();
  setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &kTakingTime, sizeof kTakingTime);
  sockaddr_un address;
  const socklen_t size = address_of(place, address);
  int result = -1;
  do {
    result = connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), size);
  } while (result != 0 && errno == EINTR);
  if (result != 0 && errno == ECONNREFUSED) return std::nullopt;
  if (result != 0 && (errno == EACCES || errno == EPERM)) throw CannotStart();
  if (result != 0) throw Error(ErrorCode::kDeviceFailed, sentence("it did not answer"));
  if (!is_own_user(socket.number())) throw CannotStart();
  return socket;
}

// A session of its own: what ends the program, or is typed at its terminal, is not meant for it.
void spawn(const Host& host, int listener) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, listener, kListener);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, kListener + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  sigaddset(&usual, SIGTERM);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGCHLD);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  std::vector<std::string> words{host.program};
  words.insert(words.end(), host.arguments.begin(), host.arguments.end());
  words.push_back(std::to_string(host.owner));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t started = 0;
  const int result =
      posix_spawn(&started, pointers.front(), &actions, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (result != 0) throw CannotStart();
  // It goes on as a process of its own, and what was started ends at once.
  int status = 0;
  pid_t ended = -1;
  do {
    ended = waitpid(started, &status, 0);
  } while (ended < 0 && errno == EINTR);
  // Where nobody may wait for children, the call tells.
  if (ended == started && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) throw CannotStart();
}

// Whoever has the name starts the process, which can be called from that moment on.
void start(const Host& host, const std::string& place) {
  Descriptor listener = new_socket();
  sockaddr_un address;
  const socklen_t size = address_of(place, address);
  if (bind(listener.number(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (errno == EADDRINUSE) return;
    throw CannotStart();
  }
  if (listen(listener.number(), kWaiting) != 0) throw CannotStart();
  spawn(host, listener.number());
}

}  // namespace

CannotStart::CannotStart()
    : Error(ErrorCode::kDeviceUnavailable, sentence("it can't be started")) {}

std::string meeting_place(const Host& host, const std::vector<std::string>& files) {
  Checksum sum;
  add_file(sum, host.program);
  for (const std::string& file : files) add_file(sum, file);
  for (const std::string& argument : host.arguments) sum.add(argument);
  add_environment(sum);
  char text[sizeof "0123456789abcdef"];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum.value()));
  return "grainless-" + std::to_string(getuid()) + "-" + std::to_string(host.owner) + "-" + text;
}

bool is_own_user(int socket) {
  ucred other{};
  socklen_t size = sizeof other;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == getuid();
}

Descriptor meet(const Host& host, const std::string& place) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (std::optional<Descriptor> socket = call(place)) return std::move(*socket);
    start(host, place);
  }
  throw Error(ErrorCode::kDeviceFailed, sentence("it did not answer"));
}

}  // namespace grainless::cards
