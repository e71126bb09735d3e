#include "server/compiler/codegen/cuda/cuda_target.h"

#include "absl/strings/str_cat.h"
#include "common/artifact/cuda_payload.h"
#include "common/base/status_macros.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "server/compiler/codegen/abi.h"
#include "server/compiler/codegen/atomics.h"
#include "server/compiler/codegen/cuda/abi.h"
#include "server/compiler/codegen/cuda/joined_tasks.h"
#include "server/compiler/codegen/cuda/libdevice.h"
#include "server/compiler/codegen/cuda/neighbouring_writes.h"
#include "server/compiler/codegen/cuda/nv_jit_link.h"
#include "server/compiler/codegen/cuda/range_task.h"
#include "server/compiler/codegen/cuda/simt.h"
#include "server/compiler/codegen/cuda/struct_task.h"
#include "server/compiler/codegen/cuda/thread_loop.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/random_streams.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cuda {
namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;
using codegen::LaunchField;
using llvm::Value;

// A function of libdevice, by the name that C has for doubles. Halves are computed as floats.
Value* CallLibdevice(llvm::IRBuilderBase& b, llvm::StringRef name, llvm::ArrayRef<Value*> v) {
  llvm::Type* type = v[0]->getType();
  llvm::Type* wide = type->isHalfTy() ? b.getFloatTy() : type;
  llvm::SmallVector<Value*, 2> operands;
  for (Value* operand : v) operands.push_back(b.CreateFPExt(operand, wide));
  const std::string full = (kLibdevicePrefix + name + (wide->isFloatTy() ? "f" : "")).str();
  return b.CreateFPTrunc(CallPure(b, full, wide, operands), type);
}

// 1 / sqrt(x) under fast_math; null for all else. Wrong by 2 ulp at most, by an instruction instead
// of some twenty.
Value* EmitReciprocalRoot(llvm::IRBuilderBase& b, mlir::Operation& op, llvm::ArrayRef<Value*> v) {
  using llvm::PatternMatch::m_Intrinsic, llvm::PatternMatch::m_SpecificFP;
  using llvm::PatternMatch::m_Value, llvm::PatternMatch::match;
  Value* x = nullptr;
  if (!llvm::isa<mlir::arith::DivFOp>(op) || !v[0]->getType()->isFloatTy() ||
      !b.getFastMathFlags().approxFunc() || !match(v[0], m_SpecificFP(1.0)) ||
      !match(v[1], m_Intrinsic<llvm::Intrinsic::sqrt>(m_Value(x)))) {
    return nullptr;
  }
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_rsqrt_approx_f, {}, {x});
}

void DescribeBlock(const KernelState& state, ir::RangeTaskOp op, const proto::Task& task) {
  if (IsParallel(op)) SetBlock(*state.module->getFunction(task.symbol()), task.block_dim());
}

// NVIDIA's compiler takes no function whose local variables are more than a thread can have.
absl::Status CheckLocals(const llvm::Module& module) {
  constexpr uint64_t kMostBytes = 512 << 10;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    uint64_t bytes = 0;
    for (const llvm::Instruction& instruction : function.getEntryBlock()) {
      const auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (local == nullptr) continue;
      if (const auto size = local->getAllocationSize(module.getDataLayout())) bytes += *size;
    }
    if (bytes <= kMostBytes) continue;
    return absl::UnimplementedError(absl::StrCat(
        "local variables of ", bytes, " bytes on CUDA, where a thread has ", kMostBytes));
  }
  return absl::OkStatus();
}

}  // namespace

llvm::StringRef LibdeviceName(mlir::Operation& op) {
  return llvm::TypeSwitch<mlir::Operation*, llvm::StringRef>(&op)
      .Case([](math::SinOp) { return "sin"; })
      .Case([](math::CosOp) { return "cos"; })
      .Case([](math::TanOp) { return "tan"; })
      .Case([](math::AsinOp) { return "asin"; })
      .Case([](math::AcosOp) { return "acos"; })
      .Case([](math::AtanOp) { return "atan"; })
      .Case([](math::Atan2Op) { return "atan2"; })
      .Case([](math::SinhOp) { return "sinh"; })
      .Case([](math::CoshOp) { return "cosh"; })
      .Case([](math::TanhOp) { return "tanh"; })
      .Case([](math::AsinhOp) { return "asinh"; })
      .Case([](math::AcoshOp) { return "acosh"; })
      .Case([](math::AtanhOp) { return "atanh"; })
      .Case([](math::ExpOp) { return "exp"; })
      .Case([](math::Exp2Op) { return "exp2"; })
      .Case([](math::ExpM1Op) { return "expm1"; })
      .Case([](math::LogOp) { return "log"; })
      .Case([](math::Log2Op) { return "log2"; })
      .Case([](math::Log10Op) { return "log10"; })
      .Case([](math::Log1pOp) { return "log1p"; })
      .Case([](math::PowFOp) { return "pow"; })
      .Case([](math::CbrtOp) { return "cbrt"; })
      .Case([](math::ErfOp) { return "erf"; })
      // LLVM's is a quotient and a product, which is not exact.
      .Case([](arith::RemFOp) { return "fmod"; })
      .Default([](mlir::Operation*) { return ""; });
}

// --- Entry form, iteration, storage ------------------------------------------------------

llvm::Function* CudaTarget::NewTaskFunction(KernelState* state, const std::string& name) const {
  llvm::LLVMContext& c = state->module->getContext();
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(c), {llvm::PointerType::get(c, 0)},
                                       /*isVarArg=*/false);
  auto* function =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, state->module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->setDoesNotThrow();
  function->addParamAttr(0, llvm::Attribute::ReadOnly);
  constexpr int64_t kOwnSlots = cuda_abi::kArguments / abi::kSlotBytes;
  auto* launch = llvm::ArrayType::get(llvm::Type::getInt64Ty(c), kOwnSlots + state->num_slots);
  function->addParamAttr(0, llvm::Attribute::getWithByValType(c, launch));
  function->addParamAttr(0, llvm::Attribute::getWithAlignment(c, llvm::Align(8)));
  return function;
}

Value* CudaTarget::LaunchFieldIn(FunctionEmitter& f, LaunchField field) const {
  switch (field) {
    case LaunchField::kArguments:
      return f.EntryAddress(f.launch(), cuda_abi::kArguments);
    case LaunchField::kResults:
      return f.EntryLoad(f.launch(), cuda_abi::kResults);
    case LaunchField::kTemporaries:
      return f.EntryLoad(f.launch(), cuda_abi::kTemporaries);
    case LaunchField::kFailed:
      return f.EntryLoad(f.launch(), cuda_abi::kReports);
  }
  llvm_unreachable("launches pass nothing else");
}

void CudaTarget::EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number,
                               proto::Task* task) const {
  cuda::EmitRangeTask(state, op, number, task);
  DescribeBlock(*state, op, *task);
}

void CudaTarget::EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number,
                                proto::Task* task) const {
  cuda::EmitStructTask(state, op, number, task);
  DescribeBlock(*state, op, *task);
}

bool CudaTarget::Joins(const KernelState& state, mlir::Operation& task) const {
  return cuda::Joins(state, task);
}

void CudaTarget::EmitJoined(KernelState* state, llvm::ArrayRef<proto::Task*> tasks) const {
  cuda::EmitJoined(state, tasks);
}

Value* CudaTarget::AllocateLocal(llvm::IRBuilderBase& entry, llvm::Type* type,
                                 int64_t count) const {
  return entry.CreateAlloca(count == 1 ? type : llvm::ArrayType::get(type, count));
}

Value* CudaTarget::AllocateShared(KernelState* state, llvm::Type* type, int64_t count) const {
  return cuda::AllocateShared(state, type, count);
}

// --- Operations --------------------------------------------------------------------------

// LLVM has none for minima of floats, and loops for integers of 8 and 16 bits. Only relaxed ones:
// it forgets other orders.
Value* CudaTarget::EmitAtomic(llvm::IRBuilderBase& b, ir::AtomicKind kind, Value* pointer,
                              Value* value) const {
  const llvm::Type* type = value->getType();
  if (type->isIntegerTy(1) || type->isHalfTy()) return nullptr;
  llvm::AtomicRMWInst::BinOp instruction = FormOf(kind).instruction;
  if (type->isFloatingPointTy()) {
    if (kind == ir::AtomicKind::subf) {
      value = b.CreateFNeg(value);
      instruction = llvm::AtomicRMWInst::FAdd;
    }
    if (instruction != llvm::AtomicRMWInst::FAdd) return nullptr;
  }
  if (instruction == llvm::AtomicRMWInst::BAD_BINOP) return nullptr;
  return b.CreateAtomicRMW(instruction, pointer, value, llvm::MaybeAlign(),
                           llvm::AtomicOrdering::Monotonic);
}

Value* CudaTarget::EmitScalar(llvm::IRBuilderBase& b, mlir::Operation& op,
                              llvm::ArrayRef<Value*> v) const {
  const llvm::StringRef name = LibdeviceName(op);
  if (!name.empty()) return CallLibdevice(b, name, v);
  return EmitReciprocalRoot(b, op, v);
}

bool CudaTarget::EmitSimt(FunctionEmitter& f, llvm::StringRef name, llvm::ArrayRef<Value*> operands,
                          Value** result) const {
  return cuda::EmitSimt(f, name, operands, result);
}

void CudaTarget::EmitReport(FunctionEmitter& f, codegen::Report report, int64_t node, int64_t count,
                            Value* values) const {
  llvm::IRBuilder<>& b = f.builder();
  llvm::SmallVector<Value*> arguments = {f.EntryLoad(f.launch(), cuda_abi::kReports),
                                         b.getInt32(static_cast<uint32_t>(node)),
                                         b.getInt32(static_cast<uint32_t>(count)), values};
  if (report == codegen::Report::kFail) {
    CallLibrary(f.builder(), "kiln_cuda_fail", b.getVoidTy(), arguments);
    return;
  }
  Value* task = b.CreateLoad(b.getInt32Ty(), f.EntryAddress(f.launch(), cuda_abi::kTask));
  arguments.push_back(b.CreateAdd(task, b.getInt32(f.state().part)));
  arguments.push_back(f.iteration() != nullptr ? f.iteration() : EmitThreadNumber(b));
  CallLibrary(f.builder(), "kiln_cuda_print", b.getVoidTy(), arguments);
}

void CudaTarget::EmitDeactivate(FunctionEmitter& f, Value* node, Value* container,
                                Value* cell) const {
  CallLibrary(f.builder(), "kiln_cuda_deactivate", f.builder().getVoidTy(),
              {node, container, cell});
}

// Calls a function of the calling thread's tape.
Value* CudaTarget::CallTape(FunctionEmitter& f, const char* name, llvm::Type* result,
                            Value* bytes) {
  f.state().tapes = true;
  return CallLibrary(
      f.builder(), name, result,
      {f.EntryLoad(f.launch(), cuda_abi::kTapes), EmitThreadNumber(f.builder()), bytes});
}

Value* CudaTarget::EmitTapePush(FunctionEmitter& f, Value* bytes) const {
  return CallTape(f, "kiln_cuda_tape_push", f.builder().getPtrTy(), bytes);
}

Value* CudaTarget::EmitTapeTop(FunctionEmitter& f, Value* bytes) const {
  return CallTape(f, "kiln_cuda_tape_top", f.builder().getPtrTy(), bytes);
}

void CudaTarget::EmitTapePop(FunctionEmitter& f, Value* bytes) const {
  CallTape(f, "kiln_cuda_tape_pop", f.builder().getVoidTy(), bytes);
}

// --- Random numbers: those of the CPU, since a stream is that of an iteration --------------

Value* CudaTarget::NewRandomStream(FunctionEmitter& f) const { return NewStream(f); }

void CudaTarget::StartRandom(FunctionEmitter& f, Value* stream, int task, Value* index) const {
  llvm::IRBuilder<>& b = f.builder();
  Value* launch = b.CreateLoad(b.getInt64Ty(), f.EntryAddress(f.launch(), cuda_abi::kRandom));
  StartStream(f, stream, launch, task, index);
}

Value* CudaTarget::EmitRandom(FunctionEmitter& f, Value* stream, llvm::Type* type) const {
  return DrawFrom(f, stream, type);
}

// --- From LLVM IR to an entry --------------------------------------------------------------

absl::Status CudaTarget::Optimize(llvm::Module& module, llvm::ArrayRef<std::string> exported) {
  MarkConvergent(module);
  RETURN_IF_ERROR(machine_->LinkLibraries(module, exported));
  machine_->Optimize(module);
  return CheckLocals(module);
}

absl::StatusOr<llvm::SmallVector<char, 0>> CudaTarget::EmitObject(llvm::Module& module) {
  ASSIGN_OR_RETURN(const std::string ptx, machine_->EmitPtx(module));
  return llvm::SmallVector<char, 0>(ptx.begin(), ptx.end());
}

absl::StatusOr<std::string> CudaTarget::EmitAssembly(const llvm::Module& module) {
  // Emitting changes what it emits.
  return machine_->EmitPtx(*llvm::CloneModule(module));
}

absl::StatusOr<codegen::Target::Linked> CudaTarget::Link(llvm::ArrayRef<char> object) {
  const std::string ptx(object.begin(), object.end());
  std::string cubin;
  // Without nvJitLink, the driver compiles the PTX, in each process.
  if (!target_.ptx_only() && HasNvJitLink()) {
    ASSIGN_OR_RETURN(cubin, Assemble(ptx, target_.level()));
  }
  return Linked{PackCudaPayload(cubin, ptx), {}};
}

}  // namespace kiln::cuda
