// The C type of a tape's recorded calls: a sequence of pairs (function, tuple of arguments).
//
// It keeps the objects of all calls in one array and makes pairs only where Python asks for them.
// Programs record tens of thousands of calls a step, and pairs would cost more than the launches.
#ifndef KILN_CLIENT_PY_NATIVE_CALLS_OBJECT_H_
#define KILN_CLIENT_PY_NATIVE_CALLS_OBJECT_H_

#include <Python.h>

namespace kiln {

// Readies the type and adds it to `module` as `Calls`; false with a Python error.
bool AddCallsType(PyObject* module);

bool IsCalls(PyObject* object);

// Adds a call with `count` arguments. False with a Python error.
bool AppendCall(PyObject* calls, PyObject* function, PyObject* const* args, Py_ssize_t count);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_CALLS_OBJECT_H_
