// The C type behind live views of a matrix field's element: `v[i]`, whose own
// subscripts read and write the field in place.
#ifndef KILN_CLIENT_PY_NATIVE_ELEMENT_VIEW_H_
#define KILN_CLIENT_PY_NATIVE_ELEMENT_VIEW_H_

#include <Python.h>

#include <cstdint>

#include "client_py/native/field_object.h"

namespace kiln {

// A new view of the element at `indices` (from zero, in range) of a bound field;
// null with a Python error. `key` is the tuple that the user wrote. Null without an
// error when Python has not said yet what classes views have (set_view_types).
PyObject* MakeElementView(FieldObject* field, PyObject* key, const int64_t* indices);

// Adds ElementView and `set_view_types` to `module`; false with a Python error.
bool AddElementViewType(PyObject* module);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_ELEMENT_VIEW_H_
