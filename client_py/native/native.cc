// The Python module kiln._native: pybind11 over client_cpp, and C types for the hot paths. It
// contains no logic of the language.
#include <pybind11/pybind11.h>

#include <string>

#include "client_cpp/spawn.h"
#include "client_py/native/active_device.h"
#include "client_py/native/builder_binding.h"
#include "client_py/native/cache_binding.h"
#include "client_py/native/calls_object.h"
#include "client_py/native/captured_launches.h"
#include "client_py/native/dlpack.h"
#include "client_py/native/element_view.h"
#include "client_py/native/field_object.h"
#include "client_py/native/graph_binding.h"
#include "client_py/native/instance_binding.h"
#include "client_py/native/joined_access.h"
#include "client_py/native/kernel_object.h"
#include "client_py/native/launch_time.h"
#include "client_py/native/manifest_binding.h"
#include "client_py/native/module_binding.h"
#include "client_py/native/module_writer_binding.h"
#include "client_py/native/session_binding.h"
#include "client_py/native/storage_object.h"
#include "client_py/native/tree_object.h"
#include "client_py/native/warm_binding.h"
#include "common/artifact/target.h"
#include "common/home/programs.h"
#include "common/language/op_table.h"
#include "common/language/simt_ops.h"
#include "common/language/type.h"
#include "common/wire/version.h"
#include "kiln/proto/kernel.pb.h"
#include "kiln/proto/op.pb.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/cpu_device.h"
#include "runtime/random.h"
#include "runtime/thread_tape.h"

namespace py = pybind11;

namespace {

// Adds tables from spellings to numbers for the messages' ops, node kinds and scalars.
void BindTables(py::module_& m) {
  py::dict ops, op_facts, nodes, scalars;
  for (int op = 0; op < kiln::proto::Op_ARRAYSIZE; ++op) {
    const kiln::OpInfo* info = kiln::FindOp(op);
    if (info == nullptr || info->spelling[0] == '\0') continue;
    ops[info->spelling] = op;
    op_facts[info->spelling] = py::make_tuple(int{info->family}, info->python);
  }
  for (int kind = 0; kind < kiln::proto::NodeKind_ARRAYSIZE; ++kind) {
    const kiln::NodeInfo* info = kiln::FindNode(kind);
    if (info != nullptr && info->spelling[0] != '\0') nodes[info->spelling] = kind;
  }
  for (int scalar = kiln::proto::U1; scalar < kiln::proto::Scalar_ARRAYSIZE; ++scalar) {
    scalars[kiln::ScalarName(static_cast<kiln::Scalar>(scalar))] = scalar;
  }
  py::dict simt_ops;
  for (uint64_t number = 0; number < kiln::kNumSimtOps; ++number) {
    const kiln::SimtFacts& facts = kiln::kSimtOps[number];
    py::list operands;
    for (int i = 0; i < facts.num_operands; ++i) operands.append(int{facts.operands[i]});
    simt_ops[facts.name] = py::make_tuple(number, int{facts.result}, operands);
  }
  m.attr("SIMT_OPS") = simt_ops;
  m.attr("OPS") = ops;
  m.attr("OP_FACTS") = op_facts;
  m.attr("UNARY") = int{kiln::proto::FAMILY_UNARY};
  m.attr("BINARY") = int{kiln::proto::FAMILY_BINARY};
  m.attr("COMPARE") = int{kiln::proto::FAMILY_COMPARE};
  m.attr("NODES") = nodes;
  m.attr("SCALARS") = scalars;
  m.attr("MAX_SCALARISED") = kiln::kMaxScalarised;
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "Native side of kiln; see kiln/_native.pyi.";
  BindTables(m);
  kiln::BindBuilder(m);
  kiln::BindTree(m);
  kiln::BindActiveDevice(m);
  kiln::BindLaunchTime(m);
  kiln::BindStorage(m);
  kiln::BindDlpack(m);
  kiln::BindJoined(m);
  kiln::BindInstance(m);
  kiln::BindSession(m);
  kiln::BindManifest(m);
  kiln::BindWarm(m);
  kiln::BindCache(m);
  kiln::BindGraph(m);
  kiln::BindCapturedLaunches(m);
  kiln::BindModuleWriter(m);
  kiln::BindModule(m);
  if (!kiln::AddFieldType(m.ptr()) || !kiln::AddElementViewType(m.ptr()) ||
      !kiln::AddKernelType(m.ptr()) || !kiln::AddCallsType(m.ptr())) {
    throw py::error_already_set();
  }
  m.def("set_seed", &kiln::SetRandomSeed);
  m.def("set_tape_limit", &kiln::ThreadTape::SetLimit);
  py::list targets;
  for (const kiln::Target target : kiln::CompiledTargets()) targets.append(target.text());
  m.attr("TARGETS") = py::tuple(targets);
  py::list cuda_targets;
  for (const kiln::Target target : kiln::CompiledCudaTargets()) cuda_targets.append(target.text());
  m.attr("CUDA_TARGETS") = py::tuple(cuda_targets);
  m.def("program_folder", [] { return kiln::FindBinDir(); });
  m.def("program",
        [](const std::string& name) { return kiln::ProgramIn(kiln::FindBinDir(), name); });
  m.def("host_target", [] { return kiln::CpuDevice().target().text(); });
  m.def("default_threads", &kiln::DefaultThreads);
  m.def("version", [] { return std::string(kiln::kVersion); });
}
