#include "client_py/native/instance_binding.h"

#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "client_py/native/id_caster.h"
#include "client_py/native/status_error.h"

namespace kiln {

namespace py = pybind11;

namespace {

PyObject* compile_failed = nullptr;

// (file, line, column, end line, end column, function). Lists have the innermost call first.
py::list PositionTuples(const std::vector<SourcePosition>& positions) {
  py::list tuples;
  for (const SourcePosition& at : positions) {
    tuples.append(
        py::make_tuple(at.file, at.line, at.column, at.end_line, at.end_column, at.function));
  }
  return tuples;
}

// (digest, writes, texts) as Session.fetch takes them.
py::tuple Pack(const Instance& instance, const std::vector<std::vector<int>>& lines) {
  const std::string texts = ValueOrRaise(instance.Pack(lines));
  std::string writes;
  for (const bool written : instance.writes()) writes.push_back(written ? 1 : 0);
  const Digest digest = ValueOrRaise(Digest::FromHex(instance.outcome().digest));
  return py::make_tuple(py::bytes(std::string(digest.view())), py::bytes(writes), py::bytes(texts));
}

py::list KeyParts(const Instance& instance) {
  py::list parts;
  for (const proto::KeyPart& part : instance.outcome().info->key_parts()) {
    parts.append(py::make_tuple(part.name(), part.digest(), part.text()));
  }
  return parts;
}

py::object NodeParam(const Instance& instance, NodeNumber node) {
  const auto& params = instance.texts().node_params;
  const auto found = params.find(node);
  if (found == params.end()) return py::none();
  return py::cast(found->second);
}

}  // namespace

py::list DiagnosticsList(const std::vector<LocatedDiagnostic>& diagnostics) {
  py::list list;
  for (const LocatedDiagnostic& one : diagnostics) list.append(one);
  return list;
}

py::list StagesList(const std::vector<proto::StageReport>& reports) {
  py::list stages;
  for (const proto::StageReport& stage : reports) {
    py::dict operations;
    for (const auto& [kind, count] : stage.operations()) operations[py::str(kind)] = count;
    stages.append(py::make_tuple(stage.name(), stage.seconds(), stage.ir(), operations));
  }
  return stages;
}

void RaiseCompileFailed(const std::vector<LocatedDiagnostic>& diagnostics) {
  PyErr_SetObject(compile_failed, DiagnosticsList(diagnostics).ptr());
  throw py::error_already_set();
}

void BindInstance(py::module_& m) {
  static py::exception<Instance> error(m, "CompileFailed");
  compile_failed = error.ptr();
  const auto outcome = [](auto field) {
    return [field](const Instance& instance) { return instance.outcome().*field; };
  };
  py::class_<Instance, std::shared_ptr<Instance>>(m, "Instance", py::dynamic_attr())
      .def_property_readonly("digest", outcome(&CompileOutcome::digest))
      .def_property_readonly("tier", outcome(&CompileOutcome::tier))
      .def_property_readonly("wait_seconds", outcome(&CompileOutcome::wait_seconds))
      .def_property_readonly("compile_seconds", outcome(&CompileOutcome::compile_seconds))
      .def_property_readonly(
          "stages", [](const Instance& instance) { return StagesList(instance.outcome().stages); })
      .def_property_readonly("key_parts", &KeyParts)
      .def_property_readonly("writes", &Instance::writes)
      .def_property_readonly(
          "num_tasks",
          [](const Instance& instance) { return instance.kernel()->info().tasks.size(); })
      .def("pack", &Pack, py::arg("lines"))
      .def("positions",
           [](const Instance& instance, NodeNumber node) {
             return PositionTuples(PositionsOf(instance.texts().source_map, node));
           })
      .def("node_param", &NodeParam)
      .def("node_kind", [](const Instance& instance, NodeNumber node) {
        return static_cast<int>(instance.KindOf(node));
      });
  py::class_<LocatedDiagnostic>(m, "Diagnostic")
      .def_property_readonly(
          "severity",
          [](const LocatedDiagnostic& d) { return proto::Severity_Name(d.diagnostic.severity()); })
      .def_property_readonly("kind",
                             [](const LocatedDiagnostic& d) {
                               return proto::DiagnosticKind_Name(d.diagnostic.kind());
                             })
      .def_property_readonly("node", [](const LocatedDiagnostic& d) { return d.diagnostic.node(); })
      .def_property_readonly("message",
                             [](const LocatedDiagnostic& d) { return d.diagnostic.message(); })
      .def_property_readonly(
          "spans", [](const LocatedDiagnostic& d) { return PositionTuples(d.positions); });
}

}  // namespace kiln
