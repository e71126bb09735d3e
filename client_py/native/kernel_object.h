// The C base type of kernels. It finds the instance for the arguments of a call, packs the slots
// and launches.
#ifndef KILN_CLIENT_PY_NATIVE_KERNEL_OBJECT_H_
#define KILN_CLIENT_PY_NATIVE_KERNEL_OBJECT_H_

#include <Python.h>

#include <cstdint>
#include <memory>

#include "client_py/native/bound_instance.h"
#include "client_py/native/launch_time.h"

namespace kiln {

// Readies KernelBase and adds it and `forget_instances` to `module`; false with a
// Python error.
bool AddKernelType(PyObject* module);

bool IsKernel(PyObject* object);

// Whether it computes derivatives of what another one computes.
bool IsDerivative(PyObject* kernel);

// For graphs (captured_launches.h). All need the GIL.
// The instance of a kernel that answers a call. The kernel may drop it when Python code runs next.
// Null if there is none, or with a Python error.
BoundInstance* FindInstance(PyObject* kernel, PyObject* const* args, Py_ssize_t count);
// Launches with these slots, and tells the profiler. False with a Python error. Requires: the
// kernel returns nothing, and the caller holds a reference to `bound`.
bool LaunchSlots(PyObject* kernel, BoundInstance* bound, const uint64_t* slots);
// For a launch of several kernels at once: null without a profiler, which RecordTime tells. False
// with a Python error.
std::unique_ptr<LaunchTime> StartTime();
bool RecordTime(const char* name, std::unique_ptr<LaunchTime> time);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_KERNEL_OBJECT_H_
