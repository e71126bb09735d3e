// A compiled kernel instance for Python: the loaded code, its source, and the texts of its
// messages.
#ifndef KILN_CLIENT_PY_NATIVE_INSTANCE_H_
#define KILN_CLIENT_PY_NATIVE_INSTANCE_H_

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "client_cpp/session.h"
#include "common/language/type.h"

namespace kiln {

// The data that only prints, asserts and errors need.
struct InstanceTexts {
  proto::SourceMap source_map;
  TypeTable types;                      // the kernel's, for formats
  std::vector<std::string> node_kinds;  // of the body, then each function: one byte per node
  // If bounds are checked: number of a node -> the kernel's parameter that it accesses.
  std::unordered_map<uint32_t, uint32_t> node_params;
};

struct Instance {
  // Unpacked by the first call. Needs the GIL.
  const InstanceTexts& texts() const;

  std::shared_ptr<const LoadedKernel> kernel;
  std::shared_ptr<const proto::ArtifactInfo> info;
  std::vector<bool> writes;  // per parameter: whether a store or atomic may write it
  std::string digest, tier;
  double wait_seconds = 0, compile_seconds = 0;
  std::vector<proto::StageReport> stages;
  mutable std::unique_ptr<InstanceTexts> unpacked_texts;
  // The recorded kernel (a CompileRequest), until Python takes it.
  std::string recorded;
  std::string packed_texts;  // proto WarmTexts; only if the instance comes from a warm record
};

void BindBuilder(pybind11::module_& m);
// Adds Session, Instance, Diagnostic and CompileFailed.
void BindSession(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_INSTANCE_H_
