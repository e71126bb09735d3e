#include "client_py/native/active_device.h"

#include <string>

#include "client_cpp/devices.h"
#include "client_cpp/runtime_status.h"
#include "client_py/native/gil.h"
#include "client_py/native/status_error.h"
#include "runtime/cpu_device.h"

namespace kiln {

namespace py = pybind11;

namespace {

Device* active = &CpuDevice();
thread_local Device* of_scope = nullptr;

// The stream that a thread chose, until `End`. The program may choose another device meanwhile.
class StreamChoice {
 public:
  explicit StreamChoice(uint64_t stream) : device_(active), before_(active->stream()) {
    RaiseIfError(ToStatus(device_->UseStream(stream)));
  }
  void End() const { RaiseIfError(ToStatus(device_->UseStream(before_))); }

 private:
  Device* device_;
  uint64_t before_;
};

// "cpu" or "cuda", and which of the CUDA devices. Returns the target of its kernels' code. Raises
// RuntimeError if there is no such device; the one before then stays.
std::string UseDevice(const std::string& kind, int32_t number) {
  absl::StatusOr<Device*> found = [&] {
    const GilReleased release;  // a CUDA device takes long to start
    return kind == "cuda" ? UseCudaDevice(number) : DeviceFor(Target::Device::kCpu);
  }();
  active = ValueOrRaise(std::move(found));
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
  m.def("count_cuda_devices", &CountCudaDevices);
  m.def("limit_blocks", [](uint32_t most) { active->LimitBlocks(most); });
  m.def("limit_stack", [](uint64_t bytes) { active->LimitStack(bytes); });
  m.def("device_memory_bytes", [] { return active->memory_bytes(); });
  // Of streams of other libraries, by their handles (runtime/device.h).
  m.def("release_to",
        [](uint64_t stream) { RaiseIfError(ToStatus(ActiveDevice().ReleaseTo(stream))); });
  m.def("wait_for",
        [](uint64_t stream) { RaiseIfError(ToStatus(ActiveDevice().WaitFor(stream))); });
  py::class_<StreamChoice>(m, "StreamChoice")
      .def(py::init<uint64_t>())
      .def("end", &StreamChoice::End);
  m.def("stream", [] { return ActiveDevice().stream(); });
  m.def("synchronize", [] {
    const Result<> done = [] {
      const GilReleased release;
      return active->Synchronize();
    }();
    RaiseIfError(ToStatus(done));
  });
}

}  // namespace kiln
