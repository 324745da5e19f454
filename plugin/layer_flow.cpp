// SPDX-License-Identifier: MIT
#include "layer_flow.h"

#include "bands.h"
#include "engine/stopwatch.h"
#include "target.h"

namespace grainless {
namespace {

constexpr double kWriteShare = 0.03;  // of the progress

// Without it the engine's threads would wait for rows that nobody brings.
class StopAtExit {
 public:
  StopAtExit(CancelToken& cancel, RowFlow& flow) : cancel_(cancel), flow_(flow) {}
  ~StopAtExit() {
    cancel_.cancel();
    flow_.stop();
  }
  StopAtExit(const StopAtExit&) = delete;
  StopAtExit& operator=(const StopAtExit&) = delete;

 private:
  CancelToken& cancel_;
  RowFlow& flow_;
};

}  // namespace

LayerFlow::LayerFlow(DrawableIo& io, RunReport& report, PixelBuffer& source, PixelBuffer& result)
    : io_(io), report_(report), source_(source), result_(result), flow_(result.rect(), kBandRows) {}

Report LayerFlow::run(const Compute& compute, const CallMonitor& monitor) {
  Report report;
  const auto work = [&](const Callbacks& callbacks) {
    const PictureFlow picture{source_.image(), result_.writable(), flow_.engine_side()};
    const Status status = compute(picture, callbacks, report);
    flow_.ended();
    return status;
  };
  if (sums_ == nullptr) flow_.arrived(source_.rect().bottom());
  WorkBeside engine(work, &stop_);
  const StopAtExit stop(stop_, flow_);
  const auto show = [&](double) {
    monitor.progress((1 - kWriteShare) * engine.fraction() + kWriteShare * written_);
  };
  const CallMonitor both{show, monitor.cancel};
  if (sums_ != nullptr) read(both);
  write_finished(engine, both);
  engine.finish();
  if (report.changed) write_rest(both);
  return report;
}

void LayerFlow::read(const CallMonitor& monitor) {
  const Stopwatch stopwatch;
  io_.read_all(source_, *sums_, monitor, [&](int32_t end) { flow_.arrived(end); });
  report_.read += stopwatch.seconds();
}

void LayerFlow::write_finished(const WorkBeside& engine, const CallMonitor& monitor) {
  constexpr std::chrono::milliseconds kAtOnce(0);
  while (!engine.ends_within(kAtOnce)) {
    const std::optional<Rect> band = flow_.take_finished(kTick);
    if (band) write(*band, monitor);
    throw_if_cancelled(monitor);
    monitor.progress(0);
  }
}

void LayerFlow::write_rest(const CallMonitor& monitor) {
  for (monitor.progress(0); const std::optional<Rect> band = flow_.take_any();) {
    throw_if_cancelled(monitor);
    write(*band, monitor);
    monitor.progress(0);
  }
}

void LayerFlow::write(const Rect& band, const CallMonitor& monitor) {
  const Stopwatch stopwatch;
  if (!shadow_) open_shadow(monitor);
  io_.write_band(shadow_.get(), band, source_, result_);
  written_ += static_cast<double>(band.height) / result_.rect().height;
  report_.write += stopwatch.seconds();
}

void LayerFlow::open_shadow(const CallMonitor& monitor) {
  const bool ready = !outside_ || io_.prepare_outside(*outside_, monitor);
  if (ready) shadow_ = io_.shadow();
  if (!shadow_) throw Error(ErrorCode::kBadInput, not_taken_sentence());
}

}  // namespace grainless
