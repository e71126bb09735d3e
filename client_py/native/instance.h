// A compiled kernel instance as Python sees it: the loaded code, where it came
// from, and the texts of what it may say.
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

// What only prints, asserts and errors need.
struct InstanceTexts {
  proto::SourceMap source_map;
  TypeTable types;                      // the kernel's, for formats
  std::vector<std::string> node_kinds;  // of the body, then each function: one byte per node
  // Where bounds are checked: the kernel's parameter that a node takes elements of.
  std::unordered_map<uint32_t, uint32_t> node_params;
};

struct Instance {
  // Unpacked when first asked for. Needs the GIL.
  const InstanceTexts& texts() const;

  std::shared_ptr<const LoadedKernel> kernel;
  std::vector<bool> writes;  // per parameter: a store or atomic may reach it
  std::string digest, tier;
  double wait_seconds = 0, compile_seconds = 0;
  std::vector<proto::StageReport> stages;
  mutable std::unique_ptr<InstanceTexts> unpacked_texts;
  // What it can be compiled from again (a CompileRequest), until Python has taken it.
  std::string recorded;
  std::string packed_texts;  // proto WarmTexts; of instances that the front end did not make
};

void BindBuilder(pybind11::module_& m);
// Session, Instance, Diagnostic and CompileFailed.
void BindSession(pybind11::module_& m);

}  // namespace kiln

#endif  // KILN_CLIENT_PY_NATIVE_INSTANCE_H_
