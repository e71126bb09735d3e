#include "client_py/native/bound_kernel.h"

#include <structmember.h>

#include <cstdint>
#include <vector>

namespace kiln {
namespace {

struct BoundKernelObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* kernel;
  PyObject* object;
};

PyTypeObject BoundKernelType = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* BoundKernelCall(PyObject* self, PyObject* const* args, size_t flagged_count,
                          PyObject* names) {
  auto* bound = reinterpret_cast<BoundKernelObject*>(self);
  const size_t count = PyVectorcall_NARGS(flagged_count);
  const size_t total = count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
  std::vector<PyObject*> all;
  all.reserve(total + 1);
  all.push_back(bound->object);
  all.insert(all.end(), args, args + total);
  return PyObject_Vectorcall(bound->kernel, all.data(), count + 1, names);
}

PyTypeObject* kernel_base = nullptr;

// As in Taichi, these attributes of a bound method are kernels that take the object as an argument.
bool IsOfClass(PyObject* name) {
  return PyUnicode_CompareWithASCIIString(name, "_primal") == 0 ||
         PyUnicode_CompareWithASCIIString(name, "_adjoint") == 0;
}

PyObject* BoundKernelGetAttribute(PyObject* self, PyObject* name) {
  auto* bound = reinterpret_cast<BoundKernelObject*>(self);
  PyObject* own = PyObject_GenericGetAttr(self, name);
  if (own != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return own;
  PyErr_Clear();
  PyObject* found = PyObject_GetAttr(bound->kernel, name);
  if (found == nullptr || PyObject_TypeCheck(found, kernel_base) == 0 || IsOfClass(name)) {
    return found;
  }
  PyObject* derivative = BindKernel(found, bound->object);
  Py_DECREF(found);
  return derivative;
}

PyObject* BoundKernelCompare(PyObject* a, PyObject* b, int op) {
  if ((op != Py_EQ && op != Py_NE) || Py_TYPE(b) != &BoundKernelType) Py_RETURN_NOTIMPLEMENTED;
  auto* one = reinterpret_cast<BoundKernelObject*>(a);
  auto* other = reinterpret_cast<BoundKernelObject*>(b);
  const bool equal = one->kernel == other->kernel && one->object == other->object;
  return PyBool_FromLong(equal == (op == Py_EQ));
}

Py_hash_t BoundKernelHash(PyObject* self) {
  auto* bound = reinterpret_cast<BoundKernelObject*>(self);
  const auto mixed =
      reinterpret_cast<uintptr_t>(bound->kernel) * 31 + reinterpret_cast<uintptr_t>(bound->object);
  return static_cast<Py_hash_t>(mixed >> 4);
}

int BoundKernelTraverse(PyObject* self, visitproc visit, void* arg) {
  auto* bound = reinterpret_cast<BoundKernelObject*>(self);
  Py_VISIT(bound->kernel);
  Py_VISIT(bound->object);
  return 0;
}

void BoundKernelDealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* bound = reinterpret_cast<BoundKernelObject*>(self);
  Py_DECREF(bound->kernel);
  Py_DECREF(bound->object);
  PyObject_GC_Del(self);
}

PyObject* BoundKernelRepr(PyObject* self) {
  auto* bound = reinterpret_cast<BoundKernelObject*>(self);
  return PyUnicode_FromFormat("<bound %R of %R>", bound->kernel, bound->object);
}

PyObject* BoundKernelDoc(PyObject* self, void*) {
  return PyObject_GetAttrString(reinterpret_cast<BoundKernelObject*>(self)->kernel, "__doc__");
}

// Copies and pickles bind the kernel to a copy of the object.
PyObject* BoundKernelReduce(PyObject* self, PyObject*) {
  auto* bound = reinterpret_cast<BoundKernelObject*>(self);
  PyObject* bind = PyObject_GetAttrString(bound->kernel, "__get__");
  return bind == nullptr ? nullptr : Py_BuildValue("N(O)", bind, bound->object);
}

PyMethodDef bound_kernel_methods[] = {{"__reduce__", BoundKernelReduce, METH_NOARGS, nullptr},
                                      {nullptr, nullptr, 0, nullptr}};

PyGetSetDef bound_kernel_getset[] = {{"__doc__", BoundKernelDoc, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef bound_kernel_members[] = {
    {"__func__", T_OBJECT, offsetof(BoundKernelObject, kernel), READONLY, nullptr},
    {"__self__", T_OBJECT, offsetof(BoundKernelObject, object), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

}  // namespace

PyObject* BindKernel(PyObject* kernel, PyObject* object) {
  auto* bound = PyObject_GC_New(BoundKernelObject, &BoundKernelType);
  if (bound == nullptr) return nullptr;
  bound->vectorcall = BoundKernelCall;
  bound->kernel = kernel;
  bound->object = object;
  Py_INCREF(kernel);
  Py_INCREF(object);
  PyObject_GC_Track(bound);
  return reinterpret_cast<PyObject*>(bound);
}

bool ReadyBoundKernels(PyTypeObject* base) {
  kernel_base = base;
  BoundKernelType.tp_name = "kiln._native.BoundKernel";
  BoundKernelType.tp_basicsize = sizeof(BoundKernelObject);
  BoundKernelType.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL;
  BoundKernelType.tp_dealloc = BoundKernelDealloc;
  BoundKernelType.tp_traverse = BoundKernelTraverse;
  BoundKernelType.tp_getattro = BoundKernelGetAttribute;
  BoundKernelType.tp_richcompare = BoundKernelCompare;
  BoundKernelType.tp_hash = BoundKernelHash;
  BoundKernelType.tp_repr = BoundKernelRepr;
  BoundKernelType.tp_methods = bound_kernel_methods;
  BoundKernelType.tp_getset = bound_kernel_getset;
  BoundKernelType.tp_members = bound_kernel_members;
  BoundKernelType.tp_call = PyVectorcall_Call;
  BoundKernelType.tp_vectorcall_offset = offsetof(BoundKernelObject, vectorcall);
  return PyType_Ready(&BoundKernelType) == 0;
}

}  // namespace kiln
