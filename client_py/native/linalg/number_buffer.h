// Vectors of numbers that Python passes as buffers: NumPy arrays of any version, array.array.
#ifndef KILN_CLIENT_PY_NATIVE_LINALG_NUMBER_BUFFER_H_
#define KILN_CLIENT_PY_NATIVE_LINALG_NUMBER_BUFFER_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "client_py/native/linalg/sparse_matrix.h"

namespace kiln {

// The memory of an object with a contiguous one-dimensional buffer of T; read-only if T is const.
// It keeps the object's memory in place as long as it exists. Constructor and destructor need the
// GIL; accesses do not.
template <typename T>
class NumberBuffer {
  using Number = std::remove_const_t<T>;
  using Vector =
      std::conditional_t<std::is_const_v<T>, const DenseVector<Number>, DenseVector<Number>>;

 public:
  // Throws TypeError or ValueError, with `name` in the text, for objects without such a buffer.
  NumberBuffer(const pybind11::object& object, const char* name) {
    const int flags = PyBUF_ND | PyBUF_FORMAT | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw pybind11::error_already_set();
    if (view_.ndim != 1 || view_.itemsize != sizeof(T) || !IsFormat(view_.format)) {
      const std::string kind = view_.format == nullptr ? "B" : view_.format;
      PyBuffer_Release(&view_);
      throw pybind11::type_error(std::string(name) + " is not a vector of the matrix's type: '" +
                                 kind + "'");
    }
  }

  // As above, and requires that the buffer has `size` numbers.
  NumberBuffer(const pybind11::object& object, const char* name, int64_t size)
      : NumberBuffer(object, name) {
    if (this->size() == size) return;
    // The destructor still runs, because the delegated constructor has finished.
    throw pybind11::value_error(std::string(name) + " has " + std::to_string(this->size()) +
                                " numbers where " + std::to_string(size) + " are needed");
  }

  ~NumberBuffer() { PyBuffer_Release(&view_); }
  NumberBuffer(const NumberBuffer&) = delete;
  NumberBuffer& operator=(const NumberBuffer&) = delete;

  T* data() const { return static_cast<T*>(view_.buf); }
  int64_t size() const { return view_.shape[0]; }
  Eigen::Map<Vector> vector() const { return Eigen::Map<Vector>(data(), size()); }

 private:
  // Whether a format of Python's struct module is Number's, in native byte order.
  static bool IsFormat(const char* format) {
    if (format == nullptr) return false;
    if (*format == '=' || *format == '<' || *format == '@') ++format;
    constexpr char kOwn = std::is_same_v<Number, float>    ? 'f'
                          : std::is_same_v<Number, double> ? 'd'
                                                           : 'i';
    return format[0] == kOwn && format[1] == '\0';
  }

  Py_buffer view_;
};

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_LINALG_NUMBER_BUFFER_H_
