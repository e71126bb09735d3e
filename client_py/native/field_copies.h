// Fills and copies of all elements of a field: methods of FieldObject.
#ifndef KILN_CLIENT_PY_NATIVE_FIELD_COPIES_H_
#define KILN_CLIENT_PY_NATIVE_FIELD_COPIES_H_

#include <Python.h>

namespace kiln {

// As methods of Python: null with a Python error. `array`: C-contiguous, of the field's size.
PyObject* FieldCopyTo(PyObject* field, PyObject* array);
// The same as kernels read the elements, active or not.
PyObject* FieldCopyRead(PyObject* field, PyObject* array);
PyObject* FieldCopyFrom(PyObject* field, PyObject* array);
// Activates all elements, with the values of an array.
PyObject* FieldWriteAll(PyObject* field, PyObject* array);
// Copies all elements of another field of the same type, shape and components. Returns False if
// their layouts differ too much; the caller then copies through an array.
PyObject* FieldCopyField(PyObject* field, PyObject* source);
// `values`: one for each component.
PyObject* FieldFill(PyObject* field, PyObject* values);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_FIELD_COPIES_H_
