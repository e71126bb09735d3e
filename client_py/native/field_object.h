// The C base type of fields and ndarrays. It reads and writes elements in place.
#ifndef KILN_CLIENT_PY_NATIVE_FIELD_OBJECT_H_
#define KILN_CLIENT_PY_NATIVE_FIELD_OBJECT_H_

#include <Python.h>

#include "client_cpp/host/tree_access.h"
#include "client_py/native/storage_object.h"
#include "common/layout/layout.h"

namespace kiln {

struct FieldObject {
  PyObject_HEAD PyObject* storage_object;  // FieldStorage; null until bound
  const FieldStorage* storage;             // of storage_object
  // Copied here so that an element access touches one object.
  uint8_t* data;           // component 0
  const Memory* mirrored;  // null: the host uses the memory as it is
  int ndim;
  Scalar scalar;
  bool is_scalar;  // elements are scalars
  bool is_plain;   // the address of a component has its bytes, not the bits of a word
  // All levels are dense, with one digit per axis: address = data + sum of index * stride.
  bool is_linear;
  int64_t extent[kMaxIndices];
  int64_t offset[kMaxIndices];
  int64_t stride[kMaxIndices];
};

extern PyTypeObject FieldBaseType;

// Readies the type and adds it to `module`; false with a Python error.
bool AddFieldType(PyObject* module);

// Binds a field to a FieldStorage, a Python object, as `_bind` does. False with a Python error.
bool BindStorage(PyObject* field, PyObject* storage);

// The address of a component of the element at `indices` (from zero, in range) of a field whose
// memory exists; as for FetchElement, other threads may run first. Null with a Python error, also
// if there is no memory to activate it.
uint8_t* ScatteredAddress(FieldObject* field, const int64_t* indices, int component,
                          CellAccess access);
// Brings the scalar or word at an address of a mirror up to date; other threads run while it waits
// for the device. It waits only if nothing has waited since the last launch. The addresses of an
// element's components, found one after the other, are then up to date together, unless other
// libraries use the memory. Returns the address; null with a Python error if the device failed, or
// another thread has destroyed the memory.
uint8_t* FetchElement(FieldObject* field, uint8_t* address, CellAccess access);
inline uint8_t* UpToDate(FieldObject* field, uint8_t* address, CellAccess access) {
  return field->mirrored == nullptr ? address : FetchElement(field, address, access);
}
inline uint8_t* ComponentAddress(FieldObject* field, const int64_t* indices, int component,
                                 CellAccess access) {
  const FieldStorage& storage = *field->storage;
  uint8_t* address = storage.scattered != nullptr
                         ? ScatteredAddress(field, indices, component, access)
                         : storage.access.Address(indices, component);
  return UpToDate(field, address, access);
}

// The component at an address that ComponentAddress gave for the same indices.
PyObject* LoadAt(const FieldObject* field, const int64_t* indices, int component,
                 const uint8_t* address);
// `scalar` as StoreScalar makes it. False with a Python error if the device failed.
bool StoreAt(const FieldObject* field, const int64_t* indices, int component, uint8_t* address,
             uint64_t scalar);

inline bool IsField(PyObject* object) { return PyObject_TypeCheck(object, &FieldBaseType); }

// Binds an unbound field by calling its `_materialize`. False with a Python error, also if the
// memory was freed.
bool EnsureBound(FieldObject* field);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_FIELD_OBJECT_H_
