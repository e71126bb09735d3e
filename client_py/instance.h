// A compiled kernel instance as Python sees it: the loaded code, where it came
// from, and the texts of what it may say.
#ifndef KILN_CLIENT_PY_INSTANCE_H_
#define KILN_CLIENT_PY_INSTANCE_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "client_cpp/session.h"
#include "lang/type.h"

namespace kiln {

struct Instance {
  std::shared_ptr<const LoadedKernel> kernel;
  proto::SourceMap source_map;
  TypeTable types;                  // the kernel's, for formats
  std::vector<bool> writes;         // per parameter: a store or atomic may reach it
  std::vector<uint8_t> node_kinds;  // per node of the body
  std::string digest, tier;
  double wait_seconds = 0, compile_seconds = 0;
  std::vector<proto::StageReport> stages;
};

void BindBuilder(pybind11::module_& m);
// Session, Instance, Diagnostic and CompileFailed.
void BindSession(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_INSTANCE_H_
