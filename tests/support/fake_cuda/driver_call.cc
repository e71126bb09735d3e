#include "tests/support/fake_cuda/driver_call.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace kiln::fake_cuda {

DriverCall::DriverCall(const char* name, Needs needs)
    : state(DriverState::Get()), guard(state.lock) {
  state.Log(name);
  if (needs == kNothing) return;
  // A child of fork has no driver.
  if (!state.initialized || state.process != getpid()) {
    code = CUDA_ERROR_NOT_INITIALIZED;
  } else if (state.failed != CUDA_SUCCESS) {
    code = state.failed;
  } else if (needs == kContext && context() == nullptr) {
    code = CUDA_ERROR_INVALID_CONTEXT;
  }
}

CUresult Enqueue(DriverCall& call, CUstream handle, std::function<void()> work, bool wait) {
  Stream* stream = call.state.StreamOf(handle);
  if (stream == nullptr || stream->owner != DriverCall::context()) return CUDA_ERROR_INVALID_HANDLE;
  const Done done = call.state.streams.Add(stream, std::move(work));
  if (wait) call.state.streams.RunUntil(done);
  return call.Finish();
}

namespace {

CUresult CheckSizes(const Function& function, const KernelLaunch& launch) {
  const uint32_t *blocks = launch.blocks, *threads = launch.threads;
  for (int n = 0; n < 3; ++n) {
    if (blocks[n] == 0 || threads[n] == 0) return CUDA_ERROR_INVALID_VALUE;
    if (function.required[0] != 0 && threads[n] != function.required[n]) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  const uint64_t count = uint64_t{threads[0]} * threads[1] * threads[2];
  if (blocks[1] > 65535 || blocks[2] > 65535 || threads[2] > 64) return CUDA_ERROR_INVALID_VALUE;
  if (count > kMostThreads) return CUDA_ERROR_INVALID_VALUE;
  if (function.most_threads != 0 && count > function.most_threads) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return launch.shared > kMostOptedShared ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

bool RunsAtOnce(const KernelLaunch& launch) {
  const uint32_t *blocks = launch.blocks, *threads = launch.threads;
  const unsigned most = std::min(32u, 2048 / (threads[0] * threads[1] * threads[2]));
  return uint64_t{blocks[0]} * blocks[1] * blocks[2] <= uint64_t{most} * kMultiprocessors;
}

}  // namespace

CUresult MakeLaunch(CUfunction function, const uint32_t (&blocks)[3], const uint32_t (&threads)[3],
                    unsigned shared, bool cooperative, void** parameters, void** extra,
                    KernelLaunch* launch) {
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function->module->context != DriverCall::context()) return CUDA_ERROR_INVALID_HANDLE;
  const Function& known = *function->function;
  launch->function = function;
  launch->module = function->module;
  std::copy_n(blocks, 3, launch->blocks);
  std::copy_n(threads, 3, launch->threads);
  launch->shared = shared;
  launch->cooperative = cooperative;
  const CUresult checked = CheckSizes(known, *launch);
  if (checked != CUDA_SUCCESS) return checked;
  if (cooperative && !RunsAtOnce(*launch)) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  if (shared > static_cast<unsigned>(function->most_dynamic_shared)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<uint8_t>& bytes = launch->parameters;
  bytes.assign(known.parameter_bytes, 0);
  if (parameters != nullptr) {
    for (size_t n = 0; n < known.parameters.size(); ++n) {
      std::memcpy(bytes.data() + known.parameters[n].offset, parameters[n],
                  known.parameters[n].bytes);
    }
  } else if (extra != nullptr && extra[0] == reinterpret_cast<void*>(1)) {
    std::memcpy(bytes.data(), extra[1], bytes.size());
  } else if (!bytes.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

void KernelLaunch::Run(DriverState* state) const {
  if (state->modules.count(module) == 0) {
    std::fprintf(stderr, "fake CUDA: a launch of a kernel whose module was unloaded\n");
    state->failed = CUDA_ERROR_ILLEGAL_ADDRESS;
    return;
  }
  state->Run(function, blocks, threads, shared, cooperative, parameters);
}

}  // namespace kiln::fake_cuda
