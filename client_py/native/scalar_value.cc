#include "client_py/native/scalar_value.h"

#include <cstring>
#include <limits>

#include "client_cpp/host/scalar_bytes.h"

namespace kiln {
namespace {

// Recognises NumPy's scalars by their type's `__module__`, without importing NumPy.
bool IsNumpyScalar(PyObject* value) {
  const char* name = Py_TYPE(value)->tp_name;
  return std::strncmp(name, "numpy.", 6) == 0;
}

bool IsNumpyBool(PyObject* value) {
  return IsNumpyScalar(value) && std::strncmp(Py_TYPE(value)->tp_name + 6, "bool", 4) == 0;
}

Conversion ToDouble(PyObject* value, double* out) {
  if (PyFloat_Check(value)) {
    *out = PyFloat_AS_DOUBLE(value);
    return Conversion::kOk;
  }
  if (PyLong_Check(value)) {
    // Integers beyond the range of f64 are errors in Python, too.
    *out = PyLong_AsDouble(value);
    if (*out == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return Conversion::kOutOfRange;
    }
    return Conversion::kOk;
  }
  // Other classes with __float__ are refused.
  if (!IsNumpyScalar(value)) return Conversion::kWrongType;
  // NumPy's other scalars, such as int64 and float16, have __float__.
  PyObject* number = PyNumber_Float(value);
  if (number == nullptr) {
    PyErr_Clear();
    return Conversion::kWrongType;
  }
  *out = PyFloat_AS_DOUBLE(number);
  Py_DECREF(number);
  return Conversion::kOk;
}

// A new reference to the int that `value` converts to, or null without a Python error.
PyObject* ToPyInt(PyObject* value, Fit fit) {
  PyObject* number = nullptr;
  if (IsNumpyBool(value)) {
    // NumPy's bool is no int and has no __index__.
    number = PyLong_FromLong(PyObject_IsTrue(value) == 1);
  } else if (PyIndex_Check(value)) {
    number = PyNumber_Index(value);
  }
  // The reference accepts numpy.float32 for an integer element, but not for an integer argument.
  if (number == nullptr && fit == Fit::kWrap && !PyFloat_Check(value) && IsNumpyScalar(value)) {
    PyErr_Clear();
    number = PyNumber_Long(value);
  }
  if (number == nullptr) PyErr_Clear();
  return number;
}

// Stores an int that fits T. uint64_t is separate, because no signed C type contains its range.
template <typename T>
Conversion CheckedInt(PyObject* number, T* out) {
  if constexpr (std::numeric_limits<T>::max() == std::numeric_limits<uint64_t>::max()) {
    const unsigned long long wide = PyLong_AsUnsignedLongLong(number);
    if (wide == ~0ull && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return Conversion::kOutOfRange;
    }
    *out = static_cast<T>(wide);
  } else {
    int overflow = 0;
    const long long wide = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0 || wide < static_cast<long long>(std::numeric_limits<T>::min()) ||
        wide > static_cast<long long>(std::numeric_limits<T>::max())) {
      return Conversion::kOutOfRange;
    }
    *out = static_cast<T>(wide);
  }
  return Conversion::kOk;
}

// The low 64 bits of a number that fits in 64 bits, signed or unsigned.
Conversion WrappedInt(PyObject* number, uint64_t* out) {
  int overflow = 0;
  const long long wide = PyLong_AsLongLongAndOverflow(number, &overflow);
  *out = static_cast<uint64_t>(wide);
  if (overflow == 0) return Conversion::kOk;
  // Above the signed range, the number may still fit an unsigned one.
  return overflow > 0 ? CheckedInt<uint64_t>(number, out) : Conversion::kOutOfRange;
}

template <typename T>
Conversion StoreInt(PyObject* value, Fit fit, void* out) {
  PyObject* number = value;
  if (!PyLong_Check(value)) {
    number = ToPyInt(value, fit);
    if (number == nullptr) return Conversion::kWrongType;
  } else {
    Py_INCREF(number);
  }
  T result = 0;
  Conversion done;
  if (fit == Fit::kCheck) {
    done = CheckedInt<T>(number, &result);
  } else {
    uint64_t wide = 0;
    // Elements wrap like those of NumPy's arrays; arguments of kernels do not (Fit::kCheck).
    done = WrappedInt(number, &wide);
    result = static_cast<T>(wide);
  }
  Py_DECREF(number);
  // memcpy, here and below: elements need not be aligned for their type.
  if (done == Conversion::kOk) std::memcpy(out, &result, sizeof(T));
  return done;
}

// Stores whether a number is not zero. An integer beyond 64 bits is also not zero.
Conversion StoreBool(PyObject* value, Fit fit, void* out) {
  uint64_t wide = 0;
  const Conversion done = StoreInt<uint64_t>(value, Fit::kWrap, &wide);
  if (done == Conversion::kWrongType) return done;
  if (fit == Fit::kCheck && PyFloat_Check(value)) return Conversion::kWrongType;
  *static_cast<uint8_t*>(out) = done != Conversion::kOk || wide != 0;
  return Conversion::kOk;
}

template <typename T>
T Read(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

}  // namespace

Conversion StoreScalar(PyObject* value, Scalar scalar, Fit fit, void* out) {
  double number = 0;
  Conversion done;
  switch (scalar) {
    case proto::F32: {
      done = ToDouble(value, &number);
      // Beyond the range it becomes infinite, as NumPy's conversion does.
      const float narrow = static_cast<float>(number);
      std::memcpy(out, &narrow, sizeof(narrow));
      return done;
    }
    case proto::F64:
      done = ToDouble(value, &number);
      std::memcpy(out, &number, sizeof(number));
      return done;
    case proto::F16: {
      done = ToDouble(value, &number);
      const uint16_t half = FloatToHalf(static_cast<float>(number));
      std::memcpy(out, &half, sizeof(half));
      return done;
    }
    case proto::U1:
      return StoreBool(value, fit, out);
    case proto::I8:
      return StoreInt<int8_t>(value, fit, out);
    case proto::I16:
      return StoreInt<int16_t>(value, fit, out);
    case proto::I32:
      return StoreInt<int32_t>(value, fit, out);
    case proto::I64:
      return StoreInt<int64_t>(value, fit, out);
    case proto::U8:
      return StoreInt<uint8_t>(value, fit, out);
    case proto::U16:
      return StoreInt<uint16_t>(value, fit, out);
    case proto::U32:
      return StoreInt<uint32_t>(value, fit, out);
    case proto::U64:
      return StoreInt<uint64_t>(value, fit, out);
    default:
      return Conversion::kWrongType;
  }
}

PyObject* LoadScalar(Scalar scalar, const void* address) {
  switch (scalar) {
    case proto::F16:
    case proto::F32:
    case proto::F64:
      return PyFloat_FromDouble(ScalarToDouble(scalar, address));
    case proto::U64:
      return PyLong_FromUnsignedLongLong(Read<uint64_t>(address));
    default:
      return PyLong_FromLongLong(ScalarToInt(scalar, address));
  }
}

}  // namespace kiln
