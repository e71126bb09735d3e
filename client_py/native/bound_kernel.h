// What `object.kernel` is: a bound method whose derivatives are bound, too. (A call of the form
// `object.kernel(…)` makes none.)
#ifndef KILN_CLIENT_PY_NATIVE_BOUND_KERNEL_H_
#define KILN_CLIENT_PY_NATIVE_BOUND_KERNEL_H_

#include <Python.h>

namespace kiln {

// Readies the type; `kernel_base` is the type that kernels inherit. False with a Python error.
bool ReadyBoundKernels(PyTypeObject* kernel_base);

// `kernel` with `object` as its first argument. A new reference, or null with a Python error.
PyObject* BindKernel(PyObject* kernel, PyObject* object);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_BOUND_KERNEL_H_
