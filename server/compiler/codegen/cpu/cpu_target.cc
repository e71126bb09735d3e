#include "server/compiler/codegen/cpu/cpu_target.h"

#include <cmath>
#include <optional>

#include "common/base/status_macros.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "server/compiler/codegen/atomics.h"
#include "server/compiler/codegen/cpu/abi.h"
#include "server/compiler/codegen/cpu/link.h"
#include "server/compiler/codegen/cpu/range_task.h"
#include "server/compiler/codegen/cpu/struct_task.h"
#include "server/compiler/codegen/cpu/task_function.h"
#include "server/compiler/codegen/function_emitter.h"
#include "server/compiler/codegen/random_streams.h"
#include "server/compiler/codegen/scalar_ops.h"

namespace kiln::cpu {
namespace {

namespace math = mlir::math;
using codegen::LaunchField;
using llvm::Value;

// Loads and stores of elements at 64-bit offsets, of a vector of 512 bits. Intrinsics of x86,
// because LLVM makes branches of its own (machine.cc has it avoid gathers).
struct GatherForm {
  llvm::Intrinsic::ID gather, scatter;
};
constexpr unsigned kOffsetsInVector = 8;

std::optional<GatherForm> GatherFormOf(llvm::Type* element, Value* offsets,
                                       const codegen::Target::Lanes& lanes) {
  namespace I = llvm::Intrinsic;
  auto* vector = llvm::cast<llvm::FixedVectorType>(offsets->getType());
  if (!lanes.has_masks || vector->getNumElements() != kOffsetsInVector) return {};
  if (element->isFloatTy()) {
    return GatherForm{I::x86_avx512_mask_gather_qps_512, I::x86_avx512_mask_scatter_qps_512};
  }
  if (element->isDoubleTy()) {
    return GatherForm{I::x86_avx512_mask_gather_qpd_512, I::x86_avx512_mask_scatter_qpd_512};
  }
  if (element->isIntegerTy(32)) {
    return GatherForm{I::x86_avx512_mask_gather_qpi_512, I::x86_avx512_mask_scatter_qpi_512};
  }
  if (element->isIntegerTy(64)) {
    return GatherForm{I::x86_avx512_mask_gather_qpq_512, I::x86_avx512_mask_scatter_qpq_512};
  }
  return {};
}

int64_t OffsetOf(LaunchField field) {
  switch (field) {
    case LaunchField::kArguments:
      return abi::kArguments;
    case LaunchField::kResults:
      return abi::kResults;
    case LaunchField::kTemporaries:
      return abi::kTemporaries;
    case LaunchField::kFailed:
      return abi::kFailed;
  }
  llvm_unreachable("launches pass nothing else");
}

// Calls the function at offset `function` of the KilnRuntime. `result`: its type; null: void.
llvm::CallInst* CallRuntime(FunctionEmitter& f, int64_t function, llvm::ArrayRef<Value*> arguments,
                            llvm::Type* result = nullptr) {
  llvm::IRBuilder<>& b = f.builder();
  if (result == nullptr) result = b.getVoidTy();
  llvm::SmallVector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  // Through the launch, not by name: an entry is a shared object that many programs load, and
  // refers to no symbol of theirs.
  Value* table = f.EntryLoad(f.launch(), abi::kRuntime);
  Value* at = b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), table, function);
  llvm::CallInst* call = b.CreateCall(llvm::FunctionType::get(result, types, /*isVarArg=*/false),
                                      b.CreateLoad(b.getPtrTy(), at), arguments);
  // The runtime throws nothing, so no landing pads are needed around the call.
  call->addFnAttr(llvm::Attribute::NoUnwind);
  return call;
}

// A function of glibc's libm, by the name that it has for doubles.
Value* CallLibm(llvm::IRBuilderBase& b, llvm::StringRef name, llvm::ArrayRef<Value*> operands) {
  llvm::Type* type = operands[0]->getType();
  return CallPure(b, (name + (type->isFloatTy() ? "f" : "")).str(), type, operands);
}

// A zero of the same sign for a denormal number, every other number as it is.
Value* WithoutDenormals(llvm::IRBuilderBase& b, Value* v) {
  // Without the flags, which leave the sign of a zero open: atan2 of it is pi or -pi.
  const llvm::IRBuilderBase::FastMathFlagGuard guard(b);
  b.clearFastMathFlags();
  llvm::Type* type = v->getType();
  Value* least = llvm::ConstantFP::get(
      type, llvm::APFloat::getSmallestNormalized(type->getScalarType()->getFltSemantics()));
  Value* zero =
      b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, llvm::ConstantFP::getZero(type), v);
  Value* is_small = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v), least);
  return b.CreateSelect(is_small, zero, v);
}

// Under fast_math loops flush denormal numbers. glibc's vector function treats a zero as a case of
// its own, by its bits, but divides a denormal number by another as 0 / 0.
Value* Atan2(llvm::IRBuilderBase& b, math::Atan2Op op, Value* y, Value* x) {
  const bool flushes = bitEnumContainsAll(op.getFastmath(), mlir::arith::FastMathFlags::afn);
  return CallLibm(b, "atan2", {flushes ? WithoutDenormals(b, y) : y, x});
}

// The exponent of a power that Power writes out: n + 1/2, under fast_math. nullopt: of another.
std::optional<double> HalfExponent(math::PowFOp op) {
  constexpr double kMostFactors = 8;
  mlir::FloatAttr constant;
  if (!mlir::matchPattern(op.getRhs(), mlir::m_Constant(&constant)) ||
      !bitEnumContainsAll(op.getFastmath(), mlir::arith::FastMathFlags::afn)) {
    return {};
  }
  const double exponent = constant.getValueAsDouble(), size = std::fabs(exponent);
  const double whole = std::floor(size);
  return size - whole == 0.5 && whole <= kMostFactors ? std::optional(exponent) : std::nullopt;
}

// x^(n + 1/2) under fast_math is x^n * sqrt(x): a few roundings, where pow takes ten times as long.
// Here and not in lowering, because the derivative of the square root has a pole at 0.
//
// Other powers are left to the library. exp(y * log(x)) takes a third of its time, but its error
// grows with the result's exponent, to tens of ulp; what avoids that takes as long as the library.
Value* Power(llvm::IRBuilderBase& b, math::PowFOp op, Value* x, Value* y) {
  const std::optional<double> exponent = HalfExponent(op);
  if (!exponent) return b.CreateBinaryIntrinsic(llvm::Intrinsic::pow, x, y);
  Value* power = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  for (auto left = static_cast<unsigned>(std::fabs(*exponent)); left != 0; left >>= 1) {
    if ((left & 1) != 0) power = b.CreateFMul(power, x);
    if (left > 1) x = b.CreateFMul(x, x);
  }
  return *exponent < 0 ? b.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1), power) : power;
}

}  // namespace

// --- Entry form, iteration, storage ------------------------------------------------------

llvm::Function* CpuTarget::NewTaskFunction(KernelState* state, const std::string& name) const {
  return cpu::NewTaskFunction(state->module, name);
}

Value* CpuTarget::LaunchFieldIn(FunctionEmitter& f, LaunchField field) const {
  return f.EntryLoad(f.launch(), OffsetOf(field));
}

void CpuTarget::EmitRangeTask(KernelState* state, ir::RangeTaskOp op, int number,
                              proto::Task* task) const {
  cpu::EmitRangeTask(state, op, number, task);
}

void CpuTarget::EmitStructTask(KernelState* state, ir::RangeTaskOp op, int number,
                               proto::Task* task) const {
  cpu::EmitStructTask(state, op, number, task);
}

Value* CpuTarget::AllocateLocal(llvm::IRBuilderBase& entry, llvm::Type* type, int64_t count) const {
  // A scalar instead of an array of one: LLVM promotes it to a register more easily.
  return entry.CreateAlloca(count == 1 ? type : llvm::ArrayType::get(type, count));
}

// --- Operations --------------------------------------------------------------------------

Value* CpuTarget::EmitGather(llvm::IRBuilderBase& b, llvm::Type* element, Value* pointer,
                             Value* offsets, Value* mask) const {
  const std::optional<GatherForm> form = GatherFormOf(element, offsets, lanes());
  if (!form) return nullptr;
  Value* zeros =
      llvm::Constant::getNullValue(llvm::FixedVectorType::get(element, kOffsetsInVector));
  b.clearFastMathFlags();
  return b.CreateIntrinsic(form->gather, {}, {zeros, pointer, offsets, mask, b.getInt32(1)});
}

Value* CpuTarget::EmitScatter(llvm::IRBuilderBase& b, Value* value, Value* pointer, Value* offsets,
                              Value* mask) const {
  const std::optional<GatherForm> form =
      GatherFormOf(value->getType()->getScalarType(), offsets, lanes());
  if (!form) return nullptr;
  return b.CreateIntrinsic(form->scatter, {}, {pointer, mask, offsets, value, b.getInt32(1)});
}

// x86 has atomic instructions for integers alone, and none of them multiplies. A bool is a byte of
// which any value but 0 is true, so its bits cannot be combined as they are.
Value* CpuTarget::EmitAtomic(llvm::IRBuilderBase& b, ir::AtomicKind kind, Value* pointer,
                             Value* value) const {
  const llvm::AtomicRMWInst::BinOp instruction = FormOf(kind).instruction;
  const llvm::Type* type = value->getType();
  if (instruction == llvm::AtomicRMWInst::BAD_BINOP || !type->isIntegerTy() ||
      type->isIntegerTy(1)) {
    return nullptr;
  }
  // No alignment means the type's own.
  return b.CreateAtomicRMW(instruction, pointer, value, llvm::MaybeAlign(),
                           llvm::AtomicOrdering::Monotonic);
}

// Functions that LLVM knows are intrinsics, the rest calls of libm. LLVM vectorises both
// (vector_math.h).
Value* CpuTarget::EmitScalar(llvm::IRBuilderBase& b, mlir::Operation& op,
                             llvm::ArrayRef<Value*> v) const {
  namespace I = llvm::Intrinsic;
  if (!llvm::isa<math::MathDialect>(op.getDialect())) return nullptr;
  return llvm::TypeSwitch<mlir::Operation*, Value*>(&op)
      .Case([&](math::SinOp) { return b.CreateUnaryIntrinsic(I::sin, v[0]); })
      .Case([&](math::CosOp) { return b.CreateUnaryIntrinsic(I::cos, v[0]); })
      .Case([&](math::ExpOp) { return b.CreateUnaryIntrinsic(I::exp, v[0]); })
      .Case([&](math::Exp2Op) { return b.CreateUnaryIntrinsic(I::exp2, v[0]); })
      .Case([&](math::LogOp) { return b.CreateUnaryIntrinsic(I::log, v[0]); })
      .Case([&](math::Log2Op) { return b.CreateUnaryIntrinsic(I::log2, v[0]); })
      .Case([&](math::Log10Op) { return b.CreateUnaryIntrinsic(I::log10, v[0]); })
      .Case([&](math::PowFOp pow) { return Power(b, pow, v[0], v[1]); })
      .Case([&](math::TanOp) { return CallLibm(b, "tan", v); })
      .Case([&](math::AsinOp) { return CallLibm(b, "asin", v); })
      .Case([&](math::AcosOp) { return CallLibm(b, "acos", v); })
      .Case([&](math::AtanOp) { return CallLibm(b, "atan", v); })
      .Case([&](math::SinhOp) { return CallLibm(b, "sinh", v); })
      .Case([&](math::CoshOp) { return CallLibm(b, "cosh", v); })
      .Case([&](math::TanhOp) { return CallLibm(b, "tanh", v); })
      .Case([&](math::AsinhOp) { return CallLibm(b, "asinh", v); })
      .Case([&](math::AcoshOp) { return CallLibm(b, "acosh", v); })
      .Case([&](math::AtanhOp) { return CallLibm(b, "atanh", v); })
      .Case([&](math::Atan2Op atan2) { return Atan2(b, atan2, v[0], v[1]); })
      .Case([&](math::CbrtOp) { return CallLibm(b, "cbrt", v); })
      .Case([&](math::ExpM1Op) { return CallLibm(b, "expm1", v); })
      .Case([&](math::Log1pOp) { return CallLibm(b, "log1p", v); })
      .Case([&](math::ErfOp) { return CallLibm(b, "erf", v); })
      .Default([](mlir::Operation*) -> Value* { return nullptr; });
}

bool CpuTarget::IsInline(mlir::Operation& op) const {
  auto pow = llvm::dyn_cast<math::PowFOp>(op);
  return pow && HalfExponent(pow);
}

void CpuTarget::EmitReport(FunctionEmitter& f, codegen::Report report, int64_t node, int64_t count,
                           Value* values) const {
  llvm::IRBuilder<>& b = f.builder();
  const int64_t function = report == codegen::Report::kPrint ? abi::kPrint : abi::kFail;
  llvm::CallInst* call = CallRuntime(f, function,
                                     {f.launch(), b.getInt32(static_cast<uint32_t>(node)),
                                      b.getInt32(static_cast<uint32_t>(count)), values});
  // Keeps reports out of the way of the loop's hot code.
  call->addFnAttr(llvm::Attribute::Cold);
}

void CpuTarget::EmitDeactivate(FunctionEmitter& f, Value* node, Value* container,
                               Value* cell) const {
  CallRuntime(f, abi::kDeactivate, {f.launch(), node, container, cell});
}

Value* CpuTarget::EmitTapePush(FunctionEmitter& f, Value* bytes) const {
  llvm::IRBuilder<>& b = f.builder();
  return CallRuntime(f, abi::kTapePush, {f.launch(), bytes}, b.getPtrTy());
}

Value* CpuTarget::EmitTapeTop(FunctionEmitter& f, Value* bytes) const {
  llvm::IRBuilder<>& b = f.builder();
  return CallRuntime(f, abi::kTapeTop, {f.launch(), bytes}, b.getPtrTy());
}

void CpuTarget::EmitTapePop(FunctionEmitter& f, Value* bytes) const {
  CallRuntime(f, abi::kTapePop, {f.launch(), bytes});
}

// --- Random numbers ----------------------------------------------------------------------

Value* CpuTarget::NewRandomStream(FunctionEmitter& f) const { return NewStream(f); }

void CpuTarget::StartRandom(FunctionEmitter& f, Value* stream, int task, Value* index) const {
  llvm::IRBuilder<>& b = f.builder();
  Value* launch = b.CreatePtrToInt(f.EntryLoad(f.launch(), abi::kRandom), b.getInt64Ty());
  StartStream(f, stream, launch, task, index);
}

Value* CpuTarget::EmitRandom(FunctionEmitter& f, Value* stream, llvm::Type* type) const {
  return DrawFrom(f, stream, type);
}

// --- Machine code ------------------------------------------------------------------------

absl::Status CpuTarget::Optimize(llvm::Module& module, llvm::ArrayRef<std::string> exported) {
  RETURN_IF_ERROR(machine_->LinkDeviceLibrary(module, exported));
  machine_->Optimize(module);
  return absl::OkStatus();
}

absl::StatusOr<codegen::Target::Linked> CpuTarget::Link(llvm::ArrayRef<char> object) {
  Linked linked;
  ASSIGN_OR_RETURN(linked.payload, LinkSharedObject({{object.data(), object.size()}}));
  // So that a machine with an older libc can refuse the entry before it loads it.
  ASSIGN_OR_RETURN(linked.needs, NeededVersions(linked.payload));
  return linked;
}

}  // namespace kiln::cpu
