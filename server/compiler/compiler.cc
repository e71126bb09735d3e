#include "server/compiler/compiler.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/artifact/cuda_toolkit.h"
#include "common/artifact/target.h"
#include "common/artifact/target_proto.h"
#include "common/base/digest.h"
#include "common/base/status_macros.h"
#include "common/unit/argument_layout.h"
#include "common/unit/canonical.h"
#include "common/unit/check_unit.h"
#include "common/unit/node_number.h"
#include "google/protobuf/text_format.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/cuda_abi.h"
#include "server/compiler/codegen/codegen.h"
#include "server/compiler/codegen/cpu/link_module.h"
#include "server/compiler/codegen/cuda/libdevice.h"
#include "server/compiler/codegen/cuda/nv_jit_link.h"
#include "server/compiler/codegen/emit_kernel.h"
#include "server/compiler/dialect/dialect.h"
#include "server/compiler/lowering/lower_unit.h"
#include "server/compiler/passes/passes.h"

namespace kiln {

namespace {

using Clock = std::chrono::steady_clock;

// What the worker's first job should not wait for: loops, math, reductions.
constexpr char kWarmUpUnit[] = R"(
  kernel {
    types {} types { scalar: F32 } types { scalar: I32 }
    body {
      params { kind: PARAM_STORAGE storage: 0 }
      params { kind: PARAM_VALUE type: 1 }
      nodes {}
      nodes { kind: STRUCT_FOR index: 0 blocks: 1 }
      nodes { kind: LOOP_INDEX type: 2 operands: 1 }
      nodes { kind: PARAM type: 1 index: 1 }
      nodes { kind: CAST_TO op: OP_CAST type: 1 operands: 2 }
      nodes { kind: UNARY op: OP_SIN type: 1 operands: 4 }
      nodes { kind: BINARY op: OP_MUL type: 1 operands: 3 operands: 5 }
      nodes { kind: GLOBAL type: 1 operands: 2 index: 0 }
      nodes { kind: STORE operands: 7 operands: 6 }
      blocks { nodes: 1 }
      blocks { nodes: 2 nodes: 3 nodes: 4 nodes: 5 nodes: 6 nodes: 7 nodes: 8 }
    }
  }
  storages {
    element { scalar: F32 }
    dense { num_axes: 1 digits { stride: 4 } components {} num_bases: 1 }
  }
  target { cpu: X86_64_V3 }
  options { fast_math: true opt_level: 3 default_int: I32 default_float: F32 })";

std::string Text(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

// Appends a report for the time since the last one.
class Stopwatch {
 public:
  Stopwatch(const proto::ReportOptions& report, std::vector<proto::StageReport>* stages)
      : report_(report), stages_(stages) {}

  void Stage(const char* name, mlir::ModuleOp module = {}) {
    proto::StageReport& stage = stages_->emplace_back();
    stage.set_name(name);
    stage.set_seconds(std::chrono::duration<double>(Clock::now() - start_).count());
    if (report_.print_ir() && module) stage.set_ir(Text(module));
    if (report_.statistics() && module) {
      auto& operations = *stage.mutable_operations();
      module->walk([&](mlir::Operation* op) { ++operations[op->getName().getStringRef().str()]; });
    }
    start_ = Clock::now();
  }

 private:
  const proto::ReportOptions& report_;
  std::vector<proto::StageReport>* stages_;
  Clock::time_point start_ = Clock::now();
};

// Three numbers of ir::AccessAttr.
void SetBound(llvm::ArrayRef<int64_t> bound, proto::Bound* out) {
  if (bound[0] != ir::AccessAttr::kNumber) {
    out->set_argument(static_cast<uint32_t>(bound[0] + 1));
    out->set_factor(bound[1]);
  }
  out->set_number(bound[2]);
}

void SetAccess(ir::AccessAttr access, proto::Access* out) {
  out->set_writes(access.getWrites());
  out->set_slot(static_cast<uint32_t>(access.getSlot()));
  out->set_tree_node(static_cast<uint32_t>(access.getTreeNode()));
  out->set_offset(static_cast<uint64_t>(access.getOffset()));
  out->set_source(static_cast<uint32_t>(access.getSource()));
  for (llvm::ArrayRef<int64_t> left = access.getBounds(); !left.empty();
       left = left.drop_front(6)) {
    proto::Interval& axis = *out->add_axes();
    if (left[0] != ir::AccessAttr::kUnbounded) SetBound(left.take_front(3), axis.mutable_first());
    if (left[3] != ir::AccessAttr::kUnbounded) SetBound(left.slice(3, 3), axis.mutable_last());
  }
}

// An entry describes itself: clients check target and slots before they load the code.
void SetInfo(const proto::CompileUnit& unit, const ArgumentLayout& layout,
             const GeneratedCode& code, ir::KernelOp kernel, proto::ArtifactInfo* info) {
  *info->mutable_target() = unit.target();
  info->mutable_tasks()->Assign(code.tasks.begin(), code.tasks.end());
  info->mutable_arguments()->Assign(layout.slots.begin(), layout.slots.end());
  info->mutable_results()->Assign(layout.results.begin(), layout.results.end());
  info->set_temporary_bytes(static_cast<uint64_t>(code.temporary_bytes));
  info->set_has_effects(code.has_effects);
  info->set_can_fail(code.can_fail);
  info->set_draws(code.draws);
  info->set_tapes(code.tapes);
  info->set_relocatable(unit.options().relocatable());
  info->mutable_needs()->insert(code.needs.begin(), code.needs.end());
  if (kernel.getAccesses()) {
    for (auto access : kernel.getAccesses()->getAsRange<ir::AccessAttr>()) {
      SetAccess(access, info->add_accesses());
    }
  }
}

// Begins the symbols of relocatable code: other units have other symbols.
std::string SymbolPrefix(const proto::CompileUnit& unit) {
  constexpr size_t kDigits = 16;
  return "k" + Sha256Of(CanonicalBytes(unit)).Hex().substr(0, kDigits) + "_";
}

}  // namespace

struct Compiler::State {
  // A worker compiles one kernel at a time, and a confined one may not start threads.
  State() : context(mlir::MLIRContext::Threading::DISABLED) {
    context.loadDialect<ir::KilnDialect>();
    context.printOpOnDiagnostic(false);  // users know no ops
    for (const PassRow& row : Pipeline()) {
      auto manager = std::make_unique<mlir::PassManager>(&context);
      // Passes are made once: a worker compiles thousands of kernels.
      manager->nest<ir::KernelOp>().addPass(row.create());
      // Once, at the end, is enough: what is wrong stays wrong.
      manager->enableVerifier(false);
      passes.push_back({row, std::move(manager)});
    }
  }

  // Runs the pipeline. What a pass cannot do is an error that it reports at a node.
  absl::Status RunPasses(mlir::ModuleOp module, bool for_cpu, Stopwatch* watch,
                         std::vector<proto::Diagnostic>* diagnostics);

  mlir::MLIRContext context;
  // One manager a pass, so that each is timed and set up once.
  struct Stage {
    PassRow row;
    std::unique_ptr<mlir::PassManager> manager;
  };
  std::vector<Stage> passes;
  CodeGenerator generator;
};

void CheckSlotsForCuda(const CheckedUnit& checked, std::vector<proto::Diagnostic>* diagnostics) {
  const size_t slots = checked.arguments.slots.size();
  if (slots <= KILN_CUDA_MAX_SLOTS) return;
  proto::Diagnostic& diagnostic = diagnostics->emplace_back();
  diagnostic.set_severity(proto::ERROR);
  diagnostic.set_kind(proto::KIND_UNSUPPORTED);
  diagnostic.set_message(absl::StrCat(
      "a launch on CUDA has at most ", KILN_CUDA_MAX_SLOTS, " numbers, here ", slots,
      ": two for each field, one for each ndarray and each of its axes, and one for each element "
      "of vectors and matrices; divide the kernel"));
}

absl::Status Compiler::State::RunPasses(mlir::ModuleOp module, bool for_cpu, Stopwatch* watch,
                                        std::vector<proto::Diagnostic>* diagnostics) {
  std::string broken;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& problem) {
    if (problem.getSeverity() != mlir::DiagnosticSeverity::Error) return mlir::success();
    // Kept for the message below: what MLIR's verifier says is our mistake and not the user's.
    broken = problem.str();
    const auto add = [&](const mlir::Diagnostic& from, proto::Severity severity) {
      proto::Diagnostic& diagnostic = diagnostics->emplace_back();
      diagnostic.set_severity(severity);
      diagnostic.set_kind(proto::KIND_UNSUPPORTED);
      // Locations are node numbers, which the client translates to lines.
      const NodeNumber node(ir::NodeOf(from.getLocation()));
      diagnostic.set_function(FunctionOfNode(node).number());
      diagnostic.set_node(NodeInFunction(node).number());
      diagnostic.set_message(from.str());
    };
    add(problem, proto::ERROR);
    for (const mlir::Diagnostic& note : problem.getNotes()) add(note, proto::NOTE);
    return mlir::success();
  });
  auto kernel = *module.getOps<ir::KernelOp>().begin();
  const bool differentiates = kernel.getCompanions().has_value();
  const bool differentiates_twice = kernel.getDuals().has_value();
  for (auto& [row, manager] : passes) {
    if (IsForGradients(row) && !differentiates) continue;
    if (row.kernels == PassFor::kSecondGradients && !differentiates_twice) continue;
    if (row.kernels == PassFor::kCpus && !for_cpu) continue;
    const bool failed = mlir::failed(manager->run(module));
    watch->Stage(row.name, module);
    // A pass that fails has to say why at a node. Silence is a mistake of the pass.
    if (failed && diagnostics->empty()) {
      return absl::InternalError(std::string("pass ") + row.name + " failed");
    }
    if (failed) return absl::OkStatus();
  }
  if (mlir::failed(mlir::verify(module))) {
    diagnostics->clear();
    return absl::InternalError("the passes left a broken kernel: " + broken);
  }
  return absl::OkStatus();
}

Compiler::Compiler() : state_(std::make_unique<State>()) {}
Compiler::~Compiler() = default;

absl::StatusOr<Compilation> Compiler::Compile(const proto::CompileUnit& unit,
                                              const proto::ReportOptions& report) {
  Compilation out;
  Stopwatch watch(report, &out.stages);

  ASSIGN_OR_RETURN(const CheckedUnit checked, CheckUnit(unit, &out.diagnostics));
  if (unit.target().has_cuda()) CheckSlotsForCuda(checked, &out.diagnostics);
  watch.Stage("check");
  if (!out.diagnostics.empty()) return out;

  mlir::OwningOpRef<mlir::ModuleOp> module =
      LowerUnit(unit, checked, &state_->context, &out.diagnostics);
  watch.Stage("lower", *module);
  if (!out.diagnostics.empty()) return out;

  auto kernel = *module->getOps<ir::KernelOp>().begin();
  mlir::Builder builder(&state_->context);
  if (const int lanes = unit.options().lanes(); lanes != proto::LANES_WHERE_THEY_PAY) {
    kernel->setAttr(kLanesAttribute, builder.getI32IntegerAttr(lanes));
  }
  if (!unit.target().has_cuda()) {
    const auto level = static_cast<int>(TargetOf(unit.target()).level());
    kernel->setAttr(kCpuLevelAttribute, builder.getI32IntegerAttr(level));
  }
  RETURN_IF_ERROR(state_->RunPasses(*module, !unit.target().has_cuda(), &watch, &out.diagnostics));
  if (!out.diagnostics.empty()) return out;

  const bool relocatable = unit.options().relocatable();
  if (unit.target().has_cuda()) {
    if (relocatable) return absl::UnimplementedError("modules hold no code for CUDA");
    const auto slots = static_cast<int64_t>(checked.arguments.slots.size());
    kernel->setAttr(kSlotsAttribute, builder.getI64IntegerAttr(slots));
    if (unit.options().deterministic()) {
      kernel->setAttr(kDeterministicAttribute, builder.getUnitAttr());
    }
  }
  ASSIGN_OR_RETURN(GeneratedCode code,
                   state_->generator.Generate(kernel, unit.target(), unit.options(), report,
                                              &out.stages, relocatable ? SymbolPrefix(unit) : ""));

  out.payload = std::move(code.payload);
  SetInfo(unit, checked.arguments, code, kernel, &out.info);
  return out;
}

absl::StatusOr<proto::LinkReply> Compiler::Link(const proto::LinkRequest& request) {
  return cpu::LinkModule(request);
}

std::string Compiler::CudaToolchain() {
  cuda::ReadLibdevice();
  cuda::LoadNvJitLink();
  const std::string version = cuda::NvJitLinkVersion();
  return absl::StrCat(
      cuda::HasNvJitLink()
          ? absl::StrCat("machine code by nvJitLink", version.empty() ? "" : " ", version)
          : "PTX alone: no libnvJitLink that loads",
      cuda::Libdevice().empty() ? ", no math functions: no libdevice" : ", math functions", " (",
      CudaToolkit(), ")");
}

absl::Status Compiler::WarmUp() {
  cuda::ReadLibdevice();
  cuda::LoadNvJitLink();
  proto::CompileUnit unit;
  if (!google::protobuf::TextFormat::ParseFromString(kWarmUpUnit, &unit)) {
    return absl::InternalError("the warm-up unit does not parse");
  }
  return Compile(unit).status();
}

}  // namespace kiln
