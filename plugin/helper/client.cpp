// SPDX-License-Identifier: MIT
#include "client.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include "engine/sentence.h"
#include "params_text.h"

extern "C" char** environ;

namespace grainless::helper {
namespace {

constexpr int kSocket = 3;
// What the helper is asked to hold: it may be asked about the picture before an edit again.
constexpr size_t kMostInputs = 4;
constexpr uint64_t kMostInputBytes = uint64_t{1} << 30;
constexpr std::chrono::milliseconds kStartPatience{5000};
constexpr int kAttempts = 3;

Rect whole(int32_t width, int32_t height) {
  return {0, 0, width, height};
}

// Where the helper's end of the pair has its number already, the duplicate is what keeps it open.
class SpawnSetup {
 public:
  explicit SpawnSetup(int socket) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, socket, kSocket);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, kSocket + 1);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGTERM);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &usual);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;

  int spawn(std::vector<std::string> arguments, pid_t& process) {
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    return posix_spawn(&process, pointers.front(), &actions_, &attributes_, pointers.data(),
                       environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

uint64_t next_number() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

uint64_t bytes_of_image(PixelFormat format, int32_t width, int32_t height) {
  const uint64_t bytes = pixel_bytes(format, width, height);
  if (bytes == 0) throw Error(ErrorCode::kBadInput, sentence("the image is too large"));
  return bytes;
}

}  // namespace

Input::Input(PixelFormat format, int32_t width, int32_t height)
    : format_(format),
      width_(width),
      height_(height),
      number_(next_number()),
      pixels_(SharedMemory::make(bytes_of_image(format, width, height))) {}

MutableImage Input::writable() {
  return {format_,
          width_,
          height_,
          whole(width_, height_),
          pixels_.writable(),
          ptrdiff_t{width_} * format_.pixel_bytes()};
}

ConstImage Input::image() const {
  return {format_,        width_,
          height_,        whole(width_, height_),
          pixels_.data(), ptrdiff_t{width_} * format_.pixel_bytes()};
}

Client::Client(ClientOptions options) : options_(std::move(options)) {}

Client::~Client() {
  stop();
}

bool Client::spares_cards() const {
  return card_lost_ && std::chrono::steady_clock::now() - *card_lost_ < options_.penalty;
}

Rendered Client::render(const std::shared_ptr<const Input>& input, const Params& params,
                        const Rect& rect) {
  const std::lock_guard lock(mutex_);
  std::string lost;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Devices devices = spares_cards() ? Devices::kProcessor : Devices::kAll;
    try {
      Rendered rendered = ask(input, params, rect, devices);
      rendered.lost = lost;
      return rendered;
    } catch (const Error& error) {
      // What is wrong with the image or the parameters, another helper would find wrong, too.
      if (error.code() == ErrorCode::kBadInput || error.code() == ErrorCode::kBadParameter) throw;
      // One that had just ended by itself, for want of work, is no loss.
      if (stop() && attempt == 0 && devices_ == devices) continue;
      if (devices == Devices::kAll) card_lost_ = std::chrono::steady_clock::now();
      if (attempt == kAttempts - 1) throw;
      lost = sentence("The engine's process was lost (%s): the processor computes instead.",
                      {error.what()});
    }
  }
  throw Error(ErrorCode::kInternal, lost);
}

Rendered Client::ask(const std::shared_ptr<const Input>& input, const Params& params,
                     const Rect& rect, Devices devices) {
  const ConstImage image = input->image();
  if (!whole(image.width, image.height).contains(rect) || rect.empty()) {
    throw Error(ErrorCode::kBadInput, sentence("the area is not in the image"));
  }
  Rendered rendered{.pixels =
                        SharedMemory::make(pixel_bytes(image.format, rect.width, rect.height))};
  start(devices);
  give(input);
  const Render render{++requests_, input->number(), rect, params_text(params)};
  channel_->send(render, rendered.pixels.descriptor());
  Done done = wait_for(render.request, patience_with(params));
  if (done.code == ErrorCode::kOk && done.changed) opened_.emplace(params.device, params.memory);
  if (done.code != ErrorCode::kOk) throw Error(done.code, done.message);
  rendered.changed = done.changed;
  rendered.device = std::move(done.device);
  rendered.note = std::move(done.note);
  rendered.fallbacks = std::move(done.fallbacks);
  return rendered;
}

std::chrono::milliseconds Client::patience_with(const Params& params) const {
  const bool may_open_cards =
      devices_ == Devices::kAll && !opened_.contains({params.device, params.memory});
  return may_open_cards ? options_.first_patience : options_.patience;
}

Done Client::wait_for(uint64_t request, std::chrono::milliseconds patience) {
  while (true) {
    std::optional<Packet> packet = channel_->receive(patience);
    if (!packet) throw Error(ErrorCode::kDeviceFailed, sentence("it did not answer"));
    if (auto* done = std::get_if<Done>(&packet->message); done != nullptr) {
      if (done->request == request) return std::move(*done);
    } else if (!std::holds_alternative<Progress>(packet->message)) {
      throw Error(ErrorCode::kDeviceFailed, sentence("what it said makes no sense"));
    }
  }
}

void Client::give(const std::shared_ptr<const Input>& input) {
  const auto known = std::find(given_.begin(), given_.end(), input);
  if (known != given_.end()) {
    given_.splice(given_.begin(), given_, known);
    return;
  }
  const ConstImage image = input->image();
  channel_->send(OpenInput{input->number(), image.format, image.width, image.height},
                 input->descriptor());
  given_.push_front(input);
  uint64_t bytes = 0;
  for (const auto& one : given_) bytes += one->bytes();
  while (given_.size() > 1 && (given_.size() > kMostInputs || bytes > kMostInputBytes)) {
    bytes -= given_.back()->bytes();
    channel_->send(CloseInput{given_.back()->number()});
    given_.pop_back();
  }
}

void Client::start(Devices devices) {
  if (process_ != 0 && devices_ != devices) stop();
  // One that had nothing to do for a while has ended.
  if (process_ != 0 && waitpid(process_, nullptr, WNOHANG) == process_) {
    process_ = 0;
    stop();
  }
  if (process_ != 0) return;
  auto [ours, theirs] = Channel::pair();
  std::vector<std::string> arguments{options_.program, "--idle",
                                     std::to_string(options_.idle.count()), "--threads",
                                     std::to_string(options_.threads)};
  if (devices == Devices::kProcessor) arguments.emplace_back("--processor");
  pid_t started = 0;
  if (SpawnSetup(theirs.number()).spawn(std::move(arguments), started) != 0) {
    throw Error(ErrorCode::kDeviceFailed, sentence("it can't be started"));
  }
  process_ = started;
  channel_.emplace(std::move(ours));
  devices_ = devices;
  opened_.clear();
  greet();
}

void Client::greet() {
  channel_->send(Hello{});
  const std::optional<Packet> packet =
      channel_->receive(std::max(kStartPatience, options_.first_patience));
  if (!packet || !std::holds_alternative<Hello>(packet->message)) {
    throw Error(ErrorCode::kDeviceFailed, sentence("it did not answer"));
  }
}

bool Client::stop() {
  channel_.reset();
  given_.clear();
  int status = -1;
  if (process_ != 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) continue;
  }
  process_ = 0;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace grainless::helper
