#include "client_py/native/array_view.h"

#include <cstring>

#include "client_py/native/field_object.h"

namespace kiln {
namespace {

// The beginning of NumPy's array object, which is part of its stable ABI (the same in NumPy 1 and
// 2). It is declared here so that building needs no NumPy headers and importing needs no NumPy.
struct NumpyArray {
  PyObject_HEAD char* data;
  int nd;
  Py_ssize_t* dimensions;
  Py_ssize_t* strides;
  PyObject* base;
  struct NumpyDescriptor* descriptor;
  int flags;
};

struct NumpyDescriptor {
  PyObject_HEAD PyTypeObject* type;
  char kind;
  char type_character;
  char byte_order;
  char former_flags;
  int type_number;
};

// Bits of NumPy's flags, also part of its stable ABI.
constexpr int kCContiguous = 0x1, kAligned = 0x100, kWriteable = 0x400;

static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "extents are passed unconverted");

Scalar ScalarOfNumpy(const NumpyDescriptor& descriptor) {
  // Kernels read memory as it is, so the bytes must have this processor's order.
  if (descriptor.byte_order == '>') return proto::SCALAR_NONE;
  switch (descriptor.type_character) {
    case '?':
      return proto::U1;
    case 'b':
      return proto::I8;
    case 'B':
      return proto::U8;
    case 'h':
      return proto::I16;
    case 'H':
      return proto::U16;
    case 'i':
      return proto::I32;
    case 'I':
      return proto::U32;
    // NumPy has two types of 64 bits, for C's long and long long.
    case 'l':
    case 'q':
      return proto::I64;
    case 'L':
    case 'Q':
      return proto::U64;
    case 'e':
      return proto::F16;
    case 'f':
      return proto::F32;
    case 'd':
      return proto::F64;
    default:
      return proto::SCALAR_NONE;
  }
}

// numpy.ndarray, once the program has imported NumPy. Borrowed, because NumPy cannot be unloaded.
PyTypeObject* numpy_array_type = nullptr;

// False for arrays that kernels cannot address by the shape alone; Python code copies those first.
bool ViewNumpyArray(PyObject* object, ArrayView* view) {
  const auto* array = reinterpret_cast<const NumpyArray*>(object);
  if ((array->flags & (kCContiguous | kAligned)) != (kCContiguous | kAligned)) return false;
  view->scalar = ScalarOfNumpy(*array->descriptor);
  view->data = array->data;
  view->device = nullptr;
  view->extents = reinterpret_cast<const int64_t*>(array->dimensions);
  view->ndim = array->nd;
  view->element_axes = -1;
  view->writable = (array->flags & kWriteable) != 0;
  return view->scalar != proto::SCALAR_NONE;
}

// False for fields that are no ndarrays, and for ndarrays without memory.
bool ViewNdarray(PyObject* object, ArrayView* view) {
  const FieldStorage* storage = reinterpret_cast<FieldObject*>(object)->storage;
  if (storage == nullptr || !storage->is_ndarray || !storage->memory->alive) return false;
  view->scalar = storage->access.scalar();
  view->data = reinterpret_cast<void*>(storage->bases[0]);
  view->device = storage->device;
  view->extents = storage->full_shape.data();
  view->ndim = static_cast<int>(storage->full_shape.size());
  view->element_axes = storage->is_external ? -1 : static_cast<int>(storage->element_shape.size());
  view->writable = storage->is_writable;
  return true;
}

}  // namespace

bool IsNumpyArray(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (type == numpy_array_type) return true;
  if (numpy_array_type == nullptr) {
    for (PyTypeObject* t = type; t != nullptr; t = t->tp_base) {
      // The object may be of a subclass, as numpy.memmap is.
      if (std::strcmp(t->tp_name, "numpy.ndarray") == 0) {
        numpy_array_type = t;
        return true;
      }
    }
    return false;
  }
  return PyType_IsSubtype(type, numpy_array_type) != 0;
}

bool ViewArray(PyObject* object, ArrayView* view) {
  if (IsField(object)) return ViewNdarray(object, view);
  return IsNumpyArray(object) && ViewNumpyArray(object, view);
}

PyObject* GradientOf(PyObject* array) {
  PyObject* gradient = PyObject_GetAttrString(array, "grad");
  if (gradient == nullptr) PyErr_Clear();
  if (gradient == Py_None) Py_CLEAR(gradient);
  return gradient;
}

}  // namespace kiln
