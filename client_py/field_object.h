// The C type that fields and ndarrays inherit from: elements are read and written
// in place.
#ifndef KILN_CLIENT_PY_FIELD_OBJECT_H_
#define KILN_CLIENT_PY_FIELD_OBJECT_H_

#include <Python.h>

#include "client_py/storage_object.h"
#include "lang/layout.h"

namespace kiln {

struct FieldObject {
  PyObject_HEAD PyObject* storage_object;  // FieldStorage; null until bound
  const FieldStorage* storage;             // of storage_object
  // Copied here so that an element access touches one object.
  uint8_t* data;  // component 0
  int ndim;
  Scalar scalar;
  bool is_scalar;  // elements are scalars
  bool is_linear;  // one digit per axis: address = data + sum of index * stride
  int64_t extent[kMaxIndices];
  int64_t offset[kMaxIndices];
  int64_t stride[kMaxIndices];
};

extern PyTypeObject FieldBaseType;

// Readies the type and adds it to `module`; false with a Python error.
bool AddFieldType(PyObject* module);

inline bool IsField(PyObject* object) { return PyObject_TypeCheck(object, &FieldBaseType); }

// Binds an unbound field by its `_materialize`; false with a Python error, also
// when the memory is gone.
bool EnsureBound(FieldObject* field);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_FIELD_OBJECT_H_
