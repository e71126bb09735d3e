#include "client_py/native/matching.h"

#include <cstring>

#include "client_py/native/array_view.h"

namespace kiln {
namespace {

// Whether two objects of the same type with a buffer, such as bytes and NumPy's numbers, have equal
// bytes.
bool SameBytes(PyObject* a, PyObject* b) {
  Py_buffer one, other;
  // An object that refuses its bytes is not equal: the kernel is then made anew, which is always
  // right.
  if (PyObject_GetBuffer(a, &one, PyBUF_SIMPLE) != 0) return PyErr_Clear(), false;
  bool same = false;
  if (PyObject_GetBuffer(b, &other, PyBUF_SIMPLE) == 0) {
    same = one.len == other.len && std::memcmp(one.buf, other.buf, one.len) == 0;
    PyBuffer_Release(&other);
  } else {
    PyErr_Clear();
  }
  PyBuffer_Release(&one);
  return same;
}

uint64_t Bits(double number) {
  uint64_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

// Bitwise: 0.0 and -0.0 are different constants, and a NaN must equal itself or each call would
// compile.
bool SameDoubles(double a, double b) { return Bits(a) == Bits(b); }

bool EqualTemplates(PyObject* a, PyObject* b);

bool EqualTuples(PyObject* a, PyObject* b) {
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  // Tuples may be nested deeper than the stack allows.
  if (Py_EnterRecursiveCall(" in a template argument") != 0) return PyErr_Clear(), false;
  bool equal = true;
  for (Py_ssize_t i = 0; equal && i < PyTuple_GET_SIZE(a); ++i) {
    equal = EqualTemplates(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i));
  }
  Py_LeaveRecursiveCall();
  return equal;
}

// Whether two template arguments yield the same kernel. Python's `==` is not enough for numbers: 1,
// 1.0 and True are constants of different types, and 0.0 and -0.0 are different constants.
bool EqualTemplates(PyObject* a, PyObject* b) {
  // Most template arguments are the same object as before.
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_Check(a)) return SameDoubles(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (PyTuple_Check(a)) return EqualTuples(a, b);
  if (PyComplex_Check(a)) {
    const Py_complex one = PyComplex_AsCComplex(a), other = PyComplex_AsCComplex(b);
    return SameDoubles(one.real, other.real) && SameDoubles(one.imag, other.imag);
  }
  if (PyObject_CheckBuffer(a)) return SameBytes(a, b);
  // The program's own `__eq__`, last of all: it may be slow, raise, or call kernels.
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

bool HasGradient(PyObject* array) {
  PyObject* gradient = GradientOf(array);
  Py_XDECREF(gradient);
  return gradient != nullptr;
}

// Whether an array has the type, number of axes and element shape of the instance's array. Its
// extents do not matter: the launch passes them.
bool MatchesArray(const Matcher& matcher, PyObject* argument) {
  // The class counts too: kernels treat an ndarray of Kiln's and one of NumPy's differently.
  if (matcher.object != nullptr && reinterpret_cast<PyObject*>(Py_TYPE(argument)) != matcher.object)
    return false;
  if (matcher.gradient != Matcher::kEither &&
      HasGradient(argument) != (matcher.gradient == Matcher::kWith)) {
    return false;
  }
  ArrayView view;
  if (!ViewArray(argument, &view)) return false;
  const int element_axes = static_cast<int>(matcher.element_shape.size());
  if (view.scalar != matcher.scalar || view.ndim != matcher.ndim + element_axes) return false;
  const int own_axes = view.element_axes >= 0 ? view.element_axes : matcher.numpy_element_axes;
  if (own_axes != element_axes) return false;
  for (int a = 0; a < element_axes; ++a) {
    if (view.extents[matcher.ndim + a] != matcher.element_shape[a]) return false;
  }
  return true;
}

bool Matches(const Matcher& matcher, PyObject* argument) {
  switch (matcher.kind) {
    case Matcher::kAny:
      return true;
    case Matcher::kIs:
      return argument == matcher.object;
    case Matcher::kWeak:
      // Weak, so that a kernel does not keep the objects alive that it was called with.
      return PyWeakref_GET_OBJECT(matcher.object) == argument;
    case Matcher::kEqual:
      return EqualTemplates(argument, matcher.object);
    case Matcher::kArray:
      return MatchesArray(matcher, argument);
  }
  return false;
}

}  // namespace

bool MatchesAll(const BoundInstance& bound, PyObject* const* args, Py_ssize_t count) {
  if (static_cast<size_t>(count) != bound.matchers.size()) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!Matches(bound.matchers[i], args[i])) return false;
  }
  return true;
}

}  // namespace kiln
