// Instance, Diagnostic and CompileFailed for Python.
#ifndef KILN_CLIENT_PY_NATIVE_INSTANCE_BINDING_H_
#define KILN_CLIENT_PY_NATIVE_INSTANCE_BINDING_H_

#include <pybind11/pybind11.h>

#include <vector>

#include "client_cpp/instance.h"

namespace kiln {

pybind11::list DiagnosticsList(const std::vector<LocatedDiagnostic>& diagnostics);
// (name, seconds, IR, {operation: count}) of each.
pybind11::list StagesList(const std::vector<proto::StageReport>& reports);

// CompileFailed, whose argument is the list of diagnostics.
[[noreturn]] void RaiseCompileFailed(const std::vector<LocatedDiagnostic>& diagnostics);

void BindInstance(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_INSTANCE_BINDING_H_
