#include "client_py/native/active_device.h"

#include <string>

#include "client_cpp/devices.h"
#include "client_cpp/runtime_status.h"
#include "client_py/native/status_error.h"
#include "runtime/cpu_device.h"

namespace kiln {

namespace py = pybind11;

namespace {

Device* active = &CpuDevice();
Device* on_cuda = nullptr;  // the CUDA device, once there is one
thread_local Device* of_scope = nullptr;

// "cpu" or "cuda", and which of the CUDA devices. Returns the target of its kernels' code. Raises
// RuntimeError if there is no such device; the one before then stays.
std::string UseDevice(const std::string& kind, int32_t number) {
  absl::StatusOr<Device*> found = [&] {
    py::gil_scoped_release release;  // a CUDA device takes long to start
    return kind == "cuda" ? UseCudaDevice(number) : DeviceFor(Target::Device::kCpu);
  }();
  active = ValueOrRaise(std::move(found));
  if (kind == "cuda") on_cuda = active;
  return active->target().text();
}

}  // namespace

Device& ActiveDevice() { return of_scope != nullptr ? *of_scope : *active; }

ActiveDeviceScope::ActiveDeviceScope(Device* device) : before_(of_scope) {
  of_scope = device != nullptr ? device : &CpuDevice();
}

ActiveDeviceScope::~ActiveDeviceScope() { of_scope = before_; }

void BindActiveDevice(py::module_& m) {
  m.def("use_device", &UseDevice, py::arg("kind"), py::arg("number") = 0);
  // "": kernels run on one.
  m.def("why_no_cuda_device", [] { return std::string(CheckCudaDevice().message()); });
  m.def("limit_blocks", [](uint32_t most) { active->LimitBlocks(most); });
  m.def("limit_stack", [](uint64_t bytes) { active->LimitStack(bytes); });
  m.def("device_memory_bytes", [] { return active->memory_bytes(); });
  // Of streams of other libraries, by their handles (runtime/device.h).
  m.def("release_to",
        [](uint64_t stream) { RaiseIfError(ToStatus(ActiveDevice().ReleaseTo(stream))); });
  m.def("wait_for",
        [](uint64_t stream) { RaiseIfError(ToStatus(ActiveDevice().WaitFor(stream))); });
  // Of the CUDA device that is in use or was: a program may end with the former within a scope.
  m.def("use_stream", [](uint64_t stream) {
    RaiseIfError(ToStatus((on_cuda != nullptr ? on_cuda : active)->UseStream(stream)));
  });
  m.def("stream", [] { return ActiveDevice().stream(); });
  m.def("synchronize", [] {
    const Result<> done = [] {
      py::gil_scoped_release release;
      return active->Synchronize();
    }();
    RaiseIfError(ToStatus(done));
  });
}

}  // namespace kiln
