// The C type behind live views of a matrix field's element, as `v[i]`. Subscripts of a view read
// and write the field in place.
#ifndef KILN_CLIENT_PY_NATIVE_ELEMENT_VIEW_H_
#define KILN_CLIENT_PY_NATIVE_ELEMENT_VIEW_H_

#include <Python.h>

#include <cstdint>

#include "client_py/native/field_object.h"

namespace kiln {

// A new view of the element at `indices` (from zero, in range) of a bound field. `key` is the tuple
// that the user wrote. Null with a Python error; null without one if Python has not registered the
// classes of views yet (set_view_types).
PyObject* MakeElementView(FieldObject* field, PyObject* key, const int64_t* indices);

// Adds ElementView and `set_view_types` to `module`; false with a Python error.
bool AddElementViewType(PyObject* module);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_ELEMENT_VIEW_H_
