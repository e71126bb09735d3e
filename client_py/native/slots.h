// Between a call's Python objects and the slots of a launch: arguments on the way in, results on
// the way out. All functions need the GIL.
#ifndef KILN_CLIENT_PY_NATIVE_SLOTS_H_
#define KILN_CLIENT_PY_NATIVE_SLOTS_H_

#include <Python.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "client_py/native/bound_instance.h"

namespace kiln {

// Keeps the gradients that a launch uses: another thread may give their arrays others.
class HeldGradients {
 public:
  HeldGradients() = default;
  ~HeldGradients() {
    for (PyObject* gradient : held_) Py_DECREF(gradient);
  }
  HeldGradients(HeldGradients&& other) noexcept : held_(std::exchange(other.held_, {})) {}
  HeldGradients(const HeldGradients&) = delete;
  HeldGradients& operator=(const HeldGradients&) = delete;

  // The gradient of `value`, borrowed; null with a Python error.
  PyObject* Of(PyObject* kernel, int argument, PyObject* value);

 private:
  std::vector<PyObject*> held_;
};

// Fills those of `slots` that depend on the call. May run Python code: conversions of arguments,
// and `kernel`'s methods that raise what is wrong. False with a Python error.
bool PackSlots(PyObject* kernel, const BoundInstance& bound, PyObject* const* args,
               HeldGradients* gradients, uint64_t* slots);

// A gradient is right only if no two of the arrays share memory: the compiler takes a write to one
// for no write to another. Raises if some do.
bool CheckApart(PyObject* kernel, const BoundInstance& bound, PyObject* const* args);

// The value of a call, whose results are in `slots`: None, a number, a value of the type that the
// kernel returns, or a list of several. A new reference, or null with a Python error.
PyObject* MakeResults(const BoundInstance& bound, const uint64_t* slots);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_SLOTS_H_
