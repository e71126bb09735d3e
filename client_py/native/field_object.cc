#include "client_py/native/field_object.h"

#include <cstring>
#include <string>
#include <vector>

#include "client_py/native/element_view.h"
#include "client_py/native/field_checks.h"
#include "client_py/native/field_copies.h"
#include "client_py/native/gil.h"
#include "client_py/native/scalar_value.h"

namespace kiln {

namespace py = pybind11;

namespace {

// A number that is no index gives false without an error: the caller raises one that names the
// field.
inline bool ReadIndex(PyObject* item, int64_t* out) {
  if (PyLong_CheckExact(item)) {
    *out = PyLong_AsSsize_t(item);
    // -1 is also what a failed conversion returns; the error indicator tells the two apart.
    if (*out != -1) return true;
  } else if (!PyIndex_Check(item)) {
    return false;
  } else {
    // NumPy's integers and other classes with __index__. Saturated values are out of range for any
    // field.
    *out = PyNumber_AsSsize_t(item, nullptr);  // saturates
  }
  if (*out == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return false;
  }
  return true;
}

// Reads and checks the indices in `key`, and makes them count from zero. False with a Python error.
inline bool ReadKey(FieldObject* field, PyObject* key, int64_t* indices) {
  // `x[i]`, `x[i, j]`, `x[None]` and `x[[i, j]]` all occur in programs.
  PyObject* const* items = &key;
  Py_ssize_t count = 1;
  if (PyTuple_Check(key)) {
    items = &PyTuple_GET_ITEM(key, 0);
    count = PyTuple_GET_SIZE(key);
  } else if (key == Py_None) {
    count = 0;
  } else if (PyList_Check(key)) {
    items = &PyList_GET_ITEM(key, 0);
    count = PyList_GET_SIZE(key);
  }
  if (count != field->ndim) {
    RaiseByMethod(field, "_index_error", key);
    return false;
  }
  for (Py_ssize_t a = 0; a < count; ++a) {
    int64_t index;
    if (!ReadIndex(items[a], &index)) {
      RaiseByMethod(field, "_index_error", key);
      return false;
    }
    indices[a] = index - field->offset[a];
    // As unsigned, a negative index is also too large.
    if (static_cast<uint64_t>(indices[a]) >= static_cast<uint64_t>(field->extent[a])) {
      RaiseByMethod(field, "_index_error", key);
      return false;
    }
  }
  return true;
}

// The address of an element's first component. Null with a Python error.
inline uint8_t* ElementAddress(FieldObject* field, const int64_t* indices, CellAccess access) {
  // Most fields are linear: an element then costs a product and a sum for each axis.
  if (!field->is_linear) return ComponentAddress(field, indices, 0, access);
  // Strides are in bytes here.
  uint8_t* address = field->data;
  for (int a = 0; a < field->ndim; ++a) address += indices[a] * field->stride[a];
  return UpToDate(field, address, access);
}

// The number of kernels under construction in all threads. Guarded by the GIL.
int building = 0;

// Checks that Python may access elements. Python code that runs while a kernel is built may not:
// the elements are not constants. False with a Python error.
bool IsPythonScope(FieldObject* field, const char* method) {
  PyObject* done =
      PyObject_CallMethod(reinterpret_cast<PyObject*>(field), "_check_scope", "s", method);
  Py_XDECREF(done);
  return done != nullptr;
}

// The key as a tuple, for the Python side of matrix fields.
PyObject* KeyTuple(PyObject* key) {
  if (PyTuple_Check(key)) {
    Py_INCREF(key);
    return key;
  }
  if (key == Py_None) return PyTuple_New(0);
  // A copy: the program may change its list while Python code uses the key.
  if (PyList_Check(key)) return PyList_AsTuple(key);
  return PyTuple_Pack(1, key);
}

PyObject* FieldSubscript(PyObject* self, PyObject* key) {
  auto* field = reinterpret_cast<FieldObject*>(self);
  // Counts all threads, so the usual access costs one comparison. Python decides for this thread.
  if (building != 0 && !IsPythonScope(field, "__getitem__")) return nullptr;
  if (!IsReady(field)) return nullptr;
  int64_t indices[kMaxIndices];
  if (!ReadKey(field, key, indices)) return nullptr;
  if (field->is_scalar) {
    const uint8_t* address = ElementAddress(field, indices, CellAccess::kRead);
    return address == nullptr ? nullptr : LoadAt(field, indices, 0, address);
  }
  PyObject* tuple = KeyTuple(key);
  if (tuple == nullptr) return nullptr;
  // Null without an error if Python has not yet said how to make one.
  PyObject* view = MakeElementView(field, tuple, indices);
  if (view != nullptr || PyErr_Occurred() != nullptr) {
    Py_DECREF(tuple);
    return view;
  }
  // The first element that the program reads: Python imports the matrix classes and calls this
  // again.
  PyObject* element = PyObject_CallMethod(self, "_get_element", "(O)", tuple);
  Py_DECREF(tuple);
  return element;
}

// Of one component, or of the word that has it.
uint64_t StoredBytes(const FieldObject* field) {
  constexpr uint64_t kWord = 8;  // at most
  return field->is_plain ? ScalarBytes(field->scalar) : kWord;
}

// After a write to an address of a mirror. False with a Python error.
bool DeliverElement(const FieldObject* field, const uint8_t* address) {
  const absl::Status status = field->mirrored->Deliver(address, StoredBytes(field));
  if (!status.ok()) RaiseDevice(status);
  return status.ok();
}

// Stores the scalars of a list, tuple or list of lists. For any other value it stores nothing and
// returns false without an error. False with a Python error if there is no memory for the element.
bool StoreSequence(FieldObject* field, const int64_t* indices, PyObject* value) {
  const FieldStorage& storage = *field->storage;
  const size_t rows = storage.element_shape[0];
  const size_t columns = storage.element_shape.size() > 1 ? storage.element_shape[1] : 1;
  // Exact types only: a subclass may have items of its own making.
  const auto is_row = [](PyObject* object, size_t size) {
    return (PyList_CheckExact(object) || PyTuple_CheckExact(object)) &&
           static_cast<size_t>(PySequence_Fast_GET_SIZE(object)) == size;
  };
  // 64 numbers fit on the stack; larger elements take the way through Python.
  if (!is_row(value, rows) || rows * columns > 64) return false;
  uint64_t scalars[64] = {};
  for (size_t i = 0; i < rows; ++i) {
    PyObject* row = PySequence_Fast_GET_ITEM(value, i);
    if (storage.element_shape.size() > 1 && !is_row(row, columns)) return false;
    for (size_t j = 0; j < columns; ++j) {
      PyObject* item = storage.element_shape.size() > 1 ? PySequence_Fast_GET_ITEM(row, j) : row;
      if (StoreScalar(item, field->scalar, Fit::kWrap, &scalars[i * columns + j]) !=
          Conversion::kOk) {
        return false;
      }
    }
  }
  const uint8_t* addresses[64] = {};
  for (size_t i = 0; field->mirrored != nullptr && i < rows * columns; ++i) {
    addresses[i] = ComponentAddress(field, indices, static_cast<int>(i), CellAccess::kWrite);
    if (addresses[i] == nullptr) return false;
  }
  // All at once: components may share a word, and none is written if one cannot be converted.
  const absl::Status status = storage.WriteElement(indices, scalars);
  if (!status.ok()) RaiseMemory(field, status);
  // Not found anew: that would fetch what has not been delivered.
  for (size_t i = 0; status.ok() && field->mirrored != nullptr && i < rows * columns; ++i) {
    if (!DeliverElement(field, addresses[i])) return false;
  }
  return status.ok();
}

int FieldAssign(PyObject* self, PyObject* key, PyObject* value) {
  auto* field = reinterpret_cast<FieldObject*>(self);
  // Python's `del x[i]`.
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "elements of a field cannot be deleted");
    return -1;
  }
  if (building != 0 && !IsPythonScope(field, "__setitem__")) return -1;
  if (!IsReady(field)) return -1;
  int64_t indices[kMaxIndices];
  if (!ReadKey(field, key, indices)) return -1;
  if (field->is_scalar) {
    // Convert into a temporary, so that a failed conversion leaves the element unchanged.
    uint64_t scalar = 0;
    if (StoreScalar(value, field->scalar, Fit::kWrap, &scalar) != Conversion::kOk) {
      RaiseConversion(field, value);
      return -1;
    }
    uint8_t* address = ElementAddress(field, indices, CellAccess::kWrite);
    if (address == nullptr) return -1;
    return StoreAt(field, indices, 0, address, scalar) ? 0 : -1;
  }
  // Lists of numbers are so common that they get a path without Python code.
  if (StoreSequence(field, indices, value)) return 0;
  if (PyErr_Occurred() != nullptr) return -1;
  // Python code handles other values, such as matrices and NumPy arrays.
  PyObject* tuple = KeyTuple(key);
  if (tuple == nullptr) return -1;
  PyObject* done = PyObject_CallMethod(self, "_set_element", "OO", tuple, value);
  Py_DECREF(tuple);
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

// The address of component `component` at `key`; null with a Python error.
uint8_t* AddressAt(FieldObject* field, PyObject* key, PyObject* component, CellAccess access,
                   int64_t* indices, int* number) {
  if (!IsReady(field)) return nullptr;
  if (!ReadKey(field, key, indices)) return nullptr;
  // Components come from Kiln's own Python code, so this error is not a user's.
  const Py_ssize_t index = PyNumber_AsSsize_t(component, PyExc_IndexError);
  if (index == -1 && PyErr_Occurred() != nullptr) return nullptr;
  if (index < 0 || index >= field->storage->access.num_components()) {
    PyErr_Format(PyExc_IndexError, "component %zd of an element with %d", index,
                 field->storage->access.num_components());
    return nullptr;
  }
  *number = static_cast<int>(index);
  return ComponentAddress(field, indices, *number, access);
}

PyObject* FieldRead(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  auto* field = reinterpret_cast<FieldObject*>(self);
  if (!CheckCount(count, 2)) return nullptr;
  int64_t indices[kMaxIndices];
  int component;
  const uint8_t* address =
      AddressAt(field, args[0], args[1], CellAccess::kRead, indices, &component);
  return address == nullptr ? nullptr : LoadAt(field, indices, component, address);
}

PyObject* FieldWrite(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  auto* field = reinterpret_cast<FieldObject*>(self);
  if (!CheckCount(count, 3)) return nullptr;
  uint64_t scalar = 0;  // converted before the cell is activated: a refused value activates nothing
  if (!IsReady(field)) return nullptr;
  if (StoreScalar(args[2], field->scalar, Fit::kWrap, &scalar) != Conversion::kOk) {
    RaiseConversion(field, args[2]);
    return nullptr;
  }
  int64_t indices[kMaxIndices];
  int component;
  uint8_t* address = AddressAt(field, args[0], args[1], CellAccess::kWrite, indices, &component);
  if (address == nullptr) return nullptr;
  if (!StoreAt(field, indices, component, address, scalar)) return nullptr;
  Py_RETURN_NONE;
}

// Returns all components of one element as a flat list, row-major.
PyObject* FieldReadAll(PyObject* self, PyObject* key) {
  auto* field = reinterpret_cast<FieldObject*>(self);
  if (!IsReady(field)) return nullptr;
  int64_t indices[kMaxIndices];
  if (!ReadKey(field, key, indices)) return nullptr;
  const int components = field->storage->access.num_components();
  PyObject* list = PyList_New(components);
  if (list == nullptr) return nullptr;
  for (int c = 0; c < components; ++c) {
    const uint8_t* address = ComponentAddress(field, indices, c, CellAccess::kRead);
    PyObject* number = address == nullptr ? nullptr : LoadAt(field, indices, c, address);
    if (number == nullptr) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, c, number);
  }
  return list;
}

PyObject* FieldBind(PyObject* self, PyObject* storage) {
  if (!BindStorage(self, storage)) return nullptr;
  Py_RETURN_NONE;
}

// Waits for the device, and lets other threads run meanwhile. False with a Python error: the device
// failed, or the field's memory is another one now.
bool AwaitBesideThreads(FieldObject* field) {
  PyObject* keep = field->storage_object;  // another thread may rebind the field
  Py_INCREF(keep);
  const Memory& memory = *field->storage->memory;
  absl::Status awaited;
  BeginUnlockedLaunch();  // memory that is destroyed meanwhile stays allocated until its end
  {
    const OtherThreads run(true);
    awaited = memory.Await();
  }
  const bool is_same = field->storage_object == keep && memory.alive;
  EndUnlockedLaunch();
  Py_DECREF(keep);
  if (!awaited.ok()) {
    RaiseDevice(awaited);
  } else if (!is_same && EnsureBound(field)) {
    PyErr_SetString(PyExc_RuntimeError, "another thread has given the field other memory");
  }
  return awaited.ok() && is_same;
}

// Waits for the device, beside other threads, unless a thread has since the last launch. Until the
// GIL is released next, no element has to be waited for. False with a Python error.
bool AwaitLaunches(FieldObject* field) {
  if (field->mirrored->IsAwaited() || !HasOtherThreads()) return true;
  if (!AwaitBesideThreads(field)) return false;
  const absl::Status status = field->mirrored->TouchFirst();
  if (status.ok()) return true;
  // The first touch after a launch for whose cells there was no memory says so.
  if (field->storage->scattered != nullptr) {
    RaiseMemory(field, status);
  } else {
    RaiseDevice(status);
  }
  return false;
}

PyObject* FieldGetStorage(PyObject* self, void*) {
  PyObject* storage = reinterpret_cast<FieldObject*>(self)->storage_object;
  if (storage == nullptr) storage = Py_None;
  Py_INCREF(storage);
  return storage;
}

void FieldDealloc(PyObject* self) {
  // Subclasses made in Python clear their own part first (subtype_dealloc).
  Py_CLEAR(reinterpret_cast<FieldObject*>(self)->storage_object);
  Py_TYPE(self)->tp_free(self);
}

PyObject* AddBuilding(PyObject*, PyObject* change) {
  const long number = PyLong_AsLong(change);
  if (number == -1 && PyErr_Occurred() != nullptr) return nullptr;
  building += static_cast<int>(number);
  Py_RETURN_NONE;
}

PyMethodDef module_functions[] = {{"add_building", AddBuilding, METH_O,
                                   "add_building(n): n more kernels are under construction."},
                                  {nullptr, nullptr, 0, nullptr}};

PyMethodDef field_methods[] = {
    {"_bind", FieldBind, METH_O, "Takes a FieldStorage with the elements' places."},
    {"_read", reinterpret_cast<PyCFunction>(FieldRead), METH_FASTCALL,
     "_read(indices, component) -> number"},
    {"_write", reinterpret_cast<PyCFunction>(FieldWrite), METH_FASTCALL,
     "_write(indices, component, value)"},
    {"_read_all", FieldReadAll, METH_O, "_read_all(indices) -> all components, row-major"},
    {"_copy_to", FieldCopyTo, METH_O, "Copies all elements into a C-contiguous array."},
    {"_copy_read", FieldCopyRead, METH_O, "The same as kernels read them, active or not."},
    {"_copy_from", FieldCopyFrom, METH_O, "Copies all elements from a C-contiguous array."},
    {"_write_all", FieldWriteAll, METH_O,
     "Sets all elements from a C-contiguous array and makes them active."},
    {"_copy_field", FieldCopyField, METH_O,
     "Copies all elements of another field; False where the layouts do not allow it."},
    {"_fill", FieldFill, METH_O, "Fills with one value per component."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef field_getset[] = {
    {"_storage", FieldGetStorage, nullptr, "The bound FieldStorage, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMappingMethods field_mapping = {nullptr, FieldSubscript, FieldAssign};

}  // namespace

// Binds the field to a storage. Copies the facts that an element access needs into the object
// itself, so that `x[i, j]` follows no pointers except to the data.
bool BindStorage(PyObject* self, PyObject* storage_object) {
  auto* field = reinterpret_cast<FieldObject*>(self);
  FieldStorage* storage = nullptr;
  try {
    // Called by CPython, not pybind11: a C++ exception must not leave this function.
    storage = py::cast<FieldStorage*>(py::handle(storage_object));
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
    return false;
  }
  const DenseAccess& access = storage->access;
  field->ndim = access.ndim();
  field->scalar = access.scalar();
  field->is_scalar = storage->element_shape.empty();
  // Plain: an element's bytes are its value.
  field->is_plain = !storage->is_joined && access.codec() == nullptr;
  // Scattered elements are found through their tree, at an address that changes with activation.
  field->is_linear = storage->scattered == nullptr && access.IsLinear();
  field->data = access.ComponentData(0);
  field->mirrored = storage->memory->is_mirrored() ? storage->memory.get() : nullptr;
  for (int a = 0; a < field->ndim; ++a) {
    field->extent[a] = access.extent(a);
    field->offset[a] = access.offset(a);
    field->stride[a] = field->is_linear ? access.LinearStride(a) : 0;
  }
  Py_INCREF(storage_object);
  // Last: releasing the old storage may run Python code, which must find the new one complete.
  Py_XSETREF(field->storage_object, storage_object);
  field->storage = storage;
  return true;
}

PyTypeObject FieldBaseType = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* LoadAt(const FieldObject* field, const int64_t* indices, int component,
                 const uint8_t* address) {
  if (field->is_plain) return LoadScalar(field->scalar, address);
  const uint64_t number = field->storage->Read(address, indices, component);
  return LoadScalar(field->scalar, &number);
}

bool StoreAt(const FieldObject* field, const int64_t* indices, int component, uint8_t* address,
             uint64_t scalar) {
  if (field->is_plain) {
    std::memcpy(address, &scalar, ScalarBytes(field->scalar));
  } else {
    field->storage->Write(address, indices, component, scalar);  // shares a word with others
  }
  return field->mirrored == nullptr || DeliverElement(field, address);
}

uint8_t* ScatteredAddress(FieldObject* field, const int64_t* indices, int component,
                          CellAccess access) {
  if (field->mirrored != nullptr && !AwaitLaunches(field)) return nullptr;
  const absl::StatusOr<uint8_t*> address =
      field->storage->scattered->Locate(indices, component, access);
  if (address.ok()) return *address;
  RaiseMemory(field, address.status());
  return nullptr;
}

uint8_t* FetchElement(FieldObject* field, uint8_t* address, CellAccess access) {
  if (address == nullptr || (access != CellAccess::kRead && !CheckWritable(field))) return nullptr;
  const HostAccess kind = access == CellAccess::kRead ? HostAccess::kRead : HostAccess::kWrite;
  const uint64_t bytes = StoredBytes(field);
  if (!field->mirrored->IsReady(address, bytes, kind) && !AwaitLaunches(field)) return nullptr;
  const absl::Status status = field->mirrored->Touch(address, bytes, kind);
  if (status.ok()) return address;
  RaiseDevice(status);
  return nullptr;
}

bool EnsureBound(FieldObject* field) {
  PyObject* self = reinterpret_cast<PyObject*>(field);
  // The first access allocates all declared fields at once, as Taichi does.
  const char* method = field->storage == nullptr ? "_materialize" : "_stale_error";
  PyObject* done = PyObject_CallMethod(self, method, nullptr);
  Py_XDECREF(done);
  if (done == nullptr) return false;
  if (field->storage == nullptr || !field->storage->memory->alive) {
    PyErr_SetString(PyExc_RuntimeError, "the field has no memory");
    return false;
  }
  return true;
}

bool AddFieldType(PyObject* module) {
  FieldBaseType.tp_name = "kiln._native.FieldBase";
  FieldBaseType.tp_basicsize = sizeof(FieldObject);
  // A base class without garbage collection: what it refers to, a storage, never refers back.
  FieldBaseType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  FieldBaseType.tp_doc = "What fields and ndarrays inherit: element access in place.";
  FieldBaseType.tp_new = PyType_GenericNew;
  FieldBaseType.tp_dealloc = FieldDealloc;
  FieldBaseType.tp_methods = field_methods;
  FieldBaseType.tp_getset = field_getset;
  FieldBaseType.tp_as_mapping = &field_mapping;
  if (PyType_Ready(&FieldBaseType) < 0) return false;
  Py_INCREF(&FieldBaseType);
  return PyModule_AddObject(module, "FieldBase", reinterpret_cast<PyObject*>(&FieldBaseType)) ==
             0 &&
         PyModule_AddFunctions(module, module_functions) == 0;
}

}  // namespace kiln
