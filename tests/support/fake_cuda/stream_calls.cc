// The driver's calls for streams and events.
#include <chrono>
#include <vector>

#include "tests/support/fake_cuda/driver_call.h"
#include "tests/support/fake_cuda/driver_state.h"

namespace {

using kiln::fake_cuda::DriverCall;
using kiln::fake_cuda::Stream;

double NowInMilliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

}  // namespace

KILN_CALL cuStreamCreate(CUstream* stream, unsigned flags) {
  KILN_BEGIN("cuStreamCreate");
  Stream* made = call.state.streams.Create(flags == 1 ? Stream::kNonBlocking : Stream::kBlocking,
                                           DriverCall::context());
  *stream = reinterpret_cast<CUstream>(made);
  return CUDA_SUCCESS;
}

KILN_CALL cuStreamDestroy_v2(CUstream stream) {
  KILN_BEGIN("cuStreamDestroy_v2");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr || reinterpret_cast<uintptr_t>(stream) <= 2) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  call.state.streams.Destroy(known);
  return call.Finish();
}

KILN_CALL cuStreamSynchronize(CUstream stream) {
  KILN_BEGIN("cuStreamSynchronize");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  // The legacy stream's work includes that of the blocking streams before it.
  if (known->kind == Stream::kLegacy && known->queue.empty()) {
    call.state.streams.RunUntil(call.state.streams.Add(known, [] {}));
  }
  call.state.streams.RunUntilEmpty(known);
  return call.Finish();
}

KILN_CALL cuStreamQuery(CUstream stream) {
  KILN_BEGIN("cuStreamQuery");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (known->queue.empty()) return CUDA_SUCCESS;
  call.state.streams.RunOne();  // repeated queries run all of it
  return call.ok() && call.Finish() != CUDA_SUCCESS ? call.Finish() : CUDA_ERROR_NOT_READY;
}

KILN_CALL cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  KILN_BEGIN("cuStreamWaitEvent");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr || call.state.events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  call.state.streams.Add(known, [] {}, event->recorded);
  return CUDA_SUCCESS;
}

KILN_CALL cuEventCreate(CUevent* event, unsigned) {
  KILN_BEGIN("cuEventCreate");
  *event = new CUevent_st{DriverCall::context(), nullptr};
  call.state.events.insert(*event);
  return CUDA_SUCCESS;
}

KILN_CALL cuEventDestroy_v2(CUevent event) {
  KILN_BEGIN("cuEventDestroy_v2");
  if (call.state.events.erase(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete event;
  return CUDA_SUCCESS;
}

KILN_CALL cuEventRecord(CUevent event, CUstream stream) {
  KILN_BEGIN("cuEventRecord");
  Stream* known = call.state.StreamOf(stream);
  if (known == nullptr || call.state.events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (known->owner != event->context) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<double> time = event->time;
  event->recorded = call.state.streams.Add(known, [=] { *time = NowInMilliseconds(); });
  return CUDA_SUCCESS;
}

KILN_CALL cuEventSynchronize(CUevent event) {
  KILN_BEGIN("cuEventSynchronize");
  if (call.state.events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (event->recorded != nullptr) call.state.streams.RunUntil(event->recorded);
  return call.Finish();
}

KILN_CALL cuEventQuery(CUevent event) {
  KILN_BEGIN("cuEventQuery");
  if (call.state.events.count(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (event->recorded == nullptr || *event->recorded) return CUDA_SUCCESS;
  call.state.streams.RunOne();
  return call.Finish() != CUDA_SUCCESS ? call.Finish() : CUDA_ERROR_NOT_READY;
}

KILN_CALL cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  KILN_BEGIN("cuEventElapsedTime_v2");
  for (const CUevent event : {start, end}) {
    if (call.state.events.count(event) == 0 || event->recorded == nullptr) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!*event->recorded) return CUDA_ERROR_NOT_READY;
  }
  *milliseconds = static_cast<float>(*end->time - *start->time);
  return CUDA_SUCCESS;
}

#undef cuEventElapsedTime
KILN_CALL cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

namespace kiln::fake_cuda {

std::vector<NamedCall> StreamCalls() {
  return {KILN_NAMED(cuStreamCreate),        KILN_NAMED(cuStreamDestroy_v2),
          KILN_NAMED(cuStreamSynchronize),   KILN_NAMED(cuStreamQuery),
          KILN_NAMED(cuStreamWaitEvent),     KILN_NAMED(cuEventCreate),
          KILN_NAMED(cuEventDestroy_v2),     KILN_NAMED(cuEventRecord),
          KILN_NAMED(cuEventSynchronize),    KILN_NAMED(cuEventQuery),
          KILN_NAMED(cuEventElapsedTime_v2), KILN_NAMED(cuEventElapsedTime)};
}

}  // namespace kiln::fake_cuda
