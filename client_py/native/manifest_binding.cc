#include "client_py/native/manifest_binding.h"

#include <pybind11/stl.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "client_cpp/manifest.h"
#include "client_cpp/recorded_kernel.h"
#include "client_py/native/status_error.h"

namespace kiln {

namespace py = pybind11;

namespace {

PyObject* bad_manifest = nullptr;

using Modules = std::vector<std::pair<std::string, std::string>>;

// Manifests come from anywhere: their texts need not be UTF-8.
py::str Shown(const std::string& text) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

// Names files as Python does, which can then open them.
py::str FileName(const std::string& name) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
}

Manifest Make(std::string program, std::string name, std::string compiler,
              std::vector<Manifest::Unit> units, const py::object& recorded,
              const Modules& modules) {
  Manifest made;
  made.program = std::move(program);
  made.name = std::move(name);
  made.compiler = std::move(compiler);
  made.units = std::move(units);
  if (!recorded.is_none()) made.recorded = py::cast<std::map<std::string, std::string>>(recorded);
  for (const auto& [digest, file] : modules) made.modules.push_back({digest, file});
  return made;
}

Manifest Parse(const py::bytes& bytes) {
  absl::StatusOr<Manifest> manifest = ParseManifest(std::string(bytes));
  // A manifest that does not parse has an exception of its own, which the commands report without a
  // traceback.
  if (!absl::IsInvalidArgument(manifest.status())) return ValueOrRaise(std::move(manifest));
  PyErr_SetObject(bad_manifest, Shown(std::string(manifest.status().message())).ptr());
  throw py::error_already_set();
}

py::object Recorded(const Manifest& manifest) {
  if (!manifest.recorded.has_value()) return py::none();
  py::dict recorded;
  for (const auto& [name, bytes] : *manifest.recorded) recorded[py::str(name)] = py::bytes(bytes);
  return std::move(recorded);
}

py::object FindRecorded(const Manifest& manifest, const std::string& name) {
  if (!manifest.recorded.has_value()) return py::none();
  const auto found = manifest.recorded->find(name);
  if (found == manifest.recorded->end()) return py::none();
  return py::bytes(found->second);
}

py::tuple ModulesOf(const Manifest& manifest) {
  py::list modules;
  for (const auto& [digest, file] : manifest.modules) {
    modules.append(py::make_tuple(Shown(digest), FileName(file)));
  }
  return py::tuple(modules);
}

// A property that is a text of the message.
template <typename Class, typename Bound>
void DefText(Bound& bound, const char* name, std::string Class::* field) {
  bound.def_property_readonly(name, [field](const Class& one) { return Shown(one.*field); });
}

}  // namespace

void BindManifest(py::module_& m) {
  m.attr("MAX_RECORDED_KERNEL_BYTES") = kMaxRecordedKernelBytes;
  static py::exception<Manifest> error(m, "BadManifest");
  bad_manifest = error.ptr();
  py::class_<Manifest::Unit> unit(m, "ManifestUnit");
  unit.def(py::init([](std::string key, std::string recorded, std::string target,
                       std::string record, std::string kernel) {
             return Manifest::Unit{std::move(key), std::move(recorded), std::move(target),
                                   std::move(record), std::move(kernel)};
           }),
           py::arg("key"), py::arg("recorded"), py::arg("target"), py::arg("record"),
           py::arg("kernel"));
  DefText(unit, "key", &Manifest::Unit::key);
  DefText(unit, "recorded", &Manifest::Unit::recorded);
  DefText(unit, "target", &Manifest::Unit::target);
  DefText(unit, "record", &Manifest::Unit::record);
  DefText(unit, "kernel", &Manifest::Unit::kernel);
  unit.def(
      "__eq__", [](const Manifest::Unit& a, const Manifest::Unit& b) { return a == b; },
      py::is_operator());

  py::class_<Manifest> manifest(m, "Manifest");
  manifest.def(py::init(&Make), py::arg("program"), py::arg("name"), py::arg("compiler"),
               py::arg("units"), py::arg("recorded") = py::none(), py::arg("modules") = Modules());
  DefText(manifest, "program", &Manifest::program);
  DefText(manifest, "name", &Manifest::name);
  DefText(manifest, "compiler", &Manifest::compiler);
  manifest.def_readonly("units", &Manifest::units);
  manifest.def_property_readonly("recorded", &Recorded);
  manifest.def("find_recorded", &FindRecorded);
  manifest.def_property_readonly("modules", &ModulesOf);
  manifest.def(
      "__eq__", [](const Manifest& a, const Manifest& b) { return a == b; }, py::is_operator());
  manifest.def_static("from_bytes", &Parse);
  manifest.def("to_bytes", [](const Manifest& one) { return py::bytes(ManifestBytes(one)); });
}

}  // namespace kiln
