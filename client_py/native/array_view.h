// NumPy arrays and our ndarrays as kernels take them: address, extents, element.
#ifndef KILN_CLIENT_PY_NATIVE_ARRAY_VIEW_H_
#define KILN_CLIENT_PY_NATIVE_ARRAY_VIEW_H_

#include <Python.h>

#include <cstdint>

#include "common/language/type.h"

namespace kiln {

struct ArrayView {
  void* data;
  const int64_t* extents;  // of all axes, those of the elements included
  int ndim;
  int element_axes;  // of our ndarrays; -1: as the annotation says
  Scalar scalar;
  bool writable;
};

// False, without an error, for anything that a kernel cannot take by address: other
// objects, strides that are not C order, foreign byte order, unknown dtypes, an
// ndarray whose memory is gone. Costs a few nanoseconds: it is on the launch path.
bool ViewArray(PyObject* object, ArrayView* view);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_ARRAY_VIEW_H_
