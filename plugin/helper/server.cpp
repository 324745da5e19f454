// SPDX-License-Identifier: MIT
#include "server.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/noise/given_noise.h"
#include "engine/sentence.h"
#include "params_text.h"

namespace grainless::helper {
namespace {

constexpr size_t kMostInputs = 64;  // the other end keeps fewer; this is against nonsense
constexpr std::chrono::milliseconds kSignOfLife{200};
constexpr std::chrono::milliseconds kGimpsInterval{66};  // what a rectangle may take by GIMP's wish

[[noreturn]] void refuse() {
  throw Error(ErrorCode::kBadInput, sentence("what it said makes no sense"));
}

ptrdiff_t row_bytes(PixelFormat format, int32_t width) {
  return ptrdiff_t{width} * format.pixel_bytes();
}

// GIMP asks for as much at a time as it got quickly before, and its window stands still meanwhile.
// What was there already must not make it ask for seconds' worth of what is not: it comes about as
// slowly, as long as there is such.
void keep_pace(const Rect& rect, const Result& result) {
  const std::chrono::duration<double> fair{result.seconds_a_pixel() *
                                           static_cast<double>(rect.area())};
  std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(fair, kGimpsInterval));
}

// Says that work goes on, but not with every tile.
class Heartbeat {
 public:
  Heartbeat(Channel& channel, uint64_t request) : channel_(channel), request_(request) {}

  void beat() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    auto last = last_.load();
    const auto pause = std::chrono::steady_clock::duration(kSignOfLife).count();
    if (now - last < pause || !last_.compare_exchange_strong(last, now)) return;
    (void)guard([&] { channel_.send(Progress{request_}); });  // the reader notices a lost end
  }

 private:
  Channel& channel_;
  uint64_t request_;
  std::atomic<std::chrono::steady_clock::rep> last_{0};
};

}  // namespace

ConstImage Server::Input::image() const {
  return {about.format,  about.width,
          about.height,  {0, 0, about.width, about.height},
          pixels.data(), row_bytes(about.format, about.width)};
}

Server::Server(Channel channel, const ServerOptions& options)
    : channel_(std::move(channel)),
      options_(options),
      engine_(options.engine),
      worker_([this](const std::stop_token& stop) { work(stop); }) {}

Server::~Server() = default;

bool Server::idle() {
  const std::lock_guard lock(mutex_);
  return jobs_.empty() && !working_;
}

void Server::serve() {
  channel_.send(Hello{});
  while (true) {
    std::optional<Packet> packet = channel_.receive(options_.idle);
    if (packet) {
      take(std::move(*packet));
    } else if (idle()) {
      return;
    }
  }
}

void Server::take(Packet packet) {
  if (std::holds_alternative<Hello>(packet.message)) return;
  if (const auto* about = std::get_if<OpenInput>(&packet.message)) {
    open(*about, std::move(packet.file));
  } else if (const auto* gone = std::get_if<CloseInput>(&packet.message)) {
    inputs_.erase(gone->input);
  } else if (const auto* render = std::get_if<Render>(&packet.message)) {
    queue(*render, std::move(packet.file));
  } else {
    refuse();
  }
}

void Server::open(const OpenInput& about, Descriptor file) {
  const uint64_t bytes = pixel_bytes(about.format, about.width, about.height);
  if (inputs_.size() >= kMostInputs) refuse();
  inputs_[about.input] = std::make_shared<Input>(
      Input{about, SharedMemory::adopt(std::move(file), bytes, SharedMemory::Access::kRead)});
}

void Server::queue(const Render& render, Descriptor file) {
  const auto input = inputs_.find(render.input);
  if (input == inputs_.end()) refuse();
  const OpenInput& about = input->second->about;
  if (!Rect{0, 0, about.width, about.height}.contains(render.rect)) {
    refuse();
  }
  const uint64_t bytes = pixel_bytes(about.format, render.rect.width, render.rect.height);
  Job job{render, SharedMemory::adopt(std::move(file), bytes, SharedMemory::Access::kWrite),
          input->second};
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  wake_.notify_one();
}

void Server::work(const std::stop_token& stop) {
  while (true) {
    std::unique_lock lock(mutex_);
    working_ = false;
    if (!wake_.wait(lock, stop, [this] { return !jobs_.empty(); })) return;
    working_ = true;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    run(job);
  }
}

void Server::run(Job& job) {
  Heartbeat heartbeat(channel_, job.render.request);
  const Callbacks callbacks{nullptr, [&](double) { heartbeat.beat(); }};
  Done done{.request = job.render.request};
  const Status status = guard([&] {
    const Report& report = render(job, callbacks);
    done.device = report.device;
    done.note = report.note;
    done.fallbacks = report.fallbacks;
    done.changed = report.changed;
  });
  done.code = status.code();
  done.message = status.message();
  (void)guard([&] { channel_.send(done); });
}

const Report& Server::render(Job& job, const Callbacks& callbacks) {
  Input& input = *job.input;
  const OpenInput& about = input.about;
  if (!input.result || input.result->params() != job.render.params) {
    input.result.reset();  // first, so that there is room
    input.result =
        std::make_unique<Result>(about.format, about.width, about.height, job.render.params);
  }
  Result& result = *input.result;
  const Rect missing = result.missing(job.render.rect);
  if (missing.empty()) {
    if (!result.complete()) keep_pace(job.render.rect, result);
  } else {
    Params params;
    throw_if_failed(parse_params(job.render.params, params));
    if (options_.processor_only) params.device = "cpu";
    const NoiseModel noise = noise_of(input, params, callbacks);
    Report report;
    throw_if_failed(
        engine_.denoise(params, noise, input.image(), result.target(missing), callbacks, report));
    result.computed(missing, report);
  }
  result.copy(job.render.rect, job.target.writable());
  return result.report();
}

NoiseModel Server::noise_of(Input& input, const Params& params, const Callbacks& callbacks) {
  const Params measuring = measuring_params(params);
  std::optional<NoiseModel>& measured = input.measured[measuring.noise];
  if (!measured) {
    NoiseModel noise;
    throw_if_failed(engine_.noise_for(measuring, input.image(), callbacks, noise, nullptr));
    measured = noise;
  }
  return params.auto_sigma ? *measured : given_noise(params, *measured);
}

}  // namespace grainless::helper
