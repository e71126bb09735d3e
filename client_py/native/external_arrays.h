// Arrays of other libraries in the memory of the device, as arguments of a call of a kernel that
// has an instance. Does what data/interop.py does, without running Python code of Kiln.
#ifndef KILN_CLIENT_PY_NATIVE_EXTERNAL_ARRAYS_H_
#define KILN_CLIENT_PY_NATIVE_EXTERNAL_ARRAYS_H_

#include <Python.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "client_py/native/dlpack.h"
#include "client_py/native/storage_object.h"
#include "runtime/device.h"

namespace kiln {

// Of one call. Needs the GIL.
class ExternalArrays {
 public:
  // `device`: that of the launch. It is the active one during ViewAll and ViewOne.
  explicit ExternalArrays(Device* device) : device_(device) {}
  ~ExternalArrays();
  ExternalArrays(const ExternalArrays&) = delete;
  ExternalArrays& operator=(const ExternalArrays&) = delete;

  // Makes a DeviceArray (data/interop.py) for each argument that is an array of another library, by
  // `__dlpack__` or, on CUDA, `__cuda_array_interface__`. The device runs the launch after the work
  // that the array's stream has now. False, without a Python error, if there is no such argument,
  // or if one has to go through the Python code, which explains mistakes and knows gradients.
  bool ViewAll(PyObject* const* args, Py_ssize_t count);
  // The same of one argument: *view is its DeviceArray, which this object keeps, or null if it is
  // no array of another library. False, without a Python error, if it has to go through the Python
  // code.
  bool ViewOne(PyObject* value, PyObject** view);
  // The arguments, with DeviceArrays in place of the arrays.
  PyObject* const* args() const { return args_.data(); }
  // After the launch: work that is given to the arrays' streams later waits for it. False with a
  // Python error.
  bool Release();

 private:
  // A DeviceArray, which is owned, and its storage.
  struct View {
    PyObject* array = nullptr;
    std::shared_ptr<FieldStorage> storage;
  };
  // Of tensors that calls have used, without owners of their memory. The next calls with tensors of
  // the same memory and form use these, since making one takes longer than a launch.
  static View& SpareFor(const void* data);

  bool TryViewOne(PyObject* value, PyObject** view);
  static View Take(std::shared_ptr<FieldStorage> storage);
  static View ViewOf(const ShownTensor& tensor, PyObject* value);
  static View OfTensor(PyObject* value, uint64_t* stream);

  std::vector<PyObject*> args_;
  std::vector<View> views_;  // among args_
  Device* const device_;
  std::vector<uint64_t> streams_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_EXTERNAL_ARRAYS_H_
