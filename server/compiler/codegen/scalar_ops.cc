#include "server/compiler/codegen/scalar_ops.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace kiln {
namespace {

namespace arith = mlir::arith;
namespace math = mlir::math;
using llvm::Value;
using llvm::Intrinsic::ID;
using Values = llvm::SmallVector<Value*, 2>;

// The flags of an arith or math op: LLVM has the same ones. None for ops on integers.
llvm::FastMathFlags FastMath(mlir::Operation& op) {
  llvm::FastMathFlags flags;
  auto with_flags = llvm::dyn_cast<arith::ArithFastMathInterface>(op);
  if (!with_flags || !with_flags.getFastMathFlagsAttr()) return flags;
  const arith::FastMathFlags f = with_flags.getFastMathFlagsAttr().getValue();
  const auto has = [&](arith::FastMathFlags flag) { return bitEnumContainsAll(f, flag); };
  flags.setAllowReassoc(has(arith::FastMathFlags::reassoc));
  flags.setNoNaNs(has(arith::FastMathFlags::nnan));
  flags.setNoInfs(has(arith::FastMathFlags::ninf));
  flags.setNoSignedZeros(has(arith::FastMathFlags::nsz));
  flags.setAllowReciprocal(has(arith::FastMathFlags::arcp));
  flags.setAllowContract(has(arith::FastMathFlags::contract));
  flags.setApproxFunc(has(arith::FastMathFlags::afn));
  return flags;
}

Value* Unary(llvm::IRBuilder<>& b, ID id, Value* x) { return b.CreateUnaryIntrinsic(id, x); }

// By name: the numbers of the two enums differ and are not part of either's interface.
llvm::CmpInst::Predicate Predicate(arith::CmpIPredicate p) {
  using P = llvm::CmpInst::Predicate;
  switch (p) {
    case arith::CmpIPredicate::eq:
      return P::ICMP_EQ;
    case arith::CmpIPredicate::ne:
      return P::ICMP_NE;
    case arith::CmpIPredicate::slt:
      return P::ICMP_SLT;
    case arith::CmpIPredicate::sle:
      return P::ICMP_SLE;
    case arith::CmpIPredicate::sgt:
      return P::ICMP_SGT;
    case arith::CmpIPredicate::sge:
      return P::ICMP_SGE;
    case arith::CmpIPredicate::ult:
      return P::ICMP_ULT;
    case arith::CmpIPredicate::ule:
      return P::ICMP_ULE;
    case arith::CmpIPredicate::ugt:
      return P::ICMP_UGT;
    case arith::CmpIPredicate::uge:
      return P::ICMP_UGE;
  }
  return P::BAD_ICMP_PREDICATE;
}

// Both enums are the bits (unordered, less, greater, equal), in different orders.
llvm::CmpInst::Predicate Predicate(arith::CmpFPredicate p) {
  using P = llvm::CmpInst::Predicate;
  switch (p) {
    case arith::CmpFPredicate::AlwaysFalse:
      return P::FCMP_FALSE;
    case arith::CmpFPredicate::OEQ:
      return P::FCMP_OEQ;
    case arith::CmpFPredicate::OGT:
      return P::FCMP_OGT;
    case arith::CmpFPredicate::OGE:
      return P::FCMP_OGE;
    case arith::CmpFPredicate::OLT:
      return P::FCMP_OLT;
    case arith::CmpFPredicate::OLE:
      return P::FCMP_OLE;
    case arith::CmpFPredicate::ONE:
      return P::FCMP_ONE;
    case arith::CmpFPredicate::ORD:
      return P::FCMP_ORD;
    case arith::CmpFPredicate::UEQ:
      return P::FCMP_UEQ;
    case arith::CmpFPredicate::UGT:
      return P::FCMP_UGT;
    case arith::CmpFPredicate::UGE:
      return P::FCMP_UGE;
    case arith::CmpFPredicate::ULT:
      return P::FCMP_ULT;
    case arith::CmpFPredicate::ULE:
      return P::FCMP_ULE;
    case arith::CmpFPredicate::UNE:
      return P::FCMP_UNE;
    case arith::CmpFPredicate::UNO:
      return P::FCMP_UNO;
    case arith::CmpFPredicate::AlwaysTrue:
      return P::FCMP_TRUE;
  }
  return P::BAD_FCMP_PREDICATE;
}

// Both halves of a product, or sum and carry, computed in twice the width.
// LLVM recognises this form and uses the instruction that gives both halves.
Values Extended(llvm::IRBuilder<>& b, Value* x, Value* y, bool is_signed, bool product) {
  llvm::Type* narrow = x->getType();
  const unsigned bits = narrow->getIntegerBitWidth();
  llvm::Type* wide = b.getIntNTy(2 * bits);
  const auto widen = [&](Value* v) {
    return is_signed ? b.CreateSExt(v, wide) : b.CreateZExt(v, wide);
  };
  Value* result = product ? b.CreateMul(widen(x), widen(y)) : b.CreateAdd(widen(x), widen(y));
  Value* high = b.CreateTrunc(b.CreateLShr(result, bits), product ? narrow : b.getInt1Ty());
  return {b.CreateTrunc(result, narrow), high};
}

Value* EmitArith(llvm::IRBuilder<>& b, mlir::Operation& op, llvm::ArrayRef<Value*> v) {
  // Passes may have proved that an op does not overflow; LLVM uses that for addresses and loops.
  const auto nuw = [](auto o) {
    return bitEnumContainsAll(o.getOverflowFlags(), arith::IntegerOverflowFlags::nuw);
  };
  const auto nsw = [](auto o) {
    return bitEnumContainsAll(o.getOverflowFlags(), arith::IntegerOverflowFlags::nsw);
  };
  // Of vectors where the operands are.
  const auto type = [&]() -> llvm::Type* {
    llvm::Type* scalar = LlvmType(op.getResult(0).getType(), b.getContext());
    const auto* vector = llvm::dyn_cast<llvm::VectorType>(v[0]->getType());
    return vector == nullptr ? scalar : llvm::VectorType::get(scalar, vector->getElementCount());
  };
  const auto binary = [&](ID id) { return b.CreateBinaryIntrinsic(id, v[0], v[1]); };
  return llvm::TypeSwitch<mlir::Operation*, Value*>(&op)
      .Case([&](arith::ConstantOp o) { return LlvmConstant(o.getValue(), b.getContext()); })
      .Case([&](arith::AddIOp o) { return b.CreateAdd(v[0], v[1], "", nuw(o), nsw(o)); })
      .Case([&](arith::SubIOp o) { return b.CreateSub(v[0], v[1], "", nuw(o), nsw(o)); })
      .Case([&](arith::MulIOp o) { return b.CreateMul(v[0], v[1], "", nuw(o), nsw(o)); })
      .Case([&](arith::ShLIOp o) { return b.CreateShl(v[0], v[1], "", nuw(o), nsw(o)); })
      .Case([&](arith::ShRSIOp) { return b.CreateAShr(v[0], v[1]); })
      .Case([&](arith::ShRUIOp) { return b.CreateLShr(v[0], v[1]); })
      // Lowering has excluded 0 and the least number by -1, which are undefined in LLVM.
      .Case([&](arith::DivSIOp) { return b.CreateSDiv(v[0], v[1]); })
      .Case([&](arith::DivUIOp) { return b.CreateUDiv(v[0], v[1]); })
      .Case([&](arith::RemSIOp) { return b.CreateSRem(v[0], v[1]); })
      .Case([&](arith::RemUIOp) { return b.CreateURem(v[0], v[1]); })
      .Case([&](arith::AndIOp) { return b.CreateAnd(v[0], v[1]); })
      .Case([&](arith::OrIOp) { return b.CreateOr(v[0], v[1]); })
      .Case([&](arith::XOrIOp) { return b.CreateXor(v[0], v[1]); })
      .Case([&](arith::MinSIOp) { return binary(llvm::Intrinsic::smin); })
      .Case([&](arith::MaxSIOp) { return binary(llvm::Intrinsic::smax); })
      .Case([&](arith::MinUIOp) { return binary(llvm::Intrinsic::umin); })
      .Case([&](arith::MaxUIOp) { return binary(llvm::Intrinsic::umax); })
      .Case([&](arith::AddFOp) { return b.CreateFAdd(v[0], v[1]); })
      .Case([&](arith::SubFOp) { return b.CreateFSub(v[0], v[1]); })
      .Case([&](arith::MulFOp) { return b.CreateFMul(v[0], v[1]); })
      .Case([&](arith::DivFOp) { return b.CreateFDiv(v[0], v[1]); })
      .Case([&](arith::RemFOp) { return b.CreateFRem(v[0], v[1]); })
      .Case([&](arith::NegFOp) { return b.CreateFNeg(v[0]); })
      // "num": a NaN loses against a number; the other two pass it on.
      .Case([&](arith::MinNumFOp) { return binary(llvm::Intrinsic::minnum); })
      .Case([&](arith::MaxNumFOp) { return binary(llvm::Intrinsic::maxnum); })
      .Case([&](arith::MinimumFOp) { return binary(llvm::Intrinsic::minimum); })
      .Case([&](arith::MaximumFOp) { return binary(llvm::Intrinsic::maximum); })
      .Case([&](arith::CmpIOp o) { return b.CreateICmp(Predicate(o.getPredicate()), v[0], v[1]); })
      .Case([&](arith::CmpFOp o) { return b.CreateFCmp(Predicate(o.getPredicate()), v[0], v[1]); })
      .Case([&](arith::SelectOp) { return b.CreateSelect(v[0], v[1], v[2]); })
      .Case([&](arith::ExtSIOp) { return b.CreateSExt(v[0], type()); })
      .Case([&](arith::ExtUIOp) { return b.CreateZExt(v[0], type()); })
      .Case([&](arith::TruncIOp) { return b.CreateTrunc(v[0], type()); })
      .Case([&](arith::ExtFOp) { return b.CreateFPExt(v[0], type()); })
      .Case([&](arith::TruncFOp) { return b.CreateFPTrunc(v[0], type()); })
      .Case([&](arith::SIToFPOp) { return b.CreateSIToFP(v[0], type()); })
      .Case([&](arith::UIToFPOp) { return b.CreateUIToFP(v[0], type()); })
      // Poison outside of the range: lowering never uses such a result.
      .Case([&](arith::FPToSIOp) { return b.CreateFPToSI(v[0], type()); })
      .Case([&](arith::FPToUIOp) { return b.CreateFPToUI(v[0], type()); })
      .Case([&](arith::BitcastOp) { return b.CreateBitCast(v[0], type()); })
      .Default([](mlir::Operation*) -> Value* { return nullptr; });
}

// The functions that LLVM, or the device library, has for every target.
Value* EmitMath(llvm::IRBuilder<>& b, mlir::Operation& op, llvm::ArrayRef<Value*> v) {
  namespace I = llvm::Intrinsic;
  const auto pick = [&](llvm::StringRef f32, llvm::StringRef f64) {
    return CallPure(b, v[0]->getType()->isFloatTy() ? f32 : f64, v[0]->getType(), v);
  };
  return llvm::TypeSwitch<mlir::Operation*, Value*>(&op)
      .Case([&](math::AbsFOp) { return Unary(b, I::fabs, v[0]); })
      .Case([&](math::SqrtOp) { return Unary(b, I::sqrt, v[0]); })
      .Case([&](math::FloorOp) { return Unary(b, I::floor, v[0]); })
      .Case([&](math::CeilOp) { return Unary(b, I::ceil, v[0]); })
      .Case([&](math::RoundOp) { return Unary(b, I::round, v[0]); })
      .Case([&](math::RoundEvenOp) { return Unary(b, I::roundeven, v[0]); })
      .Case([&](math::TruncOp) { return Unary(b, I::trunc, v[0]); })
      .Case([&](math::CtPopOp) { return Unary(b, I::ctpop, v[0]); })
      .Case([&](math::CopySignOp) { return b.CreateBinaryIntrinsic(I::copysign, v[0], v[1]); })
      .Case([&](math::FmaOp) { return b.CreateIntrinsic(I::fma, {v[0]->getType()}, v); })
      // The flag says that the least integer is not poison: its absolute value is itself.
      .Case([&](math::AbsIOp) { return b.CreateBinaryIntrinsic(I::abs, v[0], b.getFalse()); })
      // False: 0 is allowed, and gives the width.
      .Case([&](math::CountLeadingZerosOp) {
        return b.CreateBinaryIntrinsic(I::ctlz, v[0], b.getFalse());
      })
      .Case([&](math::CountTrailingZerosOp) {
        return b.CreateBinaryIntrinsic(I::cttz, v[0], b.getFalse());
      })
      // LLVM has no intrinsic for it.
      .Case([&](math::RsqrtOp) {
        return b.CreateFDiv(llvm::ConstantFP::get(v[0]->getType(), 1.0), Unary(b, I::sqrt, v[0]));
      })
      // Multiplications in an order of our own: LLVM's powi promises none, so results could differ
      // between targets.
      .Case([&](math::FPowIOp) { return pick("kiln_powi_f32", "kiln_powi_f64"); })
      .Case([&](math::IPowIOp) -> Value* {
        llvm::Type* type = v[0]->getType();
        if (type->isIntegerTy(64)) return CallPure(b, "kiln_pow_i64", type, v);
        llvm::Type* i32 = b.getInt32Ty();
        Value* power =
            CallPure(b, "kiln_pow_i32", i32, {b.CreateZExt(v[0], i32), b.CreateZExt(v[1], i32)});
        return b.CreateTrunc(power, type);
      })
      .Default([](mlir::Operation*) -> Value* { return nullptr; });
}

}  // namespace

llvm::CallInst* CallLibrary(llvm::IRBuilderBase& b, llvm::StringRef name, llvm::Type* type,
                            llvm::ArrayRef<Value*> operands) {
  llvm::SmallVector<llvm::Type*> types;
  for (Value* v : operands) types.push_back(v->getType());
  llvm::Module* module = b.GetInsertBlock()->getModule();
  return b.CreateCall(
      module->getOrInsertFunction(name, llvm::FunctionType::get(type, types, false)), operands);
}

// The attributes let LLVM merge calls with equal operands, move them out of loops, and drop those
// whose results are not used.
Value* CallPure(llvm::IRBuilderBase& b, llvm::StringRef name, llvm::Type* type,
                llvm::ArrayRef<Value*> operands) {
  llvm::CallInst* call = CallLibrary(b, name, type, operands);
  llvm::Function* function = call->getCalledFunction();
  function->setDoesNotThrow();
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  return call;
}

llvm::Type* LlvmType(mlir::Type type, llvm::LLVMContext& context) {
  if (type.isF16()) return llvm::Type::getHalfTy(context);
  if (type.isF32()) return llvm::Type::getFloatTy(context);
  if (type.isF64()) return llvm::Type::getDoubleTy(context);
  // Signless: ops say whether they are signed.
  return llvm::Type::getIntNTy(context, type.getIntOrFloatBitWidth());
}

llvm::Constant* LlvmConstant(mlir::Attribute attribute, llvm::LLVMContext& context) {
  if (auto f = llvm::dyn_cast<mlir::FloatAttr>(attribute)) {
    return llvm::ConstantFP::get(context, f.getValue());
  }
  return llvm::ConstantInt::get(context, llvm::cast<mlir::IntegerAttr>(attribute).getValue());
}

Values EmitScalarOp(const codegen::Target& target, llvm::IRBuilder<>& b, mlir::Operation& op,
                    llvm::ArrayRef<Value*> operands) {
  if (llvm::isa<arith::MulSIExtendedOp>(op)) {
    return Extended(b, operands[0], operands[1], /*is_signed=*/true, /*product=*/true);
  }
  if (llvm::isa<arith::MulUIExtendedOp>(op)) {
    return Extended(b, operands[0], operands[1], /*is_signed=*/false, /*product=*/true);
  }
  if (llvm::isa<arith::AddUIExtendedOp>(op)) {
    return Extended(b, operands[0], operands[1], /*is_signed=*/false, /*product=*/false);
  }
  // Set for each op: flags come from the op, and must not stay for the next one.
  b.setFastMathFlags(FastMath(op));
  // The target first: it may have an instruction or function of its own.
  Value* result = target.EmitScalar(b, op, operands);
  if (result == nullptr) {
    result = llvm::isa<arith::ArithDialect>(op.getDialect()) ? EmitArith(b, op, operands)
                                                             : EmitMath(b, op, operands);
  }
  if (result == nullptr) return {};
  return {result};
}

}  // namespace kiln
