// What the files with the driver's calls share.
#ifndef KILN_TESTS_SUPPORT_FAKE_CUDA_DRIVER_CALL_H_
#define KILN_TESTS_SUPPORT_FAKE_CUDA_DRIVER_CALL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "tests/support/fake_cuda/cuda_api.h"
#include "tests/support/fake_cuda/driver_state.h"

#define KILN_CALL extern "C" __attribute__((visibility("default"))) CUresult

namespace kiln::fake_cuda {

// A thread's contexts, of which the last is current. It has no destructor: destructors of a
// program's static objects call the driver after those of the thread's objects have run.
class ContextStack {
 public:
  bool empty() const { return count_ == 0; }
  CUcontext Top() const { return empty() ? nullptr : contexts_[count_ - 1]; }
  // False if there are too many.
  bool Push(CUcontext context) {
    if (count_ == contexts_.size()) return false;
    contexts_[count_++] = context;
    return true;
  }
  // Requires: it is not empty.
  void Pop() { --count_; }

 private:
  std::array<CUcontext, 64> contexts_ = {};
  size_t count_ = 0;
};
inline thread_local ContextStack current;

enum Needs { kNothing, kInit, kContext };

// One call: holds the lock. `code` is not success if the call must return it.
struct DriverCall {
  explicit DriverCall(const char* name, Needs needs = kContext);
  static CUcontext context() { return current.Top(); }
  bool Has(CUdevice device) const {
    return device >= 0 && static_cast<size_t>(device) < state.visible.size();
  }
  bool ok() const { return code == CUDA_SUCCESS; }
  // After work ran: whether it failed.
  CUresult Finish() const { return state.failed; }

  DriverState& state;
  const std::lock_guard<std::recursive_mutex> guard;
  CUresult code = CUDA_SUCCESS;
};

#define KILN_BEGIN(...)         \
  DriverCall call(__VA_ARGS__); \
  if (!call.ok()) return call.code

// Adds work to a stream. Of copies and fills, both ends are of the host; the device's were looked
// up.
CUresult Enqueue(DriverCall& call, CUstream handle, std::function<void()> work, bool wait);

// A launch with a copy of its parameters.
struct KernelLaunch {
  void Run(DriverState* state) const;

  CUfunction function = nullptr;
  CUmodule module = nullptr;
  uint32_t blocks[3], threads[3];
  unsigned shared = 0;
  bool cooperative = false;
  std::vector<uint8_t> parameters;
};

// Success fills in `launch`.
CUresult MakeLaunch(CUfunction function, const uint32_t (&blocks)[3], const uint32_t (&threads)[3],
                    unsigned shared, bool cooperative, void** parameters, void** extra,
                    KernelLaunch* launch);

// A call as cuGetProcAddress finds it.
struct NamedCall {
  const char* name;
  void* function;
};
#define KILN_NAMED(call) {#call, reinterpret_cast<void*>(&(call))}

std::vector<NamedCall> MemoryCalls();
std::vector<NamedCall> KernelCalls();
std::vector<NamedCall> StreamCalls();

}  // namespace kiln::fake_cuda

#endif  // KILN_TESTS_SUPPORT_FAKE_CUDA_DRIVER_CALL_H_
