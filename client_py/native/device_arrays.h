// Arrays of the host as arguments of a kernel on another device: copies for the time of a launch.
#ifndef KILN_CLIENT_PY_NATIVE_DEVICE_ARRAYS_H_
#define KILN_CLIENT_PY_NATIVE_DEVICE_ARRAYS_H_

#include <Python.h>

#include <cstdint>

#include "absl/status/status.h"
#include "client_cpp/runtime_status.h"
#include "client_py/native/bound_instance.h"
#include "runtime/host_arrays.h"

namespace kiln {

// Puts the device's tables of the instance's trees in its slots.
void PointToCopies(const BoundInstance& bound, uint64_t* slots);

class DeviceArrays {
 public:
  // `device`: the kernel's.
  explicit DeviceArrays(Device* device) : arrays_(device) {}
  // Hands over what the host has written to the instance's fields and to ndarrays among `args`.
  // Copies NumPy's arrays to the device, and replaces their addresses in `slots`. Arrays that
  // overlap do so there, too. Needs the GIL.
  absl::Status Prepare(const BoundInstance& bound, PyObject* const* args, uint64_t* slots);
  // Whether the launch may have written to NumPy's arrays.
  bool AreWritten() const { return arrays_.AreWritten(); }
  // After a launch that may: waits for it, and copies those back. Does not need the GIL, as long as
  // the arrays exist.
  absl::Status CopyBack() { return ToStatus(arrays_.CopyBack()); }

 private:
  HostArrays arrays_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_DEVICE_ARRAYS_H_
