#include "client_py/native/slots.h"

#include <limits>

#include "client_py/native/array_view.h"
#include "client_py/native/scalar_value.h"
#include "runtime/device.h"

namespace kiln {
namespace {

bool RaiseArgument(PyObject* kernel, int argument, PyObject* value, Conversion why) {
  PyObject* done = PyObject_CallMethod(kernel, "_argument_error", "iOi", argument, value,
                                       why == Conversion::kOutOfRange ? 1 : 0);
  Py_XDECREF(done);
  // A failure without an exception would be a SystemError of CPython's.
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_TypeError, "invalid argument");
  return false;
}

bool PackTensor(PyObject* kernel, const SlotFill& fill, PyObject* value, uint64_t* slots) {
  PyObject* flat;
  // A plain list or tuple of numbers needs no call of Python code. The first item suffices as a
  // test: StoreScalar checks every item.
  const bool is_flat = fill.scalars.empty() &&
                       (PyList_CheckExact(value) || PyTuple_CheckExact(value)) &&
                       PySequence_Fast_GET_SIZE(value) == fill.count && fill.count > 0 &&
                       (PyFloat_CheckExact(PySequence_Fast_GET_ITEM(value, 0)) ||
                        PyLong_CheckExact(PySequence_Fast_GET_ITEM(value, 0)));
  if (is_flat) {
    Py_INCREF(value);
    flat = value;
  } else {
    // Matrices, structs and nested lists: Python code knows their order.
    PyObject* made = PyObject_CallOneArg(fill.flatten, value);
    if (made == nullptr) return false;
    flat = PySequence_Fast(made, "a matrix argument needs a sequence of numbers");
    Py_DECREF(made);
    if (flat == nullptr) return false;
  }
  if (PySequence_Fast_GET_SIZE(flat) != fill.count) {
    Py_DECREF(flat);
    return RaiseArgument(kernel, fill.argument, value, Conversion::kWrongType);
  }
  for (int i = 0; i < fill.count; ++i) {
    // Narrow types store fewer than 8 bytes; the rest of the slot is 0.
    slots[fill.slot + i] = 0;
    const Scalar scalar = fill.scalars.empty() ? fill.scalar : fill.scalars[i];
    const Conversion done =
        StoreScalar(PySequence_Fast_GET_ITEM(flat, i), scalar, Fit::kCheck, &slots[fill.slot + i]);
    if (done != Conversion::kOk) {
      Py_DECREF(flat);
      return RaiseArgument(kernel, fill.argument, value, done);
    }
  }
  Py_DECREF(flat);
  return true;
}

// The array of the gradient of `value`, the argument `argument`, as a new reference. Raises unless
// it has the form of `value`.
PyObject* CheckedGradient(PyObject* kernel, int argument, PyObject* value) {
  PyObject* gradient = GradientOf(value);
  ArrayView of, own;
  bool fits = gradient != nullptr && ViewArray(value, &of) && ViewArray(gradient, &own) &&
              own.scalar == of.scalar && own.ndim == of.ndim;
  for (int a = 0; fits && a < of.ndim; ++a) fits = own.extents[a] == of.extents[a];
  if (fits) return gradient;
  PyObject* done = PyObject_CallMethod(kernel, "_gradient_error", "iOO", argument, value,
                                       gradient == nullptr ? Py_None : gradient);
  Py_XDECREF(done);
  Py_XDECREF(gradient);
  if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_ValueError, "an unfit gradient");
  return nullptr;
}

// Raises the error for an array on another device than the kernel's; null: the CPU.
bool RaiseOtherDevice(PyObject* kernel, int argument, const Device* of, const Device* own) {
  PyObject* done = PyObject_CallMethod(kernel, "_other_device_error", "iii", argument, of->number(),
                                       own == nullptr ? -1 : own->number());
  Py_XDECREF(done);
  return false;
}

// Raises the error for an array whose indices along an axis kernels cannot count.
bool RaiseLongAxis(PyObject* kernel, int argument, int axis, int64_t extent) {
  PyObject* done = PyObject_CallMethod(kernel, "_long_axis_error", "iiL", argument, axis,
                                       static_cast<long long>(extent));
  Py_XDECREF(done);
  return false;
}

// `own`: the kernel's device.
bool PackSlot(PyObject* kernel, const SlotFill& fill, PyObject* value, const Device* own,
              uint64_t* slots) {
  switch (fill.kind) {
    case SlotFill::kScalar: {
      slots[fill.slot] = 0;
      const Conversion done = StoreScalar(value, fill.scalar, Fit::kCheck, &slots[fill.slot]);
      return done == Conversion::kOk || RaiseArgument(kernel, fill.argument, value, done);
    }
    case SlotFill::kTensor:
      return PackTensor(kernel, fill, value, slots);
    case SlotFill::kArrayBase:
    case SlotFill::kArrayExtent: {
      // Read again for each slot: an array has few, and a copy kept from the matching could be
      // outdated.
      ArrayView view;
      if (!ViewArray(value, &view) ||
          (fill.kind == SlotFill::kArrayExtent && fill.count >= view.ndim)) {
        return RaiseArgument(kernel, fill.argument, value, Conversion::kWrongType);
      }
      if (fill.kind == SlotFill::kArrayExtent) {
        const int64_t extent = view.extents[fill.count];
        slots[fill.slot] = static_cast<uint64_t>(extent);
        return extent <= std::numeric_limits<int32_t>::max() ||
               RaiseLongAxis(kernel, fill.argument, fill.count, extent);
      }
      // Ndarrays outlive ti.init, which may have changed the device.
      if (view.device != nullptr && view.device != own) {
        return RaiseOtherDevice(kernel, fill.argument, view.device, own);
      }
      // Only of arrays that the kernel writes: read-only arrays are common as input.
      if (fill.needs_writable && !view.writable) {
        PyObject* done = PyObject_CallMethod(kernel, "_read_only_error", "i", fill.argument);
        Py_XDECREF(done);
        return false;
      }
      slots[fill.slot] = reinterpret_cast<uint64_t>(view.data);
      return true;
    }
  }
  return false;
}

// `make` is null for scalars, which need no call of Python code.
PyObject* MakeResult(const ReturnValue& result, const uint64_t* slots) {
  if (result.make == nullptr) return LoadScalar(result.scalar, slots);
  PyObject* numbers = PyList_New(result.count);
  if (numbers == nullptr) return nullptr;
  for (int i = 0; i < result.count; ++i) {
    PyObject* number =
        LoadScalar(result.scalars.empty() ? result.scalar : result.scalars[i], &slots[i]);
    if (number == nullptr) {
      Py_DECREF(numbers);
      return nullptr;
    }
    PyList_SET_ITEM(numbers, i, number);
  }
  PyObject* value = PyObject_CallOneArg(result.make, numbers);
  Py_DECREF(numbers);
  return value;
}

}  // namespace

PyObject* HeldGradients::Of(PyObject* kernel, int argument, PyObject* value) {
  PyObject* gradient = CheckedGradient(kernel, argument, value);
  if (gradient != nullptr) held_.push_back(gradient);
  return gradient;
}

bool PackSlots(PyObject* kernel, const BoundInstance& bound, PyObject* const* args,
               HeldGradients* gradients, uint64_t* slots) {
  const Device* const own = bound.instance->kernel()->device();
  for (const SlotFill& fill : bound.fills) {
    PyObject* value = args[fill.argument];
    if (fill.of_gradient) value = gradients->Of(kernel, fill.argument, value);
    if (value == nullptr || !PackSlot(kernel, fill, value, own, slots)) return false;
  }
  return true;
}

bool CheckApart(PyObject* kernel, const BoundInstance& bound, PyObject* const* args) {
  struct Extent {
    int argument;
    const char *begin, *end;
  };
  std::vector<Extent> seen;
  for (const SlotFill& fill : bound.fills) {
    ArrayView view;
    if (fill.kind != SlotFill::kArrayBase || fill.of_gradient) continue;
    if (!ViewArray(args[fill.argument], &view)) continue;  // PackSlots has raised
    int64_t bytes = ScalarBytes(view.scalar);
    for (int a = 0; a < view.ndim; ++a) bytes *= view.extents[a];
    const auto* begin = static_cast<const char*>(view.data);
    for (const Extent& other : seen) {
      if (begin >= other.end || other.begin >= begin + bytes) continue;
      PyObject* done =
          PyObject_CallMethod(kernel, "_overlap_error", "ii", other.argument, fill.argument);
      Py_XDECREF(done);
      return false;
    }
    seen.push_back({fill.argument, begin, begin + bytes});
  }
  return true;
}

// Kernels may return several values: slots follow each other in the order of the return statement.
PyObject* MakeResults(const BoundInstance& bound, const uint64_t* slots) {
  if (bound.results.empty()) Py_RETURN_NONE;
  if (bound.results.size() == 1) return MakeResult(bound.results[0], slots);
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(bound.results.size()));
  if (list == nullptr) return nullptr;
  for (size_t i = 0; i < bound.results.size(); ++i) {
    const ReturnValue& result = bound.results[i];
    PyObject* value = MakeResult(result, slots);
    if (value == nullptr) {
      Py_DECREF(list);
      return nullptr;
    }
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), value);
    slots += result.count == 0 ? 1 : result.count;
  }
  return list;
}

}  // namespace kiln
