// Arrays of the host as arguments of a kernel on another device: copies for the time of a launch.
#ifndef KILN_CLIENT_PY_NATIVE_DEVICE_ARRAYS_H_
#define KILN_CLIENT_PY_NATIVE_DEVICE_ARRAYS_H_

#include <Python.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "client_py/native/bound_instance.h"
#include "runtime/device.h"

namespace kiln {

class DeviceArrays {
 public:
  // Hands over what the host has written to the instance's fields and to ndarrays among `args`.
  // Copies NumPy's arrays to the device, and replaces their addresses in `slots`. InvalidArgument
  // if two of them overlap without being the same: their copies would not. Needs the GIL, as all
  // do.
  absl::Status Prepare(const BoundInstance& bound, PyObject* const* args, uint64_t* slots);
  // After a launch that was waited for: copies what the kernel may have written back.
  absl::Status CopyBack();
  bool empty() const { return copies_.empty(); }

 private:
  struct Copy {
    uint8_t* host;
    uint64_t bytes;
    bool is_written;
    std::unique_ptr<Buffer> buffer;
  };
  // The device's address of an array.
  absl::StatusOr<uint64_t> AddressOf(uint8_t* host, uint64_t bytes, bool is_written);

  std::vector<Copy> copies_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_DEVICE_ARRAYS_H_
