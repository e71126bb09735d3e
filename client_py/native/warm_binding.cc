#include "client_py/native/warm_binding.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "client_cpp/notes.h"
#include "client_py/native/python_source.h"
#include "client_py/native/status_error.h"
#include "common/base/digest.h"
#include "common/home/home.h"
#include "proto/warm.pb.h"
#include "runtime/loaded_kernel.h"

namespace kiln {

namespace py = pybind11;

const InstanceTexts& Instance::texts() const {
  if (unpacked_texts != nullptr) return *unpacked_texts;
  auto texts = std::make_unique<InstanceTexts>();
  proto::WarmTexts packed;
  // The reader of the file has checked the bytes. If they are invalid anyway, there are no texts.
  if (packed.ParseFromString(packed_texts)) {
    auto types = TypeTable::FromProto(packed.types());
    if (types.ok()) {
      texts->types = *std::move(types);
      texts->source_map = std::move(*packed.mutable_source_map());
    }
    texts->node_kinds.assign(packed.node_kinds().begin(), packed.node_kinds().end());
    for (const auto& [node, param] : packed.node_params()) texts->node_params[node] = param;
  }
  unpacked_texts = std::move(texts);
  return *unpacked_texts;
}

py::tuple PackInstance(const Instance& instance, const std::vector<std::vector<int>>& lines) {
  const InstanceTexts& texts = instance.texts();
  proto::WarmTexts packed;
  proto::SourceMap* map = packed.mutable_source_map();
  *map = texts.source_map;
  if (map->files_size() > static_cast<int>(lines.size())) {
    throw py::value_error("a file of the source map has no lines");
  }
  for (int file = 0; file < map->files_size(); ++file) map->set_files(file, absl::StrCat(file));
  for (proto::Span& span : *map->mutable_spans()) {
    if (span.file() >= lines.size()) throw py::value_error("a span without a file");
    // Replace each line by its rank among the function's lines with code, which does not change
    // when the function moves or its comments change.
    const std::vector<int>& counted = lines[span.file()];
    if (counted.empty()) continue;
    const auto rank = [&](uint32_t line) {
      return static_cast<uint32_t>(
          std::lower_bound(counted.begin(), counted.end(), static_cast<int>(line)) -
          counted.begin());
    };
    span.set_line(rank(span.line()));
    span.set_end_line(rank(span.end_line()));
  }
  texts.types.ToProto(packed.mutable_types());
  for (const std::string& kinds : texts.node_kinds) packed.add_node_kinds(kinds);
  for (const auto& [node, param] : texts.node_params) (*packed.mutable_node_params())[node] = param;
  std::string writes;
  for (bool written : instance.writes) writes.push_back(written ? 1 : 0);
  const Digest digest = ValueOrRaise(Digest::FromHex(instance.digest));
  return py::make_tuple(py::bytes(std::string(digest.view())), py::bytes(writes),
                        py::bytes(packed.SerializeAsString()));
}

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
    py::gil_scoped_release release;
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
    py::gil_scoped_release release;
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
