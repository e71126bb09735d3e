// Arrays of the host as arguments of a kernel on another device: copies for the time of a launch.
#ifndef KILN_CLIENT_PY_NATIVE_DEVICE_ARRAYS_H_
#define KILN_CLIENT_PY_NATIVE_DEVICE_ARRAYS_H_

#include <Python.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "client_py/native/bound_instance.h"
#include "runtime/device.h"

namespace kiln {

// Puts the device's tables of the instance's trees in its slots.
void PointToCopies(const BoundInstance& bound, uint64_t* slots);

class DeviceArrays {
 public:
  DeviceArrays() = default;
  ~DeviceArrays();
  DeviceArrays(const DeviceArrays&) = delete;
  DeviceArrays& operator=(const DeviceArrays&) = delete;

  // Hands over what the host has written to the instance's fields and to ndarrays among `args`.
  // Copies NumPy's arrays to the device, and replaces their addresses in `slots`. Arrays that
  // overlap do so there, too. Needs the GIL, as all do.
  absl::Status Prepare(const BoundInstance& bound, PyObject* const* args, uint64_t* slots);
  // After a launch: waits for it if it may have written to arrays, and copies those back.
  absl::Status CopyBack();
  bool empty() const { return arrays_.empty(); }

 private:
  struct HostArray {
    uint8_t* host;
    uint64_t bytes;
    int slot;
    bool is_written;
    uint8_t* copy;  // the device's address
  };
  absl::Status CopyIn(uint64_t* slots);

  Device* device_ = nullptr;
  std::vector<HostArray> arrays_;
  struct Scratch {
    uint8_t* memory;
    uint64_t bytes;
  };
  std::vector<Scratch> scratch_;  // of the copies
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_DEVICE_ARRAYS_H_
