#include "client_py/native/field_checks.h"

#include <string>

namespace kiln {

void RaiseByMethod(FieldObject* field, const char* method, PyObject* argument) {
  PyObject* result =
      PyObject_CallMethod(reinterpret_cast<PyObject*>(field), method, "(O)", argument);
  Py_XDECREF(result);
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_IndexError, "invalid index");
}

void RaiseConversion(FieldObject* field, PyObject* value) {
  RaiseByMethod(field, "_value_error", value);
}

void RaiseMemory(FieldObject* field, const absl::Status& status) {
  const std::string why(status.message());
  PyObject* text = PyUnicode_FromStringAndSize(why.data(), static_cast<Py_ssize_t>(why.size()));
  if (text != nullptr) RaiseByMethod(field, "_memory_error", text);
  Py_XDECREF(text);
}

PyObject* RaiseDevice(const absl::Status& status) {
  PyErr_SetString(PyExc_RuntimeError, std::string(status.message()).c_str());
  return nullptr;
}

void RaiseReadOnly(const FieldObject* field) {
  PyObject* self = reinterpret_cast<PyObject*>(const_cast<FieldObject*>(field));
  Py_XDECREF(PyObject_CallMethod(self, "_read_only_error", nullptr));
}

bool CheckCount(Py_ssize_t count, Py_ssize_t expected) {
  if (count == expected) return true;
  PyErr_Format(PyExc_TypeError, "%zd arguments expected, got %zd", expected, count);
  return false;
}

}  // namespace kiln
