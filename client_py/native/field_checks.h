// What functions of fields check, and the Python errors that they raise.
#ifndef KILN_CLIENT_PY_NATIVE_FIELD_CHECKS_H_
#define KILN_CLIENT_PY_NATIVE_FIELD_CHECKS_H_

#include "absl/status/status.h"
#include "client_py/native/field_object.h"

namespace kiln {

// Raises an error through a method in Python, where the texts are.
void RaiseByMethod(FieldObject* field, const char* method, PyObject* argument);
// `value` is no element of the field.
void RaiseConversion(FieldObject* field, PyObject* value);
// There is no memory for an element.
void RaiseMemory(FieldObject* field, const absl::Status& status);
// Raises the error of a device. Returns null.
PyObject* RaiseDevice(const absl::Status& status);

// The field is an array of another library that is read-only.
void RaiseReadOnly(const FieldObject* field);

// Each is false with a Python error. Those inline are on the way of each element.

inline bool CheckWritable(const FieldObject* field) {
  if (field->storage->is_writable) return true;
  RaiseReadOnly(field);
  return false;
}
bool CheckCount(Py_ssize_t count, Py_ssize_t expected);
// A field may be declared long before its memory exists, and outlive it after ti.reset().
inline bool IsReady(FieldObject* field) {
  return (field->storage != nullptr && field->storage->memory->alive) || EnsureBound(field);
}

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_FIELD_CHECKS_H_
