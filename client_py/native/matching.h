// Which instance serves a call: the conditions that its arguments must meet.
#ifndef KILN_CLIENT_PY_NATIVE_MATCHING_H_
#define KILN_CLIENT_PY_NATIVE_MATCHING_H_

#include <Python.h>

#include "client_py/native/bound_instance.h"

namespace kiln {

// Whether the instance serves a call with these arguments. Needs the GIL, and may run Python code:
// the `__eq__` of a template argument, whose errors count as "not equal". The caller holds a
// reference to `bound`.
bool MatchesAll(const BoundInstance& bound, PyObject* const* args, Py_ssize_t count);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_MATCHING_H_
