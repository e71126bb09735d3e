// Python numbers to and from the scalars of the language in memory.
//
// All functions need the GIL. None of them raises: the caller knows the field or
// parameter that the message has to name.
#ifndef KILN_CLIENT_PY_NATIVE_SCALAR_VALUE_H_
#define KILN_CLIENT_PY_NATIVE_SCALAR_VALUE_H_

#include <Python.h>

#include <cstdint>

#include "common/language/type.h"

namespace kiln {

enum class Conversion { kOk, kWrongType, kOutOfRange };

// How integers that do not fit are taken: elements written from Python wrap as in
// the reference, arguments of kernels are refused.
enum class Fit { kWrap, kCheck };

// Writes ScalarBytes(scalar) bytes at `out`.
Conversion StoreScalar(PyObject* value, Scalar scalar, Fit fit, void* out);

// A new reference: int, or float. A u1 reads as int, as in the reference.
PyObject* LoadScalar(Scalar scalar, const void* address);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_SCALAR_VALUE_H_
