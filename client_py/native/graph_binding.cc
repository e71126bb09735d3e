#include "client_py/native/graph_binding.h"

#include <vector>

namespace kiln {

namespace py = pybind11;

namespace {

// Calls `function(*[values[i] for i in numbers])` for each pair (function, numbers) in `calls`.
void CallAll(const py::tuple& calls, const py::list& values) {
  std::vector<PyObject*> args;
  const Py_ssize_t count = PyTuple_GET_SIZE(calls.ptr());
  for (Py_ssize_t c = 0; c < count; ++c) {
    PyObject* call = PyTuple_GET_ITEM(calls.ptr(), c);
    PyObject* numbers = PyTuple_GET_ITEM(call, 1);
    args.resize(PyTuple_GET_SIZE(numbers));
    for (size_t i = 0; i < args.size(); ++i) {
      const Py_ssize_t at = PyLong_AsSsize_t(PyTuple_GET_ITEM(numbers, i));
      args[i] = PyList_GET_ITEM(values.ptr(), at);  // borrowed: the list is this run's own
    }
    PyObject* result =
        PyObject_Vectorcall(PyTuple_GET_ITEM(call, 0), args.data(), args.size(), nullptr);
    if (result == nullptr) throw py::error_already_set();
    Py_DECREF(result);
    // The interpreter would do this between two calls.
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

}  // namespace

void BindGraph(py::module_& m) { m.def("call_all", &CallAll); }

}  // namespace kiln
