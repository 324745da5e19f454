// SPDX-License-Identifier: MIT
// The helper's side: keeps the engine and the images that it was given, and computes what is asked
// for. The program's main thread reads messages while another one computes, so that the end of the
// other process is noticed at once, in mid-work, too.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "channel.h"
#include "engine/denoise.h"
#include "result.h"

namespace grainless::helper {

struct ServerOptions {
  EngineOptions engine;
  bool processor_only = false;  // whatever the parameters say
  std::chrono::milliseconds idle{300000};
};

class Server {
 public:
  Server(Channel channel, const ServerOptions& options);
  ~Server();

  // Until there was nothing to do for `idle`. Throws Error when the other end is gone or talks
  // nonsense: there is nobody left to work for then.
  void serve();

 private:
  struct Input {
    OpenInput about;
    SharedMemory pixels;
    std::map<int32_t, std::optional<NoiseModel>> measured = {};  // by Params::noise
    std::unique_ptr<Result> result = {};                         // of the latest parameters

    ConstImage image() const;
  };
  struct Job {
    Render render;
    SharedMemory target;
    std::shared_ptr<Input> input;
  };

  void take(Packet packet);
  void open(const OpenInput& about, Descriptor file);
  void queue(const Render& render, Descriptor file);
  void work(const std::stop_token& stop);
  bool idle();
  void run(Job& job);
  const Report& render(Job& job, const Callbacks& callbacks);
  NoiseModel noise_of(Input& input, const Params& params, const Callbacks& callbacks);

  Channel channel_;
  const ServerOptions options_;
  Engine engine_;
  std::map<uint64_t, std::shared_ptr<Input>> inputs_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Job> jobs_;
  bool working_ = false;
  std::jthread worker_;
};

}  // namespace grainless::helper
