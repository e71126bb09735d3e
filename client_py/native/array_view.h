// A view of a NumPy array or ndarray as an argument of a kernel: address, extents, element.
#ifndef KILN_CLIENT_PY_NATIVE_ARRAY_VIEW_H_
#define KILN_CLIENT_PY_NATIVE_ARRAY_VIEW_H_

#include <Python.h>

#include <cstdint>

#include "common/language/type.h"

namespace kiln {

class Device;

struct ArrayView {
  void* data;
  const Device* device;    // whose address that is; null: the host's
  const int64_t* extents;  // of all axes, including those of the elements
  int ndim;
  int element_axes;  // of an ndarray; -1: the parameter's annotation determines them
  Scalar scalar;
  bool writable;
};

// Returns false, without a Python error, for objects that a kernel cannot access in place. These
// are other objects, strides that are not C order, foreign byte order, unknown dtypes, and an
// ndarray whose memory was freed. Takes a few nanoseconds, because every launch calls it.
bool ViewArray(PyObject* object, ArrayView* view);

// Also of those that kernels cannot access in place.
bool IsNumpyArray(PyObject* object);

// The array of an array's gradient, a new reference; null, without a Python error, if it has none.
PyObject* GradientOf(PyObject* array);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_ARRAY_VIEW_H_
