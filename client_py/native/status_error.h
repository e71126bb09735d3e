// Converts a Status to a Python exception. Only for functions that pybind11 calls.
#ifndef KILN_CLIENT_PY_NATIVE_STATUS_ERROR_H_
#define KILN_CLIENT_PY_NATIVE_STATUS_ERROR_H_

#include <pybind11/pybind11.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kiln {

[[noreturn]] inline void RaiseStatus(const absl::Status& status) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      throw pybind11::value_error(message);
    case absl::StatusCode::kResourceExhausted:
      PyErr_SetString(PyExc_MemoryError, message.c_str());
      throw pybind11::error_already_set();
    case absl::StatusCode::kDeadlineExceeded:
      PyErr_SetString(PyExc_TimeoutError, message.c_str());
      throw pybind11::error_already_set();
    case absl::StatusCode::kUnavailable:
      PyErr_SetString(PyExc_ConnectionError, message.c_str());
      throw pybind11::error_already_set();
    case absl::StatusCode::kCancelled:
      // A signal handler cancelled the call and has set the exception.
      if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
      throw std::runtime_error(message);
    default:
      throw std::runtime_error(message);
  }
}

inline void RaiseIfError(const absl::Status& status) {
  if (!status.ok()) RaiseStatus(status);
}

template <typename T>
T ValueOrRaise(absl::StatusOr<T> value) {
  if (!value.ok()) RaiseStatus(value.status());
  return *std::move(value);
}

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_STATUS_ERROR_H_
