#include "client_py/native/element_view.h"

#include <structmember.h>

#include <cstring>

#include "client_py/native/scalar_value.h"

namespace kiln {
namespace {

struct ViewObject {
  PyObject_HEAD PyObject* field;  // FieldObject
  PyObject* key;                  // tuple of the user's indices
  int64_t indices[kMaxIndices];   // from zero
};

// The Python classes of views of vectors and matrices. Borrowed: they are never freed.
PyTypeObject* vector_view = nullptr;
PyTypeObject* matrix_view = nullptr;

FieldObject* FieldOf(PyObject* view) {
  return reinterpret_cast<FieldObject*>(reinterpret_cast<ViewObject*>(view)->field);
}

// An index of one axis; negative ones count from the end. -1 for any other object.
int64_t StaticIndex(PyObject* item, int64_t extent) {
  // Exact: bool is a subclass of int, but x[True] is a mask.
  if (!PyLong_CheckExact(item)) return -1;
  int64_t index = PyLong_AsSsize_t(item);
  if (index == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    return -1;
  }
  // As for Python's sequences.
  if (index < 0) index += extent;
  return index >= 0 && index < extent ? index : -1;
}

// The component that plain integers select; -1 for slices, masks and indices out of range, which
// Python code handles.
int ComponentOf(const FieldStorage& storage, PyObject* index) {
  const auto& shape = storage.element_shape;
  if (!PyTuple_Check(index)) {
    return shape.size() == 1 ? static_cast<int>(StaticIndex(index, shape[0])) : -1;
  }
  if (static_cast<size_t>(PyTuple_GET_SIZE(index)) != shape.size()) return -1;
  int64_t flat = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t at = StaticIndex(PyTuple_GET_ITEM(index, axis), shape[axis]);
    if (at < 0) return -1;
    flat = flat * shape[axis] + at;
  }
  return static_cast<int>(flat);
}

// The address of a component. Null with a Python error, or without one if Python code must handle
// `index`.
uint8_t* Locate(PyObject* self, PyObject* index, CellAccess access, int* number) {
  FieldObject* field = FieldOf(self);
  if (field == nullptr) {
    PyErr_SetString(PyExc_TypeError, "a view is made by subscripting a field");
    return nullptr;
  }
  // A view may outlive ti.init, which destroys the memory of fields.
  if (!field->storage->memory->alive && !EnsureBound(field)) return nullptr;
  const int component = ComponentOf(*field->storage, index);
  // Without an error: Python handles slices, masks and the message for other indices.
  if (component < 0) return nullptr;
  *number = component;
  return ComponentAddress(field, reinterpret_cast<ViewObject*>(self)->indices, component, access);
}

PyObject* ViewSubscript(PyObject* self, PyObject* index) {
  int component;
  const uint8_t* address = Locate(self, index, CellAccess::kRead, &component);
  if (address != nullptr) {
    return LoadAt(FieldOf(self), reinterpret_cast<ViewObject*>(self)->indices, component, address);
  }
  if (PyErr_Occurred() != nullptr) return nullptr;
  return PyObject_CallMethod(self, "_get_items", "(O)", index);
}

int ViewAssign(PyObject* self, PyObject* index, PyObject* value) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_TypeError, "components cannot be deleted");
    return -1;
  }
  // Convert the value before activating the cell, so that a refused value activates nothing.
  int component;
  uint8_t* found = Locate(self, index, CellAccess::kRead, &component);
  if (found == nullptr) {
    if (PyErr_Occurred() != nullptr) return -1;
    PyObject* done = PyObject_CallMethod(self, "_set_items", "OO", index, value);
    Py_XDECREF(done);
    return done == nullptr ? -1 : 0;
  }
  FieldObject* field = FieldOf(self);
  uint64_t scalar = 0;
  if (StoreScalar(value, field->scalar, Fit::kWrap, &scalar) != Conversion::kOk) {
    PyObject* done =
        PyObject_CallMethod(reinterpret_cast<PyObject*>(field), "_value_error", "(O)", value);
    Py_XDECREF(done);
    return -1;
  }
  uint8_t* address = found;
  // Dense cells are always active, so the address that was read is the one to write; unless that of
  // a mirror has to be noted.
  if (field->storage->scattered != nullptr || field->mirrored != nullptr) {
    address = Locate(self, index, CellAccess::kWrite, &component);
  }
  if (address == nullptr) return -1;
  const int64_t* indices = reinterpret_cast<ViewObject*>(self)->indices;
  return StoreAt(field, indices, component, address, scalar) ? 0 : -1;
}

Py_ssize_t ViewLength(PyObject* self) {
  const FieldObject* field = FieldOf(self);
  return field == nullptr ? 0 : static_cast<Py_ssize_t>(field->storage->element_shape[0]);
}

void ViewDealloc(PyObject* self) {
  auto* view = reinterpret_cast<ViewObject*>(self);
  Py_CLEAR(view->field);
  Py_CLEAR(view->key);
  Py_TYPE(self)->tp_free(self);
}

PyMappingMethods view_mapping = {ViewLength, ViewSubscript, ViewAssign};

PyMemberDef view_members[] = {
    {const_cast<char*>("_field"), T_OBJECT, offsetof(ViewObject, field), READONLY, nullptr},
    {const_cast<char*>("_indices"), T_OBJECT, offsetof(ViewObject, key), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyTypeObject ElementViewType = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* SetViewTypes(PyObject*, PyObject* args) {
  PyObject *vector, *matrix;
  if (!PyArg_ParseTuple(args, "O!O!", &PyType_Type, &vector, &PyType_Type, &matrix)) {
    return nullptr;
  }
  auto* vector_type = reinterpret_cast<PyTypeObject*>(vector);
  auto* matrix_type = reinterpret_cast<PyTypeObject*>(matrix);
  if (!PyType_IsSubtype(vector_type, &ElementViewType) ||
      !PyType_IsSubtype(matrix_type, &ElementViewType)) {
    PyErr_SetString(PyExc_TypeError, "subclasses of ElementView expected");
    return nullptr;
  }
  // Replaced classes stay referenced: views of them may still exist.
  Py_INCREF(vector);
  Py_INCREF(matrix);
  vector_view = vector_type;
  matrix_view = matrix_type;
  Py_RETURN_NONE;
}

PyMethodDef module_functions[] = {
    {"set_view_types", SetViewTypes, METH_VARARGS,
     "set_view_types(vector, matrix): the classes of elements of matrix fields."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* MakeElementView(FieldObject* field, PyObject* key, const int64_t* indices) {
  PyTypeObject* type = field->storage->element_shape.size() == 1 ? vector_view : matrix_view;
  if (type == nullptr) return nullptr;
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  auto* view = reinterpret_cast<ViewObject*>(self);
  view->field = reinterpret_cast<PyObject*>(field);
  Py_INCREF(view->field);
  view->key = key;
  Py_INCREF(key);
  std::memcpy(view->indices, indices, field->ndim * sizeof(int64_t));
  return self;
}

bool AddElementViewType(PyObject* module) {
  ElementViewType.tp_name = "kiln._native.ElementView";
  ElementViewType.tp_basicsize = sizeof(ViewObject);
  ElementViewType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  ElementViewType.tp_doc = "What live views of elements inherit.";
  ElementViewType.tp_new = PyType_GenericNew;
  ElementViewType.tp_dealloc = ViewDealloc;
  ElementViewType.tp_members = view_members;
  ElementViewType.tp_as_mapping = &view_mapping;
  if (PyType_Ready(&ElementViewType) < 0) return false;
  Py_INCREF(&ElementViewType);
  return PyModule_AddObject(module, "ElementView", reinterpret_cast<PyObject*>(&ElementViewType)) ==
             0 &&
         PyModule_AddFunctions(module, module_functions) == 0;
}

}  // namespace kiln
