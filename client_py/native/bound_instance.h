// An instance bound to the Python objects for which it was made: which calls it serves, and how a
// launch fills its argument slots.
#ifndef KILN_CLIENT_PY_NATIVE_BOUND_INSTANCE_H_
#define KILN_CLIENT_PY_NATIVE_BOUND_INSTANCE_H_

#include <Python.h>

#include <memory>
#include <vector>

#include "client_cpp/instance.h"
#include "client_py/native/storage_object.h"
#include "client_py/native/tree_object.h"

namespace kiln {

// The condition that one argument of a call must meet for the instance to serve the call.
struct Matcher {
  enum Kind { kAny, kIs, kWeak, kEqual, kArray };
  Kind kind = kAny;
  PyObject* object = nullptr;  // owned; weak reference for kWeak, exact type or null for kArray
  Scalar scalar = proto::SCALAR_NONE;
  int ndim = 0;                         // kArray: without the element's axes
  std::vector<uint32_t> element_shape;  // kArray
  int numpy_element_axes = 0;           // kArray: trailing axes of a NumPy array that form elements
  enum Gradient { kEither, kWith, kWithout };
  Gradient gradient = kEither;  // kArray: whether the array must have a gradient
};

// How each call fills one slot, or several adjacent ones. All other slots are constant.
struct SlotFill {
  enum Kind { kScalar, kTensor, kArrayBase, kArrayExtent };
  Kind kind;
  int argument;
  int slot;
  Scalar scalar = proto::SCALAR_NONE;
  std::vector<Scalar> scalars;  // kTensor: for structs, the scalar of each element
  int count = 1;                // kTensor: elements; kArrayExtent: the axis
  PyObject* flatten = nullptr;  // kTensor: owned; value -> list of numbers, row-major
  bool needs_writable = false;  // kArrayBase
  bool of_gradient = false;     // of the array's gradient instead of the array
};

struct ReturnValue {
  Scalar scalar;
  std::vector<Scalar> scalars;  // for structs, the scalar of each number
  int count;                    // 0: a scalar
  PyObject* make = nullptr;     // owned; list of numbers -> the value; null for scalars
};

// The GIL guards its reference count. A launch holds a reference while the GIL is released.
struct BoundInstance {
  ~BoundInstance();

  int references = 1;
  PyObject* object = nullptr;  // owned: the Instance
  std::shared_ptr<Instance> instance;
  std::vector<Matcher> matchers;
  std::vector<uint64_t> slots;   // with the constant ones filled in
  std::vector<BoundTree> trees;  // to which constant slots point
  std::vector<SlotFill> fills;
  std::vector<ReturnValue> results;
  std::vector<std::shared_ptr<Memory>> memories;  // to which constant slots point
  std::vector<PyObject*> keep;                    // owned: `sources` and the bound fields
  PyObject* sources = nullptr;                    // for each parameter, what it is bound to
  uint64_t epoch = 0;                             // memory_epoch when `memories` were last checked
  bool prints = false, can_fail = false;
  NamesInErrors names;     // the kernel's, for errors of a device; null on the CPU
  uint64_t ticks = ~0ull;  // of the last launch; see launching.cc
};

// Holds a reference to an instance while Python code or a launch may remove it from its kernel.
class InstanceRef {
 public:
  explicit InstanceRef(BoundInstance* bound) : bound_(bound) { ++bound_->references; }
  ~InstanceRef() { Drop(bound_); }
  InstanceRef(const InstanceRef&) = delete;
  InstanceRef& operator=(const InstanceRef&) = delete;

  // Not atomic: counts change under the GIL only.
  static void Drop(BoundInstance* bound) {
    if (--bound->references == 0) delete bound;
  }

 private:
  BoundInstance* bound_;
};

// Whether all memory to which constant slots point still exists.
bool MemoriesAlive(BoundInstance* bound);

// Makes an instance of `kernel` from the arguments of KernelBase._add_instance. Throws exceptions
// that pybind11 translates if they do not fit the artifact.
std::unique_ptr<BoundInstance> BindInstance(pybind11::handle kernel, pybind11::handle instance,
                                            pybind11::handle matchers, pybind11::handle sources,
                                            pybind11::handle returns);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_BOUND_INSTANCE_H_
