// Arithmetic, random numbers and atomics of lanes.
#include "llvm/ADT/TypeSwitch.h"
#include "server/compiler/codegen/lane_emitter.h"
#include "server/compiler/codegen/random_streams.h"
#include "server/compiler/codegen/scalar_ops.h"
#include "server/compiler/dialect/atomic_kinds.h"
#include "server/compiler/dialect/math_calls.h"

namespace kiln {
namespace {

namespace arith = mlir::arith;
using llvm::Value;

bool Divides(mlir::Operation& op) {
  return llvm::isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
}

// Integers of up to 32 bits, through doubles: processors do not divide vectors of integers. The
// quotient is exact. It differs from the next integer by at least 1 / y, far more than a double
// rounds off.
Value* DivideVectors(llvm::IRBuilder<>& b, mlir::Operation& op, Value* x, Value* y) {
  const bool is_signed = llvm::isa<arith::DivSIOp, arith::RemSIOp>(op);
  const auto lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  llvm::Type* narrow = x->getType();
  llvm::Type* ints = llvm::FixedVectorType::get(b.getInt32Ty(), lanes);
  llvm::Type* doubles = llvm::FixedVectorType::get(b.getDoubleTy(), lanes);
  b.clearFastMathFlags();
  const auto as_double = [&](Value* v) {
    v = b.CreateIntCast(v, ints, is_signed);
    return is_signed ? b.CreateSIToFP(v, doubles) : b.CreateUIToFP(v, doubles);
  };
  Value* quotient = b.CreateFDiv(as_double(x), as_double(y));
  if (is_signed) {
    quotient = b.CreateFPToSI(quotient, ints);
  } else {
    // AVX2 converts signed numbers alone.
    Value* half = llvm::ConstantFP::get(doubles, 2147483648.0);
    quotient = b.CreateFSub(b.CreateUnaryIntrinsic(llvm::Intrinsic::floor, quotient), half);
    quotient = b.CreateXor(b.CreateFPToSI(quotient, ints),
                           llvm::ConstantInt::get(ints, uint64_t{1} << 31));
  }
  quotient = b.CreateTrunc(quotient, narrow);
  if (llvm::isa<arith::DivSIOp, arith::DivUIOp>(op)) return quotient;
  return b.CreateSub(x, b.CreateMul(quotient, y));
}

}  // namespace

void LaneEmitter::EmitArithmetic(mlir::Operation& op, Value* mask) {
  // A function that takes scalars, unless the target has another one that takes vectors.
  if (IsLibraryCall(op) && !f_.state().target->IsInline(op)) {
    Values operands;
    for (mlir::Value v : op.getOperands()) operands.push_back(VectorFor(v));
    Value* result = CallVector(op, operands, mask);
    if (result == nullptr) return EmitInEachLane(op, mask);
    return f_.Map(op.getResult(0), result);
  }
  Values operands;
  for (mlir::Value v : op.getOperands()) operands.push_back(VectorFor(v));
  if (Divides(op) && !llvm::isa<llvm::Constant>(operands[1])) {
    // What the kernel makes sure of holds for lanes in the mask.
    operands[1] = Select(mask, operands[1], llvm::ConstantInt::get(operands[1]->getType(), 1));
    if (operands[0]->getType()->getScalarSizeInBits() <= 32) {
      return f_.Map(op.getResult(0), DivideVectors(b_, op, operands[0], operands[1]));
    }
  }
  const auto results = EmitScalarOp(*f_.state().target, b_, op, operands);
  f_.Map(op.getResult(0), results[0]);
}

// A function of vectors, if the target has one for all lanes, half of them, and so on.
Value* LaneEmitter::CallVector(mlir::Operation& op, llvm::ArrayRef<Value*> operands, Value* mask) {
  const mlir::Type type = op.getResult(0).getType();
  if (!type.isF32() && !type.isF64()) return nullptr;
  if (llvm::any_of(op.getOperandTypes(), [&](mlir::Type t) { return t != type; })) return nullptr;
  const llvm::StringRef mnemonic = op.getName().stripDialect();
  const llvm::StringRef name = mnemonic == "powf" ? "pow" : mnemonic;
  int64_t length = lanes_;
  std::string function;
  for (; length >= 2; length /= 2) {
    function = f_.state().target->VectorFunction(name.str(), type.isF64(), length);
    if (!function.empty()) break;
  }
  if (function.empty()) return nullptr;
  // 1 is no special case of any function, and those are slow.
  Values safe;
  for (Value* operand : operands) {
    safe.push_back(Select(mask, operand, llvm::ConstantFP::get(operand->getType(), 1.0)));
  }
  if (length == lanes_) return CallPure(b_, function, safe[0]->getType(), safe);
  auto* part = llvm::FixedVectorType::get(LlvmType(type, b_.getContext()), length);
  Value* result = llvm::PoisonValue::get(safe[0]->getType());
  for (int64_t at = 0; at < lanes_; at += length) {
    Values parts;
    for (Value* operand : safe) {
      parts.push_back(b_.CreateExtractVector(part, operand, b_.getInt64(at)));
    }
    result = b_.CreateInsertVector(result->getType(), result, CallPure(b_, function, part, parts),
                                   b_.getInt64(at));
  }
  return result;
}

void LaneEmitter::EmitInEachLane(mlir::Operation& op, Value* mask) {
  const Values operands = f_.ValuesOf(op.getOperands());
  Variable result = NewVariable(op.getResult(0));
  ForEachLane(mask, [&](Value* lane) {
    Values scalars;
    for (Value* v : operands) {
      scalars.push_back(v->getType()->isVectorTy() ? b_.CreateExtractElement(v, lane) : v);
    }
    const auto results = EmitScalarOp(*f_.state().target, b_, op, scalars);
    Set(result, b_.CreateInsertElement(Get(result), results[0], lane));
  });
  f_.Map(op.getResult(0), Get(result));
}

// --- Random numbers --------------------------------------------------------------------

// Each iteration has its own stream, as in scalar code: the same numbers.
void LaneEmitter::StartRandom(Value* number) {
  f_.StartRandom(number);
  const StreamState first = LoadStream(f_, f_.random_);
  random_key_ = first.key;
  llvm::Type* type = VectorOf(b_.getInt64Ty());
  counters_ = llvm::cast<llvm::AllocaInst>(f_.Alloca(type, 1));
  Set(counters_, b_.CreateAdd(Splat(first.counter), Ramp(b_.getInt64Ty(), IterationStep())));
}

Value* LaneEmitter::Draw(llvm::Type* type, Value* mask) {
  Value* before = Get(counters_);
  StreamState state = {before, Splat(random_key_)};
  Value* number = DrawFrom(b_, &state, type);
  // Lanes outside of the mask draw nothing.
  Set(counters_, Select(mask, state.counter, before));
  return number;
}

// --- Atomics ---------------------------------------------------------------------------

void LaneEmitter::Emit(ir::AtomicOp op, Value* mask) {
  const Address address = addresses_.lookup(op.getAddress());
  const bool is_one = address.stride == 0 && address.offsets == nullptr;
  if (is_one && op.getOld().use_empty() && !op.getValue().getType().isInteger(1)) {
    return Reduced(op, mask);
  }
  Value* value = f_.ValueOf(op.getValue());
  Variable old = op.getOld().use_empty() ? nullptr : NewVariable(op.getOld());
  ForEachLane(mask, [&](Value* lane) {
    f_.Map(op.getValue(),
           value->getType()->isVectorTy() ? b_.CreateExtractElement(value, lane) : value);
    f_.addresses_[op.getAddress()] = {PointerOf(address, lane), address.memory};
    Value* seen = f_.Atomic(op);
    if (old != nullptr) Set(old, b_.CreateInsertElement(Get(old), seen, lane));
  });
  f_.Map(op.getValue(), value);
  if (old != nullptr) f_.Map(op.getOld(), Get(old));
}

// One update of the cell, by all lanes together. Floats are added in another order than one after
// the other, as atomics may.
void LaneEmitter::Reduced(ir::AtomicOp op, Value* mask) {
  const Address address = addresses_.lookup(op.getAddress());
  Value* value = f_.ValueOf(op.getValue());
  const ir::AtomicKind kind = KindOfPartials(op.getKind());
  const mlir::TypedAttr identity = IdentityOf(kind, op.getValue().getType());
  Value* none = Splat(LlvmConstant(identity, b_.getContext()));
  // Unlike 0, which makes 0 of -0.
  if (kind == ir::AtomicKind::addf) none = llvm::ConstantFP::get(none->getType(), -0.0);
  f_.Map(op.getValue(), ReduceVector(kind, Select(mask, Splat(value), none)));
  f_.addresses_[op.getAddress()] = {address.pointer, address.memory};
  f_.Atomic(op);
  f_.Map(op.getValue(), value);
}

Value* LaneEmitter::ReduceVector(ir::AtomicKind kind, Value* vector) {
  using Kind = ir::AtomicKind;
  llvm::FastMathFlags any_order;
  any_order.setAllowReassoc();
  b_.setFastMathFlags(any_order);
  const auto start = [&](double value) {
    return llvm::ConstantFP::get(vector->getType()->getScalarType(), value);
  };
  switch (kind) {
    case Kind::addi:
    case Kind::subi:
      return b_.CreateAddReduce(vector);
    case Kind::muli:
      return b_.CreateMulReduce(vector);
    case Kind::minsi:
    case Kind::minui:
      return b_.CreateIntMinReduce(vector, kind == Kind::minsi);
    case Kind::maxsi:
    case Kind::maxui:
      return b_.CreateIntMaxReduce(vector, kind == Kind::maxsi);
    case Kind::andi:
      return b_.CreateAndReduce(vector);
    case Kind::ori:
      return b_.CreateOrReduce(vector);
    case Kind::xori:
      return b_.CreateXorReduce(vector);
    case Kind::addf:
    case Kind::subf:
      return b_.CreateFAddReduce(start(-0.0), vector);
    case Kind::mulf:
      return b_.CreateFMulReduce(start(1.0), vector);
    case Kind::minf:
      return b_.CreateFPMinReduce(vector);
    case Kind::maxf:
      return b_.CreateFPMaxReduce(vector);
  }
  llvm_unreachable("all kinds are named");
}

LaneEmitter::Values LaneEmitter::Combine(const Values& accumulators) {
  Values results;
  for (size_t i = 0; i < accumulators.size(); ++i) {
    results.push_back(ReduceVector(*KindOfAccumulator(task_, i), accumulators[i]));
  }
  return results;
}

}  // namespace kiln
