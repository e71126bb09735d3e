// An instance bound to the Python objects that a kernel was made for: which calls it
// answers, and how its argument slots are filled.
#ifndef KILN_CLIENT_PY_NATIVE_BOUND_INSTANCE_H_
#define KILN_CLIENT_PY_NATIVE_BOUND_INSTANCE_H_

#include <Python.h>

#include <memory>
#include <vector>

#include "client_py/native/instance.h"
#include "client_py/native/storage_object.h"
#include "client_py/native/tree_object.h"

namespace kiln {

// What one argument of a call must be for the instance to answer.
struct Matcher {
  enum Kind { kAny, kIs, kWeak, kEqual, kArray };
  Kind kind = kAny;
  PyObject* object = nullptr;  // owned; weak reference for kWeak, exact type or null for kArray
  Scalar scalar = proto::SCALAR_NONE;
  int ndim = 0;                         // kArray: without the element's axes
  std::vector<uint32_t> element_shape;  // kArray
  int numpy_element_axes = 0;           // kArray: trailing axes of a NumPy array that are elements
};

// How one slot, or run of slots, is filled at each call. All others are constant.
struct SlotFill {
  enum Kind { kScalar, kTensor, kArrayBase, kArrayExtent };
  Kind kind;
  int argument;
  int slot;
  Scalar scalar = proto::SCALAR_NONE;
  std::vector<Scalar> scalars;  // kTensor: of structs, one per element
  int count = 1;                // kTensor: elements; kArrayExtent: the axis
  PyObject* flatten = nullptr;  // kTensor: owned; value -> list of numbers, row-major
  bool needs_writable = false;  // kArrayBase
};

struct Result {
  Scalar scalar;
  std::vector<Scalar> scalars;  // of structs, one per number
  int count;                    // 0: a scalar
  PyObject* make = nullptr;     // owned; list of numbers -> the value; null for scalars
};

// Reference-counted under the GIL: a launch holds one while the GIL is released.
struct BoundInstance {
  ~BoundInstance();

  int references = 1;
  PyObject* object = nullptr;  // owned: the Instance
  std::shared_ptr<Instance> instance;
  std::vector<Matcher> matchers;
  std::vector<uint64_t> slots;   // constant slots filled in
  std::vector<BoundTree> trees;  // that constant slots point into
  std::vector<SlotFill> fills;
  std::vector<Result> results;
  std::vector<std::shared_ptr<Memory>> memories;  // that constant slots point into
  std::vector<PyObject*> keep;                    // owned: fields bound
  uint64_t epoch = 0;                             // memory_epoch when `memories` were last checked
  bool prints = false, can_fail = false;
  uint64_t ticks = ~0ull;  // of the last launch; see kernel_object.cc
};

// From the arguments of KernelBase._add_instance. Raises C++ exceptions that
// pybind11 knows, on a mismatch between them and the artifact.
std::unique_ptr<BoundInstance> BindInstance(pybind11::handle instance, pybind11::handle matchers,
                                            pybind11::handle sources, pybind11::handle returns);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_BOUND_INSTANCE_H_
