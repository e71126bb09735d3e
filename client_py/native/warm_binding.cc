#include "client_py/native/warm_binding.h"

#include <pybind11/stl.h>

#include <string>

#include "client_cpp/notes.h"
#include "client_py/native/gil.h"
#include "client_py/native/python_source.h"
#include "client_py/native/status_error.h"
#include "common/base/digest.h"
#include "common/home/home.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

namespace py = pybind11;

namespace {

// Returns (digest of the normal form, 1-based lines with code, 1-based line after the end), or
// None.
py::object ReadFunction(const py::list& lines, int first_line, bool nested_fstrings) {
  const auto line = [&](int index) -> absl::optional<absl::string_view> {
    if (index < 0 || index >= static_cast<int>(lines.size())) return absl::nullopt;
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(PyList_GET_ITEM(lines.ptr(), index), &size);
    if (text == nullptr) throw py::error_already_set();
    return absl::string_view(text, size);
  };
  absl::optional<PythonBlock> block = ReadPythonBlock(line, first_line - 1, nested_fstrings);
  if (!block.has_value()) return py::none();
  for (int& number : block->lines) ++number;
  return py::make_tuple(py::bytes(std::string(Sha256Of(block->normal_form).view())), block->lines,
                        block->end + 1);
}

py::object ReadNoteOf(const std::string& home, const std::string& name) {
  const Home place = ValueOrRaise(Home::Find(home));
  absl::StatusOr<std::string> bytes = absl::NotFoundError("");
  {
    const GilReleased release;
    bytes = ReadNote(place, name);
  }
  if (!bytes.ok()) return py::none();
  return py::bytes(*bytes);
}

void WriteNoteOf(const std::string& home, const std::string& name, const py::bytes& data) {
  const Home place = ValueOrRaise(Home::Find(home));
  const std::string bytes = data;
  absl::Status status;
  {
    const GilReleased release;
    status = WriteNote(place, name, bytes);
  }
  if (status.ok()) return;
  PyErr_SetString(PyExc_OSError, std::string(status.message()).c_str());
  throw py::error_already_set();
}

}  // namespace

void BindWarm(py::module_& m) {
  m.def("read_note", &ReadNoteOf, py::arg("home"), py::arg("name"));
  m.def("write_note", &WriteNoteOf, py::arg("home"), py::arg("name"), py::arg("data"));
  m.def("sha256", [](const py::bytes& bytes) {
    return py::bytes(std::string(Sha256Of(std::string(bytes)).view()));
  });
  m.def("read_function", &ReadFunction, py::arg("lines"), py::arg("first_line"),
        py::arg("nested_fstrings"));
  m.def("runtime_abi", [] { return RuntimeAbi(); });
}

}  // namespace kiln
