// The device of the running program: where its fields are, and its kernels run.
#ifndef KILN_CLIENT_PY_NATIVE_ACTIVE_DEVICE_H_
#define KILN_CLIENT_PY_NATIVE_ACTIVE_DEVICE_H_

#include <pybind11/pybind11.h>

#include "runtime/device.h"

namespace kiln {

// The CPU, until the program chooses another one by ti.init. Needs the GIL.
Device& ActiveDevice();

void BindActiveDevice(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_ACTIVE_DEVICE_H_
