// The device of the running program: where its fields are, and its kernels run.
#ifndef KILN_CLIENT_PY_NATIVE_ACTIVE_DEVICE_H_
#define KILN_CLIENT_PY_NATIVE_ACTIVE_DEVICE_H_

#include <pybind11/pybind11.h>

#include "runtime/device.h"

namespace kiln {

// The CPU, until the program chooses another one by ti.init; within an ActiveDeviceScope, the
// scope's. Needs the GIL. New memory is there. What exists has a device of its own, which another
// one may have replaced since: ask the memory (Buffer::device) or the kernel
// (LoadedKernel::device).
Device& ActiveDevice();

// Makes another device the calling thread's as long as it exists: that of a module, which need not
// be the program's. For code that looks at arguments and is done before the launch.
class ActiveDeviceScope {
 public:
  // Null: the CPU.
  explicit ActiveDeviceScope(Device* device);
  ~ActiveDeviceScope();
  ActiveDeviceScope(const ActiveDeviceScope&) = delete;
  ActiveDeviceScope& operator=(const ActiveDeviceScope&) = delete;

 private:
  Device* const before_;
};

void BindActiveDevice(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_ACTIVE_DEVICE_H_
