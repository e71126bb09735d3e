// The C base type of kernels. It finds the instance for the arguments of a call, packs the slots
// and launches.
#ifndef KILN_CLIENT_PY_NATIVE_KERNEL_OBJECT_H_
#define KILN_CLIENT_PY_NATIVE_KERNEL_OBJECT_H_

#include <Python.h>

namespace kiln {

// Readies KernelBase and adds it and `forget_instances` to `module`; false with a
// Python error.
bool AddKernelType(PyObject* module);

bool IsKernel(PyObject* object);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_KERNEL_OBJECT_H_
