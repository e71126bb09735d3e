// Python numbers to and from the scalars of the language in memory.
//
// All functions need the GIL. They raise nothing, because only the caller knows the field or
// parameter that the message must name.
#ifndef KILN_CLIENT_PY_NATIVE_SCALAR_VALUE_H_
#define KILN_CLIENT_PY_NATIVE_SCALAR_VALUE_H_

#include <Python.h>

#include <cstdint>

#include "common/language/type.h"

namespace kiln {

enum class Conversion { kOk, kWrongType, kOutOfRange };

// Whether integers that do not fit wrap (elements written from Python, as in the reference) or are
// refused (arguments of kernels).
enum class Fit { kWrap, kCheck };

// Writes ScalarBytes(scalar) bytes at `out`.
Conversion StoreScalar(PyObject* value, Scalar scalar, Fit fit, void* out);

// Returns a new reference to an int or float. A u1 becomes an int, as in the reference.
PyObject* LoadScalar(Scalar scalar, const void* address);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_SCALAR_VALUE_H_
