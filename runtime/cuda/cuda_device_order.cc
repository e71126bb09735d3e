// The part of CudaDevice that orders its work: turns, streams and events.
#include <mutex>
#include <string>
#include <vector>

#include "runtime/cuda/cuda_device.h"

namespace kiln {
namespace {

// What the thread has chosen, for each device that it has chosen one of.
struct ChosenStream {
  const CudaDevice* device;
  cuda::Stream stream;
};
thread_local std::vector<ChosenStream> chosen_streams;

// 1 is CUDA's other name of the legacy default stream.
cuda::Stream StreamOf(uint64_t handle) {
  return handle == 1 ? nullptr : reinterpret_cast<cuda::Stream>(handle);
}

}  // namespace

Result<> CudaDevice::Order(cuda::Stream before, cuda::Stream after) {
  cuda::Event event = nullptr;
  cuda::Code code = driver_.EventCreate(&event, cuda::kNoTiming);
  if (code == cuda::kSuccess) {
    code = driver_.EventRecord(event, before);
    if (code == cuda::kSuccess) code = driver_.StreamWaitEvent(after, event, 0);
    driver_.EventDestroy(event);  // the driver keeps it until it was reached
  }
  if (code != cuda::kSuccess) return ErrorOf(code, "CUDA streams cannot be ordered");
  return {};
}

cuda::Stream CudaDevice::StreamOfThread() const {
  for (const ChosenStream& chosen : chosen_streams) {
    if (chosen.device == this) return chosen.stream;
  }
  return nullptr;
}

Result<> CudaDevice::TakeTurnIn(cuda::Stream stream, Turn* turn) {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  turn->lock_ = std::unique_lock<std::mutex>(turns_);
  if (last_stream_ != stream) {
    if (Result<> ordered = Order(last_stream_, stream); !ordered.ok()) return ordered;
    last_stream_ = stream;
  }
  turn->stream_ = stream;
  return {};
}

// The stream of the last turn must be alive at the next one, so it ends with the choice.
Result<> CudaDevice::UseStream(uint64_t handle) {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  const cuda::Stream stream = StreamOf(handle);
  if (stream != nullptr) {
    cuda::Context context = nullptr;
    const cuda::Code code = driver_.StreamGetContext(stream, &context);
    if (code != cuda::kSuccess) {
      return driver_.ErrorOf(code, std::to_string(handle) + " is the handle of no CUDA stream");
    }
    if (context != context_) {
      return Error{ErrorCode::kInvalidArgument, "the CUDA stream " + std::to_string(handle) +
                                                    " belongs to another context or device than " +
                                                    name_ + ", device " + std::to_string(number_) +
                                                    ", on which kernels run"};
    }
    uses_streams_.store(true, std::memory_order_relaxed);
  }
  Turn turn;
  if (Result<> taken = TakeTurn(&turn); !taken.ok()) return taken;
  for (ChosenStream& chosen : chosen_streams) {
    if (chosen.device != this) continue;
    chosen.stream = stream;
    return {};
  }
  chosen_streams.push_back({this, stream});
  return {};
}

Result<> CudaDevice::ReleaseTo(uint64_t handle) {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  const cuda::Stream stream = StreamOf(handle);
  Turn turn;
  if (Result<> taken = TakeLaunchTurn(&turn); !taken.ok()) return taken;
  return stream == turn.stream() ? Result<>() : Order(turn.stream(), stream);
}

Result<> CudaDevice::WaitFor(uint64_t handle) {
  if (Result<> entered = Enter(); !entered.ok()) return entered;
  const cuda::Stream stream = StreamOf(handle);
  Turn turn;
  if (Result<> taken = TakeLaunchTurn(&turn); !taken.ok()) return taken;
  return stream == turn.stream() ? Result<>() : Order(stream, turn.stream());
}

Device::Event CudaDevice::Record() {
  if (Result<> entered = Enter(); !entered.ok()) return Keep(entered), Event();
  cuda::Event event = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!idle_events_.empty()) {
      event = idle_events_.back();
      idle_events_.pop_back();
    }
  }
  Turn turn;
  if (Result<> taken = TakeLaunchTurn(&turn); !taken.ok()) return Keep(taken), Event();
  cuda::Code code = cuda::kSuccess;
  if (event == nullptr) code = driver_.EventCreate(&event, cuda::kTiming);
  if (code == cuda::kSuccess) code = driver_.EventRecord(event, turn.stream());
  if (code != cuda::kSuccess) return Keep(ErrorOf(code, "no time of the CUDA device")), Event();
  return {0, event};
}

void CudaDevice::Release(Event event) {
  if (event.handle == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_events_.push_back(static_cast<cuda::Event>(event.handle));
}

double CudaDevice::Seconds(Event from, Event to) {
  if (from.handle == nullptr || to.handle == nullptr) return 0;
  if (Result<> entered = Enter(); !entered.ok()) return Keep(entered), 0;
  float milliseconds = 0;
  cuda::Code code = driver_.EventSynchronize(static_cast<cuda::Event>(to.handle));
  if (code == cuda::kSuccess) {
    code = driver_.EventElapsedTime(&milliseconds, static_cast<cuda::Event>(from.handle),
                                    static_cast<cuda::Event>(to.handle));
  }
  if (code != cuda::kSuccess) Keep(ErrorOf(code, "no time of the CUDA device"));
  return milliseconds * 1e-3;
}

}  // namespace kiln
